// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A service that is stopped for a while, and answers late or not at all.

use std::thread;
use std::time::Duration;

use ebb_kernel::{requires_feature, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::held;
use crate::program::Program;
use crate::support::serving::Service;
use crate::support::users::{ADA, Users};

/// As long as the library waits for an answer, and longer.
const LONG: Duration = Duration::from_millis(1_500);
/// Fewer than a user may ask for in a second.
const CLOSED: usize = 5;

pub fn signal(service: &Service, signal: Signal) {
    let pid = i32::try_from(service.child.id()).unwrap();
    kill(Pid::from_raw(pid), signal).unwrap();
}

#[test]
fn what_a_service_hears_of_too_late_it_does_not_hold() {
    let name = "what_a_service_hears_of_too_late_it_does_not_hold";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    for what in ["background", "background all"] {
        let users = Users::new("m");
        let service = users.serve();
        let mut program = Program::start(&users, ADA, None);
        signal(&service, Signal::SIGSTOP);
        assert_eq!(program.does(what), "Ok(())");
        // It governs by itself meanwhile.
        program.until("state", "Background");
        thread::sleep(LONG);
        signal(&service, Signal::SIGCONT);
        until("it answers", || users.root_sees().len() < 2);
        thread::sleep(LONG);
        assert!(held(&users).is_empty(), "{what}: {:?}", held(&users));
        assert_eq!(program.does("foreground all"), "Ok(())");
        assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
        // Nothing is in the way of the next time.
        thread::sleep(Duration::from_secs(10));
        assert_eq!(program.does("background"), "Ok(())");
        program.until("state", "OfAnother");
        assert_eq!(held(&users).len(), 1);
        drop(program);
        until("let go", || held(&users).is_empty());
        service.end(Signal::SIGTERM);
    }
}

#[test]
fn a_service_that_is_stopped_limits_nobody_who_wants_to_be_free() {
    let name = "a_service_that_is_stopped_limits_nobody_who_wants_to_be_free";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    for what in ["background", "background all"] {
        let users = Users::new("n");
        let service = users.serve();
        let mut program = Program::start(&users, ADA, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("state", "OfAnother");
        // While it is stopped its programs let go, and the thread governs.
        signal(&service, Signal::SIGSTOP);
        program.until("state", "Background");
        signal(&service, Signal::SIGCONT);
        program.until("state", "OfAnother");

        signal(&service, Signal::SIGSTOP);
        // It goes on only after the answer.
        assert_eq!(program.does("foreground all"), "Ok(())");
        program.until("limited", "[Some(false), Some(false)]");
        // What it was told meanwhile it does.
        signal(&service, Signal::SIGCONT);
        until("let go", || held(&users).is_empty());
        program.until("states", "[Some(Foreground), Some(Foreground)]");
        assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
        drop(program);
        service.end(Signal::SIGTERM);
    }
}

/// It is named to a service that does not answer, and is taken to the foreground meanwhile.
#[test]
fn what_a_service_adds_too_late_it_lets_go() {
    let name = "what_a_service_adds_too_late_it_lets_go";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("ml");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", "[Some(OfAnother), Some(OfAnother)]");
    let flows = || held(&users)[0]["flows"].as_array().unwrap().len();
    assert_eq!(flows(), 4);
    signal(&service, Signal::SIGSTOP);
    assert_eq!(program.does("close"), "Ok(())");
    program.streams[0] = users.scene.listener.accept().unwrap().0;
    // By then the thread has named the new one, and waits.
    thread::sleep(LONG / 2);
    assert_eq!(program.does("foreground"), "Ok(())");
    thread::sleep(LONG * 2);
    signal(&service, Signal::SIGCONT);
    program.until("state", "Foreground");
    thread::sleep(LONG);
    program.until("limited", "[Some(false), Some(true)]");
    assert_eq!(flows(), 2);
    drop(program);
    service.end(Signal::SIGTERM);
}

/// The service refuses them, which says nothing of others.
#[test]
fn what_is_closed_before_the_service_hears_of_it_is_in_nobodys_way() {
    let name = "what_is_closed_before_the_service_hears_of_it_is_in_nobodys_way";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("mc");
    users.set("[users]\npolicies = 100\n");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    // A policy that nobody has had yet takes the service long.
    let closed = ["background", "close"].repeat(CLOSED).join(", ");
    for _ in 0..2 {
        assert_eq!(program.does(&format!("do {closed}, background")), "Ok(())");
        for _ in 0..CLOSED {
            program.streams[0] = users.scene.listener.accept().unwrap().0;
        }
        program.until("state", "OfAnother");
        // By then it has answered for all of them.
        thread::sleep(LONG);
    }
    until("held", || held(&users).len() == 1);
    assert_eq!(program.does("state"), "OfAnother");
    drop(program);
    service.end(Signal::SIGTERM);
}
