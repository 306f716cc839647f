// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One segment is one segment, also where packets arrive as aggregates that do not say how many
//! they are: from virtio and xen in virtual machines, and from TUN with virtio's headers, as
//! WireGuard in user space has it.

mod support;

use ebb_kernel::{AttachOptions, Attachment, Flow, requires_root};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};
use support::process::{Actor, Role, role};
use support::transfer::Sender;
use support::{Cable, Side};

/// `struct virtio_net_hdr`: kind and size of segments stand at 1 and 4.
const HEADER_BYTES: usize = 10;
const KIND_AT: usize = 1;
const SIZE_AT: usize = 4;
/// 1500 without the headers of IPv4 and TCP, and the timestamps.
const MSS_BYTES: u32 = 1448;
const LINK_BYTES_PER_S: f64 = 5e6;
const DEVICE: &str = "vnet";
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn play_a_role() {
    role();
}

#[test]
fn aggregates_that_tell_the_size_of_segments_are_so_many() {
    if !requires_root("aggregates_that_tell_the_size_of_segments_are_so_many") {
        return;
    }
    expect_segments(true);
}

/// As if fragments had been put together.
#[test]
fn no_segment_is_longer_than_the_sender_was_told() {
    if !requires_root("no_segment_is_longer_than_the_sender_was_told") {
        return;
    }
    expect_segments(false);
}

fn expect_segments(tells_size: bool) {
    let (flow, aggregates) = download(tells_size);
    assert_eq!(flow.mss_bytes, MSS_BYTES, "{flow:?}");
    let wanted = flow.payload_bytes.div_ceil(MSS_BYTES.into());
    assert!(flow.segments.abs_diff(wanted) < wanted / 10, "{flow:?}");
    assert!(
        aggregates < flow.segments / 2,
        "{aggregates}: no aggregates"
    );
}

/// Some hundreds of segments through a link of TUN devices with virtio's headers, which do or do
/// not tell the segments' size: the flow, and how many aggregates there were.
fn download(tells_size: bool) -> (Flow, u64) {
    let cable = Cable::new();
    lay_link(&cable, tells_size);
    let policy = "ebb".parse().unwrap();
    let attachment = Attachment::attach(&cable.cgroup, &policy, AttachOptions::default()).unwrap();
    let (_sender, address) = Sender::listen(&cable, "10.78.0.1".parse().unwrap());
    let address = address.to_string();
    let mut receiver = Actor::start(&cable, Some(&cable.cgroup), Role::Download, &address);
    receiver.told("CONNECTED");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let flow = attachment.flows().unwrap().into_iter().next();
        if let Some(flow) = flow.filter(|flow| flow.payload_bytes > 1 << 20) {
            return (flow, attachment.counters().unwrap().aggregates);
        }
        assert!(Instant::now() < deadline, "nothing came in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Joins both sides by a link that carries aggregates.
fn lay_link(cable: &Cable, tells_size: bool) {
    let left = device(cable, Side::Left, "10.78.0.1/30");
    let right = device(cable, Side::Right, "10.78.0.2/30");
    let (from_right, to_left) = (right.try_clone().unwrap(), left.try_clone().unwrap());
    std::thread::spawn(move || carry(left, right, tells_size));
    std::thread::spawn(move || carry(from_right, to_left, true));
}

/// Carries packets until the devices are gone, with their namespaces.
fn carry(mut from: File, mut to: File, tells_size: bool) {
    let mut packet = vec![0; HEADER_BYTES + (1 << 16)];
    while let Ok(length) = from.read(&mut packet) {
        let packet = &mut packet[..length];
        if !tells_size {
            packet[KIND_AT] = 0;
            packet[SIZE_AT..SIZE_AT + 2].fill(0);
        }
        std::thread::sleep(Duration::from_secs_f64(length as f64 / LINK_BYTES_PER_S));
        if to.write(packet).is_err() {
            return;
        }
    }
}

/// A TUN device on a side, with virtio's headers and segmentation left to the other end.
fn device(cable: &Cable, side: Side, address: &str) -> File {
    let namespace = cable.namespace(side);
    let device = std::thread::scope(|scope| {
        let made = scope.spawn(|| {
            cable.enter(side);
            make_device()
        });
        made.join().unwrap()
    });
    for command in [
        format!("addr add {address} dev {DEVICE}"),
        format!("link set {DEVICE} up"),
    ] {
        let mut ip = Command::new("ip");
        let status = ip
            .args(["-n", &namespace])
            .args(command.split(' '))
            .status();
        assert!(status.unwrap().success(), "ip -n {namespace} {command}");
    }
    device
}

fn make_device() -> File {
    let mut options = File::options();
    let file = options.read(true).write(true).open("/dev/net/tun").unwrap();
    // SAFETY: ifreq is plain data for which zero bytes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (target, byte) in request.ifr_name.iter_mut().zip(DEVICE.bytes()) {
        *target = byte as libc::c_char;
    }
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    // SAFETY: the descriptor is open and the request outlives the calls.
    unsafe {
        let raw = file.as_raw_fd();
        assert_eq!(libc::ioctl(raw, libc::TUNSETIFF, &raw const request), 0);
        assert_eq!(libc::ioctl(raw, libc::TUNSETOFFLOAD, offloads), 0);
    }
    file
}
