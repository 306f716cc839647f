// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Single connections set free and held back again, live: what they have then, and what is
//! left of it.

mod support;

use ebb_kernel::{AttachOptions, Attachment, Flow, requires_root, sweep, until};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;
use support::process::{Actor, Role, role};
use support::transfer::{
    Receiver, Sender, code_point, congestion_control, set_congestion_control, window_clamp,
};
use support::{Cable, Side, holds};

/// What the programs lift a clamp to: more than TCP can advertise.
const UNLIMITED_BYTES: u32 = 1 << 30;
/// A clamp of TCP's own making; a law's is less on these links.
const FREE_CLAMP_BYTES: u32 = 60_000;
const LOWER_EFFORT: u32 = 1 << 2;

#[test]
fn play_a_role() {
    role();
}

#[test]
fn a_download_is_set_free_by_itself_and_held_back_again() {
    if !requires_root("a_download_is_set_free_by_itself_and_held_back_again") {
        return;
    }
    let cable = cable();
    let mut attachment = attach(&cable, "ebb");
    let (one, other) = (download(&cable), download(&cable));
    until("both carry data", || {
        flows(&attachment, 2).iter().all(|flow| flow.segments > 100)
    });
    let cookie = cookie_of(&attachment, one.address);
    let held_bytes = flow(&attachment, cookie).window_bytes;

    assert_eq!(attachment.set_free(&[cookie], true).unwrap(), 1);
    assert_eq!(are_held(&attachment, &[&one, &other]), [false, true]);
    // TCP's autotuning may have set its own by now.
    assert!(window_clamp(&one.socket()) >= FREE_CLAMP_BYTES);
    assert!(window_clamp(&other.socket()) < FREE_CLAMP_BYTES);
    // The window is TCP's own again, whatever the law, which goes on watching, would have.
    until("the window grows", || {
        flow(&attachment, cookie).window_bytes > held_bytes.max(FREE_CLAMP_BYTES)
    });
    let seen = flow(&attachment, cookie).segments;
    until("more segments", || {
        flow(&attachment, cookie).segments > seen + 100
    });
    assert!(window_clamp(&one.socket()) >= FREE_CLAMP_BYTES);

    // Another law begins anew on each connection, and lets the free one be.
    attachment.set_policy(&"vulture".parse().unwrap()).unwrap();
    until("both carry data", || {
        flows(&attachment, 2).iter().all(|flow| flow.segments > 100)
    });
    assert_eq!(are_held(&attachment, &[&one, &other]), [false, true]);

    // At once, not at its next segment.
    let is_held_at_once = || {
        attachment.set_free(&[cookie], true).unwrap();
        assert_eq!(attachment.set_free(&[cookie], false).unwrap(), 1);
        assert_eq!(are_held(&attachment, &[&one, &other]), [true, true]);
        let (clamp, told) = (window_clamp(&one.socket()), flow(&attachment, cookie));
        eprintln!("clamp {clamp}, {told:?}");
        clamp < UNLIMITED_BYTES
    };
    assert!(holds(is_held_at_once));
    assert_eq!(attachment.set_free(&[u64::MAX], true).unwrap(), 0);
}

#[test]
fn one_connection_can_be_held_back_while_all_others_are_free_and_follows_all_later() {
    let name = "one_connection_can_be_held_back_while_all_others_are_free_and_follows_all_later";
    if !requires_root(name) {
        return;
    }
    let cable = cable();
    for policy in ["ebb", "ledbat"] {
        let mut attachment = attach(&cable, policy);
        let (one, other) = match policy {
            "ebb" => (download(&cable), download(&cable)),
            _ => (upload(&cable, "cubic"), upload(&cable, "cubic")),
        };
        until("all are clamped", || {
            flows(&attachment, 2).iter().all(|flow| flow.is_clamped)
        });
        attachment.set_observing(true).unwrap();
        assert_eq!(are_held(&attachment, &[&one, &other]), [false, false]);
        let cookie = cookie_of(&attachment, one.address);
        assert_eq!(attachment.set_free(&[cookie], false).unwrap(), 1);
        // Its programs see packets go by, and do not take it for one of the others.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(are_held(&attachment, &[&one, &other]), [true, false]);
        attachment.set_observing(true).unwrap();
        assert_eq!(are_held(&attachment, &[&one, &other]), [false, false]);
        attachment.set_observing(false).unwrap();
        assert_eq!(are_held(&attachment, &[&one, &other]), [true, true]);
        attachment.detach().unwrap();
    }
}

#[test]
fn an_upload_that_is_set_free_has_its_own_congestion_control_and_code_point() {
    if !requires_root("an_upload_that_is_set_free_has_its_own_congestion_control_and_code_point") {
        return;
    }
    let cable = cable();
    let mut attachment = attach(&cable, "ledbat");
    let (one, other) = (upload(&cable, "reno"), upload(&cable, "cubic"));
    until("all are clamped", || {
        flows(&attachment, 2).iter().all(|flow| flow.is_clamped)
    });
    let cookie = cookie_of(&attachment, one.address);

    assert_eq!(attachment.set_free(&[cookie], true).unwrap(), 1);
    assert_eq!(are_held(&attachment, &[&one, &other]), [false, true]);
    assert_eq!(one.sends_by(), ("reno".to_owned(), 0));
    assert!(other.is_under("ledbat"));
    // What it sends is told all the same, and its law does not come back by itself.
    let before = flow(&attachment, cookie).payload_bytes;
    until("more bytes", || {
        flow(&attachment, cookie).payload_bytes > before + 500_000
    });
    attachment.set_policy(&"cubic".parse().unwrap()).unwrap();
    assert!(other.is_under("cubic"));
    assert_eq!(one.sends_by(), ("reno".to_owned(), 0));
    assert!(flow(&attachment, cookie).payload_bytes > before);

    assert_eq!(attachment.set_free(&[cookie], false).unwrap(), 1);
    assert!(one.is_under("cubic"));
    assert_eq!(are_held(&attachment, &[&one, &other]), [true, true]);

    // What its program chooses meanwhile is its own.
    attachment.set_free(&[cookie], true).unwrap();
    set_congestion_control(&one.socket(), "cubic").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    attachment.detach().unwrap();
    assert_eq!(one.sends_by(), ("cubic".to_owned(), 0));
    assert_eq!(other.sends_by(), ("cubic".to_owned(), 0));
}

#[test]
fn nothing_of_what_was_switched_is_left_when_the_owner_is_killed() {
    if !requires_root("nothing_of_what_was_switched_is_left_when_the_owner_is_killed") {
        return;
    }
    let cable = cable();
    let path = cable.cgroup.path().display().to_string();
    for policy in ["ebb", "ledbat"] {
        let arguments = format!("{path} {policy}");
        let mut owner = Actor::start(&cable, None, Role::OwnerOfFree, &arguments);
        owner.told("ATTACHED");
        let free = match policy {
            "ebb" => download(&cable),
            _ => upload(&cable, "reno"),
        };
        owner.told("FREED");
        let held = match policy {
            "ebb" => download(&cable),
            _ => upload(&cable, "reno"),
        };
        let is_plain = |transfer: &Transfer| match policy {
            "ebb" => window_clamp(&transfer.socket()) >= FREE_CLAMP_BYTES,
            _ => transfer.sends_by() == ("reno".to_owned(), 0),
        };
        until("one is free, one is held", || {
            is_plain(&free) && !is_plain(&held)
        });
        owner.signal(libc::SIGKILL);
        until("both are free", || is_plain(&free) && is_plain(&held));
        // TCP may raise a clamp by itself, and before the lease is over nothing is swept.
        until("something is swept", || sweep(&cable.cgroup).unwrap() > 0);
        assert!(is_plain(&free) && is_plain(&held));
        // Whoever comes next finds no connection switched.
        let attachment = attach(&cable, policy);
        assert!(flows(&attachment, 2).iter().all(|flow| flow.is_clamped));
        attachment.detach().unwrap();
        assert!(is_plain(&free) && is_plain(&held));
    }
}

/// A transfer of a process in the cable's cgroup.
struct Transfer {
    _far: Far,
    actor: Actor,
    /// The peer's.
    address: SocketAddr,
}

#[allow(dead_code, reason = "held until the transfer ends")]
enum Far {
    Sender(Sender),
    Receiver(Receiver),
}

impl Transfer {
    fn socket(&self) -> OwnedFd {
        let mut sockets = self.actor.sockets();
        assert_eq!(sockets.len(), 1);
        sockets.remove(0)
    }

    /// Congestion control and code point.
    fn sends_by(&self) -> (String, u32) {
        let socket = self.socket();
        (congestion_control(&socket), code_point(&socket))
    }

    fn is_under(&self, law: &str) -> bool {
        let (name, field) = self.sends_by();
        eprintln!("{name} {field}");
        name.starts_with("ebb") && name[4..] == format!("_{law}") && field == LOWER_EFFORT
    }
}

fn cable() -> Cable {
    Cable::with_bottleneck(20, 60 * 1514)
}

fn attach(cable: &Cable, policy: &str) -> Attachment {
    let policy = policy.parse().unwrap();
    Attachment::attach(&cable.cgroup, &policy, AttachOptions::default()).unwrap()
}

fn download(cable: &Cable) -> Transfer {
    let (sender, address) = Sender::listen(cable, cable.ipv4(Side::Left));
    let group = Some(&cable.cgroup);
    let mut actor = Actor::start(cable, group, Role::Download, &address.to_string());
    actor.told("CONNECTED");
    Transfer {
        _far: Far::Sender(sender),
        actor,
        address,
    }
}

fn upload(cable: &Cable, congestion_control: &str) -> Transfer {
    let receiver = Receiver::listen(cable);
    let address = receiver.address;
    let arguments = format!("{address} {congestion_control}");
    let group = Some(&cable.cgroup);
    let mut actor = Actor::start_on(cable, Side::Left, group, Role::Send, &arguments);
    actor.told("CONNECTED");
    Transfer {
        _far: Far::Receiver(receiver),
        actor,
        address,
    }
}

/// All connections, once there are so many.
fn flows(attachment: &Attachment, count: usize) -> Vec<Flow> {
    until("as many connections as asked", || {
        attachment.flows().unwrap().len() == count
    });
    attachment.flows().unwrap()
}

fn flow(attachment: &Attachment, cookie: u64) -> Flow {
    let flows = attachment.flows().unwrap().into_iter();
    flows.into_iter().find(|it| it.cookie == cookie).unwrap()
}

fn cookie_of(attachment: &Attachment, peer: SocketAddr) -> u64 {
    let flows = attachment.flows().unwrap();
    flows.iter().find(|flow| flow.peer == peer).unwrap().cookie
}

fn are_held<const N: usize>(attachment: &Attachment, transfers: &[&Transfer; N]) -> [bool; N] {
    let flows = attachment.flows().unwrap();
    transfers.map(|transfer| {
        let of_it = flows.iter().find(|flow| flow.peer == transfer.address);
        of_it.unwrap().is_clamped
    })
}
