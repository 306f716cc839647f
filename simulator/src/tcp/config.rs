// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::sync::Arc;

use ebb_algorithms::{Floor, Policy, PolicyError, ReceiverBundle};
use ebb_link::Nanos;
use ebb_scenario::{Recovery, TcpOptions, TcpProfile};

use super::clock::NEVER;

/// Largest segment that can be configured, as 16 bits of IP's length leave it.
const MAX_MSS_BYTES: u32 = 65_495;
/// Least segment, options counted.
const MIN_MSS_BYTES: u32 = 64;

/// Why a configuration cannot be used; each says what would be right.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum TcpConfigError {
    /// A value is out of its range.
    #[error("{key} = {value}: must be from {min} to {max}")]
    OutOfRange {
        /// The option.
        key: &'static str,
        /// Its value.
        value: u64,
        /// Least value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// The lower end of the retransmission timer is above the upper end.
    #[error("min-rto ({min_rto}) is above max-rto ({max_rto})")]
    Rto {
        /// Lower end.
        min_rto: Nanos,
        /// Upper end.
        max_rto: Nanos,
    },
    /// A law that is none of this end.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// How the endpoints of a connection behave; shared by all connections that are alike.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    pub(super) options: TcpOptions,
    pub(super) sender: Policy,
    pub(super) receiver: Option<Policy>,
    /// What the receiver's law has in common with those of other connections.
    pub(super) bundle: Option<ReceiverBundle>,
    /// What the connections that share it have together at the least.
    pub(super) floor: Option<Floor>,
    /// The law sets the window in recovery, too.
    pub(super) has_full_control: bool,
    pub(super) wants_ecn: bool,
    /// Tick of the timestamp clock.
    pub(super) tick: Nanos,
}

impl TcpConfig {
    /// Options with the law of the sending end and, if one is wanted, that of the receiving
    /// end, both written as policies.
    ///
    /// *Errors:* a policy that cannot be read or belongs to the other end; values that TCP
    /// cannot work with.
    pub fn new(
        options: TcpOptions,
        sender: &str,
        receiver: Option<&str>,
    ) -> Result<Arc<Self>, TcpConfigError> {
        let receiver = receiver.map(Policy::receiver).transpose()?;
        Self::with_policies(options, Policy::sender(sender)?, receiver)
    }

    /// Options with policies that were read before.
    ///
    /// *Errors:* as [`TcpConfig::new`].
    pub fn with_policies(
        options: TcpOptions,
        sender: Policy,
        receiver: Option<Policy>,
    ) -> Result<Arc<Self>, TcpConfigError> {
        validate(&options)?;
        Ok(Arc::new(Self {
            has_full_control: sender.law().has_full_control(),
            wants_ecn: options.has_ecn || sender.law().needs_ecn(),
            tick: options
                .timestamps
                .map_or(Nanos::from_millis(1), |timestamps| timestamps.tick),
            options,
            sender,
            receiver,
            bundle: None,
            floor: None,
        }))
    }

    /// The options.
    pub fn options(&self) -> &TcpOptions {
        &self.options
    }

    /// The law of the sending end.
    pub fn sender(&self) -> &Policy {
        &self.sender
    }

    /// The law of the receiving end.
    pub fn receiver(&self) -> Option<&Policy> {
        self.receiver.as_ref()
    }

    /// Length of a tick of the timestamp clock, without drift. *Units:* µs.
    #[inline]
    pub(super) fn tick_us(&self) -> u32 {
        u32::try_from(self.tick.0 / 1_000).unwrap_or(u32::MAX)
    }

    /// When a timer goes off that is set now for `at`: in Linux's timer wheel never early,
    /// and the later the coarser; in the papers' simulators at the next tick.
    #[inline]
    pub(super) fn coarse(&self, now: Nanos, at: Nanos) -> Nanos {
        let tick = self.options.timer_granularity.0;
        if tick == 0 || at == NEVER {
            return at;
        }
        match self.options.profile {
            TcpProfile::Linux => {
                let wait = at.since(now).0.div_ceil(tick);
                let jiffy = now.0 / tick + wait;
                let shift = wheel_shift(wait);
                Nanos((((jiffy >> shift) + 1) << shift) * tick)
            }
            TcpProfile::Paper => Nanos(at.0.next_multiple_of(tick)),
        }
    }

    /// Reductions are spread over the round trip (PRR).
    pub(super) fn has_prr(&self) -> bool {
        let is_selective = matches!(self.options.recovery, Recovery::Rack | Recovery::Sack);
        is_selective && self.options.profile == TcpProfile::Linux
    }
}

/// Levels of the wheel have 64 buckets, each as wide as eight of the level below.
/// *Returns:* the width as a power of two.
#[inline]
fn wheel_shift(jiffies: u64) -> u32 {
    let mut shift = 0;
    while shift < 24 && jiffies >= 63 << shift {
        shift += 3;
    }
    shift
}

fn validate(options: &TcpOptions) -> Result<(), TcpConfigError> {
    validate_segments(options)?;
    validate_timers(options)?;
    validate_buffers(options)?;
    validate_timestamps(options)?;
    if options.min_rto > options.max_rto {
        return Err(TcpConfigError::Rto {
            min_rto: options.min_rto,
            max_rto: options.max_rto,
        });
    }
    Ok(())
}

fn validate_segments(options: &TcpOptions) -> Result<(), TcpConfigError> {
    let mss_bytes = u64::from(options.mss_bytes);
    let (least, most) = (u64::from(MIN_MSS_BYTES), u64::from(MAX_MSS_BYTES));
    in_range("mss", mss_bytes, least, most)?;
    let window_pkts = u64::from(options.initial_window_pkts);
    in_range("initial-window", window_pkts, 1, 1 << 20)?;
    let ack_segments = u64::from(options.delayed_acks.segments);
    in_range("delayed-acks.segments", ack_segments, 1, 1 << 16)?;
    in_range("tso", u64::from(options.tso_pkts), 1, 44)
}

fn validate_timers(options: &TcpOptions) -> Result<(), TcpConfigError> {
    let max_rto = options.max_rto.0;
    in_range("max-rto (ns)", max_rto, 1_000_000, u64::MAX / 4)?;
    let initial_rto = options.initial_rto.0;
    in_range("initial-rto (ns)", initial_rto, 1_000_000, max_rto)?;
    let granularity = options.timer_granularity.0;
    in_range("timer-granularity (ns)", granularity, 0, 10_000_000_000)
}

/// A buffer for sending holds at least one segment.
fn validate_buffers(options: &TcpOptions) -> Result<(), TcpConfigError> {
    let receive_bytes = options.receive_buffer.max_bytes();
    in_range("receive-buffer", receive_bytes, 1, 1 << 30)?;
    let send_bytes = options.send_buffer.max_bytes();
    let mss_bytes = u64::from(options.mss_bytes);
    in_range("send-buffer", send_bytes, mss_bytes, 1 << 40)
}

fn validate_timestamps(options: &TcpOptions) -> Result<(), TcpConfigError> {
    let Some(timestamps) = options.timestamps else {
        return Ok(());
    };
    let tick = timestamps.tick.0;
    in_range("timestamps.tick (ns)", tick, 1_000, 10_000_000_000)?;
    let drift_ppm = u64::from(timestamps.drift_ppm.unsigned_abs());
    in_range("timestamps.drift (ppm)", drift_ppm, 0, 100_000)
}

fn in_range(key: &'static str, value: u64, min: u64, max: u64) -> Result<(), TcpConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(TcpConfigError::OutOfRange {
        key,
        value,
        min,
        max,
    })
}

/// Which end opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Waits for [`Connection::connect`](super::Connection::connect).
    Client,
    /// Waits for a SYN.
    Server,
}

/// What two connections of one configuration do not share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// First sequence number.
    pub initial_seq: u32,
    /// What the timestamp clock shows at time zero. *Units:* ticks.
    pub timestamp_offset: u32,
    /// How much faster than real time the timestamp clock runs. *Units:* 10⁻⁶.
    pub drift_ppm: i32,
    /// Where the numbers come from that laws may ask for.
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_off_late_as_linux_timers_do() {
        let config = TcpConfig::new(TcpOptions::LINUX, "reno", None).unwrap();
        let late = |now_ms: u64, wait_ms: u64| {
            let now = Nanos::from_millis(now_ms);
            config.coarse(now, now + Nanos::from_millis(wait_ms)).0 / 1_000_000
        };
        // Ten jiffies and the one that has begun.
        assert_eq!(late(400, 40), 444);
        assert_eq!(late(403, 40), 444);
        // 75 jiffies: in buckets of eight, 75 to 80.
        assert_eq!(late(0, 300), 320);
        // 250 jiffies: a SYN is sent again after 1.024 s.
        assert_eq!(late(0, 1_000), 1_024);
    }
}
