// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A law in the kernel is the law compiled natively: the same inputs leave the same
//! bytes of state after every call. Recorded traces, then inputs that no network gives.

mod in_kernel;
#[path = "../support/native.rs"]
mod native;
mod random;
mod receiver_world;
mod sender_world;

use ebb_algorithms::{LawInfo, Policy, Side, law, laws, laws_of};
use ebb_kernel::requires_root;
use ebb_kernel::trace::{Input, Trace};
use in_kernel::Kernel;
use native::Native;
use random::Random;
use std::path::{Path, PathBuf};

const ABSURD_CALLS: usize = 20_000;
const SEEDS: [u64; 4] = [1, 2, 3, 0xebb];

#[test]
fn recorded_traces_leave_the_same_bytes() {
    if !requires_root("recorded_traces_leave_the_same_bytes") {
        return;
    }
    let paths = trace_files();
    for law in laws() {
        let mut kernel = Kernel::load(law);
        let mut calls = 0;
        for path in &paths {
            let trace = Trace::read(path).unwrap();
            if trace.law.side() != law.side() {
                continue;
            }
            for (_, records) in trace.by_connection() {
                // Every law is fed every trace of its end; the parameters are those of the recording
                // if it was of this law and they are within its bounds still.
                let policy = if trace.law.number == law.number {
                    policy_with(law, &trace.params)
                } else {
                    None
                };
                let policy = policy.unwrap_or_else(|| Policy::with_defaults(law));
                let inputs = records.iter().map(|record| record.input);
                calls += compare(&mut kernel, &policy, inputs, &path.display().to_string());
            }
        }
        assert!(
            calls > 1000,
            "only {calls} calls of {} in {paths:?}",
            law.name
        );
        eprintln!("{}: {calls} recorded calls are equal", law.name);
    }
}

#[test]
fn each_receiver_law_has_recorded_traces_and_some_sender_laws() {
    let traces: Vec<Trace> = trace_files()
        .iter()
        .map(|path| Trace::read(path).unwrap())
        .collect();
    let senders = ["cubic", "tcp-lp", "ledbat"].map(|name| law(name).unwrap());
    for law in laws_of(Side::Receiver).chain(senders) {
        let count = traces
            .iter()
            .filter(|trace| trace.law.number == law.number)
            .count();
        assert!(
            count >= 3,
            "{} has {count}; see docs/kernel-backend.md",
            law.name
        );
    }
}

#[test]
fn absurd_inputs_leave_the_same_bytes() {
    if !requires_root("absurd_inputs_leave_the_same_bytes") {
        return;
    }
    for law in laws() {
        let mut kernel = Kernel::load(law);
        for seed in SEEDS {
            for is_random in [false, true] {
                let mut random = Random(seed);
                let policy = if is_random {
                    random_policy(law, &mut random)
                } else {
                    Policy::with_defaults(law)
                };
                let name = format!("seed {seed}, {policy}");
                let inputs = absurd_inputs(law.side(), &mut random);
                compare(&mut kernel, &policy, inputs.into_iter(), &name);
            }
        }
    }
}

fn absurd_inputs(side: Side, random: &mut Random) -> Vec<Input> {
    let mut inputs = Vec::with_capacity(1 + ABSURD_CALLS);
    match side {
        Side::Receiver => {
            let mut world = receiver_world::World::default();
            inputs.push(Input::Start(receiver_world::absurd_start(random)));
            inputs.extend((0..ABSURD_CALLS).map(|_| world.absurd_input(random)));
        }
        Side::Sender => {
            let mut world = sender_world::World::default();
            inputs.push(Input::SenderStart(sender_world::absurd_start(random)));
            inputs.extend((0..ABSURD_CALLS).map(|_| world.absurd_input(random)));
        }
    }
    inputs
}

/// Runs the inputs in both worlds and gives how many there were.
fn compare(
    kernel: &mut Kernel,
    policy: &Policy,
    inputs: impl Iterator<Item = Input>,
    name: &str,
) -> usize {
    let mut native: Option<Native> = None;
    let mut calls = 0;
    for input in inputs {
        match (Native::begun(policy, &input), &mut native) {
            (Some(begun), _) => native = Some(begun),
            (None, Some(flow)) => flow.call(&input),
            (None, None) => panic!("{name}: does not begin at the start"),
        }
        let expected = match native.as_ref().unwrap() {
            Native::Receiver(flow) => flow.state_bytes(),
            Native::Sender(flow) => flow.state_bytes(),
        };
        let found = kernel.call(policy, &input);
        if found != expected {
            let at = found.iter().zip(expected).position(|(a, b)| a != b);
            panic!("{name}: call {calls} ({input:?}) differs at byte {at:?}");
        }
        calls += 1;
    }
    calls
}

fn trace_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .with_file_name("algorithms")
        .join("traces");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "trace"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no traces in {}", folder.display());
    paths
}

/// The law with these values, if they are within its bounds.
fn policy_with(law: &'static LawInfo, values: &[u32]) -> Option<Policy> {
    let settings: Vec<String> = law
        .params
        .iter()
        .zip(values)
        .map(|(param, value)| format!("{}={value}", param.name))
        .collect();
    format!("{}:{}", law.name, settings.join(",")).parse().ok()
}

fn random_policy(law: &'static LawInfo, random: &mut Random) -> Policy {
    let values: Vec<u32> = law
        .params
        .iter()
        .map(|param| param.min + random.below(u64::from(param.max - param.min) + 1) as u32)
        .collect();
    policy_with(law, &values).unwrap()
}
