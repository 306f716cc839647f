// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many policies in one process and one thread, as a service keeps them.

mod scene;

use std::time::{Duration, Instant};

use ebb_algorithms::Policy;
use ebb_keeper::protocol::{Reply, Request};
use ebb_keeper::{Backend, Change, Direction, FlowView, Held};
use ebb_keeper::{Policies, Wait, Wanted, Whose, hold, obey};
use ebb_kernel::requires_root;
use scene::Scene;

type All = Vec<Box<dyn Held>>;

fn begin(backend: Backend, pid: u32, download: &str) -> Box<dyn Held> {
    let wanted = Wanted {
        download: Some(Policy::receiver(download).unwrap()),
        ..Wanted::default()
    };
    let policies = Policies::new(&wanted, backend).unwrap();
    hold(backend, &Whose::Process(pid), &policies, None).unwrap()
}

/// Works on all of them for a while: the loop that a service has.
fn work(all: &mut All, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        let due = all.iter_mut().map(|held| held.work().unwrap()).min();
        let mut wait = Wait::new();
        wait.until(due.unwrap().min(end)).wait().unwrap();
    }
}

/// What arrives on the one connection of each.
fn down(all: &mut All) -> Vec<FlowView> {
    let of_one = |held: &mut Box<dyn Held>| {
        let flows = held.flows().unwrap();
        let mut down = flows
            .into_iter()
            .filter(|it| it.direction == Direction::Down);
        down.next().expect("its connection is governed")
    };
    all.iter_mut().map(of_one).collect()
}

fn are_acting(flows: &[FlowView]) -> Vec<bool> {
    flows.iter().map(|flow| flow.is_acting).collect()
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
    work(&mut all, Duration::from_millis(800));
    let flows = down(&mut all);
    let laws: Vec<_> = flows.iter().map(|flow| &flow.law[..]).collect();
    assert_eq!(laws, ["ebb", "vulture", "sampled"]);
    assert_eq!(are_acting(&flows), [true, true, true]);

    all[1].change(&Change::Observing(true)).unwrap();
    let policy = Policy::receiver("ebb:target_us=9000").unwrap();
    all[0].change(&Change::Download(policy)).unwrap();
    work(&mut all, Duration::from_millis(200));
    assert_eq!(are_acting(&down(&mut all)), [true, false, true]);
    assert_eq!(all[0].in_force().policy, "ebb:target_us=9000");
    assert!(all[1].in_force().is_observing);
    assert_eq!(all[2].in_force().policy, "sampled");

    // As a request does it.
    let held_back = programs[2].clamp().unwrap();
    assert_eq!(
        obey(all[2].as_mut(), &Request::Detach).unwrap(),
        Reply::Done
    );
    assert!(!all[2].is_held());
    assert!(programs[2].clamp().unwrap() > held_back, "it is free");
    let policy = Request::SetPolicy("sampled".to_owned());
    let error = obey(all[2].as_mut(), &policy).unwrap_err();
    assert_eq!(error.to_string(), "it has been detached");
    let received = all[2].summary().received_bytes;
    assert!(received > 0);
    all.pop();
    work(&mut all, Duration::from_millis(200));
    assert_eq!(are_acting(&down(&mut all)), [true, false]);
    drop(all);
    programs.into_iter().for_each(scene::Receiver::finish);
}
