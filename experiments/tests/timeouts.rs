// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How often retransmission timers went off, of all and by web object.
use ebb_experiments::{Comparison, Experiment};
use support::{SIMULATED, compare};

mod support;

// A path that loses packets for one reader, and one that loses none for the other.
const SCENARIO: &str = "\
duration = \"60s\"
sender = \"reno\"
tcp = \"paper\"
hosts = [\"a\", \"b\", \"c\", \"d\"]
routers = [\"r\", \"s\"]
[[link]]
from = \"a\"
to = \"r\"
[[link]]
from = \"r\"
to = \"b\"
rate = \"10mbit\"
delay = \"10ms\"
queue = 1000
loss = \"20%\"
[[link]]
from = \"c\"
to = \"s\"
[[link]]
from = \"s\"
to = \"d\"
rate = \"10mbit\"
delay = \"10ms\"
queue = 1000
[[flow]]
name = \"reader\"
kind = \"web\"
from = \"a\"
to = \"b\"
object_size = 5000
[[flow]]
name = \"lucky\"
kind = \"web\"
from = \"c\"
to = \"d\"
object_size = 5000
";

const EXPERIMENT: &str = "\
title = \"readers\"
did = \"nothing: it is a test\"
runs = 1
scenario = \"readers.toml\"

[[case]]
name = \"one\"

[[row]]
name = \"all\"
measure = { kind = \"timeouts\", flows = \"reader\" }
paper = { one = 1 }

[[row]]
name = \"of each object\"
measure = { kind = \"timeouts\", flows = \"reader\", per_object = true }
paper = { one = 1 }

[[row]]
name = \"without losses\"
measure = { kind = \"timeouts\", flows = \"lucky\" }
paper = { one = 0 }

[[row]]
name = \"of each object without losses\"
measure = { kind = \"timeouts\", flows = \"lucky\", per_object = true }
paper = { one = 0 }
";

fn compared() -> Comparison {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("readers.toml"), SCENARIO).unwrap();
    let experiment = Experiment::parse("a/b", "b.toml", EXPERIMENT, folder.path()).unwrap();
    compare(&experiment, SIMULATED)
}

#[test]
fn timeouts_are_counted_of_all_and_by_object() {
    let ours: Vec<f64> = compared()
        .cells
        .iter()
        .map(|cell| cell.ours.unwrap())
        .collect();
    let [all, of_each, without, of_each_without] = ours[..] else {
        panic!("{ours:?}");
    };
    assert!(all > 10.0, "{all}");
    let objects = all / of_each;
    assert!(objects > 10.0, "{objects}");
    assert!((objects - objects.round()).abs() < 1e-6, "{objects}");
    assert!(without.abs() < 1e-9 && of_each_without.abs() < 1e-9);
}
