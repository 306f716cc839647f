// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::{Burst, FlowResult};

/// Counts what arrives.
pub(super) struct Receiver {
    bin_us: u64,
    total_bytes: u64,
    burst_first_byte_s: Option<f64>,
}

impl Receiver {
    pub(super) fn new(bin_us: u64) -> Self {
        Self {
            bin_us,
            total_bytes: 0,
            burst_first_byte_s: None,
        }
    }

    /// Notes `count` bytes; `burst_ends` are the stream offsets where bursts ended.
    pub(super) fn note(
        &mut self,
        result: &mut FlowResult,
        now_s: f64,
        count: u64,
        burst_ends: &[u64],
    ) {
        let bin = (now_s * 1e6).max(0.0) as u64 / self.bin_us;
        let bin = usize::try_from(bin).expect("an experiment has fewer bins than memory");
        if result.received_bytes.len() <= bin {
            result.received_bytes.resize(bin + 1, 0);
        }
        result.received_bytes[bin] += count;
        result.first_byte_s.get_or_insert(now_s);
        result.last_byte_s = Some(now_s);
        self.total_bytes += count;
        self.note_bursts(result, now_s, burst_ends);
    }

    fn note_bursts(&mut self, result: &mut FlowResult, now_s: f64, burst_ends: &[u64]) {
        let begun_s = *self.burst_first_byte_s.get_or_insert(now_s);
        let number = result.bursts.len();
        let Some(end) = burst_ends.get(number).copied() else {
            return;
        };
        if self.total_bytes < end {
            return;
        }
        let start = number.checked_sub(1).map_or(0, |before| burst_ends[before]);
        result.bursts.push(Burst {
            first_byte_s: begun_s,
            last_byte_s: now_s,
            size_bytes: end - start,
        });
        self.burst_first_byte_s = (self.total_bytes > end).then_some(now_s);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FlowKind, FlowSpec, Role};
    use super::*;

    #[test]
    fn tells_bursts_apart_by_their_ends_in_the_stream() {
        let spec = FlowSpec::new("f", Role::BestEffort, FlowKind::OnOff { period_s: 1.0 });
        let mut result = FlowResult::new(spec, 10_000);
        let mut receiver = Receiver::new(10_000);
        receiver.note(&mut result, 0.100, 500, &[]);
        receiver.note(&mut result, 1.050, 500, &[1_000]);
        receiver.note(&mut result, 2.100, 300, &[1_000]);
        receiver.note(&mut result, 3.070, 400, &[1_000, 1_700]);
        let times: Vec<_> = result
            .bursts
            .iter()
            .map(|burst| (burst.first_byte_s, burst.last_byte_s, burst.size_bytes))
            .collect();
        assert_eq!(times, [(0.100, 1.050, 1_000), (2.100, 3.070, 700)]);
        assert_eq!(result.received_bytes[10], 500);
        assert_eq!(result.total_bytes(), 1_700);
    }
}
