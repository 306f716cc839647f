// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The simulator is as near to the kernel as the table of distances says, each time anew.
mod support;

use std::path::Path;

use ebb_experiments::{DistanceTable, Exceptions};
use ebb_lab::judging::{Attempt, judge};
use support::Ebb;

/// Laws at both ends and of the user backend, alone, where chance decides nothing: over twelve seeds
/// of the simulator their queueing is within 4 % of its mean. That of `vegas` is one of two values
/// 23 % apart, in both engines: 4 or 5 packets wait, each within the law's bounds.
const CASES: [&str; 5] = [
    "rate alone",
    "sampled alone",
    "ledbat++ alone",
    "tcp-lp alone",
    "ebb-sender alone",
];

#[test]
fn laws_alone_in_the_lab_are_where_the_simulator_has_them() {
    let name = "laws_alone_in_the_lab_are_where_the_simulator_has_them";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments");
    let exceptions = experiments.join("results/distance-exceptions.csv");
    let exceptions = Exceptions::read(&exceptions).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("distances.csv");
    judge(name, || {
        let mut command = Ebb::new().command(["reproduce", "engines/laws", "--engine", "lab"]);
        command.args(CASES.map(|case| ["--case", case]).as_flattened());
        command.args(["--runs", "1", "--set", "duration=15s", "--fresh"]);
        command.args(["--retries", "0", "--parallel", "5"]);
        command.arg("--experiments").arg(&experiments);
        command.arg("--out").arg(folder.path().join("out"));
        let output = command.arg("--distances").arg(&file).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let table = DistanceTable::read(&file).unwrap();
        assert_eq!(table.len(), 2 * CASES.len(), "goodput and queueing of each");
        let disturbed = table.disturbed_runs();
        Attempt {
            wrong: table.beyond(&exceptions),
            disturbed: (disturbed > 0).then(|| format!("{disturbed} runs were disturbed")),
        }
    });
}
