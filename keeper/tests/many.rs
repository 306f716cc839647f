// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many policies in one process and one thread, as a service keeps them.

mod scene;

use std::time::{Duration, Instant};

use ebb_algorithms::Policy;
use ebb_keeper::protocol::{Reply, Request};
use ebb_keeper::{Backend, Change, Direction, Held};
use ebb_keeper::{Policies, Wait, Wanted, Whose, hold, obey};
use ebb_kernel::requires_root;
use scene::Scene;

/// By itself a connection begins with nearly 64 KiB; under a law it comes below this.
const FREE_BYTES: u32 = 1 << 15;
const PATIENCE: Duration = Duration::from_secs(60);

type All = Vec<Box<dyn Held>>;

fn begin(backend: Backend, pid: u32, download: &str) -> Box<dyn Held> {
    let wanted = Wanted {
        download: Some(Policy::receiver(download).unwrap()),
        ..Wanted::default()
    };
    let policies = Policies::new(&wanted, backend).unwrap();
    hold(backend, &Whose::Process(pid), &policies, None).unwrap()
}

/// Works on all of them until it is so: the loop that a service has.
fn work_until(all: &mut All, what: &str, mut is_so: impl FnMut(&mut All) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so(all) {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        let due = all.iter_mut().map(|held| held.work().unwrap()).min();
        let mut wait = Wait::new();
        wait.until(due.unwrap()).wait().unwrap();
    }
}

/// Of what arrives on the connections of each: the law, and whether it acts.
fn down(all: &mut All) -> Vec<(String, bool)> {
    let flows = all.iter_mut().flat_map(|held| held.flows().unwrap());
    let down = flows.filter(|flow| flow.direction == Direction::Down);
    down.map(|flow| (flow.law, flow.is_acting)).collect()
}

fn laws(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
    let owned = |(law, is_acting): &(&str, bool)| ((*law).to_owned(), *is_acting);
    expected.iter().map(owned).collect()
}

#[test]
fn one_process_keeps_many_and_what_is_done_to_one_touches_no_other() {
    if !requires_root("one_process_keeps_many_and_what_is_done_to_one_touches_no_other") {
        return;
    }
    let scene = Scene::new();
    let programs: Vec<_> = (0..3).map(|_| scene.receive(&[])).collect();
    let mut all = vec![
        begin(Backend::Kernel, programs[0].pid, "ebb"),
        begin(Backend::Kernel, programs[1].pid, "vulture"),
        begin(Backend::User, programs[2].pid, "sampled"),
    ];
    let expected = laws(&[("ebb", true), ("vulture", true), ("sampled", true)]);
    work_until(&mut all, "all act", |all| down(all) == expected);

    all[1].change(&Change::Observing(true)).unwrap();
    let policy = Policy::receiver("ebb:target_us=9000").unwrap();
    all[0].change(&Change::Download(policy)).unwrap();
    let expected = laws(&[("ebb", true), ("vulture", false), ("sampled", true)]);
    work_until(&mut all, "one is free", |all| down(all) == expected);
    assert_eq!(all[0].in_force().policy, "ebb:target_us=9000");
    assert!(all[1].in_force().is_observing);
    assert_eq!(all[2].in_force().policy, "sampled");

    // As a request does it.
    let is_clamped = |_: &mut All| programs[2].clamp() < FREE_BYTES;
    work_until(&mut all, "it is held back", is_clamped);
    assert_eq!(
        obey(all[2].as_mut(), &Request::Detach).unwrap(),
        Reply::Done
    );
    assert!(!all[2].is_held());
    assert!(programs[2].clamp() >= FREE_BYTES);
    let policy = Request::SetPolicy("sampled".to_owned());
    let error = obey(all[2].as_mut(), &policy).unwrap_err();
    assert_eq!(error.to_string(), "it has been detached");
    assert!(all[2].summary().received_bytes > 0);
    let expected = laws(&[("ebb", true), ("vulture", false)]);
    assert_eq!(down(&mut all), expected);
    drop(all);
    programs.into_iter().for_each(scene::Receiver::finish);
}
