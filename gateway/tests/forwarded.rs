// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a router forwards, by each place that kernels have for programs: a download is held and has
//! no wrong byte, and QUIC is counted and left alone. It asks for nothing but a kernel: `make
//! test-kernels` runs it on those that the kernel backend refuses.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ebb_gateway::{Flow, Gateway, Hook, Interface, Options, Way};
use ebb_host::testing::{requires, requires_root};
use support::everything;
use support::namespace::{Namespace, enter_router};

const BYTES: usize = 4 << 20;
/// What a client asks for and gets over QUIC, without headers.
const QUIC_BYTES: [usize; 2] = [100, 1200];
const QUIC_PACKETS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_download_is_held_by_filters_of_clsact() {
    let name = "a_download_is_held_by_filters_of_clsact";
    if requires_root(name) {
        expect_held(Some(Hook::Clsact));
    }
}

#[test]
fn a_download_is_held_by_whatever_the_kernel_has() {
    let name = "a_download_is_held_by_whatever_the_kernel_has";
    if requires_root(name) {
        expect_held(None);
    }
}

/// Established connections go by a short way, which counts nothing.
const SOFT: &str = "table inet soft {
    flowtable short { hook ingress priority 0; devices = { lan0, wan0 }; }
    chain pass {
        type filter hook forward priority 0;
        counter
        ct state established flow add @short
    }
}";

#[test]
fn a_flowtable_without_hardware_hides_nothing() {
    let name = "a_flowtable_without_hardware_hides_nothing";
    if !requires_root(name) {
        return;
    }
    let ends = enter_router();
    let made = Command::new("nft").arg(SOFT).output();
    let is_made = made.is_ok_and(|output| output.status.success());
    if !requires(
        name,
        "flowtables",
        "nft, and flowtables (CONFIG_NF_FLOW_TABLE)",
        is_made,
    ) {
        return;
    }
    expect_held_between(&ends, None);
    let listed = Command::new("nft")
        .args(["list", "ruleset"])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let counted = listed.split_once("counter packets ").unwrap().1;
    let bytes: usize = counted.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!(bytes < BYTES / 2, "nothing went by the short way: {listed}");
}

/// CAKE leaves out acknowledgements that later ones of its queue stand for: windows are in these.
#[test]
fn cake_that_filters_acknowledgements_changes_nothing() {
    let name = "cake_that_filters_acknowledgements_changes_nothing";
    if !requires_root(name) {
        return;
    }
    let ends = enter_router();
    // Acknowledgements wait, so that some are left out.
    let rates = [("lan0", "50mbit"), ("wan0", "200kbit")];
    let has_cake = rates.iter().all(|(interface, rate)| {
        let mut tc = Command::new("tc");
        let tc = tc.args(["qdisc", "add", "dev", interface, "root", "cake"]);
        tc.args(["bandwidth", rate, "nat", "ack-filter-aggressive"])
            .output()
            .is_ok_and(|output| output.status.success())
    });
    if !requires(name, "cake", "CAKE in the kernel", has_cake) {
        return;
    }
    expect_held_between(&ends, None);
    let told = Command::new("tc")
        .args(["-s", "qdisc", "show", "dev", "wan0"])
        .output()
        .unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let dropped = told.lines().find(|line| line.contains("ack_drop"));
    let dropped = dropped.unwrap().split_whitespace().skip(1);
    let dropped: u64 = dropped.map(|count| count.parse::<u64>().unwrap()).sum();
    assert!(dropped > 0, "no acknowledgement was left out: {told}");
}

fn expect_held(hook: Option<Hook>) {
    expect_held_between(&enter_router(), hook);
}

fn expect_held_between([client, server]: &[Namespace; 2], hook: Option<Hook>) {
    let options = Options {
        interfaces: vec![Interface::of("lan0").unwrap()],
        policy: "ebb".parse().unwrap(),
        is_observing: false,
        hook,
        connections: 1_024,
        is_patient: false,
    };
    let gateway = Gateway::start(&options, &[everything()]).unwrap();
    assert!(hook.is_none() || gateway.hook() == hook);

    let flow = download(client, server, &gateway);
    assert_eq!(flow.way, Way::Download);
    assert!(flow.rewritten > 0, "{flow:?}");
    assert!(flow.window_bytes < flow.own_bytes, "{flow:?}");
    let counters = gateway.counters();
    assert_eq!((counters.connections, counters.governed), (1, 1));
    // What was lost on its way comes twice.
    assert!(counters.received_bytes >= BYTES as u64, "{counters:?}");
    assert_eq!(counters.quic_bytes, 0);

    exchange(client, server);
    let counters = gateway.counters();
    let payload = QUIC_PACKETS * (QUIC_BYTES[0] + QUIC_BYTES[1]);
    // Each packet has headers of IPv4 and UDP.
    let all = (payload + 2 * QUIC_PACKETS * 28) as u64;
    assert!(
        (payload as u64..=all + 2 * 14 * QUIC_PACKETS as u64).contains(&counters.quic_bytes),
        "{payload} to {all}: {counters:?}"
    );
    assert!(counters.udp_bytes >= counters.quic_bytes, "{counters:?}");
    assert_eq!(gateway.flows().len(), 1);
}

fn byte_at(place: usize) -> u8 {
    (place * 31 + place / 251) as u8
}

/// Answers how the gateway has it before it ends.
fn download(client: &Namespace, server: &Namespace, gateway: &Gateway) -> Flow {
    let listener = server.run_in(|| TcpListener::bind("0.0.0.0:9000").unwrap());
    let sending = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let all: Vec<u8> = (0..BYTES).map(byte_at).collect();
        stream.write_all(&all).unwrap();
        stream
    });
    let mut stream = client.run_in(|| TcpStream::connect("198.51.100.7:9000").unwrap());
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut got = vec![0; BYTES];
    for part in got.chunks_mut(BYTES / 64) {
        stream.read_exact(part).unwrap();
        gateway.renew();
    }
    let wrong = got
        .iter()
        .enumerate()
        .find(|(place, byte)| **byte != byte_at(*place));
    assert_eq!(wrong, None);
    let mut flows = gateway.flows();
    assert_eq!(flows.len(), 1, "{flows:?}");
    drop(sending.join().unwrap());
    flows.remove(0)
}

/// Packets of UDP to port 443, each of which has an answer.
fn exchange(client: &Namespace, server: &Namespace) {
    let there = server.run_in(|| UdpSocket::bind("0.0.0.0:443").unwrap());
    let here = client.run_in(|| UdpSocket::bind("0.0.0.0:0").unwrap());
    here.connect("198.51.100.7:443").unwrap();
    let mut room = [0; 2048];
    for socket in [&there, &here] {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    for _ in 0..QUIC_PACKETS {
        here.send(&room[..QUIC_BYTES[0]]).unwrap();
        let (asked, from) = there.recv_from(&mut room).unwrap();
        there.send_to(&room[..QUIC_BYTES[1]], from).unwrap();
        let got = here.recv(&mut room).unwrap();
        assert_eq!([asked, got], QUIC_BYTES);
    }
}
