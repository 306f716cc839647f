// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links with a bucket of tokens, drawn at random: a shaper's, or a provider's.
use std::fmt::Write as _;

use ebb_link::Nanos;
use ebb_scenario::{Seeds, Stream};

use super::draw::{PACKET_BYTES, between, rounded};

/// The seed of those that are stored in `buckets.toml`.
pub const BUCKETS_SEED: u64 = 20_261_127;
/// Links; beside every third a flow comes and goes.
const LINKS: usize = 48;
const GREEDY_EVERY: usize = 3;
/// They are quick if no more can pass than this.
const QUICK_KBIT: f64 = 25_000.0;

/// Ranges, evenly on a logarithmic scale. The rate is that of packets for which there are tokens.
const RATE_KBIT: [f64; 2] = [10_000.0, 200_000.0];
const RTT_US: [f64; 2] = [10_000.0, 200_000.0];
const QUEUE_BDP: [f64; 2] = [1.0, 4.0];
/// Two packets, and what a provider's "boost" has.
const SIZE_BYTES: [f64; 2] = [3_000.0, 2e6];
/// How fast tokens come, as a part of the rate; evenly.
const TOKENS: [f64; 2] = [0.4, 0.95];

/// The text of a group whose links were drawn with this seed: the same text each time.
pub fn draw_buckets(seed: u64) -> String {
    let mut text = format!(
        "# SPDX-License-Identifier: Apache-2.0 OR MIT\n\
         # Links with a bucket of tokens, drawn and not chosen: docs/varying-rates.md.\n\
         # cargo run -q -p ebb-experiments --example draw_buckets -- {seed}\n"
    );
    for number in 1..=LINKS {
        let mut random = Seeds::new(seed).stream("bucket", &number.to_string());
        write_link(number, &mut random, &mut text);
    }
    text
}

fn write_link(number: usize, random: &mut Stream, text: &mut String) {
    let rate_kbit = rounded(between(random, RATE_KBIT));
    let rtt_us = rounded(between(random, RTT_US));
    let part = TOKENS[0] + random.unit() * (TOKENS[1] - TOKENS[0]);
    let tokens_kbit = rounded(rate_kbit * part);
    let size_bytes = rounded(between(random, SIZE_BYTES));
    let bdp_pkts = rate_kbit * rtt_us / 8e3 / PACKET_BYTES;
    let queue_pkts = rounded(between(random, QUEUE_BDP) * bdp_pkts).ceil();
    let is_alone = !number.is_multiple_of(GREEDY_EVERY);
    let (others, file, busy) = if is_alone {
        ("nobody else", "alone.toml", "")
    } else {
        let busy = "busy = [\"20s\", \"40s\"]\n";
        ("a greedy CUBIC flow for 20 s", "greedy.toml", busy)
    };
    let _ = write!(
        text,
        "\n[[scenario]]\nname = \"bucket-{number}\"\n\
         title = \"{} Mbit/s, {} beyond {} kB, {}; {others}\"\n\
         file = \"{file}\"\nset = [\n\
         \x20 'bottleneck.rate={rate_kbit}kbit',\n\
         \x20 'bottleneck.bucket={{ rate = \"{tokens_kbit}kbit\", size = {size_bytes} }}',\n\
         \x20 'bottleneck.rtt={rtt_us}us',\n\
         \x20 'bottleneck.queue={queue_pkts}',\n\
         ]\n{busy}{}",
        rate_kbit / 1e3,
        tokens_kbit / 1e3,
        size_bytes / 1e3,
        Nanos::from_micros(rtt_us as u64),
        if rate_kbit <= QUICK_KBIT {
            "quick = true\n"
        } else {
            ""
        },
    );
}
