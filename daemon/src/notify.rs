// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What systemd is told: that the service is ready, what it does, that it lives (sd_notify(3)).

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

/// Tells systemd, if that wants to hear it.
#[derive(Debug)]
pub struct Notifier {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
    due: Instant,
}

impl Notifier {
    /// As the environment says.
    pub fn of_environment() -> Self {
        let address = std::env::var_os("NOTIFY_SOCKET").and_then(|name| address_of(&name));
        let socket = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        let is_ours =
            std::env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        let watchdog = std::env::var("WATCHDOG_USEC").ok();
        let watchdog = watchdog.and_then(|text| text.parse().ok());
        Self {
            socket,
            // Twice in the time that it may take.
            watchdog: watchdog
                .filter(|us| is_ours && *us > 0)
                .map(|us: u64| Duration::from_micros(us / 2)),
            due: Instant::now(),
        }
    }

    /// Says so; nobody may listen.
    pub fn say(&self, text: &str) {
        if let Some((socket, address)) = &self.socket
            && let Err(error) = socket.send_to_addr(text.as_bytes(), address)
        {
            tracing::debug!("NOTIFY_SOCKET: {error}");
        }
    }

    /// Says that the service lives, if it is time to; answers when it is again.
    pub fn beat(&mut self) -> Option<Instant> {
        let every = self.watchdog?;
        let now = Instant::now();
        if now >= self.due {
            self.say("WATCHDOG=1");
            self.due = now + every;
        }
        Some(self.due)
    }
}

fn address_of(name: &OsString) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
        [b'/', ..] => SocketAddr::from_pathname(name).ok(),
        _ => None,
    }
}
