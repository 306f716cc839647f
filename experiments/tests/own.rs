// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Figures of our own: a folder that says so, bounds, and the same under other policies.
use std::path::Path;

use ebb_algorithms::{Policy, Side};
use ebb_experiments::{Catalogue, Engine, Experiment, Plan, PolicyChoice, Runner, only_cases};
use ebb_link::QueueSpec;

mod support;

const SCENARIO: &str = "\
duration = \"5s\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[[flow]]
name = \"be\"
[[flow]]
name = \"lbe\"
class = \"lbe\"
receiver = \"ebb\"
";

const EXPERIMENT: &str = "\
title = \"beside a greedy flow\"
did = \"nothing: it is a test\"
runs = 1
quick_runs = 1
scenario = \"greedy.toml\"

[[case]]
name = \"both\"

[[case]]
name = \"deep\"
set = [\"bottleneck.queue=60\"]

[[case]]
name = \"alone\"
set = [\"flow.lbe.count=0\"]

[[row]]
name = \"BE's share\"
measure = { kind = \"share\", flows = \"be\", others = \"lbe\" }
bound = { both = \">= 0.8\", deep = \">= 0.8\" }

[[row]]
name = \"BE, of alone\"
measure = { kind = \"ratio\", over = { kind = \"goodput\", flows = \"be\" }, under = { kind = \"goodput\", flows = \"be\", case = \"alone\" } }
bound = { both = \">= 0.8\" }

[[row]]
name = \"BE alone\"
measure = { kind = \"goodput\", flows = \"be\" }
bound = { alone = \">= 4\" }
";

/// A folder with this experiment, of our own, and a paper's.
fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("ours/folder.toml", "own = true\n"),
        ("ours/greedy.toml", SCENARIO),
        ("ours/table.toml", text),
        ("paper/greedy.toml", SCENARIO),
        (
            "paper/table.toml",
            &EXPERIMENT.replace("bound = ", "paper = "),
        ),
    ];
    for (file, text) in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn ours(text: &str) -> Result<Experiment, String> {
    let folder = folder(text);
    let catalogue = Catalogue::open(folder.path()).unwrap();
    let read = catalogue.read(&["ours".into()]);
    read.map(|mut read| read.remove(0))
        .map_err(|error| error.to_string())
}

const SIMULATED: Plan = support::SIMULATED;

#[test]
fn what_is_our_own_is_read_when_it_is_named() {
    let folder = folder(EXPERIMENT);
    let catalogue = Catalogue::open(folder.path()).unwrap();
    let ids = |read: Vec<Experiment>| -> Vec<String> { read.into_iter().map(|it| it.id).collect() };
    assert_eq!(ids(catalogue.read(&[]).unwrap()), ["paper/table"]);
    assert_eq!(
        ids(catalogue.read(&["ours".into()]).unwrap()),
        ["ours/table"]
    );
    assert_eq!(
        ids(catalogue.read_all().unwrap()),
        ["ours/table", "paper/table"]
    );
    std::fs::write(folder.path().join("ours/folder.toml"), "owner = true\n").unwrap();
    let error = Catalogue::open(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("folder.toml:1:1") && error.contains("own"),
        "{error}"
    );
}

#[test]
fn our_own_rows_have_bounds_and_nothing_else() {
    let comparison = Runner::default().run(&ours(EXPERIMENT).unwrap(), SIMULATED);
    let comparison = comparison.unwrap();
    assert!(comparison.is_own && !comparison.is_part);
    assert!(comparison.not_green().is_empty(), "{comparison:#?}");
    let wrong = |right: &str, wrong: &str| ours(&EXPERIMENT.replacen(right, wrong, 1)).unwrap_err();
    let error = wrong("both = \">= 0.8\"", "both = 0.8");
    assert!(
        error.contains("a bound is needed, as \">= 0.5\""),
        "{error}"
    );
    let error = wrong("bound = {", "paper = {");
    assert!(
        error.contains("`bound` is missing") && error.contains("`paper`"),
        "{error}"
    );
}

#[test]
fn policies_stand_beside_each_other_and_those_who_do_not_yield_are_run_once() {
    let policies = ["none", "priority", "ebb", "tcp-lp"].map(|it| it.parse().unwrap());
    let under = ours(EXPERIMENT).unwrap().under(&policies).unwrap();
    let runs: u32 = under.scenarios(SIMULATED).iter().map(|it| it.runs).sum();
    // Two cases under each of four, one alone.
    assert_eq!(runs, 9);
    let comparison = Runner::default().run(&under, SIMULATED).unwrap();
    assert!(comparison.is_part);
    let value = |row: &str, case: &str, policy: Option<&str>| {
        let is_it = |cell: &&ebb_experiments::Cell| {
            (
                cell.row.as_str(),
                cell.case.as_str(),
                cell.policy.as_deref(),
            ) == (row, case, policy)
        };
        comparison.cells.iter().find(is_it).unwrap().ours.unwrap()
    };
    let share = |policy| value("BE's share", "both", Some(policy));
    assert!(share("none") < 0.7, "{}", share("none"));
    assert!(share("priority") > 0.99, "{}", share("priority"));
    assert!(share("ebb") > 0.8 && share("tcp-lp") > 0.8);
    let kept = value("BE, of alone", "both", Some("priority"));
    assert!((0.98..1.02).contains(&kept), "{kept}");
    assert!(value("BE alone", "alone", None) > 4.0);
    let lost = comparison.not_green();
    assert!(lost[0].contains("BE's share, both, none: "), "{lost:?}");
    let csv = comparison.to_csv().unwrap();
    assert!(
        csv.lines().next().unwrap().contains(",case,policy,"),
        "{csv}"
    );
}

#[test]
fn a_policy_takes_the_place_of_both_ends_laws_and_leaves_ordinary_senders() {
    let text = EXPERIMENT.replace("queue=60", "queue=60\", \"flow.lbe.sender=bbr");
    let text = text.replacen(
        "name = \"both\"\n",
        "name = \"both\"\nset = [\"flow.lbe.sender=tcp-lp\"]\n",
        1,
    );
    let flow = |policy: &str, case: usize| {
        let policies: [PolicyChoice; 1] = [policy.parse().unwrap()];
        let under = ours(&text).unwrap().under(&policies).unwrap();
        // After the three cases as they are.
        let scenario = under.cases[3 + case].scenario.clone();
        (scenario.flows[1].clone(), scenario.links[0].spec.queue)
    };
    let (plain, queue) = flow("none", 0);
    assert_eq!((plain.sender.as_str(), plain.receiver), ("cubic", None));
    assert!(matches!(queue, QueueSpec::DropTail(_)));
    let (plain, _) = flow("none", 1);
    assert_eq!((plain.sender.as_str(), plain.receiver), ("bbr", None));
    assert_eq!(flow("own", 0).0.sender, "tcp-lp");
    let (own, queue) = flow("own", 1);
    assert_eq!(
        (own.sender.as_str(), own.receiver.as_deref()),
        ("bbr", Some("ebb"))
    );
    assert!(matches!(queue, QueueSpec::DropTail(_)));
    let (sent, _) = flow("ledbat", 1);
    assert_eq!((sent.sender.as_str(), sent.receiver), ("ledbat", None));
    let (received, _) = flow("vulture", 1);
    assert_eq!(received.sender, "bbr");
    assert_eq!(received.receiver.as_deref(), Some("vulture"));
    let (_, queue) = flow("priority", 0);
    assert!(matches!(queue, QueueSpec::StrictPriority { .. }));
    let error = "ebbb".parse::<PolicyChoice>().unwrap_err();
    assert!(
        error.contains("'ebbb'") && error.contains("priority"),
        "{error}"
    );
}

#[test]
fn where_nobody_yields_no_policy_is_put() {
    let text = EXPERIMENT.replace(
        "scenario = \"greedy.toml\"",
        "scenario = \"greedy.toml\"\nset = [\"flow.lbe.class=be\"]",
    );
    let error = ours(&text)
        .unwrap()
        .under(&[PolicyChoice::None])
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("ours/table: no flow in it yields"),
        "{error}"
    );
}

#[test]
fn some_cases_are_run_with_those_that_their_measures_name() {
    let whole = ours(EXPERIMENT).unwrap();
    let part = &only_cases(std::slice::from_ref(&whole), &["both".into()]).unwrap()[0];
    let runs: Vec<u32> = part.scenarios(SIMULATED).iter().map(|it| it.runs).collect();
    assert_eq!(runs, [1, 0, 1]);
    let comparison = Runner::default().run(part, SIMULATED).unwrap();
    let rows: Vec<&str> = comparison
        .cells
        .iter()
        .map(|cell| cell.row.as_str())
        .collect();
    assert_eq!(rows, ["BE's share", "BE, of alone"]);
    assert!(comparison.cells.iter().all(|cell| cell.ours.is_some()));
    let error = only_cases(&[whole], &["botth".into()])
        .unwrap_err()
        .to_string();
    assert_eq!(error, "there is no case `botth`; did you mean `both`?");
}

#[test]
fn other_values_are_set_after_those_of_the_file_and_runs_are_as_many_as_asked() {
    let setting = |text: &str| text.parse().unwrap();
    // Its scenario is read again.
    let folder = folder(EXPERIMENT);
    let catalogue = Catalogue::open(folder.path()).unwrap();
    let whole = catalogue.read(&["ours".into()]).unwrap().remove(0);
    let set = whole
        .with_settings(&[setting("bottleneck.queue=30")])
        .unwrap()
        .with_runs(4);
    let scenarios = set.scenarios(SIMULATED);
    for scenario in &scenarios {
        assert_eq!(scenario.runs, 4);
        assert_eq!(
            scenario.links[0].spec.queue,
            scenarios[0].links[0].spec.queue
        );
    }
    assert!(
        set.cases[1]
            .settings
            .contains(&"bottleneck.queue=30".to_owned())
    );
    let wrong = whole.with_settings(&[setting("bottleneck.queu=30")]);
    let error = wrong.unwrap_err().to_string();
    assert!(error.contains("did you mean `queue`?"), "{error}");
}

#[test]
fn everything_over_time_is_written_for_each_case() {
    let folder = tempfile::tempdir().unwrap();
    let runner = Runner {
        results: Some(folder.path()),
        ..Runner::default()
    };
    let policies = ["none".parse().unwrap()];
    let under = ours(EXPERIMENT).unwrap().under(&policies).unwrap();
    runner.run(&under, SIMULATED).unwrap();
    let read =
        |name: &str| ebb_scenario::Results::read(&folder.path().join("ours/table").join(name));
    let both = read("both-none.json").unwrap();
    assert_eq!(both.runs[0].series.flows[1].goodput_bits_per_s.len(), 50);
    assert!(read("deep-none.json").is_ok() && read("alone.json").is_ok());
    assert!(read("both.json").is_err());
}

fn ebb() -> Vec<Experiment> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    Catalogue::open(root)
        .unwrap()
        .read(&["ebb".into()])
        .unwrap()
}

#[test]
fn the_figures_of_ebb_are_of_the_laws_that_it_has_unless_told_otherwise() {
    let laws = |id: &str| {
        let experiment = ebb().into_iter().find(|it| it.id == id).unwrap();
        let flows = experiment
            .cases
            .iter()
            .flat_map(|case| &case.lab.as_ref().unwrap().whole.flows);
        let ours = flows.filter(|flow| flow.group == "lbe");
        let mut laws: Vec<_> = ours
            .map(|flow| (flow.sender.clone(), flow.receiver.clone()))
            .collect();
        laws.dedup();
        laws
    };
    let receiver = Policy::default_of(Side::Receiver).to_string();
    let of_download = |law: &str, sender: &str| (sender.to_owned(), Some(law.to_owned()));
    for (sender, receiver) in laws("ebb/kernel").into_iter().chain(laws("ebb/gateway")) {
        assert!(["cubic", "bbr"].contains(&sender.as_str()), "{sender}");
        assert_eq!(
            receiver.as_deref(),
            Some(Policy::default().to_string().as_str())
        );
    }
    assert_eq!(receiver, Policy::default().to_string());
    let sender = Policy::default_of(Side::Sender).to_string();
    assert_eq!(laws("ebb/kernel-uploads"), [(sender.clone(), None)]);
    // By the router and by the device, in turn.
    let both = [of_download(&receiver, "cubic"), (sender, None)];
    for pair in laws("ebb/gateway-uploads").chunks(2) {
        assert_eq!(pair, both);
    }
    let user = laws("ebb/user");
    assert_eq!(user[0], of_download("sampled", "cubic"));
    assert_eq!(laws("ebb/user-uploads"), [("paced".to_owned(), None)]);
    assert_eq!(laws("ebb/tcp-lp"), [("tcp-lp".to_owned(), None)]);
}

/// The bounds are for real kernel TCP; slow start ends a little otherwise in the simulator, and over
/// FQ-CoDel chance says more there than the law does (docs/notebook/ebb-sender.md).
#[test]
fn the_simulator_keeps_all_bounds_of_the_figures_of_ebb_but_two() {
    let plan = Plan {
        engine: Engine::Sim,
        is_quick: true,
    };
    let mut lost = Vec::new();
    for experiment in ebb() {
        assert_eq!(experiment.engines[0], Engine::Lab, "{}", experiment.id);
        // It has no routers with a gateway.
        if !experiment.engines.contains(&Engine::Sim) {
            assert!(
                experiment.id.starts_with("ebb/gateway"),
                "{}",
                experiment.id
            );
            continue;
        }
        lost.extend(
            Runner::default()
                .run(&experiment.with_runs(1), plan)
                .unwrap()
                .not_green(),
        );
    }
    assert_eq!(
        lost,
        [
            "ebb/kernel-uploads (sim): BE's share, FQ-CoDel, greedy, BE second: 0.834, not >= 0.9",
            "ebb/tcp-lp (sim): LBE, share of the link, alone, RTT 50 ms: 0.898, not >= 0.9",
        ]
    );
}
