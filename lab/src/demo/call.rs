// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A stream like a call's: small datagrams at a fixed pace, timed one way.
//!
//! Both ends share one machine and one clock, so an arrival minus the time that the
//! datagram carries is its delay, without any synchronisation.

use super::Error;
use crate::namespace::NamespaceHandle;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Fifty datagrams a second of 160 bytes: G.711, 20 ms each.
pub const INTERVAL: Duration = Duration::from_millis(20);
/// Payload of a datagram in bytes.
pub const PAYLOAD_BYTES: usize = 160;

/// A datagram that is this late counts as lost; no queue here is that long.
const GRACE: Duration = Duration::from_secs(2);

/// One datagram of the call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spoken {
    /// When it was sent, in seconds since the call began.
    pub sent_s: f64,
    /// One-way delay in milliseconds; `None`: lost.
    pub delay_ms: Option<f64>,
}

/// A call in progress.
#[derive(Debug)]
pub struct Call {
    sender: JoinHandle<Vec<f64>>,
    receiver: JoinHandle<Vec<(u32, f64)>>,
    should_end: Arc<AtomicBool>,
    last_delay_us: Arc<AtomicU32>,
}

impl Call {
    /// Starts a call from `speaker` to `address`, whose port the listener hears, be it behind a
    /// router that hands it on; its time counts from `start`.
    ///
    /// *Errors:* the listener's socket cannot be opened.
    pub fn start(
        speaker: &NamespaceHandle,
        listener: &NamespaceHandle,
        address: SocketAddr,
        start: Instant,
    ) -> Result<Self, Error> {
        let any = SocketAddr::new(
            if address.is_ipv4() {
                Ipv4Addr::UNSPECIFIED.into()
            } else {
                Ipv6Addr::UNSPECIFIED.into()
            },
            0,
        );
        let heard = SocketAddr::new(any.ip(), address.port());
        let ear = listener.run_in(|| UdpSocket::bind(heard).map_err(Error::io(heard)))??;
        let mouth = speaker.run_in(|| UdpSocket::bind(any).map_err(Error::io(any)))??;
        ear.set_read_timeout(Some(Duration::from_millis(50)))
            .map_err(Error::io("the call"))?;

        let should_end = Arc::new(AtomicBool::new(false));
        let last_delay_us = Arc::new(AtomicU32::new(0));
        let (end, last) = (should_end.clone(), last_delay_us.clone());
        let receiver = std::thread::spawn(move || listen(&ear, start, &end, &last));
        let end = should_end.clone();
        let sender = std::thread::spawn(move || speak(&mouth, address, start, &end));
        Ok(Self {
            sender,
            receiver,
            should_end,
            last_delay_us,
        })
    }

    /// The delay of the datagram that arrived last, in milliseconds.
    pub fn last_delay_ms(&self) -> f64 {
        f64::from(self.last_delay_us.load(Ordering::Relaxed)) / 1e3
    }

    /// Ends the call and tells of every datagram that was sent, in order.
    ///
    /// Blocks until the last can have arrived.
    ///
    /// *Errors:* a thread of the call panicked.
    pub fn end(self) -> Result<Vec<Spoken>, Error> {
        self.should_end.store(true, Ordering::Relaxed);
        let panicked = |_| Error::Failed {
            program: "call".into(),
            problem: "panicked".into(),
        };
        let sent = self.sender.join().map_err(panicked)?;
        let heard = self.receiver.join().map_err(panicked)?;
        let mut spoken: Vec<Spoken> = sent
            .into_iter()
            .map(|sent_s| Spoken {
                sent_s,
                delay_ms: None,
            })
            .collect();
        for (number, delay_ms) in heard {
            if let Some(datagram) = spoken.get_mut(number as usize) {
                datagram.delay_ms = Some(delay_ms);
            }
        }
        Ok(spoken)
    }
}

fn speak(socket: &UdpSocket, address: SocketAddr, start: Instant, end: &AtomicBool) -> Vec<f64> {
    let mut sent_s = Vec::new();
    let mut payload = [0_u8; PAYLOAD_BYTES];
    while !end.load(Ordering::Relaxed) {
        let number = sent_s.len() as u32;
        std::thread::sleep((start + INTERVAL * number).saturating_duration_since(Instant::now()));
        let now = start.elapsed();
        payload[..4].copy_from_slice(&number.to_be_bytes());
        payload[4..12].copy_from_slice(&(now.as_nanos() as u64).to_be_bytes());
        // A datagram that the system refuses never leaves: it is lost like any other.
        let _ = socket.send_to(&payload, address);
        sent_s.push(now.as_secs_f64());
    }
    sent_s
}

fn listen(
    socket: &UdpSocket,
    start: Instant,
    end: &AtomicBool,
    last_delay_us: &AtomicU32,
) -> Vec<(u32, f64)> {
    let mut heard = Vec::new();
    let mut payload = [0_u8; PAYLOAD_BYTES];
    let mut quiet_since: Option<Instant> = None;
    loop {
        if let Ok(PAYLOAD_BYTES) = socket.recv(&mut payload) {
            let arrived_ns = start.elapsed().as_nanos() as u64;
            let [a, b, c, d, time @ ..] = payload.first_chunk::<12>().copied().unwrap_or_default();
            let delay_ns = arrived_ns.saturating_sub(u64::from_be_bytes(time));
            heard.push((u32::from_be_bytes([a, b, c, d]), delay_ns as f64 / 1e6));
            last_delay_us.store((delay_ns / 1000) as u32, Ordering::Relaxed);
        }
        if end.load(Ordering::Relaxed)
            && quiet_since.get_or_insert_with(Instant::now).elapsed() > GRACE
        {
            return heard;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_on_this_machine_loses_nothing_and_takes_no_time() {
        // To enter a namespace, be it one's own, is for root.
        if !ebb_kernel::requires_root("a_call_on_this_machine_loses_nothing_and_takes_no_time") {
            return;
        }
        let here = NamespaceHandle::of_current_thread().unwrap();
        let free = UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let call = Call::start(&here, &here, free, Instant::now()).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        let spoken = call.end().unwrap();
        assert!(
            (24..=27).contains(&spoken.len()),
            "{} datagrams in 0.5 s",
            spoken.len()
        );
        let delays: Vec<f64> = spoken
            .iter()
            .filter_map(|datagram| datagram.delay_ms)
            .collect();
        assert_eq!(delays.len(), spoken.len());
        assert!(delays.iter().all(|&ms| ms > 0.0 && ms < 50.0), "{delays:?}");
    }
}
