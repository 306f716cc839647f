// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A law of one's own with real TCP, by the kernel backend.

use ebb_kernel::requires_root;
use ebb_lab::judging::{Attempt, judge};
use serde_json::Value;

use crate::support::stderr;
use crate::{Place, gentle};

/// An upload alone; its law keeps the queue at what it is told to.
const ALONE: &str = "\
duration = \"10s\"
[measure]
alone = [\"4s\", \"10s\"]
[bottleneck]
rate = \"10mbit\"
rtt = \"40ms\"
queue = 100
[[flow]]
name = \"mine\"
sender = \"gentle\"
";

#[test]
fn the_law_of_the_page_does_with_real_tcp_what_it_does_in_the_simulator() {
    let name = "the_law_of_the_page_does_with_real_tcp_what_it_does_in_the_simulator";
    if !requires_root(name) {
        return;
    }
    let place = Place::new();
    let built = place.build_as("gentle.h", &gentle(), &[]);
    assert!(built.status.success(), "{}", stderr(&built));
    assert_eq!(stderr(&built), "");
    let listed = place.policies(&["gentle.so"]);
    assert!(
        listed.contains("uploads by the kernel backend: gentle"),
        "{listed}"
    );
    std::fs::write(place.path("alone.toml"), ALONE).unwrap();
    for target in ["target_us=10000", "target_us=60000"] {
        judge(&format!("{name}, {target}"), || {
            in_both_engines(&place, target)
        });
    }
}

fn in_both_engines(place: &Place, target: &str) -> Attempt {
    let setting = format!("flow.mine.sender=gentle:{target}");
    let run = |engine: &str, how: &[&str]| {
        let mut command = place.ebb(&["gentle.so"]);
        command.args([engine, "run", "alone.toml", "--set", &setting]);
        command.args(how).output().unwrap()
    };
    let in_sim = run("sim", &["--json"]);
    assert!(in_sim.status.success(), "{}", stderr(&in_sim));
    let in_lab = run("lab", &["--out", "results", "--retries", "0"]);
    let said = stderr(&in_lab);
    let is_disturbed = !in_lab.status.success();
    assert!(
        !is_disturbed || said.contains("too busy to emulate"),
        "{said}"
    );
    let lab = std::fs::read(place.path("results/alone.json")).unwrap();
    let (lab_ms, lab) = queue_and_goodput(&lab);
    let (sim_ms, sim) = queue_and_goodput(&in_sim.stdout);
    let apart = format!(
        "{target}: {lab_ms:.1} and {sim_ms:.1} ms, {lab:.2} and {sim:.2} Mbit/s in lab and simulator"
    );
    let is_near = (lab_ms - sim_ms).abs() < 1.0 + sim_ms / 10.0 && (lab / sim - 1.0).abs() < 0.05;
    Attempt {
        wrong: Vec::from_iter((!is_near).then_some(apart)),
        disturbed: is_disturbed.then_some(said),
    }
}

/// Mean in ms, and Mbit/s.
fn queue_and_goodput(result: &[u8]) -> (f64, f64) {
    let result: Value = serde_json::from_slice(result).unwrap();
    let run = &result["runs"][0];
    let queue_ms = &run["links"][0]["measures"][0]["queue_delay_ms"]["mean"];
    let goodput = &run["flows"][0]["measures"][0]["goodput_bits_per_s"];
    (queue_ms.as_f64().unwrap(), goodput.as_f64().unwrap() / 1e6)
}

#[test]
fn a_law_without_programs_for_the_kernel_is_said_to_have_none() {
    let place = Place::new();
    // `cc` knows no eBPF: that is not the header's fault.
    for (compiler, why) in [
        ("/nonexistent/clang", "have the law\n"),
        ("cc", "this one says:"),
    ] {
        let built = place.build_as("gentle.h", &gentle(), &["--kernel-compiler", compiler]);
        let said = stderr(&built);
        assert!(built.status.success(), "{said}");
        let expected = format!("without programs for the kernel, which need {compiler}");
        assert!(said.contains(&expected) && said.contains(why), "{said}");
    }
    let listed = place.policies(&["gentle.so"]);
    assert!(
        listed.contains("uploads in the simulator alone: gentle"),
        "{listed}"
    );
    if !requires_root("a_law_without_programs_for_the_kernel_is_said_to_have_none") {
        return;
    }
    let mut command = place.ebb(&["gentle.so"]);
    command.args([
        "run",
        "--backend",
        "kernel",
        "--upload-policy",
        "gentle",
        "--",
        "true",
    ]);
    let refused = command.output().unwrap();
    let said = stderr(&refused);
    assert!(
        !refused.status.success() && said.contains("law 'gentle' has no programs for the kernel"),
        "{said}"
    );
}

#[test]
fn what_the_kernel_cannot_have_is_told_with_its_line_and_leaves_no_file() {
    let place = Place::new();
    let header = gentle().replace(
        "state->credit_pkts = 0;",
        "state->credit_pkts = (u32)__builtin_sqrt(cwnd_pkts);",
    );
    let built = place.build_as("gentle.h", &header, &[]);
    let said = stderr(&built);
    assert_eq!(built.status.code(), Some(1), "{said}");
    assert!(
        said.contains("--no-kernel builds it for the simulator")
            && said.contains("does not compile for the kernel")
            && said.contains("gentle.h:"),
        "{said}"
    );
    let left = std::fs::read_dir(place.0.path()).unwrap();
    let left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["gentle.h"]);
    assert!(place.build("gentle.h", &header).status.success());
    // An older file stays.
    let older = std::fs::read(place.path("gentle.so")).unwrap();
    assert!(!place.build_as("gentle.h", &header, &[]).status.success());
    assert_eq!(std::fs::read(place.path("gentle.so")).unwrap(), older);
}
