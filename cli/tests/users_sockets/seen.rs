// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the library tells of a socket that the service governs: it asks the service.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use ebb_kernel::{requires_feature, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::program::Program;
use crate::support::users::{ADA, BOB, Users};

/// The library waits a fifth of a second at the most; the rest is for a machine that is busy.
const MOST_WAITED: Duration = Duration::from_millis(600);

fn see(program: &mut Program) -> Value {
    serde_json::from_str(&program.does("see")).unwrap()
}

/// Sends as fast as it can be taken, until the other end is closed.
fn send(stream: &TcpStream) {
    let mut stream = stream.try_clone().unwrap();
    thread::spawn(move || while stream.write_all(&[7; 1 << 16]).is_ok() {});
}

#[test]
fn law_window_queue_and_why_it_is_held_back_are_told_of_what_the_service_governs() {
    let name = "law_window_queue_and_why_it_is_held_back_are_told_of_what_the_service_governs";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("k");
    users.scene.narrow("10mbit");
    let service = users.serve();
    for (what, kind) in [("background", "socket"), ("background all", "sockets")] {
        let mut program = Program::start(&users, ADA, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("state", "OfAnother");
        assert_eq!(users.sees(ADA)[0]["target"]["kind"], kind);
        if kind == "sockets" {
            // The other one is to be in nobody's way.
            program.until("states", "[Some(OfAnother), Some(OfAnother)]");
        }
        assert_eq!(program.does("fetch"), "Ok(())");
        send(&program.streams[0]);
        until("it is told of", || {
            let seen = see(&mut program);
            let download = &seen["download"];
            assert_eq!(seen["standing"], "OfAnother");
            download["payload_bytes"].as_u64().unwrap_or(0) > 1 << 20
                && download["queue_us"].is_u64()
                && download["rtt_us"].is_u64()
        });
        let seen = see(&mut program);
        assert_eq!(seen["download"]["law"], "ebb", "{seen}");
        assert!(
            seen["download"]["window_bytes"].as_u64() > Some(0),
            "{seen}"
        );
        assert_eq!(seen["upload"]["law"], "ebb-sender", "{seen}");
        assert!(seen["upload"]["window_bytes"].as_u64() > Some(0), "{seen}");

        // A user hears of own connections, and of no others.
        let message = json!({"flows-of": {"cookies": [seen["cookie"], 1]}});
        assert_eq!(users.ask(BOB, &message), json!({"answer": {"flows": []}}));
        let told = users.ask(ADA, &message);
        assert_eq!(told["answer"]["flows"].as_array().unwrap().len(), 2);

        // Of those that are held together both yield.
        if kind == "socket" {
            send(&program.streams[1]);
            until("others want the link", || {
                see(&mut program)["download"]["held_back"] == "OthersWantIt"
            });
            let queue_us = |seen: &Value| seen["download"]["queue_us"].as_u64();
            let beside = see(&mut program);
            assert!(queue_us(&beside) > queue_us(&seen), "{seen} {beside}");
        }
    }
    service.end(Signal::SIGTERM);
}

#[test]
fn of_what_ebb_run_holds_by_the_service_a_program_is_told_as_well() {
    let name = "of_what_ebb_run_holds_by_the_service_a_program_is_told_as_well";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("p");
    let service = users.serve();
    let mut program = Program::start_under_run(&users, ADA);
    assert_eq!(program.does("background"), "Ok(())");
    program.until("state", "OfAnother");
    assert_eq!(users.sees(ADA)[0]["target"]["kind"], "run");
    until("it is told of", || {
        let seen = see(&mut program);
        seen["download"]["law"] == "ebb" && seen["upload"]["law"] == "ebb-sender"
    });
    drop(program);
    service.end(Signal::SIGTERM);
}

#[test]
fn a_service_that_does_not_answer_is_not_waited_for_by_who_wants_to_know() {
    let name = "a_service_that_does_not_answer_is_not_waited_for_by_who_wants_to_know";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("l");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background"), "Ok(())");
    program.until("state", "OfAnother");
    until("it is told of", || {
        see(&mut program)["download"].is_object()
    });
    let pid = Pid::from_raw(i32::try_from(service.child.id()).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    // What was told serves for a moment.
    thread::sleep(Duration::from_millis(300));
    let took = |program: &mut Program| {
        let began = Instant::now();
        let seen = see(program);
        assert!(
            seen["download"].is_null() || seen["standing"] == "Background",
            "{seen}"
        );
        began.elapsed()
    };
    let (first, second) = (took(&mut program), took(&mut program));
    kill(pid, Signal::SIGCONT).unwrap();
    assert!(first < MOST_WAITED, "{first:?}");
    // It is not asked again at once.
    assert!(second < Duration::from_millis(100), "{second:?}");
    until("it is told of", || {
        let seen = see(&mut program);
        seen["standing"] == "OfAnother" && seen["download"].is_object()
    });
    drop(program);
    service.end(Signal::SIGTERM);
}
