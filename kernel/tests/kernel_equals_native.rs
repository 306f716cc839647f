// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A law in the kernel is the law compiled natively: the same inputs leave the same
//! bytes of state after every call. Recorded traces, then inputs that no network gives.

use ebb_algorithms::{Ack, LawInfo, Policy, ReceiverFlow, Segment, Start, laws};
use ebb_kernel::requires_root;
use ebb_kernel::trace::{Input, Trace};
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};
use std::path::{Path, PathBuf};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/replay.bpf.o"));

const MAX_PARAMS: usize = ebb_algorithms::MAX_PARAMS;
const STEP_BYTES: usize = 8 + 56 + 4 * MAX_PARAMS;
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
            for (_, records) in trace.by_connection() {
                // Every law is fed every trace; the parameters are those of the recording
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
fn each_law_has_recorded_traces() {
    let traces: Vec<Trace> = trace_files()
        .iter()
        .map(|path| Trace::read(path).unwrap())
        .collect();
    for law in laws() {
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
                let start = Input::Start(absurd_start(&mut random));
                let mut world = World::default();
                let calls = (0..ABSURD_CALLS).map(|_| world.absurd_input(&mut random));
                let name = format!("seed {seed}, {policy}");
                compare(
                    &mut kernel,
                    &policy,
                    std::iter::once(start).chain(calls),
                    &name,
                );
            }
        }
    }
}

/// The law inside the kernel.
struct Kernel {
    object: Object,
    law: &'static LawInfo,
}

impl Kernel {
    fn load(law: &'static LawInfo) -> Self {
        let mut open = ObjectBuilder::default().open_memory(OBJECT).unwrap();
        // struct ebb_config: the law's number follows the cgroup's id.
        let mut config = [0u8; 24];
        config[8..12].copy_from_slice(&law.number.to_ne_bytes());
        for mut map in open.maps_mut() {
            if map.name() == ".rodata.config" {
                map.set_initial_value(&config).unwrap();
            }
        }
        let object = open.load().unwrap();
        Self { object, law }
    }

    /// Makes one call and gives the law's state.
    fn call(&mut self, policy: &Policy, input: &Input) -> Vec<u8> {
        let mut step = [0u8; STEP_BYTES];
        step[..4].copy_from_slice(&input.kind().to_ne_bytes());
        let bytes = input.as_bytes();
        step[8..8 + bytes.len()].copy_from_slice(bytes);
        for (place, value) in policy.values().iter().enumerate() {
            step[64 + 4 * place..68 + 4 * place].copy_from_slice(&value.to_ne_bytes());
        }
        let state = self
            .object
            .maps()
            .find(|map| map.name() == ".data.state")
            .unwrap();
        let key = 0u32.to_ne_bytes();
        if matches!(input, Input::Start(_)) {
            let zeros = vec![0; state.value_size() as usize];
            state.update(&key, &zeros, MapFlags::ANY).unwrap();
        }
        let program = self.object.progs_mut().next().unwrap();
        let output = program
            .test_run(ProgramInput {
                context_in: Some(&mut step),
                ..Default::default()
            })
            .unwrap();
        assert_eq!(output.return_value, 1);
        let mut state = state.lookup(&key, MapFlags::ANY).unwrap().unwrap();
        state.truncate(self.law.state_bytes);
        state
    }
}

/// Runs the inputs in both worlds and gives how many there were.
fn compare(
    kernel: &mut Kernel,
    policy: &Policy,
    inputs: impl Iterator<Item = Input>,
    name: &str,
) -> usize {
    let mut native: Option<ReceiverFlow> = None;
    let mut calls = 0;
    for input in inputs {
        match (&input, &mut native) {
            (Input::Start(start), _) => native = Some(ReceiverFlow::new(policy.clone(), start)),
            (_, Some(flow)) => call(flow, &input),
            (_, None) => panic!("{name}: does not begin at the start"),
        }
        let expected = native.as_ref().unwrap().state_bytes();
        let found = kernel.call(policy, &input);
        if found != expected {
            let at = found.iter().zip(expected).position(|(a, b)| a != b);
            panic!("{name}: call {calls} ({input:?}) differs at byte {at:?}");
        }
        calls += 1;
    }
    calls
}

fn call(flow: &mut ReceiverFlow, input: &Input) {
    match input {
        Input::Start(_) => panic!("a second start"),
        Input::Segment(segment) => flow.on_segment(segment),
        Input::Ack(ack) => flow.on_ack(ack),
    }
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

/// Xorshift64*: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    /// Numbers of all magnitudes, the extremes included.
    fn number(&mut self) -> u32 {
        match self.below(8) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << self.below(32),
            _ => (self.next() >> (32 + self.below(32))) as u32,
        }
    }

    fn flag(&mut self) -> u8 {
        (self.below(4) != 0).into()
    }
}

fn absurd_start(random: &mut Random) -> Start {
    Start {
        now_us: random.next() >> random.below(64),
        mss_bytes: random.number(),
        rcv_nxt: random.number(),
        has_timestamps: random.flag().into(),
        tsval: random.number(),
    }
}

/// A network that mostly behaves, so that the laws get far, and then does not.
#[derive(Default)]
struct World {
    now_us: u64,
    seq: u32,
    sender_ts: u32,
}

impl World {
    fn absurd_input(&mut self, random: &mut Random) -> Input {
        self.now_us = self.now_us.wrapping_add(match random.below(1000) {
            0 => random.next() >> random.below(64),
            1..10 => random.below(5_000_000),
            _ => random.below(3000),
        });
        if random.below(3) == 0 {
            Input::Ack(self.ack(random))
        } else {
            Input::Segment(self.segment(random))
        }
    }

    fn segment(&mut self, random: &mut Random) -> Segment {
        let payload_bytes = 1448 * (1 + random.below(3) as u32);
        self.sender_ts = self.sender_ts.wrapping_add(random.below(4) as u32);
        let mut segment = Segment {
            now_us: self.now_us,
            seq: self.seq,
            payload_bytes,
            segments: payload_bytes / 1448,
            tsval: self.sender_ts,
            tsecr: (self.now_us / 1000) as u32,
            local_ts: (self.now_us / 1000) as u32 + random.below(100) as u32,
            local_tick_us: 1000,
            rcv_nxt: self.seq,
            right_edge_seq: self.seq.wrapping_add(65536),
            mss_bytes: 1448,
            kernel_rtt_us: random.below(200_000) as u32,
            has_timestamps: random.flag(),
            is_ce: (random.below(50) == 0).into(),
            is_observing: (random.below(50) == 0).into(),
            reserved: 0,
        };
        self.seq = self.seq.wrapping_add(payload_bytes);
        if random.below(10) == 0 {
            let number = random.number();
            match random.below(11) {
                0 => segment.seq = number,
                1 => segment.payload_bytes = number,
                2 => segment.segments = number,
                3 => segment.tsval = number,
                4 => segment.tsecr = number,
                5 => segment.local_ts = number,
                6 => segment.local_tick_us = number,
                7 => segment.rcv_nxt = number,
                8 => segment.right_edge_seq = number,
                9 => segment.mss_bytes = number,
                _ => segment.kernel_rtt_us = number,
            }
        }
        segment
    }

    fn ack(&mut self, random: &mut Random) -> Ack {
        let mut ack = Ack {
            now_us: self.now_us,
            ack_seq: self.seq,
            local_ts: (self.now_us / 1000) as u32,
            local_tick_us: 1000,
            right_edge_seq: self.seq.wrapping_add(65536),
            mss_bytes: 1448,
            has_timestamps: random.flag(),
            is_observing: (random.below(50) == 0).into(),
            reserved: [0; 2],
        };
        if random.below(10) == 0 {
            let number = random.number();
            match random.below(5) {
                0 => ack.ack_seq = number,
                1 => ack.local_ts = number,
                2 => ack.local_tick_us = number,
                3 => ack.right_edge_seq = number,
                _ => ack.mss_bytes = number,
            }
        }
        ack
    }
}
