// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::BTreeMap;

use super::*;
use crate::history::Past;

const NOW_S: u64 = 1_795_600_000;

fn minute(at_unix_s: u64, received_bytes: u64) -> Minute {
    let past = Past {
        received_bytes,
        ..Past::default()
    };
    Minute {
        at_unix_s,
        seconds: 60.0,
        carried_bytes: Some([received_bytes, 7]),
        rules: [("backup".to_owned(), past)].into(),
        gateway_rules: BTreeMap::new(),
    }
}

fn keep(folder: &Path, minutes: &[Minute]) {
    for minute in minutes {
        let text = serde_json::to_string(minute).unwrap();
        append(folder, minute.at_unix_s / HOUR_S, &text).unwrap();
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|it| it.unwrap().metadata().unwrap().len())
        .sum()
}

#[test]
fn what_was_kept_is_read_by_whoever_comes_later() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("state/history");
    assert_eq!(read_history(&folder, NOW_S).unwrap(), []);
    let kept: Vec<Minute> = (0..200)
        .map(|it| minute(NOW_S - 60 * (200 - it), it))
        .collect();
    for half in kept.chunks(100) {
        let keeper = Keeper::begin(folder.clone()).unwrap();
        for minute in half {
            // More than may wait are kept one by one.
            keeper.keep(minute);
            while read_history(&folder, NOW_S).unwrap().last() != Some(minute) {
                std::thread::yield_now();
            }
        }
    }
    assert_eq!(read_history(&folder, NOW_S).unwrap(), kept);
    // What is older than a day is not told.
    let later = NOW_S + READ_S - 60 * 50;
    assert_eq!(read_history(&folder, later).unwrap(), kept[150 + 1..]);
    assert_eq!(read_history(&folder, NOW_S + 2 * READ_S).unwrap(), []);
}

#[test]
fn what_was_torn_costs_itself_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (first, second) = (minute(NOW_S, 1), minute(NOW_S + 60, 2));
    let text = serde_json::to_string(&second).unwrap();
    let path = folder.join(format!("{}.{ENDING}", NOW_S / HOUR_S));
    for torn in 0..text.len() {
        let _ = fs::remove_file(&path);
        keep(folder, std::slice::from_ref(&first));
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(&text.as_bytes()[..torn]).unwrap();
        keep(folder, std::slice::from_ref(&second));
        let read = read_history(folder, NOW_S + 60).unwrap();
        assert_eq!(read, [first.clone(), second.clone()], "{torn}");
    }
    fs::write(&path, [0xff, b'\n', 0, b'{', b'}', b'\n']).unwrap();
    assert_eq!(read_history(folder, NOW_S + 60).unwrap(), []);
}

#[test]
fn weeks_of_as_many_rules_as_there_may_be_stay_within_fifty_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let past = Past {
        received_bytes: u64::MAX,
        sent_bytes: u64::MAX,
        held_back_ms: [u64::MAX; 2],
        queue_sum_us: u64::MAX,
        queue_looks: u64::MAX,
        connections: u64::MAX,
        failures_open: u64::MAX,
    };
    let names = (0..ebb_keeper::kernel::rules::MAX_RULES).map(|it| format!("{it:0>64}"));
    let rules: BTreeMap<String, Past> = names.map(|name| (name, past)).collect();
    let text = serde_json::to_string(&Minute {
        rules,
        ..minute(NOW_S, 1)
    });
    let text = text.unwrap();
    // All minutes of an hour have room, whatever the rules are called, and carry.
    let line_bytes = text.len() as u64 + 1;
    assert!(60 * line_bytes <= MOST_BYTES_OF_FILE, "{line_bytes}");
    // An hour that has far too many is full at its bound.
    let first = NOW_S / HOUR_S;
    let fits = MOST_BYTES_OF_FILE / line_bytes;
    for number in 0..fits + 10 {
        assert_eq!(append(folder, first, &text).is_ok(), number < fits);
    }
    for hour in first + 1..first + 24 * 14 {
        append(folder, hour, &text).unwrap();
        let files = hours_in(folder).unwrap().len();
        assert!(files <= MOST_FILES, "{files}");
    }
    assert!(bytes_in(folder) <= MOST_FILES as u64 * MOST_BYTES_OF_FILE);
    assert_eq!(MOST_FILES as u64 * MOST_BYTES_OF_FILE, 50_000_000);
}

#[test]
fn a_clock_that_was_wrong_leaves_the_hours_that_are_near() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let note = folder.join("note.txt");
    fs::write(&note, "somebody else's").unwrap();
    let hour = NOW_S / HOUR_S;
    for far in [0, 10 * hour] {
        for other in 0..MOST_FILES as u64 {
            append(folder, far + other, "{}").unwrap();
        }
    }
    for other in 0..MOST_FILES as u64 {
        append(folder, hour + other, "{}").unwrap();
    }
    let mut hours = hours_in(folder).unwrap();
    hours.sort_unstable();
    assert_eq!(hours, (hour..hour + MOST_FILES as u64).collect::<Vec<_>>());
    assert!(note.exists());
}
