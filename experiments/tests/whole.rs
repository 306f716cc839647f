// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An experiment from its file to the stored comparison.
use ebb_experiments::{Catalogue, Comparison, Engine, KnownValues, RunStore, Verdict};
use ebb_scenario::Scenario;
use ebb_simulator::Options;
use support::{SIMULATED, compare};

mod support;

const SCENARIO: &str = "\
duration = \"4s\"
sender = \"reno\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[measure]
end = [\"2s\", \"end\"]
[[flow]]
name = \"mine\"
start_spread = \"100ms\"
[[flow]]
name = \"wave\"
kind = \"udp-square-wave\"
rate = \"2mbit\"
period = \"1s\"
";

// What is right: 5 Mbit/s, of which UDP takes 2 in the first half of each second. What the
// paper of the last row has is wrong on purpose.
const EXPERIMENT: &str = "\
title = \"beside a wave\"
did = \"nothing: it is a test\"
runs = 3
scenario = \"wave.toml\"

[[case]]
name = \"shallow\"

[[case]]
name = \"deep\"
set = [\"bottleneck.queue=80\"]

[[row]]
name = \"use\"
measure = { kind = \"utilisation\", interval = \"end\" }
paper = { shallow = 0.99, deep = 0.99 }

[[row]]
name = \"while it is silent\"
measure = { kind = \"goodput\", flows = \"mine\", interval = \"end\", of = \"5mbit\", period = \"1s\", phase_from = \"600ms\" }
paper = { shallow = 0.96 }

[[row]]
name = \"queueing\"
measure = { kind = \"queue-mean\", interval = \"end\" }
unit = \"ms\"
paper = { shallow = 1.0, deep = 2.0 }

[[row]]
name = \"deep to shallow\"
measure = { kind = \"ratio\", over = { kind = \"queue-mean\", case = \"deep\" }, under = { kind = \"queue-mean\", case = \"shallow\" } }
why = \"the paper's value is made up\"
paper = { deep = 0.5 }
";

#[test]
fn an_experiment_is_run_judged_stored_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let paper = folder.path().join("paper");
    std::fs::create_dir(&paper).unwrap();
    std::fs::write(paper.join("wave.toml"), SCENARIO).unwrap();
    std::fs::write(paper.join("wave-table.toml"), EXPERIMENT).unwrap();
    let catalogue = Catalogue::open(folder.path()).unwrap();
    assert_eq!(catalogue.ids().collect::<Vec<_>>(), ["paper/wave-table"]);

    let experiments = catalogue.read(&["paper".into()]).unwrap();
    let comparison = compare(&experiments[0], SIMULATED);
    let verdicts: Vec<_> = comparison.cells.iter().map(|cell| cell.verdict).collect();
    use Verdict::{Green, Red};
    assert_eq!(
        verdicts,
        [Green, Green, Green, Red, Red, Red],
        "{comparison:#?}"
    );
    let last = comparison.cells.last().unwrap();
    assert_eq!(last.why.as_deref(), Some("the paper's value is made up"));
    assert!(last.ours.unwrap() > 1.0 && last.values.len() == 3);
    assert_eq!(compare(&experiments[0], SIMULATED), comparison);

    let file = folder.path().join("values.csv");
    KnownValues::new(std::slice::from_ref(&comparison))
        .write(&file)
        .unwrap();
    let known = KnownValues::read(&file).unwrap();
    assert!(known.moved(std::slice::from_ref(&comparison)).is_empty());
    let mut moved = comparison.clone();
    let queueing = &mut moved.cells[3];
    let (ours, half) = (queueing.ours.unwrap(), queueing.half_width_95.unwrap());
    assert!(half > 0.0 && half < 100.0);
    queueing.ours = Some(ours + 0.9 * half);
    assert!(known.moved(std::slice::from_ref(&moved)).is_empty());
    moved.cells[3].ours = Some(1000.0);
    moved.cells[0].ours = None;
    let told = known.moved(&[moved]);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("paper/wave-table (sim): use, shallow was 0.9"),
        "{told:?}"
    );
    assert!(told[0].contains(" and is none"), "{told:?}");
    assert!(told[1].contains("queueing, shallow was ") && told[1].contains(" and is 1000 ± "));

    let out = folder.path().join("out");
    comparison.store(&out).unwrap();
    let stored = Comparison::stored(&out, "paper/wave-table", Engine::Sim).unwrap();
    assert_eq!(stored.as_ref(), Some(&comparison));
    assert_eq!(
        Comparison::stored(&out, "paper/other", Engine::Sim).unwrap(),
        None
    );
    let csv = std::fs::read_to_string(out.join("paper/wave-table.csv")).unwrap();
    let head = csv.lines().next().unwrap();
    for column in [
        "paper_share",
        "ours_ms",
        "ours_half_width_95_ms",
        "tolerance_share",
    ] {
        assert!(head.split(',').any(|known| known == column), "{head}");
    }
    assert_eq!(csv.lines().count(), 1 + comparison.cells.len());
    let parquet = std::fs::read(out.join("paper/wave-table.parquet")).unwrap();
    check_parquet(parquet, &csv);
}

/// Both have the same heads and lines; the values of a unit are null in lines of another.
fn check_parquet(parquet: Vec<u8>, csv: &str) {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let reader = SerializedFileReader::new(bytes::Bytes::from(parquet)).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let mut count = 0;
    for (row, line) in reader.get_row_iter(None).unwrap().zip(lines) {
        for ((head, field), (wanted, text)) in
            row.unwrap().get_column_iter().zip(heads.iter().zip(line))
        {
            assert_eq!(head, wanted);
            match field {
                Field::Null => assert_eq!(text, ""),
                Field::Double(value) => assert_eq!(value.to_string(), text),
                Field::Long(value) => assert_eq!(value.to_string(), text),
                Field::Bool(value) => assert_eq!(value.to_string(), text),
                Field::Str(value) => assert_eq!(value, text),
                other => panic!("{head} is {other}"),
            }
        }
        count += 1;
    }
    assert_eq!(count, csv.lines().count() - 1);
}

fn scenario(text: &str) -> Scenario {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wave.toml");
    std::fs::write(&path, text).unwrap();
    Scenario::read(&path).unwrap()
}

#[test]
fn a_finished_run_is_known_again_by_what_its_outcome_depends_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = RunStore::open(folder.path(), false).unwrap();
    let first = scenario(SCENARIO);
    let options = Options {
        run: 1,
        ..Options::default()
    };
    let outcome = ebb_simulator::run(&first, options).unwrap();
    assert_eq!(store.load(Engine::Sim, &first, 1), None);
    store.save(Engine::Sim, &first, &outcome).unwrap();
    assert_eq!(store.load(Engine::Sim, &first, 1), Some(outcome.clone()));

    // The same seed under another name and number is the same run, told by these.
    let renamed = Scenario {
        name: "other".into(),
        seed: first.seed + 1,
        ..first.clone()
    };
    let known = store.load(Engine::Sim, &renamed, 0).unwrap();
    assert_eq!((known.scenario.as_str(), known.run), ("other", 0));
    assert_eq!((known.seed, known.flows), (outcome.seed, outcome.flows));

    let deeper = scenario(&SCENARIO.replace("queue = 20", "queue = 21"));
    assert_eq!(store.load(Engine::Sim, &deeper, 1), None);
    assert_eq!(store.load(Engine::Sim, &first, 0), None);
    assert_eq!(store.load(Engine::Lab, &first, 1), None);
    let fresh = RunStore::open(folder.path(), true).unwrap();
    assert_eq!(fresh.load(Engine::Sim, &first, 1), None);
}

#[test]
fn a_run_that_was_half_written_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = RunStore::open(folder.path(), false).unwrap();
    let scenario = scenario(SCENARIO);
    let outcome = ebb_simulator::run(&scenario, Options::default()).unwrap();
    store.save(Engine::Sim, &scenario, &outcome).unwrap();
    let runs = std::fs::read_dir(folder.path().join("runs")).unwrap();
    let version = runs.map(|entry| entry.unwrap().path()).next().unwrap();
    let file = std::fs::read_dir(version)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    assert_eq!(store.load(Engine::Sim, &scenario, 0), None);
}
