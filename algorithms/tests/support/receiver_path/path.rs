// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a path is like, and when a law comes to it.

/// What the path is like.
#[derive(Clone)]
pub struct Path {
    pub rate_bits_per_s: u64,
    pub rtt_us: u64,
    /// Length of the sender's tick; 0: no timestamps.
    pub tick_us: u64,
    /// How much faster the sender's clock runs.
    pub drift_ppm: i64,
    /// The sender's timestamp at the start.
    pub first_tsval: u32,
    /// The receiver's timestamp at the start.
    pub first_local_ts: u32,
    /// Constant traffic of others: from, until (us), bits per second.
    pub others: Vec<(u64, u64, u64)>,
    /// A greedy flow of others: from, until (us), one connection, CUBIC-like.
    pub greedy: Vec<(u64, u64)>,
    /// Others with a queue of their own who always have a packet in it: from, until (us).
    pub fair: Option<(u64, u64)>,
    /// Longest wait at the bottleneck; what would wait longer is dropped.
    pub buffer_us: u64,
    pub mss_bytes: u32,
    /// What the rate is from a time (us) on.
    pub slower: Option<(u64, u64)>,
    /// What the path's delay grows by at a time: at, by (us).
    pub longer: Option<(u64, u64)>,
    /// One segment of so many is held up by so much (us), and all behind it until it comes.
    pub held_up: Option<(u64, u64)>,
    /// Times in which the receiver's machine does nothing: from, for how long (us).
    pub stalls: Vec<(u64, u64)>,
    /// How far apart it takes what came meanwhile (us).
    pub catching_up_us: u64,
    /// The receiver's device waits so long for what follows a segment (us); 0: not at all.
    pub offload_us: u64,
    /// Who tells the law sees acknowledgements alone, of two segments mostly, as a gateway does.
    pub are_pairs_told: bool,
    /// The connection is an ordinary one before.
    pub taken_over: Option<TakenOver>,
}

/// A connection that the law comes to in the middle.
#[derive(Clone, Copy)]
pub struct TakenOver {
    /// When the law comes.
    pub at_us: u64,
    /// What was granted until then, and a little longer.
    pub granted_bytes: u64,
    /// What its sender has under way at the most.
    pub cwnd_bytes: u64,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            rate_bits_per_s: 10_000_000,
            rtt_us: 100_000,
            tick_us: 1000,
            drift_ppm: 0,
            first_tsval: 1_000_000,
            first_local_ts: 5_000_000,
            others: Vec::new(),
            greedy: Vec::new(),
            fair: None,
            buffer_us: u64::MAX,
            mss_bytes: 1448,
            slower: None,
            longer: None,
            held_up: None,
            stalls: Vec::new(),
            catching_up_us: 0,
            offload_us: 0,
            are_pairs_told: false,
            taken_over: None,
        }
    }
}

impl Path {
    pub fn rate_bits_per_s(&self, now_us: u64) -> u64 {
        let slower = self.slower.filter(|(at_us, _)| now_us >= *at_us);
        slower.map_or(self.rate_bits_per_s, |(_, rate)| rate)
    }
}
