// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ebb is killed at random points, and everything is free in time; transfers of all sizes cross
//! bad paths, and every byte arrives.
//!
//! `make test` does a hundredth of what `make soak` does. Each failure tells its number:
//! `EBB_SOAK_ONLY=NUMBER EBB_SOAK_SEED=SEED` does that one alone again.

#[path = "../support/mod.rs"]
mod support;

#[path = "../transfers/mod.rs"]
mod transfers;

mod batches;
mod chance;
mod clamp;
mod kill_table;
mod kills;
mod peers;
mod point;
mod report;
mod scene;
mod server;
mod settings;
mod transfer;
mod transfer_table;
mod victims;
mod watch;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kills::Killed;
use point::{Backend, Phase, Point};
use settings::Settings;

/// One of these at a time: each takes what the machine has.
static ALONE: Mutex<()> = Mutex::new(());

/// The slowness of 99 % with Ebb, by that without.
const MOST_QUOTIENT: f64 = 1.1;

#[test]
fn a_kill_at_any_point_leaves_nothing_limited() {
    let name = "a_kill_at_any_point_leaves_nothing_limited";
    if !ebb_kernel::requires_feature(name, "callback-flags") {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = Settings::read("EBB_SOAK_KILLS", 10, 10);
    let draw = |number: &u64| Point::draw(&settings, *number);
    let points = settings.numbers.iter().map(draw).collect();
    let (all, emulator) = kills::run(points, settings.parallel);
    report::publish("kills.md", &kill_table::of_kills(&all));
    eprintln!("seed {}; {}", settings.seed, emulator.summary());
    expect_no_problem(&all);
}

/// By chance the few points of an ordinary run have not all of them.
#[test]
fn whoever_of_ebb_run_is_killed_a_program_has_back_what_it_had_set() {
    let name = "whoever_of_ebb_run_is_killed_a_program_has_back_what_it_had_set";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = Settings::read("EBB_SOAK_KILLS", 0, 8);
    let of_each = [Backend::Kernel, Backend::User]
        .into_iter()
        .flat_map(|backend| {
            let victims = backend.victims(Phase::Hold).iter();
            victims.map(move |victims| (backend, *victims))
        });
    // Numbers that no other point has.
    let points = (1_000_000..)
        .zip(of_each)
        .map(|(number, (backend, victims))| Point {
            backend,
            victims,
            phase: Phase::Hold,
            delay: Duration::from_millis(300),
            policies: [backend.usual_policies(); 2],
            ..Point::draw(&settings, number)
        });
    let (all, _) = kills::run(points.collect(), settings.parallel);
    expect_no_problem(&all);
}

fn expect_no_problem(all: &[Killed]) {
    let failed: Vec<String> = all
        .iter()
        .filter(|it| !it.problems.is_empty())
        .map(|it| format!("{:?}, {:?} killed: {:?}", it.point, it.whom, it.problems))
        .collect();
    let (failures, count) = (failed.len(), all.len());
    assert!(
        failed.is_empty(),
        "{failures} of {count} points:\n{}",
        failed.join("\n")
    );
}

#[test]
fn transfers_over_bad_paths_are_whole_and_not_slower_than_without_ebb() {
    let name = "transfers_over_bad_paths_are_whole_and_not_slower_than_without_ebb";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = Settings::read("EBB_SOAK_TRANSFERS", 100, 8);
    let crossed = batches::run(&settings);
    report::publish(
        "transfers.md",
        &transfer_table::of_transfers(&crossed.triples),
    );
    eprintln!(
        "{}{}\nseed {}; {} batches, {} attempts repeated, {} disturbed each time\n{}",
        chance::of_single_ones(&crossed.triples),
        chance::of_quotient(&settings, &crossed.triples),
        settings.seed,
        crossed.batches,
        crossed.repeated,
        crossed.disturbed,
        crossed.lateness.join("\n")
    );
    let broken = crossed.triples.iter().filter(|it| !it.problems.is_empty());
    let broken: Vec<String> = broken.map(|it| format!("{it:?}")).collect();
    let (failures, count) = (broken.len(), crossed.triples.len());
    assert!(
        broken.is_empty(),
        "{failures} of {count} transfers:\n{}",
        broken.join("\n")
    );
    if count >= batches::JUDGED_FROM {
        let all: Vec<_> = crossed.triples.iter().collect();
        let quotient = transfer_table::quotient(&all, batches::Triple::slowness);
        assert!(
            quotient <= MOST_QUOTIENT,
            "99 % are slower by {quotient:.3}"
        );
    }
}
