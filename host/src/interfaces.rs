// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the interfaces of this machine carry.

use std::collections::HashMap;
use std::path::Path;

/// Counts what goes over the interfaces of the network namespace that the process is in: over those
/// with hardware behind them, so that what goes through a bridge, a tunnel or a container's cable
/// is not counted twice. Where there is none, as within a container, over all but loopback.
#[derive(Debug, Default)]
pub struct Interfaces {
    before: Option<Counts>,
}

/// What each interface received and sent since it is there. *Units*: bytes.
type Counts = HashMap<String, [u64; 2]>;

impl Interfaces {
    /// What was received, and sent, since this was asked last; nothing at first. *Units*: bytes,
    /// with the headers that interfaces count. None if the system does not tell.
    pub fn carried(&mut self) -> Option<[u64; 2]> {
        let status = procfs::net::dev_status().ok()?;
        let counts = status.into_values();
        let counts = counts.map(|it| (it.name, [it.recv_bytes, it.sent_bytes]));
        let counts = those_that_count(counts.collect(), has_hardware);
        let carried = match &self.before {
            Some(before) => since(before, &counts),
            None => [0; 2],
        };
        self.before = Some(counts);
        Some(carried)
    }
}

fn has_hardware(name: &str) -> bool {
    Path::new("/sys/class/net")
        .join(name)
        .join("device")
        .exists()
}

fn those_that_count(mut counts: Counts, has_hardware: impl Fn(&str) -> bool) -> Counts {
    match counts.keys().any(|name| has_hardware(name)) {
        true => counts.retain(|name, _| has_hardware(name)),
        false => drop(counts.remove("lo")),
    }
    counts
}

/// One that was not there begins now; so does one whose counters went back, for it is another one.
fn since(before: &Counts, now: &Counts) -> [u64; 2] {
    let mut carried = [0; 2];
    for (name, counts) in now {
        let Some(before) = before.get(name) else {
            continue;
        };
        if counts.iter().zip(before).all(|(now, before)| now >= before) {
            for way in [0, 1] {
                carried[way] += counts[way] - before[way];
            }
        }
    }
    carried
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn counts<const N: usize>(them: [(&str, [u64; 2]); N]) -> Counts {
        let them = them.into_iter();
        them.map(|(name, counts)| (name.to_owned(), counts))
            .collect()
    }

    #[test]
    fn what_goes_through_a_bridge_counts_once() {
        let all = counts([
            ("lo", [9, 9]),
            ("eth0", [1, 2]),
            ("docker0", [1, 2]),
            ("veth1", [1, 2]),
        ]);
        let hardware = those_that_count(all.clone(), |name| name == "eth0");
        assert_eq!(hardware, counts([("eth0", [1, 2])]));
        let without = those_that_count(all, |_| false);
        assert_eq!(without.len(), 3);
        assert!(!without.contains_key("lo"));
    }

    #[test]
    fn only_what_was_carried_in_between_counts() {
        let before = counts([("a", [100, 10]), ("again", [1_000, 1_000])]);
        // b is new; the other one went and came back.
        let now = counts([("a", [150, 11]), ("again", [7, 1_001]), ("b", [5, 5])]);
        assert_eq!(since(&before, &now), [50, 1]);
    }

    #[test]
    fn what_stays_on_this_machine_is_not_counted() {
        let mut interfaces = Interfaces::default();
        assert_eq!(interfaces.carried(), Some([0; 2]));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sending = std::thread::spawn(move || there.write_all(&[7; 20_000_000]).unwrap());
        let mut here = listener.accept().unwrap().0;
        let mut bytes = Vec::new();
        here.read_to_end(&mut bytes).unwrap();
        sending.join().unwrap();
        let [received, _] = interfaces.carried().unwrap();
        assert!(received < bytes.len() as u64, "{received}");
    }
}
