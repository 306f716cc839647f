// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `docs/protocol.md` has the fields that are written, and no others.

use std::collections::BTreeSet;
use std::path::Path;

use ebb_keeper::registry::{Attached, Record, Sharer};
use ebb_keeper::{Backend, Pursued, Standing, Summary};
use serde::Serialize;
use serde_json::Value;

/// What stands in backticks in a cell.
fn names(cell: &str) -> BTreeSet<String> {
    let names = cell.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// The cells of each row of the table whose first column has this heading.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/protocol.md");
    let page = std::fs::read_to_string(page).unwrap();
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim_matches('|');
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = page.lines().skip_while(|line| cells(line)[0] != heading);
    assert!(lines.next().is_some(), "no table `{heading}`");
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(cells).collect()
}

/// The fields of a table's first column.
fn documented(heading: &str) -> BTreeSet<String> {
    rows(heading)
        .iter()
        .flat_map(|row| names(&row[0]))
        .collect()
}

fn written(value: &impl Serialize) -> BTreeSet<String> {
    match serde_json::to_value(value).unwrap() {
        Value::Object(fields) => fields.into_iter().map(|(name, _)| name).collect(),
        other => panic!("{other} has no fields"),
    }
}

fn pursued() -> Pursued {
    Pursued {
        by: "06:00".into(),
        by_unix_s: Some(10),
        size_bytes: 40,
        done_bytes: 12,
        standing: Standing::OnTime,
        minimum: None,
        late_s: 0,
    }
}

#[test]
fn a_deadline_has_the_fields_of_the_page_and_stands_as_it_says() {
    assert_eq!(written(&pursued()), documented("field of a DEADLINE"));
    let rows = rows("field of a DEADLINE");
    let standing = rows.iter().find(|row| names(&row[0]).contains("standing"));
    let all = [
        Standing::Waiting,
        Standing::OnTime,
        Standing::Behind,
        Standing::Late,
        Standing::Done,
        Standing::Over,
    ];
    let all = all.map(|standing| serde_json::to_string(&standing).unwrap());
    assert_eq!(names(&standing.unwrap()[2]), BTreeSet::from(all));
}

#[test]
fn a_summary_has_the_fields_of_the_page() {
    let summary = Summary::default();
    assert_eq!(written(&summary), documented("field of a SUMMARY"));
    let rows = rows("field of a SUMMARY");
    let told = |field: &str| {
        let row = rows.iter().find(|row| names(&row[0]).contains(field));
        names(&row.unwrap()[2])
    };
    let mut datagrams = told("datagrams");
    // How `bytes` is written.
    datagrams.remove("[arrived, sent]");
    assert_eq!(written(&summary.datagrams), datagrams);
    assert_eq!(written(&summary.seen), told("seen"));
}

#[test]
fn a_record_has_the_fields_of_the_page_and_so_has_each_target() {
    let record = |attached| Record {
        id: "p7".into(),
        attached,
        backend: Backend::Kernel,
        policy: "ebb".into(),
        upload_policy: Some("ledbat++".into()),
        keeps_code_point: true,
        minimum: Some("2mbit".into()),
        deadline: Some(pursued()),
        is_observing: false,
        ungoverned_connections: 0,
        keeper_pid: 8,
        since_unix_s: 9,
        user: None,
        home: None,
    };
    let sharer = Sharer {
        name: "backup".into(),
        who: "process 7".into(),
        cgroup: "/backup".into(),
        pid: Some(7),
        wanted: "weight 1".into(),
    };
    let fields_of_sharer = written(&sharer);
    let targets = [
        Attached::Run {
            command: vec!["curl".into()],
            cgroup: Some("/run".into()),
        },
        Attached::Process { pid: 7 },
        Attached::Socket { pid: 7, cookie: 8 },
        Attached::Sockets { pid: 7 },
        Attached::Cgroup {
            cgroup: "/backup".into(),
        },
        Attached::Port { port: 873 },
        Attached::Share {
            file: "share.toml".into(),
            programs: vec![sharer],
        },
        Attached::Gateway {
            file: "home.toml".into(),
            interfaces: vec!["br-lan".into()],
        },
        Attached::Rule {
            name: "backup".into(),
            file: "/etc/ebb/backup.toml".into(),
            weight: Some(3),
        },
        Attached::Laws {
            names: vec!["ebb_reno".into()],
        },
    ];
    let rows = rows("`kind` of a target");
    assert_eq!(rows.len(), targets.len());
    for (attached, row) in targets.into_iter().zip(rows) {
        let record = record(attached);
        assert_eq!(written(&record), documented("field of a RECORD"));
        let mut fields = written(&record.attached);
        assert!(fields.remove("kind"));
        let kind = serde_json::to_value(&record.attached).unwrap()["kind"].clone();
        assert_eq!(
            names(&row[0]),
            BTreeSet::from([kind.as_str().unwrap().to_owned()])
        );
        if matches!(record.attached, Attached::Share { .. }) {
            fields.extend(fields_of_sharer.iter().cloned());
        }
        assert_eq!(fields, names(&row[1]), "{kind}");
    }
}
