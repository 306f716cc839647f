// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records the traces of `algorithms/traces` anew, from real transfers:
//!
//! EBB_RECORD=law,law records those alone.
//!
//! ```text
//! sudo -E cargo test -p ebb-kernel --test record_traces -- --ignored --test-threads=1
//! ```

mod support;

use ebb_algorithms::{Policy, Side as End, laws_of};
use ebb_kernel::trace::{Trace, TraceWriter, record_bytes};
use ebb_kernel::{AttachOptions, Attachment, requires_root};
use std::path::Path;
use std::time::Duration;
use support::process::{Actor, Role, role};
use support::transfer::{Receiver, Sender};
use support::{Cable, Side};

/// Keeps each file below 200 kB.
const MAX_BYTES: usize = 200_000;
/// Every sender law is fed the traces of these.
const RECORDED_SENDERS: [&str; 3] = ["cubic", "tcp-lp", "ledbat"];
const TIME: Duration = Duration::from_secs(6);

#[test]
fn play_a_role() {
    role();
}

#[test]
#[ignore = "rewrites algorithms/traces; run it by hand"]
fn record_all() {
    if !requires_root("record_all") {
        return;
    }
    for law in laws_of(End::Receiver).filter(|law| is_chosen(law.name)) {
        let policy = Policy::with_defaults(law);
        record(
            &policy,
            "alone",
            &Cable::with_bottleneck(10, 40 * 1514),
            alone,
        );
        record(
            &policy,
            "shared",
            &Cable::with_bottleneck(10, 40 * 1514),
            shared,
        );
        record(
            &policy,
            "upload-ipv6",
            &Cable::with_bottleneck(10, 40 * 1514),
            upload_ipv6,
        );
        record(
            &policy,
            "lossy",
            &Cable::with_bottleneck(10, 5 * 1514),
            alone,
        );
        record(&policy, "aggregated", &Cable::new(), alone);
        let cable = Cable::with_bottleneck(10, 40 * 1514);
        cable.set(Side::Left, "net/ipv4/tcp_timestamps", "0");
        record(&policy, "no-timestamps", &cable, shared);
    }
}

#[test]
#[ignore = "rewrites algorithms/traces; run it by hand"]
fn record_senders() {
    if !requires_root("record_senders") {
        return;
    }
    for name in RECORDED_SENDERS.into_iter().filter(|name| is_chosen(name)) {
        let policy = Policy::sender(name).unwrap();
        let (long, short) = (40 * 1514, 5 * 1514);
        record(
            &policy,
            "alone",
            &Cable::with_bottleneck(10, long),
            send_alone,
        );
        record(
            &policy,
            "shared",
            &Cable::with_bottleneck(10, long),
            send_shared,
        );
        record(
            &policy,
            "lossy",
            &Cable::with_bottleneck(10, short),
            send_in_pieces,
        );
    }
}

fn is_chosen(law: &str) -> bool {
    std::env::var("EBB_RECORD").map_or(true, |names| names.split(',').any(|name| name == law))
}

fn record(policy: &Policy, condition: &str, cable: &Cable, transfer: fn(&Cable)) {
    let name = format!("{}-{condition}.trace", policy.law().name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .with_file_name("algorithms")
        .join("traces");
    std::fs::create_dir_all(&folder).unwrap();
    let whole = std::env::temp_dir().join(&name);
    let options = AttachOptions {
        trace: Some(whole.clone()),
        ..Default::default()
    };
    let attachment = Attachment::attach(&cable.cgroup, policy, options).unwrap();
    transfer(cable);
    let counters = attachment.counters().unwrap();
    attachment.detach().unwrap();
    let trace = Trace::read(&whole).unwrap();
    std::fs::remove_file(&whole).unwrap();
    assert_eq!(counters.trace_lost, 0);
    let (_, records) = trace.by_connection().remove(0);
    let kept = records
        .len()
        .min(MAX_BYTES / record_bytes(policy.law().side()) - 3);
    let mut writer = TraceWriter::create(folder.join(&name), policy).unwrap();
    for record in &records[..kept] {
        writer.write(record).unwrap();
    }
    writer.finish().unwrap();
    println!("{name}: {kept} of {} calls, {counters:?}", records.len());
}

fn alone(cable: &Cable) {
    let (sender, address) = Sender::listen(cable, cable.ipv4(Side::Left));
    let _receiver = Actor::start(
        cable,
        Some(&cable.cgroup),
        Role::Download,
        &address.to_string(),
    );
    sender.measure_mbit_per_s(TIME / 2);
}

fn shared(cable: &Cable) {
    let (sender, address) = Sender::listen(cable, cable.ipv4(Side::Left));
    let _receiver = Actor::start(
        cable,
        Some(&cable.cgroup),
        Role::Download,
        &address.to_string(),
    );
    std::thread::sleep(TIME / 6);
    {
        let (_other, address) = Sender::listen(cable, cable.ipv4(Side::Left));
        let _competitor = Actor::start(cable, None, Role::Download, &address.to_string());
        std::thread::sleep(TIME / 2);
    }
    sender.measure_mbit_per_s(TIME / 3);
}

fn upload_ipv6(cable: &Cable) {
    let address = cable.ipv6(Side::Right).to_string();
    let mut server = Actor::start(cable, Some(&cable.cgroup), Role::Upload, &address);
    let sender = Sender::connect(cable, server.told("LISTENING").parse().unwrap());
    sender.measure_mbit_per_s(TIME / 2);
}

fn send_alone(cable: &Cable) {
    let _sender = send(cable, true);
    std::thread::sleep(TIME / 2);
}

fn send_shared(cable: &Cable) {
    let _sender = send(cable, true);
    std::thread::sleep(TIME / 12);
    let _competitor = send(cable, false);
    std::thread::sleep(TIME / 2);
}

/// Idle times, and time-outs while the receiver hears nothing.
fn send_in_pieces(cable: &Cable) {
    let (_receiver, sender) = send(cable, true);
    for _ in 0..3 {
        std::thread::sleep(TIME / 12);
        sender.signal(libc::SIGSTOP);
        std::thread::sleep(TIME / 12);
        sender.signal(libc::SIGCONT);
        std::thread::sleep(TIME / 24);
        cable.cut(Duration::from_millis(400));
    }
}

fn send(cable: &Cable, is_in_cgroup: bool) -> (Receiver, Actor) {
    let receiver = Receiver::listen(cable);
    let cgroup = is_in_cgroup.then_some(&cable.cgroup);
    let arguments = format!("{} cubic", receiver.address);
    let mut sender = Actor::start_on(cable, Side::Left, cgroup, Role::Send, &arguments);
    sender.told("CONNECTED");
    (receiver, sender)
}
