// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

use crate::flow_view::FlowView;
use crate::runtime::{Record, Target};

fn flow(program: &str, peer: &str, direction: Direction, doing: (&str, &str)) -> SeenFlow {
    let pid = program.split(['[', ']']).nth(1).unwrap();
    let attachment = match pid {
        "4242" => "process-4242",
        _ => "run-7",
    };
    SeenFlow {
        attachment: attachment.to_owned(),
        program: Some(program.to_owned()),
        pid: pid.parse().ok(),
        rate_bit_per_s: 9_432_000.0,
        view: FlowView {
            cookie: 1,
            direction,
            local: "192.0.2.1:40000".parse().unwrap(),
            peer: peer.parse().unwrap(),
            law: "ebb".to_owned(),
            payload_bytes: 1_000_000,
            window_bytes: 123_456,
            pace_bytes_per_s: None,
            process: None,
            rtt_us: Some(101_400),
            queue_us: Some(4_900),
            mode: doing.0.to_owned(),
            reason: doing.1.to_owned(),
            is_acting: doing.0 != "free",
        },
    }
}

fn look() -> Look {
    let run = Target::Run {
        command: vec![
            "curl".to_owned(),
            "-O".to_owned(),
            "https://example.org/large.iso".to_owned(),
        ],
        cgroup: Some("/ebb-7".into()),
    };
    let mut free = Record::new(
        Target::Process { pid: 4242 },
        "process-4242".into(),
        "vulture",
        None,
    );
    free.is_observing = true;
    Look {
        at_unix_s: 0.0,
        attachments: vec![
            Record::new(run, "run-7".into(), "ebb", Some("ledbat++".to_owned())),
            free,
        ],
        flows: vec![
            flow(
                "curl[4711]",
                "198.51.100.7:443",
                Direction::Down,
                ("hold", "queue at target"),
            ),
            flow(
                "curl[4711]",
                "198.51.100.7:443",
                Direction::Up,
                ("grow", ""),
            ),
            flow(
                "rsync[4242]",
                "[2001:db8::1234:5678]:873",
                Direction::Down,
                ("free", ""),
            ),
        ],
        silent: Vec::new(),
    }
}

fn drawn(width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(&look(), &View::default(), area, &mut buffer);
    lines_of(&buffer).join("\n")
}

#[test]
fn everything_that_matters_is_in_80_by_24() {
    let screen = drawn(80, 24);
    for text in [
        "2 attachments, 3 connections, down 18.9M/s, up 9.43M/s",
        "> down ebb, up ledbat++: ebb run -- curl",
        "  [free] down vulture, up none: process 4242",
        "curl[4711]",
        "198.51.100.7:443",
        "101.4",
        "queue at target",
        KEYS,
    ] {
        assert!(screen.contains(text), "{text} is not in\n{screen}");
    }
    assert_eq!(screen.lines().count(), 24);
    assert!(!screen.contains("LIMIT"));
}

#[test]
fn what_keys_act_on_is_marked_without_colour() {
    let marks = |chosen, scope| {
        let view = View {
            chosen,
            scope,
            ..View::default()
        };
        let area = Rect::new(0, 0, 80, 24);
        let mut buffer = Buffer::empty(area);
        draw(&look(), &view, area, &mut buffer);
        let lines = lines_of(&buffer).into_iter();
        let marked = lines.filter(|line| line.starts_with('>'));
        let marked: Vec<String> = marked
            .map(|line| line.chars().take(6).collect::<String>())
            .collect();
        marked
    };
    assert_eq!(marks(0, Scope::Flow), ["> down"]);
    assert_eq!(marks(2, Scope::Flow), [">curl["]);
    assert_eq!(marks(2, Scope::Process), [">curl[", ">curl["]);
    assert_eq!(marks(2, Scope::Unit), ["> down", ">curl[", ">curl["]);
    assert_eq!(marks(4, Scope::Process), [">rsync"]);
    assert_eq!(marks(9, Scope::Unit).len(), 0);
}

#[test]
fn the_chosen_connection_stays_chosen_when_fast_ones_become_slow() {
    let mut look = look();
    for (cookie, flow) in (1..).zip(&mut look.flows) {
        flow.view.cookie = cookie;
    }
    let mut other = look.clone();
    other.flows.rotate_left(1);
    assert_eq!(chosen::find(1, &look, &other), Some(1));
    assert_eq!(chosen::find(2, &look, &other), Some(4));
    assert_eq!(chosen::find(3, &look, &other), Some(2));
    // The other way of a connection is another line; another attachment, another connection.
    other.flows[2].view.direction = Direction::Up;
    assert_eq!(chosen::find(2, &look, &other), None);
    other.attachments.remove(0);
    assert_eq!(chosen::find(0, &look, &other), None);
    assert_eq!(chosen::find(1, &look, &other), Some(0));
    assert_eq!(chosen::find(0, &Look::default(), &other), None);
}

#[test]
fn only_units_have_a_policy_of_their_own_with_the_kernel_backend() {
    let mut look = look();
    let policy = |look: &Look, scope| {
        let view = View {
            chosen: 2,
            scope,
            ..View::default()
        };
        chosen::policy_of(chosen::of(look, &view).unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(policy(&look, Scope::Unit).unwrap(), "ebb");
    for scope in [Scope::Flow, Scope::Process] {
        let refused = policy(&look, scope).unwrap_err();
        assert!(refused.contains("the unit's: press tab"), "{refused}");
    }
    look.attachments[0].backend = crate::runtime::Backend::User;
    assert_eq!(policy(&look, Scope::Process).unwrap(), "ebb");
}

#[test]
fn a_policy_that_is_typed_is_seen_with_what_it_is_for() {
    let view = View {
        chosen: 2,
        scope: Scope::Process,
        input: Some("sampled:low".to_owned()),
        ..View::default()
    };
    let area = Rect::new(0, 0, 80, 24);
    let mut buffer = Buffer::empty(area);
    draw(&look(), &view, area, &mut buffer);
    let screen = lines_of(&buffer).join("\n");
    assert!(
        screen.contains("policy for process 4711: sampled:low_"),
        "{screen}"
    );
}

#[test]
fn the_chosen_connection_is_in_sight_among_many() {
    let mut look = look();
    let one = look.flows[0].clone();
    look.flows = (0..50)
        .map(|number| SeenFlow {
            program: Some(format!("curl[{number}]")),
            ..one.clone()
        })
        .collect();
    let view = View {
        chosen: 2 + 49,
        ..View::default()
    };
    let area = Rect::new(0, 0, 80, 24);
    let mut buffer = Buffer::empty(area);
    draw(&look, &view, area, &mut buffer);
    assert!(lines_of(&buffer).join("\n").contains(">curl[49]"));
}

#[test]
fn a_wide_terminal_shows_windows_and_laws() {
    let screen = drawn(140, 30);
    assert!(screen.contains("121KiB"), "{screen}");
    assert!(screen.contains("LAW"), "{screen}");
    assert!(screen.contains("[2001:db8::1234:5678]:873"), "{screen}");
}

#[test]
fn a_tiny_terminal_is_no_reason_to_panic() {
    for (width, height) in [(1, 1), (10, 2), (20, 5), (300, 3)] {
        drawn(width, height);
    }
}

#[test]
fn a_look_as_text_ends_with_the_last_connection() {
    let text = text(&look());
    assert!(
        text.trim_end()
            .lines()
            .last()
            .unwrap()
            .contains("rsync[4242]"),
        "{text}"
    );
    assert!(super::text(&Look::default()).contains("nothing is attached"));
}

#[test]
fn numbers_fit_their_columns() {
    assert_eq!(bits(0.0), "0");
    assert_eq!(bits(999.4), "999");
    assert_eq!(bits(1_000.0), "1.00k");
    assert_eq!(bits(99_960.0), "100k");
    assert_eq!(bits(2.5e9), "2.50G");
    assert_eq!(bytes(65_536), "64.0KiB");
}
