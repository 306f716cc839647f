// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Ebb costs on a path without limits: a veth pair between two namespaces.
//!
//! ```text
//! sudo -E cargo bench -p ebb-kernel --bench cost
//! ```
//!
//! One transfer runs on; law `ebb` is attached to it and detached in turns, in either
//! order. The median of the ratios of goodput, pair by pair, must be at least 0.97. Then
//! each program's time per call, by the kernel's own run statistics. Exits with 1 if
//! missed.

#[path = "../tests/support/mod.rs"]
mod support;

use ebb_host::testing::{prefer_to_other_work, stay_on_cpu};
use ebb_kernel::{AttachOptions, Attachment, RunStatistics, requires_root};
use std::process::ExitCode;
use std::time::Duration;
use support::process::{Actor, Role, role};
use support::transfer::Sender;
use support::{Cable, Side};

const LEAST_RATIO: f64 = 0.97;
const PAIRS: usize = 30;
const WARMING_UP: Duration = Duration::from_secs(1);
/// After attaching or detaching, until the window has settled.
const SETTLING: Duration = Duration::from_millis(100);
const MEASURING: Duration = Duration::from_millis(300);

fn main() -> ExitCode {
    if std::env::var_os("EBB_TEST_ROLE").is_some() {
        role();
        return ExitCode::SUCCESS;
    }
    if !requires_root("the cost benchmark") {
        return ExitCode::SUCCESS;
    }
    let cable = Cable::new();
    prefer_to_other_work();
    stay_on_cpu(0);
    let (sender, address) = Sender::listen(&cable, cable.ipv4(Side::Left));
    let address = address.to_string();
    stay_on_cpu(1);
    let mut receiver = Actor::start(&cable, Some(&cable.cgroup), Role::Download, &address);
    stay_on_cpu(0);
    receiver.told("CONNECTED");
    std::thread::sleep(WARMING_UP);
    let ratio = median_ratio(&cable, &sender);
    time_per_call(&cable, &sender);
    if ratio < LEAST_RATIO {
        eprintln!("missed: {ratio:.3} is below {LEAST_RATIO}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn median_ratio(cable: &Cable, sender: &Sender) -> f64 {
    println!(
        "{:>4} {:>16} {:>16} {:>7}",
        "pair", "without Mbit/s", "with Mbit/s", "ratio"
    );
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        let is_ebb_first = pair % 2 == 1;
        let first = goodput_mbit_per_s(cable, sender, is_ebb_first);
        let second = goodput_mbit_per_s(cable, sender, !is_ebb_first);
        let (without, with) = if is_ebb_first {
            (second, first)
        } else {
            (first, second)
        };
        println!(
            "{pair:>4} {without:>16.0} {with:>16.0} {:>7.3}",
            with / without
        );
        ratios.push(with / without);
    }
    ratios.sort_by(f64::total_cmp);
    let at = |part: usize| ratios[ratios.len() * part / 4];
    println!(
        "goodput with Ebb / without: median {:.3} (quartiles {:.3} and {:.3})",
        at(2),
        at(1),
        at(3)
    );
    at(2)
}

fn goodput_mbit_per_s(cable: &Cable, sender: &Sender, is_under_ebb: bool) -> f64 {
    let attachment = is_under_ebb.then(|| attach(cable));
    std::thread::sleep(SETTLING);
    let rate = sender.measure_mbit_per_s(MEASURING);
    if let Some(attachment) = attachment {
        let counters = attachment.counters().unwrap();
        assert!(
            counters.adopted_established == 1 && counters.segments > 1000,
            "{counters:?}"
        );
        attachment.detach().unwrap();
    }
    rate
}

fn time_per_call(cable: &Cable, sender: &Sender) {
    let _statistics = RunStatistics::enable().unwrap();
    let attachment = attach(cable);
    std::thread::sleep(SETTLING);
    let rate = sender.measure_mbit_per_s(WARMING_UP);
    let counters = attachment.counters().unwrap();
    println!(
        "with run statistics: {rate:.0} Mbit/s, {:.1} segments per packet after GRO",
        counters.segments as f64 / counters.aggregates as f64
    );
    for time in attachment.run_times().unwrap() {
        let each_ns = time.total_ns as f64 / time.calls.max(1) as f64;
        println!(
            "{:<12} {:>9} calls {each_ns:>7.0} ns each",
            time.program, time.calls
        );
    }
}

fn attach(cable: &Cable) -> Attachment {
    let policy = "ebb".parse().unwrap();
    Attachment::attach(&cable.cgroup, &policy, AttachOptions::default()).unwrap()
}
