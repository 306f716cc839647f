// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A path whose queue holds far more than the target of any law.

use crate::sender_path::{Outcome, Path, Plan, run};

/// 10 Mbit/s with room for much more than any target.
pub fn deep_queue(rtt_ms: u64) -> Path {
    Path {
        rtt_us: rtt_ms * 1000,
        queue_pkts: 400,
        ..Path::default()
    }
}

pub fn alone(path: &Path, policy: &str) -> Outcome {
    let outcome = run(path, &[Plan::greedy(policy)], 120);
    println!(
        "{policy} alone: {:.3} of the link, {:.1} ms of queue",
        outcome.share(0, 20.0, 120.0),
        outcome.mean_wait_ms(20.0, 120.0)
    );
    outcome
}
