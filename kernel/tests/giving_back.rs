// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a killed owner's programs do with congestion controls: they give them back, and lend nobody
//! another's.

mod support;

use ebb_algorithms::{LawInfo, Side as End, laws_of};
use ebb_kernel::requires_root;
use std::time::Duration;
use support::giving_back::{goes_with_its_owner, name_of, upload};
use support::process::{Actor, Role, role};
use support::transfer::{Sender, code_point};
use support::{Cable, Side};

const LINK_MBIT_PER_S: u32 = 10;
const QUEUE_BYTES: u32 = 40 * 1514;
/// The lease, and some segments.
const FREE_WITHIN: Duration = Duration::from_millis(2_500);
/// The differentiated services field.
const LOWER_EFFORT: u32 = 1 << 2;

#[test]
fn play_a_role() {
    role();
}

#[test]
fn a_connection_that_only_receives_is_free_of_its_laws_when_their_owners_die() {
    if !requires_root("a_connection_that_only_receives_is_free_of_its_laws_when_their_owners_die") {
        return;
    }
    for laws in [&["ebb", "ledbat"][..], &["ledbat"]] {
        receives_freely_after(laws);
    }
}

fn receives_freely_after(laws: &[&str]) {
    let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
    let path = cable.cgroup.path().display();
    let owner = |law: &&str| Actor::start(&cable, None, Role::Owner, &format!("{path} {law}"));
    let mut owners: Vec<Actor> = laws.iter().map(owner).collect();
    for owner in &mut owners {
        owner.told("ATTACHED");
    }
    let start = |cgroup| {
        let (sender, address) = Sender::listen(&cable, cable.ipv4(Side::Left));
        let mut actor = Actor::start(&cable, cgroup, Role::Download, &address.to_string());
        actor.told("CONNECTED");
        (sender, actor)
    };
    let (_sender, receiver) = start(Some(&cable.cgroup));
    let field = || code_point(&receiver.sockets()[0]);
    let (_other_sender, other) = start(None);
    assert_ne!(name_of(&receiver), name_of(&other));
    assert_eq!(field(), LOWER_EFFORT);
    for owner in &owners {
        owner.signal(libc::SIGKILL);
    }
    std::thread::sleep(FREE_WITHIN);
    assert_eq!(name_of(&receiver), name_of(&other));
    assert_eq!(field(), 0);
}

#[test]
fn every_law_gives_a_connection_back_when_its_owner_dies() {
    if !requires_root("every_law_gives_a_connection_back_when_its_owner_dies") {
        return;
    }
    let begin = |law: &'static LawInfo| {
        let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
        let path = cable.cgroup.path().display().to_string();
        let mut owner = Actor::start(&cable, None, Role::Owner, &format!("{path} {}", law.name));
        owner.told("ATTACHED");
        let transfer = upload(&cable, true, "cubic");
        assert_ne!(name_of(&transfer.1), "cubic", "{}", law.name);
        (law, owner, transfer, cable)
    };
    let begun: Vec<_> = laws_of(End::Sender).map(begin).collect();
    std::thread::sleep(Duration::from_millis(500));
    for (_, owner, _, _) in &begun {
        owner.signal(libc::SIGKILL);
    }
    std::thread::sleep(FREE_WITHIN);
    for (law, _, (_, actor), _) in &begun {
        assert_eq!(name_of(actor), "cubic", "{}", law.name);
    }
}

#[test]
fn a_dead_owner_lends_nobody_the_law_of_another() {
    if !requires_root("a_dead_owner_lends_nobody_the_law_of_another") || !goes_with_its_owner() {
        return;
    }
    let (dead, living) = (Cable::new(), Cable::new());
    let own = |cable: &Cable| {
        let path = cable.cgroup.path().display().to_string();
        // No other test has a policy of this law, whose name might be taken for this one's.
        let mut owner = Actor::start(cable, None, Role::Owner, &format!("{path} cubic+"));
        owner.told("ATTACHED");
        owner
    };
    let owner = own(&dead);
    let (_receiver, before) = upload(&dead, true, "cubic");
    let name = name_of(&before);
    assert_ne!(name, "cubic");
    owner.signal(libc::SIGKILL);
    drop(owner);
    // Its name is free, and the next one takes it while the dead one's lease lasts.
    let _owner = own(&living);
    let (_receiver, other) = upload(&living, true, "cubic");
    assert_eq!(name_of(&other), name);
    let (_receiver, late) = upload(&dead, true, "cubic");
    assert_eq!(name_of(&late), "cubic");
}
