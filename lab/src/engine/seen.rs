// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a receiver law saw of each connection: the kernel's programs record its calls, and
//! the same law, run on these again, says what it took the sender's window for.
use std::path::Path;

use ebb_algorithms::{PairRounds, Policy, ReceiverFlow};
use ebb_kernel::trace::{Input, Record, Trace};
use ebb_link::Nanos;
use ebb_scenario::{Interval, VariationRound, Variations};

/// What the law of one connection saw.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When the estimate of the sender's window became another. *Units:* µs of the clock that
    /// never jumps, bytes.
    estimates: Vec<(u64, u32)>,
    /// Round trips that it watched: when they ended, in µs, and their variations.
    rounds: Vec<(u64, ebb_algorithms::Variations)>,
}

/// Whether there is more to know of a policy than its window.
pub(super) fn is_telling(policy: &Policy) -> bool {
    PairRounds::new(policy.clone()).is_some()
}

/// Reads what was recorded of the connections of a cgroup. *Returns:* the sockets' cookies
/// with what their laws saw, up to the first call that is missing.
///
/// *Errors:* [`ebb_kernel::Error::Trace`].
pub(super) fn read(path: &Path, policy: &Policy) -> ebb_kernel::Result<Vec<(u64, Seen)>> {
    let trace = Trace::read(path)?;
    let connections = trace.by_connection().into_iter();
    let replayed = connections.map(|(cookie, records)| (cookie, Seen::replay(&records, policy)));
    Ok(replayed.collect())
}

impl Seen {
    fn replay(records: &[Record], policy: &Policy) -> Self {
        let mut seen = Self::default();
        let mut flow = None;
        let mut pairs = PairRounds::new(policy.clone());
        for (order, record) in records.iter().enumerate() {
            if record.order as usize != order {
                tracing::warn!("policy {policy}: call {order} of its law was not recorded");
                break;
            }
            match (record.input, &mut flow) {
                (Input::Start(start), _) => flow = Some(ReceiverFlow::new(policy.clone(), &start)),
                (Input::Segment(segment), Some(flow)) => {
                    let echoes = (segment.tsval, segment.tsecr);
                    let watched = pairs.as_mut().filter(|_| segment.is_observing != 0);
                    let ended = watched.and_then(|pairs| {
                        pairs.on_segment(segment.now_us, segment.local_ts, echoes)
                    });
                    let ended = ended.map(|variations| (segment.now_us, variations));
                    seen.rounds.extend(ended);
                    flow.on_segment(&segment);
                }
                (Input::Ack(ack), Some(flow)) => flow.on_ack(&ack),
                _ => break,
            }
            let Some(flow) = &flow else { break };
            if flow.window_bytes() != record.answer {
                tracing::warn!("policy {policy}: the kernel's law answered otherwise than ours");
                break;
            }
            seen.note(record.input.now_us(), flow);
        }
        seen
    }

    fn note(&mut self, now_us: u64, flow: &ReceiverFlow) {
        let estimate = flow.estimate_bytes();
        if estimate != self.estimates.last().map(|(_, bytes)| *bytes) {
            self.estimates.extend(estimate.map(|bytes| (now_us, bytes)));
        }
    }

    /// What the law took the sender's window for at this time; none before it began.
    pub(super) fn estimate_bytes(&self, at: Nanos) -> Option<u64> {
        let at_us = at.0 / 1_000;
        let later = self.estimates.partition_point(|(us, _)| *us <= at_us);
        let last = self.estimates[..later].last();
        last.map(|(_, bytes)| u64::from(*bytes))
    }

    /// Round trips that the law watched, in a run that began at `epoch`.
    pub(super) fn rounds(&self, epoch: Nanos) -> impl Iterator<Item = VariationRound> {
        self.rounds
            .iter()
            .map(move |(us, variations)| VariationRound {
                at_s: Nanos(us * 1_000).since(epoch).as_secs_f64(),
                all: variations.all,
                positive: variations.positive,
                sum_jiffies: variations.sum_jiffies,
            })
    }

    /// Those that ended in an interval, together.
    pub(super) fn variations(&self, epoch: Nanos, interval: &Interval) -> Option<Variations> {
        let part_s = interval.from.as_secs_f64()..interval.to.as_secs_f64();
        let rounds = self.rounds(epoch);
        Variations::of(rounds.filter(|round| part_s.contains(&round.at_s)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_algorithms::{Ack, Segment, Start};

    /// The calls of a law on a connection with a packet each 5 ms for half a second, which
    /// echoes what is 100 ms old, and the law's answers.
    fn calls(policy: &Policy) -> Vec<Record> {
        let start = Start {
            now_us: 1_000_000,
            mss_bytes: 1_448,
            has_timestamps: 1,
            ..Start::default()
        };
        let mut flow = ReceiverFlow::new(policy.clone(), &start);
        let mut records = Vec::new();
        let mut note = |flow: &ReceiverFlow, input| {
            let order = records.len() as u32;
            let answer = flow.window_bytes();
            records.push(Record {
                cookie: 7,
                order,
                answer,
                input,
            });
        };
        note(&flow, Input::Start(start));
        for packet in 0..100_u32 {
            let local_ts = 1_000 + packet * 5;
            let segment = Segment {
                now_us: u64::from(local_ts) * 1_000,
                seq: packet * 1_448,
                payload_bytes: 1_448,
                segments: 1,
                tsval: packet * 5,
                tsecr: local_ts - 100,
                local_ts,
                local_tick_us: 1_000,
                rcv_nxt: packet * 1_448,
                right_edge_seq: 1 << 20,
                mss_bytes: 1_448,
                has_timestamps: 1,
                is_observing: u8::from(packet < 50),
                ..Segment::default()
            };
            flow.on_segment(&segment);
            note(&flow, Input::Segment(segment));
            let ack = Ack {
                now_us: segment.now_us,
                ack_seq: segment.seq + 1_448,
                local_ts,
                local_tick_us: 1_000,
                right_edge_seq: 1 << 20,
                mss_bytes: 1_448,
                has_timestamps: 1,
                ..Ack::default()
            };
            flow.on_ack(&ack);
            note(&flow, Input::Ack(ack));
        }
        records
    }

    #[test]
    fn the_law_says_again_what_it_saw() {
        let policy: Policy = "vulture".parse().unwrap();
        let seen = Seen::replay(&calls(&policy), &policy);
        let epoch = Nanos::from_millis(1_000);
        // Round trips end 105 and 210 ms after the beginning; after 250 ms it only acts.
        let rounds: Vec<_> = seen.rounds(epoch).map(|round| round.at_s).collect();
        assert_eq!(rounds, [0.105, 0.21]);
        let interval = Interval {
            name: "late".into(),
            from: Nanos::from_millis(200),
            to: Nanos::from_millis(500),
        };
        assert_eq!(seen.variations(epoch, &interval).unwrap().rounds, 1);
        assert_eq!(seen.estimate_bytes(Nanos::from_millis(900)), None);
        // 21 packets are under way in 105 ms.
        let packets = seen.estimate_bytes(Nanos::from_millis(1_500)).unwrap() / 1_448;
        assert!((15..=25).contains(&packets), "{packets}");
    }

    #[test]
    fn what_comes_after_a_missing_call_is_not_known() {
        let policy: Policy = "vulture".parse().unwrap();
        let mut records = calls(&policy);
        records.remove(60);
        let seen = Seen::replay(&records, &policy);
        assert_eq!(seen.rounds.len(), 1);
        let last_us = seen.estimates.last().unwrap().0;
        assert!(last_us < 1_150_000, "{last_us}");
    }

    #[test]
    fn only_laws_with_an_estimate_have_more_to_tell() {
        assert!(is_telling(&"vulture".parse().unwrap()));
        assert!(!is_telling(&"ebb".parse().unwrap()));
    }
}
