// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets that the service holds are taken to the foreground: the call does not wait for it, and
//! whatever comes between, what was asked for last is so in the end.

use std::thread;
use std::time::Duration;

use ebb_kernel::{requires_feature, until};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::held;
use crate::late::signal;
use crate::program::{Program, SOME};
use crate::support::users::{ADA, Users};

/// Both ways to have sockets held.
const WAYS: [&str; 2] = ["background", "background all"];
/// Whatever was asked for before has been done by then.
const LATER: Duration = Duration::from_secs(2);

#[test]
fn many_that_are_taken_to_the_foreground_in_a_row_are_let_go() {
    let name = "many_that_are_taken_to_the_foreground_in_a_row_are_let_go";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("lm");
    users.set("[users]\npolicies = 100\n");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    program.tell("some");
    for _ in 0..SOME {
        program
            .streams
            .push(users.scene.listener.accept().unwrap().0);
    }
    assert_eq!(program.hears(), "Ok(())");
    let all = format!("[{}, 0]", SOME + 2);
    for what in ["background each", "background all"] {
        assert_eq!(program.does(what), "Ok(())");
        program.until("states of many", &all);
        assert_eq!(program.does("foreground each"), "Ok(())");
        program.until("states of many", "[0, 0]");
        assert_eq!(program.does("any limited"), "false", "{what}");
        // Those that come are held together still.
        let left = if what == "background all" { 1 } else { 0 };
        assert_eq!(held(&users).len(), left, "{what}");
    }
    drop(program);
    until("let go", || held(&users).is_empty());
    service.end(Signal::SIGTERM);
}

#[test]
fn what_is_asked_for_last_is_so_in_the_end() {
    let name = "what_is_asked_for_last_is_so_in_the_end";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("ll");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    for (asked, standing, kinds) in [
        ("background", "OfAnother", vec!["socket"]),
        ("foreground, background", "OfAnother", vec!["socket"]),
        ("background, foreground", "Foreground", vec![]),
        // Before the service has answered.
        ("background, foreground", "Foreground", vec![]),
        (
            "background, foreground, background",
            "OfAnother",
            vec!["socket"],
        ),
        (
            "foreground, background by its own law",
            "Background",
            vec![],
        ),
        ("foreground, background", "OfAnother", vec!["socket"]),
        ("foreground all, background", "OfAnother", vec!["socket"]),
        ("renumber, foreground", "Foreground", vec![]),
        ("background all", "OfAnother", vec!["sockets"]),
        (
            "foreground all, background all",
            "OfAnother",
            vec!["sockets"],
        ),
        ("foreground, background all", "OfAnother", vec!["sockets"]),
        (
            "foreground, background",
            "OfAnother",
            vec!["sockets", "socket"],
        ),
        ("background all, foreground", "Foreground", vec!["sockets"]),
        ("renumber, background, foreground all", "Foreground", vec![]),
        ("background all, foreground all", "Foreground", vec![]),
    ] {
        assert_eq!(program.does(&format!("do {asked}")), "Ok(())");
        program.until("state", standing);
        thread::sleep(LATER);
        program.until("state", standing);
        let seen = held(&users);
        let seen: Vec<_> = seen.iter().map(|it| &it["target"]["kind"]).collect();
        assert_eq!(seen, kinds, "{asked}");
        let is_limited = (standing != "Foreground").to_string();
        program.until("one limited", &is_limited);
    }
    drop(program);
    service.end(Signal::SIGTERM);
}

#[test]
fn who_takes_to_the_foreground_does_not_wait_for_a_service_that_is_stopped() {
    let name = "who_takes_to_the_foreground_does_not_wait_for_a_service_that_is_stopped";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    for what in WAYS {
        let users = Users::new("ls");
        let service = users.serve();
        let mut program = Program::start(&users, ADA, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("state", "OfAnother");
        signal(&service, Signal::SIGSTOP);
        // The service is stopped for as long as nobody has it go on, which is after the answer.
        assert_eq!(program.does("foreground"), "Ok(())");
        assert_eq!(program.does("state"), "OfAnother");
        // Its programs let go without it.
        program.until("one limited", "false");
        assert_eq!(program.does("state"), "OfAnother");
        signal(&service, Signal::SIGCONT);
        program.until("state", "Foreground");
        thread::sleep(LATER);
        assert_eq!(program.does("one limited"), "false");

        // Given once more meanwhile it is held in the end.
        assert_eq!(program.does("background"), "Ok(())");
        program.until("state", "OfAnother");
        signal(&service, Signal::SIGSTOP);
        assert_eq!(program.does("do foreground, background"), "Ok(())");
        thread::sleep(LATER);
        signal(&service, Signal::SIGCONT);
        program.until("one limited", "true");
        let is_held = || {
            held(&users)
                .iter()
                .any(|it| it["target"]["kind"] == "socket")
        };
        until("held", is_held);
        thread::sleep(LATER);
        assert!(is_held(), "{what}");
        drop(program);
        service.end(Signal::SIGTERM);
    }
}

#[test]
fn a_service_that_is_too_busy_or_ends_is_told_again() {
    let name = "a_service_that_is_too_busy_or_ends_is_told_again";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("lb");
    users.set("[users]\nconnections = 2\n");
    for what in WAYS {
        let service = users.serve();
        // By this the library knows one that is older than a request.
        let told = users.ask(ADA, &json!({"let-them-go": {}}));
        let cause = told["refused"]["cause"].as_str().unwrap();
        assert!(cause.contains("unknown variant"), "{told}");
        let mut program = Program::start(&users, ADA, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("state", "OfAnother");
        // More than there is room for: the library may have had a place when the first one came.
        let others = [(); 6].map(|()| {
            thread::sleep(LATER / 20);
            users.connect(ADA).unwrap()
        });
        assert_eq!(program.does("foreground"), "Ok(())");
        thread::sleep(LATER);
        assert_eq!(program.does("state"), "OfAnother");
        drop(others);
        program.until("state", "Foreground");
        assert_eq!(program.does("one limited"), "false");

        assert_eq!(program.does("background"), "Ok(())");
        program.until("state", "OfAnother");
        service.end(Signal::SIGKILL);
        assert_eq!(program.does("foreground"), "Ok(())");
        program.until("state", "Foreground");
        program.until("one limited", "false");
        drop(program);
    }
}

#[test]
fn what_a_busy_service_holds_is_not_forgotten() {
    let name = "what_a_busy_service_holds_is_not_forgotten";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("lf");
    users.set("[users]\nconnections = 2\n");
    for what in WAYS {
        let service = users.serve();
        let mut program = Program::start(&users, ADA, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("state", "OfAnother");
        let others = [(); 6].map(|()| {
            thread::sleep(LATER / 20);
            users.connect(ADA).unwrap()
        });
        // The library looks every other second whether the service holds it, and is refused.
        for _ in 0..6 {
            thread::sleep(LATER / 2);
            assert_eq!(program.does("state"), "OfAnother", "{what}");
        }
        drop(others);
        assert_eq!(program.does("foreground all"), "Ok(())");
        until("let go", || held(&users).is_empty());
        program.until("state", "Foreground");
        assert_eq!(program.does("one limited"), "false");
        drop(program);
        service.end(Signal::SIGTERM);
    }
}
