// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a router forwards, by each place that kernels have for programs: a download is held and has
//! no wrong byte, and QUIC is counted and left alone. It asks for nothing but a kernel: `make
//! test-kernels` runs it on those that the kernel backend refuses.

mod support;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ebb_gateway::{Error, Flow, Gateway, Hook, Interface, Options, Rule, Way};
use ebb_host::testing::{requires, requires_root};
use support::everything;
use support::namespace::{Namespace, enter_router};

const BYTES: usize = 4 << 20;
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));
const SERVER_IPV6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd51, 0, 0, 0, 0, 0, 0, 7));
const PORT: u16 = 9000;
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
    let (_router, ends) = enter_router();
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
    let (_router, ends) = enter_router();
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

#[test]
fn a_download_over_ipv6_is_held() {
    if !requires_root("a_download_over_ipv6_is_held") {
        return;
    }
    let (router, ends) = enter_router();
    router.set_sysctl("net.ipv6.conf.all.forwarding", "1");
    for (end, interface, prefix) in [(&ends[0], "lan0", "fd07"), (&ends[1], "wan0", "fd51")] {
        router.ip(&format!("addr add {prefix}::1/64 dev {interface} nodad\n"));
        end.ip(&format!(
            "addr add {prefix}::7/64 dev eth0 nodad\n\
             route add default via {prefix}::1\n"
        ));
    }
    expect_download_held(&ends, SERVER_IPV6, &start("lan0", None));
}

#[test]
fn rules_by_addresses_of_ethernet_are_refused_where_there_are_none() {
    let name = "rules_by_addresses_of_ethernet_are_refused_where_there_are_none";
    if !requires_root(name) {
        return;
    }
    let (router, _ends) = enter_router();
    let has_tun = router.can_ip("tuntap add tun0 mode tun\n");
    if !requires(name, "tun", "TUN (CONFIG_TUN)", has_tun) {
        return;
    }
    let rule = Rule {
        name: "console".to_owned(),
        mac: Some("02:00:00:00:00:01".parse().unwrap()),
        ..everything()
    };
    let mut gateway = Gateway::start(&options("tun0", None), &[everything()]).unwrap();
    let error = gateway.set_rules(&[rule]).unwrap_err().to_string();
    assert!(
        error.contains("rule console") && error.contains("tun0"),
        "{error}"
    );
}

/// It has one place for programs, whichever way packets go: the last that comes has it.
#[test]
fn by_clsact_an_interface_with_the_queueing_discipline_ingress_is_refused() {
    let name = "by_clsact_an_interface_with_the_queueing_discipline_ingress_is_refused";
    if !requires_root(name) {
        return;
    }
    let _all = enter_router();
    let mut tc = Command::new("tc");
    let added = tc.args(["qdisc", "add", "dev", "lan0", "ingress"]).status();
    assert!(added.unwrap().success());
    let refused = Gateway::start(&options("lan0", Some(Hook::Clsact)), &[everything()]);
    let error = refused.unwrap_err().to_string();
    assert!(
        error.contains("`ingress`") && error.contains("clsact"),
        "{error}"
    );
}

/// As of somebody who limits a rate there.
#[test]
fn by_clsact_filters_of_another_kind_at_our_priority_are_named() {
    let name = "by_clsact_filters_of_another_kind_at_our_priority_are_named";
    if !requires_root(name) {
        return;
    }
    let _all = enter_router();
    let tc = |line: &str| Command::new("tc").args(line.split(' ')).status().unwrap();
    assert!(tc("qdisc add dev lan0 clsact").success());
    let adds = |priority: u32| {
        let line = format!(
            "filter add dev lan0 egress protocol all prio {priority} u32 match u32 0 0 flowid 1:1"
        );
        tc(&line).success()
    };
    if !requires(name, "u32", "filters of tc (CONFIG_NET_CLS_U32)", adds(1)) {
        return;
    }
    let start = || Gateway::start(&options("lan0", Some(Hook::Clsact)), &[everything()]);
    let error = start().unwrap_err().to_string();
    assert!(
        error.contains("tc filter show dev lan0") && error.contains("priority 1"),
        "{error}"
    );
    // Theirs is there still, and by another priority both are.
    assert!(tc("filter del dev lan0 egress prio 1").success());
    assert!(adds(2));
    start().unwrap();
}

/// The client is reached by a VLAN: the interface with the tags sees these, that of the VLAN not.
#[test]
fn a_download_by_a_vlan_is_held_on_both_of_its_interfaces() {
    let name = "a_download_by_a_vlan_is_held_on_both_of_its_interfaces";
    if !requires_root(name) {
        return;
    }
    for interface in ["lan0", "lan0.7"] {
        let (router, ends) = enter_router();
        let vlan = |of: &str| format!("link add link {of} name {of}.7 type vlan id 7\n");
        let has_vlans = router.can_ip(&vlan("lan0"));
        if !requires(name, "vlan", "VLANs (CONFIG_VLAN_8021Q)", has_vlans) {
            return;
        }
        ends[0].ip(&vlan("eth0"));
        for (end, of, host) in [(&router, "lan0", 1), (&ends[0], "eth0", 7)] {
            end.ip(&format!(
                "addr flush dev {of}\n\
                 addr add 192.168.7.{host}/24 dev {of}.7\n\
                 link set {of}.7 up\n"
            ));
        }
        ends[0].ip("route replace default via 192.168.7.1\n");
        expect_download_held(&ends, SERVER, &start(interface, None));
    }
}

/// As PPP and TUN: IP's header is the first.
#[test]
fn a_download_by_a_tunnel_without_ethernet_is_held() {
    let name = "a_download_by_a_tunnel_without_ethernet_is_held";
    if !requires_root(name) {
        return;
    }
    let (router, ends) = enter_router();
    let tunnel = |host, other| {
        format!(
            "link add tunnel0 type ipip local 192.168.7.{host} remote 192.168.7.{other}\n\
             addr add 10.9.0.{host}/24 dev tunnel0\n\
             link set tunnel0 up\n"
        )
    };
    let has_tunnels = router.can_ip(&tunnel(1, 7));
    if !requires(name, "ipip", "tunnels (CONFIG_NET_IPIP)", has_tunnels) {
        return;
    }
    ends[0].ip(&tunnel(7, 1));
    ends[0].ip("route replace default via 10.9.0.1\n");
    match Interface::of("tunnel0") {
        Err(error @ Error::OldTunnel { .. }) => {
            return assert!(error.to_string().contains("5.14 or newer"), "{error}");
        }
        interface => assert!(!interface.unwrap().has_macs()),
    }
    expect_download_held(&ends, SERVER, &start("tunnel0", None));
}

fn expect_held(hook: Option<Hook>) {
    let (_router, ends) = enter_router();
    expect_held_between(&ends, hook);
}

fn expect_held_between(ends: &[Namespace; 2], hook: Option<Hook>) {
    let gateway = start("lan0", hook);
    assert!(hook.is_none() || gateway.hook() == hook);
    expect_download_held(ends, SERVER, &gateway);

    let [client, server] = ends;
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

fn start(interface: &str, hook: Option<Hook>) -> Gateway {
    Gateway::start(&options(interface, hook), &[everything()]).unwrap()
}

fn options(interface: &str, hook: Option<Hook>) -> Options {
    Options {
        interfaces: vec![Interface::of(interface).unwrap()],
        policy: "ebb".parse().unwrap(),
        is_observing: false,
        hook,
        connections: 1_024,
        is_patient: false,
    }
}

/// The server sends no faster than this, so that there is a queue to hold short.
const NARROW: &str = "qdisc replace dev eth0 root tbf rate 100mbit burst 32k limit 1m";

fn expect_download_held([client, server]: &[Namespace; 2], address: IpAddr, gateway: &Gateway) {
    let narrowed = server.run_in(|| Command::new("tc").args(NARROW.split(' ')).status());
    assert!(narrowed.unwrap().success());
    let flow = download(client, server, address, gateway);
    assert_eq!(flow.way, Way::Download);
    assert!(flow.rewritten > 0, "{flow:?}");
    assert!(flow.window_bytes < flow.own_bytes, "{flow:?}");
    let counters = gateway.counters();
    assert_eq!((counters.connections, counters.governed), (1, 1));
    // What was lost on its way comes twice.
    assert!(counters.received_bytes >= BYTES as u64, "{counters:?}");
    assert_eq!(counters.quic_bytes, 0);
}

fn byte_at(place: usize) -> u8 {
    (place * 31 + place / 251) as u8
}

/// Answers how the gateway has it before it ends.
fn download(client: &Namespace, server: &Namespace, address: IpAddr, gateway: &Gateway) -> Flow {
    let listener = server.run_in(|| TcpListener::bind((address, PORT)).unwrap());
    let sending = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let all: Vec<u8> = (0..BYTES).map(byte_at).collect();
        stream.write_all(&all).unwrap();
        stream
    });
    gateway.renew();
    let mut stream = client.run_in(|| TcpStream::connect((address, PORT)).unwrap());
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
    here.connect((SERVER, 443)).unwrap();
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
