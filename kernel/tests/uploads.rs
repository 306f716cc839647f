// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sender laws on real transfers: selected by name, selected by Ebb, given back.

mod support;

use ebb_algorithms::{LawInfo, Policy, Side as End, laws_of};
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::trace::{Input, Trace};
use ebb_kernel::{AttachOptions, Attachment, LoadedLaws, congestion_name, requires_root, sweep};
use std::time::{Duration, Instant};
use support::giving_back::{goes_with_its_owner, name_of, upload};
use support::process::{Actor, Role, role};
use support::transfer::{Receiver, code_point, set_code_point, set_congestion_control, uses_ecn};
use support::{Cable, holds};

const LINK_MBIT_PER_S: u32 = 10;
/// Of links that are all in use at once, one for each law: an emulated processor carries them too.
const OF_MANY_MBIT_PER_S: u32 = 3;
const QUEUE_BYTES: u32 = 40 * 1514;
/// Payload of a packet: 1448 of 1514 bytes.
const FULL_MBIT_PER_S: f64 = LINK_MBIT_PER_S as f64 * 1448.0 / 1514.0;

/// Differentiated services fields.
const LOWER_EFFORT: u32 = 1 << 2;
const CS1: i32 = 8 << 2;

#[test]
fn play_a_role() {
    role();
}

#[test]
fn every_law_can_be_selected_by_its_name_and_fills_a_link() {
    if !requires_root("every_law_can_be_selected_by_its_name_and_fills_a_link") {
        return;
    }
    let laws: Vec<&LawInfo> = laws_of(End::Sender).collect();
    let policies: Vec<Policy> = laws.iter().map(|law| Policy::with_defaults(law)).collect();
    let loaded = LoadedLaws::load(&policies).unwrap();
    // The last is the kernel's own: what it carries is what the link can on this machine now.
    let names = || loaded.names().iter().map(String::as_str).chain(["cubic"]);
    let cables: Vec<Cable> = names()
        .map(|_| Cable::with_bottleneck(OF_MANY_MBIT_PER_S, QUEUE_BYTES))
        .collect();
    let transfers: Vec<(Receiver, Actor)> = cables
        .iter()
        .zip(names())
        .map(|(cable, name)| upload(cable, false, name))
        .collect();
    // Slow start and what it lost are over then.
    std::thread::sleep(Duration::from_secs(3));
    let are_full = || {
        let carried = carried_within(Duration::from_secs(4), &transfers);
        let (full, carried) = carried.split_last().unwrap();
        laws.iter().zip(carried).all(|(law, carried)| {
            eprintln!("{}: {:.3} of the kernel's cubic", law.name, carried / full);
            // Laws that keep the queue short have a short queue to work with here.
            let least = match ["reno", "cubic"].contains(&law.name) {
                true => 0.9,
                false => 0.4,
            };
            carried > &(least * full)
        })
    };
    assert!(holds(are_full));
    for (law, (_, actor)) in laws.iter().zip(&transfers) {
        assert_eq!(name_of(actor), congestion_name(law));
    }
    drop(loaded);
    let error = set_congestion_control(&transfers[0].1.sockets()[0], "ebb_cubic").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    // Who has selected a law keeps it.
    let before = transfers[0].0.bytes();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(name_of(&transfers[0].1), "ebb_reno");
    assert!(transfers[0].0.bytes() > before);
}

#[test]
fn a_policy_yields_on_connections_old_and_new_and_gives_them_back() {
    if !requires_root("a_policy_yields_on_connections_old_and_new_and_gives_them_back") {
        return;
    }
    let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
    let old = upload(&cable, true, "cubic");
    let mut attachment = attach(&cable.cgroup, "tcp-lp");
    let new = upload(&cable, true, "reno");
    let other = upload(&cable, false, "cubic");
    for (_, actor) in [&old, &new] {
        assert_governed(actor, "tcp_lp");
    }
    assert_eq!(name_of(&other.1), "cubic");
    assert_eq!(
        code_points([&old.1, &new.1, &other.1]),
        [LOWER_EFFORT, LOWER_EFFORT, 0]
    );
    std::thread::sleep(Duration::from_secs(1));
    let transfers = [other, old, new];
    let has_its_own = || {
        let carried = carried_within(Duration::from_secs(2), &transfers);
        // Of what the link carried: on a machine that is busy elsewhere that is less than its rate.
        let share = carried[0] / carried.iter().sum::<f64>();
        eprintln!("share of the other: {share:.3}");
        // How much exactly is for longer RTTs to show, in the lab.
        share > 0.75
    };
    assert!(holds(has_its_own));
    let [other, old, new] = transfers;

    attachment.set_policy(&"ledbat".parse().unwrap()).unwrap();
    for (_, actor) in [&old, &new] {
        assert_governed(actor, "ledbat");
    }
    assert!(attachment.set_policy(&"ebb".parse().unwrap()).is_err());
    let flows = attachment.flows().unwrap();
    assert_eq!(flows.len(), 2);
    assert!(
        flows
            .iter()
            .all(|flow| flow.law == "ledbat" && flow.is_clamped)
    );

    attachment.set_observing(true).unwrap();
    assert_eq!(name_of(&old.1), "cubic");
    attachment.set_observing(false).unwrap();
    assert_governed(&old.1, "ledbat");

    attachment.detach().unwrap();
    assert_eq!(name_of(&old.1), "cubic");
    assert_eq!(name_of(&new.1), "reno");
    assert_eq!(code_points([&old.1, &new.1, &other.1]), [0; 3]);
}

#[test]
fn a_code_point_stays_where_a_program_chose_one_or_nobody_wants_another() {
    if !requires_root("a_code_point_stays_where_a_program_chose_one_or_nobody_wants_another") {
        return;
    }
    let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
    let (chosen, plain) = (upload(&cable, true, "cubic"), upload(&cable, true, "cubic"));
    set_code_point(&chosen.1.sockets()[0], CS1);
    let mut attachment = attach(&cable.cgroup, "ledbat++");
    assert_governed(&chosen.1, "ledbatpp");
    assert_eq!(
        code_points([&chosen.1, &plain.1]),
        [CS1 as u32, LOWER_EFFORT]
    );
    // Through a change of the law it is known whose the mark is.
    attachment.set_policy(&"ledbat".parse().unwrap()).unwrap();
    assert_governed(&plain.1, "ledbat");
    assert_eq!(
        code_points([&chosen.1, &plain.1]),
        [CS1 as u32, LOWER_EFFORT]
    );
    attachment.detach().unwrap();
    assert_eq!(code_points([&chosen.1, &plain.1]), [CS1 as u32, 0]);

    let options = AttachOptions {
        keeps_code_point: true,
        ..AttachOptions::default()
    };
    let policy = "ledbat++".parse().unwrap();
    let attachment = Attachment::attach(&cable.cgroup, &policy, options).unwrap();
    assert_governed(&plain.1, "ledbatpp");
    assert_eq!(code_points([&plain.1]), [0]);
    attachment.detach().unwrap();
}

#[test]
fn a_program_that_chooses_for_itself_gets_its_choice_back() {
    if !requires_root("a_program_that_chooses_for_itself_gets_its_choice_back") {
        return;
    }
    let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
    let attachment = attach(&cable.cgroup, "cubic");
    let (_receiver, actor) = upload(&cable, true, "cubic");
    assert_governed(&actor, "cubic");
    set_congestion_control(&actor.sockets()[0], "reno").unwrap();
    let deadline = Instant::now() + Duration::from_secs(2);
    while name_of(&actor) == "reno" && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_governed(&actor, "cubic");
    attachment.detach().unwrap();
    assert_eq!(name_of(&actor), "reno");
}

#[test]
fn an_upload_is_free_of_its_law_when_its_owner_dies_and_then_as_fast_as_without_it() {
    if !requires_root(
        "an_upload_is_free_of_its_law_when_its_owner_dies_and_then_as_fast_as_without_it",
    ) {
        return;
    }
    let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
    let path = cable.cgroup.path().display().to_string();
    let mut owner = Actor::start(&cable, None, Role::Owner, &format!("{path} tcp-lp"));
    owner.told("ATTACHED");
    let (receiver, actor) = upload(&cable, true, "cubic");
    let other = upload(&cable, false, "cubic");
    std::thread::sleep(Duration::from_secs(1));
    let share = receiver.measure_mbit_per_s(Duration::from_secs(1)) / FULL_MBIT_PER_S;
    assert!(share < 0.1, "governed, yet share {share:.3}");

    owner.signal(libc::SIGKILL);
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(name_of(&actor), "cubic");
    let late = upload(&cable, true, "reno");
    assert_eq!(name_of(&late.1), "reno");
    drop(late);
    std::thread::sleep(Duration::from_millis(2500));
    // CUBIC shares within seconds; how many is its own affair.
    let is_free = (0..8).any(|_| {
        let share = receiver.measure_mbit_per_s(Duration::from_secs(2)) / FULL_MBIT_PER_S;
        eprintln!("share after the owner's death: {share:.3}");
        share > 0.25
    });
    assert!(is_free, "let go, yet never had 0.25");
    assert!(sweep(&cable.cgroup).unwrap() > 0);
    drop(other);
}

#[test]
fn the_congestion_control_of_a_killed_owner_is_taken_off_by_the_next_ebb() {
    if !requires_root("the_congestion_control_of_a_killed_owner_is_taken_off_by_the_next_ebb") {
        return;
    }
    let cable = Cable::new();
    let path = cable.cgroup.path().display().to_string();
    // No other test has a policy of this law, whose name might be taken for this one's.
    let mut owner = Actor::start(&cable, None, Role::Owner, &format!("{path} reno+"));
    owner.told("ATTACHED");
    let (_receiver, actor) = upload(&cable, true, "cubic");
    let name = name_of(&actor);
    assert!(name.ends_with("_renop") && available().contains(&name));
    // One that lives keeps its own.
    sweep(&cable.cgroup).unwrap();
    assert!(available().contains(&name));
    owner.signal(libc::SIGKILL);
    drop(owner);
    if !goes_with_its_owner() {
        assert!(available().contains(&name), "{name} went by itself");
    }
    std::thread::sleep(Duration::from_millis(2500));
    sweep(&cable.cgroup).unwrap();
    assert!(!available().contains(&name), "{name} is left");
    // Its connection has its own again.
    assert_eq!(name_of(&actor), "cubic");
}

#[test]
fn a_law_hears_of_each_start_after_a_pause() {
    if !requires_root("a_law_hears_of_each_start_after_a_pause") {
        return;
    }
    const PAUSES: usize = 4;
    const PAUSE: Duration = Duration::from_secs(1);
    let cable = Cable::new();
    let path = std::env::temp_dir().join(format!("ebb-pauses-{}", std::process::id()));
    let options = AttachOptions {
        trace: Some(path.clone()),
        ..AttachOptions::default()
    };
    let policy = "cubic".parse().unwrap();
    let attachment = Attachment::attach(&cable.cgroup, &policy, options).unwrap();
    let (_receiver, actor) = upload(&cable, true, "reno");
    for _ in 0..PAUSES {
        std::thread::sleep(Duration::from_millis(200));
        actor.signal(libc::SIGSTOP);
        std::thread::sleep(PAUSE);
        actor.signal(libc::SIGCONT);
    }
    std::thread::sleep(Duration::from_millis(200));
    drop(actor);
    attachment.detach().unwrap();
    let trace = Trace::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    // What was in the buffers goes out at first.
    let is_after_pause = |input: &Input| matches!(input, Input::Idle(event) if Duration::from_micros(event.idle_us.into()) > PAUSE / 4);
    let heard = trace.records.iter().filter(|it| is_after_pause(&it.input));
    assert_eq!(heard.count(), PAUSES);
}

#[test]
fn two_ends_of_a_cgroup_have_a_policy_each() {
    if !requires_root("two_ends_of_a_cgroup_have_a_policy_each") {
        return;
    }
    let cable = Cable::new();
    let _download = attach(&cable.cgroup, "ebb");
    let _upload = attach(&cable.cgroup, "ledbat");
    let again = "tcp-lp".parse().unwrap();
    let error = Attachment::attach(&cable.cgroup, &again, AttachOptions::default()).unwrap_err();
    assert!(error.to_string().contains("'ledbat'"), "{error}");
}

#[test]
fn connections_of_the_ecn_law_ask_for_ecn() {
    if !requires_root("connections_of_the_ecn_law_ask_for_ecn") {
        return;
    }
    let cable = Cable::new();
    let (_receiver, actor) = upload(&cable, true, "cubic");
    assert!(!uses_ecn(&actor.sockets()[0]));
    let _attachment = attach(&cable.cgroup, "tcp-lp-ecn");
    let (_receiver, actor) = upload(&cable, true, "cubic");
    assert_governed(&actor, "tcp_lp_ecn");
    assert!(uses_ecn(&actor.sockets()[0]));
}

fn attach(cgroup: &Cgroup, policy: &str) -> Attachment {
    let policy = policy.parse().unwrap();
    Attachment::attach(cgroup, &policy, AttachOptions::default()).unwrap()
}

/// Under a name of its policy's own: `ebb`, a letter, `_` and the law.
fn assert_governed(actor: &Actor, law: &str) {
    let name = name_of(actor);
    assert!(
        name.starts_with("ebb") && name[4..] == format!("_{law}"),
        "{name}"
    );
}

fn available() -> Vec<String> {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names
        .unwrap()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Bytes of each transfer in the coming time.
fn carried_within(time: Duration, transfers: &[(Receiver, Actor)]) -> Vec<f64> {
    let bytes = || transfers.iter().map(|(receiver, _)| receiver.bytes());
    let before: Vec<u64> = bytes().collect();
    std::thread::sleep(time);
    let carried = bytes().zip(before).map(|(now, before)| now - before);
    carried.map(|bytes| bytes as f64).collect()
}

fn code_points<const N: usize>(actors: [&Actor; N]) -> [u32; N] {
    actors.map(|actor| code_point(&actor.sockets()[0]))
}
