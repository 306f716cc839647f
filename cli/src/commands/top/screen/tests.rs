// SPDX-License-Identifier: Apache-2.0 OR MIT
mod following;

use super::*;

use ebb_algorithms::Doing;

use ebb_keeper::registry::{Attached, Record};
use ebb_keeper::{Backend, FlowView, InForce, Pursued, Standing};

use super::super::sample::SeenFlow;

fn flow(program: &str, peer: &str, direction: Direction, doing: (&str, &str)) -> SeenFlow {
    let pid = program.split(['[', ']']).nth(1).unwrap();
    let attachment = match pid {
        "4242" => "process-4242",
        _ => "run-7",
    };
    SeenFlow {
        attachment: attachment.to_owned(),
        backend: Backend::Kernel,
        program: Some(program.to_owned()),
        pid: pid.parse().ok(),
        rate_bit_per_s: 9_432_000.0,
        view: FlowView {
            cookie: pid.parse().unwrap(),
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
    let run = Attached::Run {
        command: vec![
            "curl".to_owned(),
            "-O".to_owned(),
            "https://example.org/large.iso".to_owned(),
        ],
        cgroup: Some("/ebb-7".into()),
    };
    let free = InForce {
        policy: "vulture".into(),
        is_observing: true,
        ..InForce::default()
    };
    let process = Attached::Process { pid: 4242 };
    let ebb = InForce {
        policy: "ebb".into(),
        upload_policy: Some("ledbat++".into()),
        ..InForce::default()
    };
    let grows = ("grow", "");
    let mut paced = flow("curl[4711]", "198.51.100.7:443", Direction::Up, grows);
    paced.view.pace_bytes_per_s = Some(345_000);
    Look {
        at_unix_s: 0.0,
        attachments: vec![
            Record::new(run, "run-7".into(), Backend::Kernel, ebb),
            Record::new(process, "process-4242".into(), Backend::Kernel, free),
        ],
        flows: vec![
            flow(
                "curl[4711]",
                "198.51.100.7:443",
                Direction::Down,
                ("hold", "queue at target"),
            ),
            paced,
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

/// Its line at this place is chosen.
fn choosing(look: &Look, at: usize, scope: Scope) -> View {
    View {
        chosen: chosen::lines(look).nth(at),
        scope,
        ..View::default()
    }
}

fn drawn(width: u16, height: u16) -> String {
    let look = look();
    picture(&look, &choosing(&look, 0, Scope::Flow), width, height)
}

fn picture(look: &Look, view: &View, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(look, view, area, &mut buffer);
    lines_of(&buffer).join("\n")
}

#[test]
fn everything_that_matters_is_in_80_by_24() {
    let screen = drawn(80, 24);
    for text in [
        "2 attachments, 2 connections, down 18.9 Mbit/s, up 9.43 Mbit/s",
        "> down ebb, up ledbat++: ebb run -- curl",
        "  [free] down vulture, up none: process 4242",
        "curl[4711]",
        "198.51.100.7:443",
        "4.9ms",
        "121KiB",
        "2.8Mbit",
        "hold",
        "queue at target",
        KEYS,
    ] {
        assert!(screen.contains(text), "{text} is not in\n{screen}");
    }
    assert_eq!(screen.lines().count(), 24);
    let heads = "PROGRAM WAY PEER BIT/S LIMIT QUEUE MODE HELD BACK";
    let named = screen
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(named.filter(|line| line == heads).count(), 1, "{screen}");
}

#[test]
fn a_floor_and_a_deadline_are_whole_in_80_columns_and_the_chosen_one_stays_in_sight() {
    let mut look = look();
    let first = &mut look.attachments[0];
    first.minimum = Some("2mbit".into());
    first.deadline = Some(Pursued {
        by: "06:00".into(),
        by_unix_s: Some(1_795_611_600),
        size_bytes: 40_000_000_000,
        done_bytes: 12_345_000_000,
        standing: Standing::Behind,
        minimum: Some("18204kbit".into()),
        late_s: 0,
    });
    let screen = picture(&look, &choosing(&look, 0, Scope::Flow), 80, 24);
    assert!(
        screen.contains("\n    2mbit at the least, each way\n    12.3 of 40.0 GB by 2026-11-2"),
        "{screen}"
    );
    assert!(
        screen.contains(": behind, 18204kbit at the least\n"),
        "{screen}"
    );
    let other = "  [free] down vulture, up none: process 4242";
    assert!(
        screen.contains(other) && text(&look).contains(other),
        "{screen}"
    );
    // A third of the height is less than all these lines.
    let low = picture(&look, &choosing(&look, 1, Scope::Unit), 80, 9);
    assert!(low.contains("> [free] down vulture"), "{low}");
}

#[test]
fn numbers_of_processes_and_ports_are_whole_in_80_columns() {
    let mut look = look();
    let mut long = look.flows[0].clone();
    long.program = Some("kworker-of-mine[4194303]".to_owned());
    long.view.peer = "[2001:db8:1234:5678:9abc:def0:1234:5678]:50873"
        .parse()
        .unwrap();
    long.view.mode = Doing::Look.to_string();
    long.view.reason = Doing::Look.reason().to_owned();
    look.flows.push(long);
    let screen = picture(&look, &View::default(), 80, 24);
    let line = screen.lines().find(|line| line.contains("look")).unwrap();
    for text in ["kwor…[4194303] ", "…]:50873 ", Doing::Look.reason()] {
        assert!(line.contains(text), "{text} is not in\n{screen}");
    }
    // Where there is room nothing gives way.
    let screen = picture(&look, &View::default(), 140, 24);
    for text in [
        "kworker-of-mine[4194303] ",
        "[2001:db8:1234:5678:9abc:def0:1234:5678]:50873 ",
    ] {
        assert!(screen.contains(text), "{text} is not in\n{screen}");
    }
}

#[test]
fn every_reason_fits_where_it_stands() {
    for doing in Doing::ALL {
        let mut look = look();
        look.flows[0].view.mode = doing.to_string();
        look.flows[0].view.reason = doing.reason().to_owned();
        let screen = picture(&look, &View::default(), 80, 24);
        let line = screen.lines().find(|line| line.contains("curl[")).unwrap();
        let told = format!("{doing:5} {}", doing.reason());
        assert!(
            line.ends_with(told.trim_end()),
            "{told} is not in\n{screen}"
        );
    }
}

#[test]
fn what_keys_act_on_is_marked_without_colour() {
    let marks = |at, scope| {
        let look = look();
        let screen = picture(&look, &choosing(&look, at, scope), 80, 24);
        let marked = screen.lines().filter(|line| line.starts_with('>'));
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
fn what_came_of_a_key_is_read_to_its_end_in_80_columns() {
    let look = look();
    let unit = choosing(&look, 0, Scope::Flow);
    let what = chosen::words(&look, &unit).repeat(3);
    let foot = |said: &str, input: Option<&str>| {
        let mut look = look.clone();
        look.attachments[0].attached = Attached::Run {
            command: vec![what.clone()],
            cgroup: None,
        };
        let view = View {
            message: Some(Message::new(what.clone(), said)),
            input: input.map(str::to_owned),
            ..unit.clone()
        };
        let screen = picture(&look, &view, 80, 24);
        assert_eq!(screen.lines().count(), 24);
        let below = screen.lines().skip_while(|line| !line.contains("rsync["));
        let lines = below.skip(1).filter(|line| !line.is_empty());
        lines.map(|line| format!("{line} ")).collect::<String>()
    };
    let free = " is free: it takes what it gets";
    let told = foot(free, None);
    assert!(told.contains(&format!("…{free}")), "{told}");
    let unknown = "nosuch".parse::<ebb_algorithms::Policy>().unwrap_err();
    let told = foot(&format!(": {unknown}"), None);
    assert!(told.contains(&format!("…: {unknown}")), "{told}");
    let typed = "sampled:target_us=9000,low_us=4000,high_us=20000";
    let told = foot("", Some(typed));
    assert!(told.starts_with("policy for ebb run"), "{told}");
    assert!(told.contains(&format!("…: {typed}_")), "{told}");
    assert_eq!(
        wrapped("one two  three fourteen", 8),
        ["one two  ", "three ", "fourteen"]
    );
    assert_eq!(wrapped("unbreakable", 4), ["unbr", "eaka", "ble"]);
}

#[test]
fn only_units_have_a_policy_of_their_own_with_the_kernel_backend() {
    let mut look = look();
    let policy = |look: &Look, scope| {
        let view = choosing(look, 2, scope);
        chosen::policy_of(chosen::of(look, &view).unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(policy(&look, Scope::Unit).unwrap(), "ebb");
    for scope in [Scope::Flow, Scope::Process] {
        let refused = policy(&look, scope).unwrap_err();
        assert!(refused.contains("the unit's: press tab"), "{refused}");
    }
    look.attachments[0].backend = Backend::User;
    assert_eq!(policy(&look, Scope::Process).unwrap(), "ebb");
}

#[test]
fn a_policy_that_is_typed_is_seen_with_what_it_is_for() {
    let look = look();
    let view = View {
        input: Some("sampled:low".to_owned()),
        ..choosing(&look, 2, Scope::Process)
    };
    let screen = picture(&look, &view, 80, 24);
    assert!(
        screen.contains("policy for process 4711: sampled:low_"),
        "{screen}"
    );
}

#[test]
fn a_connection_behind_a_gateway_is_told_by_its_device() {
    let mut look = look();
    for flow in &mut look.flows {
        flow.backend = Backend::Gateway;
        flow.program = None;
        flow.view.local = "[fd07::40]:40000".parse().unwrap();
    }
    look.attachments[1].backend = Backend::Gateway;
    let screen = picture(&look, &View::default(), 80, 24);
    assert!(screen.contains(" fd07::40 "), "{screen}");
    assert!(screen.contains("down vulture, up vulture"), "{screen}");
}

fn look_at_many(count: u64) -> Look {
    let look = look();
    let one = &look.flows[0];
    let flows = (0..count).map(|number| SeenFlow {
        program: Some(format!("curl[{number}]")),
        view: FlowView {
            cookie: number,
            ..one.view.clone()
        },
        ..one.clone()
    });
    Look {
        flows: flows.collect(),
        ..look
    }
}

#[test]
fn the_chosen_connection_is_in_sight_among_many() {
    let look = look_at_many(50);
    let view = choosing(&look, 2 + 49, Scope::Flow);
    assert!(picture(&look, &view, 80, 24).contains(">curl[49]"));
}

#[test]
fn ten_thousand_connections_both_ways_fit_any_terminal_and_each_can_be_chosen() {
    let look = look_at_many(20_000);
    let mut view = choosing(&look, 0, Scope::Flow);
    for (by, name) in [
        (isize::MAX, ">curl[19999]"),
        (-1, ">curl[19998]"),
        (-10_000, ">curl[9998]"),
        (isize::MIN + 1, ">"),
        (2, ">curl[0]"),
    ] {
        chosen::step(&look, &mut view, by);
        let screen = picture(&look, &view, 80, 24);
        assert!(screen.contains(name), "{by}: {screen}");
        assert_eq!(screen.lines().count(), 24);
    }
    let text = text(&look);
    assert!(
        text.trim_end()
            .lines()
            .last()
            .unwrap()
            .contains("curl[19999]")
    );
}

#[test]
fn a_wide_terminal_shows_round_trips_and_laws() {
    let screen = drawn(140, 30);
    assert!(screen.contains("101ms"), "{screen}");
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
