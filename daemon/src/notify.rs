// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What systemd is told: that the service is ready, what it does, that it lives (sd_notify(3)).

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// Tells systemd, if that wants to hear it.
#[derive(Debug)]
pub struct Notifier {
    watchdog: Option<Duration>,
    due: Instant,
}

impl Notifier {
    /// As the environment says.
    pub fn of_environment() -> Self {
        Self {
            // Twice in the time that it may take.
            watchdog: sd_notify::watchdog_enabled()
                .filter(|within| !within.is_zero())
                .map(|within| within / 2),
            due: Instant::now(),
        }
    }

    /// Says so; nobody may listen.
    pub fn say(&self, state: &[NotifyState<'_>]) {
        if let Err(error) = sd_notify::notify(state) {
            tracing::debug!("NOTIFY_SOCKET: {error}");
        }
    }

    /// Says that the service lives, if it is time to; answers when it is again.
    pub fn beat(&mut self) -> Option<Instant> {
        let every = self.watchdog?;
        let now = Instant::now();
        if now >= self.due {
            self.say(&[NotifyState::Watchdog]);
            self.due = now + every;
        }
        Some(self.due)
    }
}
