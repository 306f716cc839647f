// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What becomes of sockets that the service holds, or the thread of the library governs, when their
//! program executes another, forks, gives one away, or has more than the service holds.

use std::collections::HashSet;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use ebb_kernel::{requires_feature, until};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;

use crate::giving::take;
use crate::program::{MANY, Program, is_clamped, place};
use crate::support::users::{ADA, Users};
use crate::{held, minimums};

/// Whether the service runs, what is told, and what `state` says then.
const MODES: [(bool, &str, &str); 3] = [
    (false, "background", "Background"),
    (true, "background", "OfAnother"),
    (true, "background all", "OfAnother"),
];
/// So many the service holds of one process.
const MOST_HELD: usize = 4_096;

/// It has what it asks for itself, and not what the one before it asked for.
#[test]
fn a_program_that_was_executed_has_its_own_minimum() {
    if !requires_feature(
        "a_program_that_was_executed_has_its_own_minimum",
        "callback-flags",
    ) {
        return;
    }
    let users = Users::new("n");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background all with 2 Mbit/s"), "Ok(())");
    program.until("state", "OfAnother");
    assert_eq!(minimums(&users), ["\"sockets\" \"2mbit\""]);
    program.tell("execute");
    program.streams.truncate(1);
    let accepted = users.scene.listener.accept().unwrap().0;
    program.streams.push(accepted);
    assert_eq!(program.does("background all"), "Ok(())");
    program.until("state", "OfAnother");
    assert_eq!(minimums(&users), ["\"sockets\" null"]);
    drop(program);
    service.end(Signal::SIGTERM);
}

#[test]
fn of_a_program_that_is_executed_over_nothing_is_governed_but_what_was_and_nothing_leaks() {
    let name =
        "of_a_program_that_is_executed_over_nothing_is_governed_but_what_was_and_nothing_leaks";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    for (is_served, what, standing) in MODES {
        let users = Users::new("e");
        let service = is_served.then(|| users.serve());
        let mut program = Program::start(&users, ADA, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("state", standing);
        program.tell("execute");
        program.streams.truncate(1);
        let accepted = users.scene.listener.accept().unwrap().0;
        program.streams.push(accepted);
        // What was given, the new connection, and one for datagrams.
        assert_eq!(program.does("sockets"), "3");
        assert_eq!(program.does("state"), "Foreground");
        assert_eq!(program.does("state of given"), "Foreground");
        thread::sleep(Duration::from_secs(3));
        assert_eq!(program.does("limited"), "[Some(false), None]");
        if is_served {
            program.until("given limited", "true");
            assert_eq!(held(&users)[0]["flows"].as_array().unwrap().len(), 2);
        }
        // The new program may do with it what the old one could.
        let again = match what {
            "background" => "background given",
            _ => what,
        };
        assert_eq!(program.does(again), "Ok(())");
        program.until("state of given", standing);
        program.until("given limited", "true");
        thread::sleep(Duration::from_secs(1));
        assert_eq!(program.does("foreground given"), "Ok(())");
        program.until("state of given", "Foreground");
        assert_eq!(
            program.does("given limited"),
            "false",
            "{what}, {is_served}"
        );
        drop(program);
        if let Some(service) = service {
            until("let go", || held(&users).is_empty());
            service.end(Signal::SIGTERM);
        }
    }
}

#[test]
fn a_child_changes_nothing_of_what_its_parent_has_held() {
    let name = "a_child_changes_nothing_of_what_its_parent_has_held";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("f");
    let service = users.serve();
    for (what, limited) in [
        ("background", "[Some(true), Some(false)]"),
        ("background all", "[Some(true), Some(true)]"),
    ] {
        let mut program = Program::start(&users, ADA, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("limited", limited);
        program.until("state", "OfAnother");
        assert_eq!(program.does("fork"), "true", "{what}");
        assert_eq!(program.does("state"), "OfAnother");
        program.until("limited", limited);
        assert_eq!(held(&users).len(), 1, "{what}");
        assert_eq!(program.does("foreground all"), "Ok(())");
        program.until("states", "[Some(Foreground), Some(Foreground)]");
        assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
        drop(program);
        until("let go", || held(&users).is_empty());
    }
    service.end(Signal::SIGTERM);
}

#[test]
fn a_socket_that_is_given_to_another_process_yields_for_as_long_as_this_one_has_it() {
    let name = "a_socket_that_is_given_to_another_process_yields_for_as_long_as_this_one_has_it";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    for (is_served, what, standing) in MODES {
        let users = Users::new("g");
        // Names are of the network that the scene has entered.
        let giving = UnixListener::bind_addr(&place(std::process::id())).unwrap();
        let service = is_served.then(|| users.serve());
        let mut program = Program::start(&users, ADA, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("state", standing);
        program.until("one limited", "true");
        assert_eq!(program.does("give"), "Ok(())");
        let taken = take(&giving.accept().unwrap().0);
        let is_limited = || is_clamped(taken.as_raw_fd());
        thread::sleep(Duration::from_secs(3));
        assert!(is_limited(), "{what}, {is_served}");
        // Without the service nobody reaches it any more once it is closed there.
        if !is_served {
            assert_eq!(program.does("foreground"), "Ok(())");
            assert!(!is_limited());
            continue;
        }
        assert_eq!(program.does("close"), "Ok(())");
        program
            .streams
            .push(users.scene.listener.accept().unwrap().0);
        until("let go", || !is_limited());
        drop(program);
        until("let go", || held(&users).is_empty());
        if let Some(service) = service {
            service.end(Signal::SIGTERM);
        }
    }
}

#[test]
fn of_more_sockets_than_the_service_holds_the_thread_governs_the_rest() {
    let name = "of_more_sockets_than_the_service_holds_the_thread_governs_the_rest";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    let users = Users::new("x");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background all"), "Ok(())");
    program.tell("many");
    for _ in 0..MANY {
        program
            .streams
            .push(users.scene.listener.accept().unwrap().0);
    }
    assert_eq!(program.hears(), "Ok(())");
    let rest = MANY + 2 - MOST_HELD;
    program.until("states of many", &format!("[{MOST_HELD}, {rest}]"));
    let seen = held(&users);
    let flows = seen[0]["flows"].as_array().unwrap();
    let cookies: HashSet<_> = flows.iter().map(|it| it["cookie"].as_u64()).collect();
    assert_eq!((seen.len(), cookies.len()), (1, MOST_HELD));
    assert_eq!(program.does("foreground all"), "Ok(())");
    program.until("states of many", "[0, 0]");
    assert!(held(&users).is_empty());
    drop(program);
    service.end(Signal::SIGTERM);
}
