// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One socket of an ordinary user's program is held by the service, where that runs: the library
//! asks for it.

#[path = "../../../library/tests/support/c.rs"]
mod c;
mod costs;
mod giving;
mod late;
mod leaving;
mod lives;
mod program;
mod sanitized;
mod seen;
#[path = "../support/mod.rs"]
mod support;

use std::net::TcpStream;
use std::os::fd::AsRawFd;

use ebb_kernel::{requires_feature, until};
use nix::sys::signal::Signal;
use program::Program;
use serde_json::{Value, json};
use support::users::{ADA, BOB, ROOT, Users, as_user};

fn held(users: &Users) -> Vec<Value> {
    users.sees(ADA)
}

#[test]
fn a_socket_that_is_given_is_held_by_the_service_and_by_the_program_once_that_has_gone() {
    let name =
        "a_socket_that_is_given_is_held_by_the_service_and_by_the_program_once_that_has_gone";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("s");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background"), "Ok(())");
    program.until("state", "OfAnother");
    let seen = held(&users);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0]["target"]["kind"], "socket");
    assert_eq!(seen[0]["flows"].as_array().unwrap().len(), 2, "{seen:?}");
    program.until("limited", "[Some(true), Some(false)]");

    // It is let go when its state says so.
    assert_eq!(program.does("foreground"), "Ok(())");
    program.until("state", "Foreground");
    assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
    assert!(held(&users).is_empty());

    assert_eq!(program.does("background"), "Ok(())");
    program.until("state", "OfAnother");
    service.end(Signal::SIGKILL);
    program.until("state", "Background");
    program.until("limited", "[Some(true), Some(false)]");
    assert_eq!(program.does("foreground"), "Ok(())");
    assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
    program.until("state", "Foreground");
}

#[test]
fn what_a_socket_sends_is_lower_effort_whoever_holds_it() {
    let name = "what_a_socket_sends_is_lower_effort_whoever_holds_it";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    const LOWER_EFFORT: &str = "4";
    let users = Users::new("m");
    let mut service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    for _ in 0..2 {
        // It is asked for once more when the thread knows of the one that was killed.
        until("held", || {
            assert_eq!(program.does("background"), "Ok(())");
            program.does("state") == "OfAnother"
        });
        program.until("code point", LOWER_EFFORT);
        service.end(Signal::SIGKILL);
        program.until("state", "Background");
        program.until("code point", LOWER_EFFORT);
        service = users.serve();
    }
    assert_eq!(program.does("foreground"), "Ok(())");
    program.until("code point", "0");
    drop(program);
    service.end(Signal::SIGTERM);
}

#[test]
fn all_sockets_of_a_program_are_held_together_but_for_those_in_the_foreground() {
    let name = "all_sockets_of_a_program_are_held_together_but_for_those_in_the_foreground";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    const BOTH: &str = "[Some(OfAnother), Some(OfAnother)]";
    let users = Users::new("w");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", BOTH);
    let seen = held(&users);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0]["target"]["kind"], "sockets");
    assert_eq!(seen[0]["target"]["pid"], program.child.id());
    assert_eq!(seen[0]["flows"].as_array().unwrap().len(), 4, "{seen:?}");
    program.until("limited", "[Some(true), Some(true)]");

    // By another number it is held still, and one is taken to the foreground by that.
    assert_eq!(program.does("renumber"), "Ok(())");
    program.until("limited", "[Some(true), Some(true)]");
    assert_eq!(program.does("foreground"), "Ok(())");
    program.until("states", "[Some(Foreground), Some(OfAnother)]");
    assert_eq!(program.does("limited"), "[Some(false), Some(true)]");
    assert_eq!(held(&users)[0]["flows"].as_array().unwrap().len(), 2);

    // Given once more by itself it is held by itself, on terms of its own.
    assert_eq!(program.does("background"), "Ok(())");
    program.until("states", BOTH);
    let kinds = |seen: &[Value]| -> Vec<String> {
        let kinds = seen
            .iter()
            .map(|it| it["target"]["kind"].as_str().unwrap().to_owned());
        kinds.collect()
    };
    assert_eq!(kinds(&held(&users)), ["sockets", "socket"]);

    // The thread sees to a law that was chosen, and to nothing that the service has by itself.
    assert_eq!(program.does("background all by its own law"), "Ok(())");
    program.until("states", "[Some(OfAnother), Some(Background)]");
    assert_eq!(kinds(&held(&users)), ["socket"]);

    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", BOTH);
    assert_eq!(program.does("foreground all"), "Ok(())");
    program.until("states", "[Some(Foreground), Some(Foreground)]");
    assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
    assert!(held(&users).is_empty());

    // Who holds them is killed: the thread governs, and another service is asked again.
    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", BOTH);
    service.end(Signal::SIGKILL);
    program.until("states", "[Some(Background), Some(Background)]");
    let service = users.serve();
    program.until("states", BOTH);
    drop(program);
    until("let go", || held(&users).is_empty());
    service.end(Signal::SIGTERM);
}

/// Of what kind each is that is held, and what it has at the least.
fn minimums(users: &Users) -> Vec<String> {
    let minimum = |it: &Value| format!("{} {}", it["target"]["kind"], it["minimum"]);
    let mut minimums: Vec<String> = held(users).iter().map(minimum).collect();
    minimums.sort_unstable();
    minimums
}

#[test]
fn the_service_sees_to_a_minimum() {
    if !requires_feature("the_service_sees_to_a_minimum", "callback-flags") {
        return;
    }
    const WITHOUT: &str = "\"socket\" null";
    let users = Users::new("o");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background with 2 Mbit/s"), "Ok(())");
    program.until("state", "OfAnother");
    assert_eq!(minimums(&users), ["\"socket\" \"2mbit\""]);

    // Given otherwise it is held otherwise; given so once more it stays.
    for _ in 0..2 {
        assert_eq!(program.does("background"), "Ok(())");
        until("held without", || minimums(&users) == [WITHOUT]);
    }
    assert_eq!(program.does("background all with 2 Mbit/s"), "Ok(())");
    program.until("states", "[Some(OfAnother), Some(OfAnother)]");
    assert_eq!(minimums(&users), [WITHOUT, "\"sockets\" \"2mbit\""]);
    assert_eq!(program.does("background all"), "Ok(())");
    let both = [WITHOUT, "\"sockets\" null"];
    until("all held without", || minimums(&users) == both);
    assert_eq!(program.does("foreground all"), "Ok(())");
    program.until("states", "[Some(Foreground), Some(Foreground)]");
    assert!(held(&users).is_empty());
    drop(program);
    service.end(Signal::SIGTERM);
}

#[test]
fn of_those_held_together_one_that_only_a_child_has_left_is_free() {
    let name = "of_those_held_together_one_that_only_a_child_has_left_is_free";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("q");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", "[Some(OfAnother), Some(OfAnother)]");
    let acting = || {
        let flows = held(&users)[0]["flows"].clone();
        let acting = flows
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["is_acting"] == true);
        let mut acting: Vec<bool> = acting.collect();
        acting.sort_unstable();
        acting
    };
    assert_eq!(acting(), [true; 4]);
    assert_eq!(program.does("hand over"), "Ok(())");
    program
        .streams
        .push(users.scene.listener.accept().unwrap().0);
    program.until("states", "[Some(OfAnother), Some(OfAnother)]");
    until("let go", || {
        acting() == [false, false, true, true, true, true]
    });
    drop(program);
    until("let go", || held(&users).is_empty());
    service.end(Signal::SIGTERM);
}

#[test]
fn who_has_as_many_policies_as_may_be_asks_again_for_those_held_together() {
    let name = "who_has_as_many_policies_as_may_be_asks_again_for_those_held_together";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("r");
    users.set("[users]\npolicies = 1\n");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", "[Some(OfAnother), Some(OfAnother)]");
    let id = held(&users)[0]["id"].as_str().unwrap().to_owned();
    let told: Value = serde_json::from_str(&program.does("together")).unwrap();
    assert_eq!(told["message"]["held"]["id"], id, "{told}");
    // One more is one too many, and one who may have none any more does not get that one.
    let told = program.does("single");
    assert!(told.contains("you have 1 policies here already"), "{told}");
    users.set("[users]\nenabled = false\n");
    service.reload();
    let told = program.does("together");
    assert!(told.contains("switched that off"), "{told}");
    drop(program);
    service.end(Signal::SIGTERM);
}

#[test]
fn sockets_of_a_program_of_roots_are_held_as_well() {
    let name = "sockets_of_a_program_of_roots_are_held_as_well";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("y");
    let service = users.serve();
    for (what, kind) in [("background", "socket"), ("background all", "sockets")] {
        let mut program = Program::start(&users, ROOT, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("state", "OfAnother");
        assert_eq!(users.root_sees()[0]["target"]["kind"], kind);
        program.until(
            "limited",
            match kind {
                "socket" => "[Some(true), Some(false)]",
                _ => "[Some(true), Some(true)]",
            },
        );
        // What was held for root is let go for whom the program has become.
        assert_eq!(program.does("become another user"), "0");
        assert_eq!(program.does("foreground all"), "Ok(())");
        program.until("states", "[Some(Foreground), Some(Foreground)]");
        assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
        assert!(users.root_sees().is_empty());
    }
    service.end(Signal::SIGTERM);
}

#[test]
fn a_program_that_ends_leaves_nothing_held_and_without_a_service_governs_by_itself() {
    let name = "a_program_that_ends_leaves_nothing_held_and_without_a_service_governs_by_itself";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("t");
    let mut alone = Program::start(&users, ADA, None);
    assert_eq!(alone.does("background"), "Ok(())");
    alone.until("state", "Background");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background"), "Ok(())");
    program.until("state", "OfAnother");
    drop(program);
    until("let go", || held(&users).is_empty());
    assert_eq!(alone.does("state"), "Background");
    service.end(Signal::SIGTERM);
}

#[test]
fn nobody_has_a_socket_held_that_another_user_made() {
    let name = "nobody_has_a_socket_held_that_another_user_made";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("u");
    let service = users.serve();
    let connect = || TcpStream::connect("10.78.0.2:7000").unwrap();
    let of_ada = as_user(ADA, connect);
    let _accepted = users.scene.listener.accept().unwrap();
    // It lives on in Bob's program, as if Ada's had given it away.
    // SAFETY: takes plain numbers.
    let number = unsafe { libc::fcntl(of_ada.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 100) };
    let mut program = Program::start(&users, BOB, Some(number));
    let told = program.does("theirs");
    assert!(told.contains("made by another user"), "{told}");
    let told = program.does("another");
    assert!(told.contains("you have no socket by descriptor"), "{told}");
    let told = program.does("datagrams");
    assert!(told.contains("it is a UDP socket"), "{told}");
    assert!(users.root_sees().is_empty());

    // What a program's sockets are held together by nobody else adds to, or takes from.
    let mut of_hers = Program::start(&users, ADA, None);
    assert_eq!(of_hers.does("background all"), "Ok(())");
    of_hers.until("states", "[Some(OfAnother), Some(OfAnother)]");
    let id = held(&users)[0]["id"].as_str().unwrap().to_owned();
    for message in [
        json!({"add": {"id": id, "sockets": []}}),
        json!({"drop": {"id": id, "cookies": [1]}}),
        json!({"ask": {"id": id, "request": "detach"}}),
    ] {
        let told = users.ask(BOB, &message);
        let cause = told["refused"]["cause"].as_str().unwrap();
        assert!(cause.contains("nothing of the name"), "{told}");
    }
    let cookie = &held(&users)[0]["flows"][0]["cookie"];
    let message = json!({"let-go": {"ids": [id], "cookies": [cookie]}});
    assert_eq!(users.ask(BOB, &message), json!({"answer": "done"}));
    assert_eq!(held(&users)[0]["flows"].as_array().unwrap().len(), 4);
    drop(of_hers);
    // SAFETY: the number is ours alone.
    unsafe { libc::close(number) };
    service.end(Signal::SIGTERM);
}
