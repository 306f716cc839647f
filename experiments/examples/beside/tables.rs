// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tables of docs/beside-papers.md, from the files of values.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ebb_experiments::number;

/// What a line of a file of values has that stands in a table.
#[derive(Clone, Debug)]
struct Value {
    paper: f64,
    bound: String,
    unit: String,
    counts: bool,
    runs: u32,
    ours: Option<f64>,
    half_width_95: Option<f64>,
}

/// Experiment, row and case.
type Of = [String; 3];
/// In the order of the file, by policy.
type Values = Vec<(Of, BTreeMap<String, Value>)>;

/// Policies as columns, and their heads.
const POLICIES: [(&str, &str); 4] = [
    ("own", "the paper's law"),
    ("ebb", "`ebb`"),
    ("priority", "strict priority"),
    ("none", "plain TCP"),
];

/// Of all papers, with what was simulated of them: values in the files below `results`.
pub fn tables(results: &Path) -> String {
    let simulated = read(&results.join("beside-sim.csv"));
    let papers = read(&results.join("sim.csv"));
    let mut folders: Vec<&str> = simulated.iter().map(|(of, _)| folder(of)).collect();
    folders.dedup();
    let of_paper = |name: &&str| {
        let values = simulated.iter().filter(|(of, _)| folder(of) == *name);
        format!(
            "## `{name}`\n\n{}",
            table(&values.collect::<Vec<_>>(), &papers)
        )
    };
    folders.iter().map(of_paper).collect()
}

fn folder(of: &Of) -> &str {
    of[0].split('/').next().unwrap_or_default()
}

fn read(file: &Path) -> Values {
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut reader = csv::Reader::from_reader(text.as_slice());
    let mut values: Values = Vec::new();
    for line in reader.deserialize() {
        let line: BTreeMap<String, String> = line.expect("a file of values");
        let of = ["id", "row", "case"].map(|column| line[column].clone());
        let counts = ["reported", "conclusion"].contains(&&*line["is"]);
        let value = Value {
            paper: line["paper"].parse().expect("a number"),
            bound: line["bound"].clone(),
            unit: line["unit"].clone(),
            counts,
            runs: line["runs"].parse().expect("a number"),
            ours: line["ours"].parse().ok(),
            half_width_95: line["half_width_95"].parse().ok(),
        };
        let policy = line.get("policy").cloned().unwrap_or_default();
        match values.iter_mut().find(|(known, _)| *known == of) {
            Some((_, by_policy)) => {
                by_policy.insert(policy, value);
            }
            None => values.push((of, BTreeMap::from([(policy, value)]))),
        }
    }
    values
}

/// With the second column of `papers`.
fn table(values: &[&(Of, BTreeMap<String, Value>)], papers: &Values) -> String {
    let lines = values.iter().filter(|(_, by_policy)| {
        let own = by_policy.get("own");
        own.is_some_and(|own| own.counts)
    });
    let heads: String = POLICIES.map(|(_, head)| format!(" {head} |")).concat();
    let rule = "---|".repeat(POLICIES.len());
    let mut text = format!("| | | the paper |{heads} second column |\n|---|---|---|{rule}---|\n");
    let mut before = "";
    for (of, by_policy) in lines {
        let [id, row, case] = of;
        let own = &by_policy["own"];
        let name = id.split('/').nth(1).unwrap_or_default();
        let what = format!("`{name}` {row}, {} ({} runs)", own.unit, own.runs);
        let is_again = before == row.as_str();
        before = row;
        let label = if is_again { "" } else { &what };
        let paper = format!("{}{}", sign(&own.bound), own.paper);
        let _ = write!(text, "| {label} | {case} | {paper} |");
        for (policy, _) in POLICIES {
            let _ = write!(text, " {} |", told(by_policy.get(policy), own.paper));
        }
        let second = [id.clone(), row.clone(), format!("{case} (fitted)")];
        let second = papers.iter().find(|(of, _)| *of == second);
        let second = second.and_then(|(_, by_policy)| by_policy.get(""));
        let _ = writeln!(text, " {} |", told(second, own.paper));
    }
    text + "\n"
}

fn sign(bound: &str) -> &'static str {
    match bound {
        "at-least" => "≥ ",
        "at-most" => "≤ ",
        _ => "",
    }
}

fn told(value: Option<&Value>, paper: f64) -> String {
    let Some(ours) = value.and_then(|value| value.ours) else {
        return String::new();
    };
    let half = value.and_then(|value| value.half_width_95);
    let half = half.map(|half| format!(" ± {}", number(half, paper)));
    number(ours, paper) + &half.unwrap_or_default()
}
