// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Uploads, and which congestion control they have.

use super::process::{Actor, Role};
use super::transfer::{Receiver, congestion_control};
use super::{Cable, Side};
use ebb_kernel::features::{Presence, probe};

/// Whether this kernel takes the congestion controls of a killed owner off by itself.
pub fn goes_with_its_owner() -> bool {
    let features = probe().features;
    let links = features.iter().find(|it| it.key == "struct-ops-links");
    links.unwrap().presence == Presence::Present
}

/// A sender on the left, in the cable's cgroup or not.
pub fn upload(cable: &Cable, is_in_cgroup: bool, congestion_control: &str) -> (Receiver, Actor) {
    let receiver = Receiver::listen(cable);
    let arguments = format!("{} {congestion_control}", receiver.address);
    let cgroup = is_in_cgroup.then_some(&cable.cgroup);
    let mut actor = Actor::start_on(cable, Side::Left, cgroup, Role::Send, &arguments);
    actor.told("CONNECTED");
    (receiver, actor)
}

/// The congestion control of a process's only connection.
pub fn name_of(actor: &Actor) -> String {
    let sockets = actor.sockets();
    assert_eq!(sockets.len(), 1);
    congestion_control(&sockets[0])
}
