// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A floor, under both backends and both ways, beside a greedy flow of real TCP.
mod common;

use common::{Ran, bound, judge_runs};

/// What is asked for, of 10 Mbit/s. *Units:* bit/s.
const MINIMUM: f64 = 2e6;

/// Two connections under a law, a greedy one from the beginning on.
fn text(law: &str) -> String {
    format!(
        "duration = \"18s\"\nbin = \"100ms\"\n[measure]\nbusy = [\"8s\", \"18s\"]\n[bottleneck]\n\
         rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = 40\n[[flow]]\nname = \"be\"\n[[flow]]\n\
         name = \"lbe\"\nclass = \"lbe\"\n{law}\ncount = 2\nstart = \"2s\"\nminimum = \"2mbit\"\n"
    )
}

/// The least of all seconds of which it is measured. *Units:* bit/s.
fn lowest(ran: &Ran) -> f64 {
    let bin_s = ran.0.series.bin_s;
    let flows = ran.0.flows.iter().zip(&ran.0.series.flows);
    let ours = flows.filter(|(flow, _)| flow.group == "lbe");
    let mut seconds = [0.0; 10];
    for (_, series) in ours {
        for (bin, rate) in series.goodput_bits_per_s.iter().enumerate() {
            let at_s = bin as f64 * bin_s - 8.0;
            if (0.0..10.0).contains(&at_s) {
                seconds[at_s as usize] += rate * bin_s;
            }
        }
    }
    seconds.into_iter().fold(f64::MAX, f64::min)
}

#[test]
fn beside_a_greedy_flow_no_backend_is_below_the_floor_either_way() {
    let name = "beside_a_greedy_flow_no_backend_is_below_the_floor_either_way";
    let laws = [
        "receiver = \"ebb\"",
        "sender = \"ebb-sender\"",
        "receiver = \"sampled\"",
        "sender = \"paced\"",
    ];
    let texts = laws.map(text);
    judge_runs(name, &texts, |ran| {
        let of_law = |(ran, law): (&Ran, &str)| {
            let (mean, lowest) = (ran.goodput("lbe") / MINIMUM, lowest(ran) / MINIMUM);
            eprintln!("{law}: mean {mean:.2}, lowest {lowest:.2} of the floor");
            let of = |what: &str| format!("{what}, {law}");
            [
                bound(mean, 1.0..2.0, &of("times the floor")),
                // A loss of one of two connections, repaired within this second.
                bound(lowest, 0.8.., &of("of the floor in the least second")),
            ]
            .concat()
        };
        ran.iter().zip(laws).flat_map(of_law).collect()
    });
}
