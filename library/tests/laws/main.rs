// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The laws by the C face answer as they do by Rust's: `laws.c`, under AddressSanitizer, UBSan and
//! LeakSanitizer, is told the same by a pipe.

#[path = "../support/c.rs"]
mod c;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ebb_algorithms::{
    Ack, Policy, ReceiverFlow, Segment, SenderAck, SenderEvent, SenderFlow, SenderStart, Side,
    Start, counter_laws, laws,
};

const CALLS: u64 = 300;
const LAST_PHASE: u64 = 4;

#[test]
fn each_law_answers_in_c_as_in_rust() {
    let folder = tempfile::tempdir().unwrap();
    let program = c::build_sanitized("tests/laws/laws.c", folder.path());
    c::run(&mut Command::new(&program));
    for law in laws().iter().chain(counter_laws()) {
        let policy = Policy::with_defaults(law);
        match law.side() {
            Side::Sender => compare_sender(&program, &policy),
            Side::Receiver => compare_receiver(&program, &policy),
        }
    }
}

#[test]
fn a_law_of_the_other_end_is_refused_with_those_that_fit() {
    let folder = tempfile::tempdir().unwrap();
    let program = c::build_sanitized("tests/laws/laws.c", folder.path());
    let mut told = Told::start(&program, Side::Receiver, "ledbat++");
    told.write(Start::default().as_bytes());
    let (code, complaint) = told.end();
    assert_eq!(code, 1, "{complaint}");
    assert!(
        complaint.contains("ledbat++ is a sender law"),
        "{complaint}"
    );
    assert!(complaint.contains("rledbat"), "{complaint}");
}

fn compare_sender(program: &Path, policy: &Policy) {
    let mut random = Random(policy.law().number.into());
    let start: SenderStart = SenderStart::from_bytes(&random.bytes(size_of::<SenderStart>()));
    let mut flow = SenderFlow::new(policy.clone(), &start);
    let mut told = Told::start(program, Side::Sender, &policy.to_string());
    told.write(start.as_bytes());
    for call in 0..CALLS {
        let letter = b"aaaaalutia"[(random.next() % 10) as usize];
        told.write(&[letter]);
        if letter == b'a' {
            let bytes = random.bytes(size_of::<SenderAck>());
            let phase = (random.next() % (LAST_PHASE + 1)) as u8;
            let ack = SenderAck {
                phase,
                ..SenderAck::from_bytes(&bytes)
            };
            flow.on_ack(&ack);
            told.write(ack.as_bytes());
        } else {
            let bytes = random.bytes(size_of::<SenderEvent>());
            let phase = (random.next() % (LAST_PHASE + 1)) as u8;
            let event = SenderEvent {
                phase,
                ..SenderEvent::from_bytes(&bytes)
            };
            match letter {
                b'l' => flow.on_loss(&event),
                b't' => flow.on_timeout(&event),
                b'u' => flow.on_undo(&event),
                _ => flow.on_idle(&event),
            }
            told.write(event.as_bytes());
        }
        let window = flow.window();
        let mut expected = window.pacing_bytes_per_s.to_ne_bytes().to_vec();
        for field in [
            window.cwnd_pkts,
            window.ssthresh_pkts,
            window.segment_bytes,
            0,
        ] {
            expected.extend(field.to_ne_bytes());
        }
        assert_eq!(
            told.read(expected.len()),
            expected,
            "{policy}, call {call}: {window:?}"
        );
    }
    told.end_well();
}

fn compare_receiver(program: &Path, policy: &Policy) {
    let mut random = Random(policy.law().number.into());
    let start = Start::from_bytes(&random.bytes(size_of::<Start>()));
    let mut flow = ReceiverFlow::new(policy.clone(), &start);
    let mut told = Told::start(program, Side::Receiver, &policy.to_string());
    told.write(start.as_bytes());
    for call in 0..CALLS {
        if random.next().is_multiple_of(4) {
            let ack = Ack::from_bytes(&random.bytes(size_of::<Ack>()));
            flow.on_ack(&ack);
            told.write(b"a");
            told.write(ack.as_bytes());
        } else {
            let segment = Segment::from_bytes(&random.bytes(size_of::<Segment>()));
            flow.on_segment(&segment);
            told.write(b"s");
            told.write(segment.as_bytes());
        }
        let expected = [flow.window_bytes(), flow.ack_delay_us()].map(u32::to_ne_bytes);
        assert_eq!(told.read(8), expected.concat(), "{policy}, call {call}");
    }
    told.end_well();
}

/// The program in C.
struct Told(Child);

impl Told {
    fn start(program: &Path, side: Side, policy: &str) -> Self {
        let mut command = Command::new(program);
        let command = command.arg(side.to_string()).arg(policy);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(command.stderr(Stdio::piped()).spawn().unwrap())
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn read(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let read = self.0.stdout.as_mut().unwrap().read_exact(&mut bytes);
        if read.is_err() {
            let mut complaint = String::new();
            let errors = self.0.stderr.as_mut().unwrap();
            let _ = errors.read_to_string(&mut complaint);
            panic!("it ended: {complaint}");
        }
        bytes
    }

    fn end(mut self) -> (i32, String) {
        drop(self.0.stdin.take());
        let output = self.0.wait_with_output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap_or(-1), complaint)
    }

    fn end_well(self) {
        let (code, complaint) = self.end();
        assert_eq!(code, 0, "{complaint}");
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.next().to_ne_bytes());
        words
            .take(length.div_ceil(8))
            .flatten()
            .take(length)
            .collect()
    }
}
