// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far the lab was from the simulator is within its bounds, or named with its cause, and the
//! table of it is what the file says.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ebb_experiments::{DistanceTable, Exceptions};

fn kept() -> (DistanceTable, Exceptions) {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let table = DistanceTable::read(&results.join("distances.csv")).unwrap();
    let exceptions = Exceptions::read(&results.join("distance-exceptions.csv")).unwrap();
    (table, exceptions)
}

#[test]
fn goodput_is_within_5_percent_and_queueing_within_10_or_named_with_its_cause() {
    let (table, exceptions) = kept();
    assert!(table.len() >= 100, "{} distances", table.len());
    let beyond = table.beyond(&exceptions);
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn no_exception_is_of_what_is_near_enough() {
    let (table, exceptions) = kept();
    let needless = table.needless(&exceptions);
    assert!(needless.is_empty(), "{}", needless.join("\n"));
}

/// In percent, goodput and queueing of each case, in the order of the file.
fn page_of(experiment: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/distances.csv");
    let mut lines = csv::Reader::from_path(file).unwrap();
    let mut text =
        String::from("| case | goodput | by chance | queueing | by chance | disturbed |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    for line in lines.deserialize() {
        let line: BTreeMap<String, String> = line.unwrap();
        if line["id"] != experiment {
            continue;
        }
        let percent = |column: &str| match line[column].parse::<f64>() {
            Ok(part) => format!("{:.1}", part * 100.0),
            Err(_) => String::new(),
        };
        let [apart, by_chance] = ["apart", "by_chance"].map(percent);
        match &*line["what"] {
            "goodput" => write!(text, "| {} | {apart} | {by_chance} |", line["case"]),
            _ => {
                let disturbed = &line["disturbed_runs"];
                let of = &line["runs"];
                writeln!(text, " {apart} | {by_chance} | {disturbed} of {of} |")
            }
        }
        .unwrap();
    }
    text
}

#[test]
fn the_tables_of_the_page_are_what_the_file_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("engines/README.md");
    let page = std::fs::read_to_string(page).unwrap();
    for experiment in ["engines/laws", "engines/paths"] {
        let table = page_of(experiment);
        assert!(page.contains(&table), "{experiment} has this:\n{table}");
    }
}

const HEADS: &str = "id,case,policy,interval,what,lab,simulator,apart,by_chance,runs,is_quick,\
                     disturbed_runs,version\n";

/// What is told of these lines with these exceptions, and which of those are needless.
fn told(lines: &str, exceptions: &str) -> [Vec<String>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let table = DistanceTable::read(&write("a.csv", format!("{HEADS}{lines}"))).unwrap();
    let exceptions = write("b.csv", format!("id,case,what,cause\n{exceptions}"));
    let exceptions = Exceptions::read(&exceptions).unwrap();
    [table.beyond(&exceptions), table.needless(&exceptions)]
}

const FAR: &str = "a/b,one,ebb,all,goodput,9,10,0.1,0.06,5,false,0,0.1.0\n\
                   a/b,one,ebb,all,queueing,18,20,0.1,,5,false,0,0.1.0\n";

#[test]
fn what_is_too_far_is_told_unless_an_exception_names_it() {
    let [beyond, _] = told(FAR, "");
    assert_eq!(
        beyond,
        [
            "a/b: one, ebb, all, goodput: 9 in the lab, 10 in the simulator: 10.0 % apart, not 5, \
          6.0 % by chance"
        ]
    );
    let [beyond, needless] = told(FAR, "a/b,\"one, ebb\",goodput,it is a test\n");
    assert!(beyond.is_empty() && needless.is_empty());
    let [beyond, needless] = told(FAR, "a/b,*,queueing,it is a test\n");
    assert_eq!((beyond.len(), needless.len()), (1, 1));
}

#[test]
fn chance_is_a_cause_only_of_what_the_simulator_is_from_itself() {
    let [beyond, _] = told(FAR, "a/b,*,goodput,chance\n");
    assert!(beyond.is_empty());
    let little = FAR.replace("0.06", "0.04");
    let [beyond, needless] = told(&little, "a/b,*,goodput,chance\n");
    assert_eq!((beyond.len(), needless.len()), (1, 1));
}
