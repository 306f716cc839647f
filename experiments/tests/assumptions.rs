// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the papers leave open: each assumption is shown by a sweep, and no sweep is of another.
use std::collections::BTreeSet;
use std::path::Path;

use ebb_experiments::{Catalogue, Experiment};

/// By what an assumption is known: what stands before its first `,`, `;`, `:` or `(`.
fn head(assumption: &str) -> &str {
    let end = assumption.find([',', ';', ':', '(']);
    let head = assumption[..end.unwrap_or(assumption.len())].trim();
    assert!(!head.is_empty(), "nothing to know it by: {assumption}");
    head
}

/// The heads of what an experiment assumes that a sweep of its own shows.
fn shown(experiment: &Experiment) -> BTreeSet<&str> {
    let heads = experiment.assumed.iter().map(|it| head(it));
    heads.filter(|head| is_shown(experiment, head)).collect()
}

fn is_shown(experiment: &Experiment, head: &str) -> bool {
    let mut sweeps = experiment.sweeps.iter();
    sweeps.any(|sweep| sweep.assumption.starts_with(head))
}

/// Assumptions of a paper that none of its experiments with that assumption shows a sweep of.
fn without_sweep(paper: &[Experiment]) -> Vec<String> {
    let shown: BTreeSet<&str> = paper.iter().flat_map(shown).collect();
    let mut missing = Vec::new();
    for experiment in paper {
        for assumption in &experiment.assumed {
            if !shown.contains(head(assumption)) {
                missing.push(format!("{}: {}", experiment.id, head(assumption)));
            }
        }
    }
    missing
}

/// Sweeps of what their experiment does not list as assumed.
fn unlisted(experiment: &Experiment) -> Vec<String> {
    let is_listed = |assumption: &str| {
        let mut assumed = experiment.assumed.iter();
        assumed.any(|it| assumption.starts_with(head(it)))
    };
    let sweeps = experiment.sweeps.iter().map(|sweep| &sweep.assumption);
    let others = sweeps.filter(|assumption| !is_listed(assumption));
    others
        .map(|assumption| format!("{}: {assumption}", experiment.id))
        .collect()
}

fn papers() -> Vec<Vec<Experiment>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = Catalogue::open(root).unwrap().read(&[]).unwrap();
    assert!(all.iter().any(|it| !it.assumed.is_empty()));
    let of_one = |one: &Experiment, other: &Experiment| folder(one) == folder(other);
    all.chunk_by(of_one).map(<[Experiment]>::to_vec).collect()
}

fn folder(experiment: &Experiment) -> &str {
    experiment.id.split_once('/').unwrap().0
}

#[test]
fn each_assumption_is_shown_by_a_sweep() {
    let missing: Vec<String> = papers().iter().flat_map(|it| without_sweep(it)).collect();
    assert!(missing.is_empty(), "no sweep shows {missing:#?}");
}

#[test]
fn each_sweep_is_of_an_assumption_of_its_experiment() {
    let unlisted: Vec<String> = papers().iter().flatten().flat_map(unlisted).collect();
    assert!(
        unlisted.is_empty(),
        "not in `assumed` of their experiment: {unlisted:#?}"
    );
}

#[test]
fn an_assumption_counts_as_shown_where_it_is_assumed_only() {
    let experiment = |id: &str, assumed: &str, swept: &str| {
        let text = format!(
            "title = \"a\"\ndid = \"b\"\nassumed = [\"{assumed}\"]\nscenario = \"one.toml\"\n\
             [[case]]\nname = \"a\"\n[[row]]\nname = \"use\"\nmeasure = {{ kind = \"utilisation\" }}\n\
             paper = {{ a = 1 }}\n[[sweep]]\nassumption = \"{swept}\"\nkey = \"bottleneck.queue\"\n\
             values = [10, 20]\n"
        );
        let folder = tempfile::tempdir().unwrap();
        let scenario = "duration = \"5s\"\n[bottleneck]\nrate = \"10mbit\"\ndelay = \"1ms\"\nqueue = 10\n\
             [[flow]]\nname = \"mine\"\n";
        std::fs::write(folder.path().join("one.toml"), scenario).unwrap();
        Experiment::parse(id, "a.toml", &text, folder.path()).unwrap()
    };
    let queue = experiment("p/a", "the queue is 10, as usual", "the queue is 10; or 20");
    let same = experiment("p/b", "the queue is 10: usual", "the queue is 10");
    let other = experiment("p/c", "the buffer is 10", "the queue is 10");
    assert!(without_sweep(&[queue.clone(), same]).is_empty());
    assert_eq!(
        without_sweep(&[queue.clone(), other.clone()]),
        ["p/c: the buffer is 10"]
    );
    assert!(unlisted(&queue).is_empty());
    assert_eq!(unlisted(&other), ["p/c: the queue is 10"]);
}
