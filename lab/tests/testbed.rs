// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The emulated link, with real sockets at its ends.
mod common;

use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ebb_lab::emulator::{
    CLIENT_IPV4, CLIENT_IPV6, Path, PathSpec, SERVER_IPV4, SERVER_IPV6, Testbed,
};
use ebb_lab::judging::{Attempt, judge};
use ebb_lab::namespace::NamespaceHandle;
use ebb_link::{Class, LinkSpec, Nanos, Probability, QueueLimit, Rate};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};

/// UDP payload of a packet of 1500 bytes over IPv4.
const FULL_PAYLOAD: usize = 1_472;

/// A machine may be busy with other tests: patience costs nothing where all is well.
const PATIENCE: Duration = Duration::from_secs(10);

fn bind(namespace: &NamespaceHandle, address: IpAddr) -> UdpSocket {
    let socket = namespace
        .run_in(|| UdpSocket::bind((address, 0)))
        .unwrap()
        .unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A socket on each side: server, client, and the client's address.
fn sockets(path: &Path) -> (UdpSocket, UdpSocket, SocketAddr) {
    let server = bind(path.server(), SERVER_IPV4.into());
    let client = bind(path.client(), CLIENT_IPV4.into());
    let address = client.local_addr().unwrap();
    (server, client, address)
}

fn home_link() -> LinkSpec {
    let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(50));
    LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(86))
}

/// Receives so many numbered packets, or those that come before one is long in coming:
/// number and arrival, by the kernel's clock: this thread may have to wait for its turn.
fn receive_numbers(socket: &UdpSocket, count: usize) -> Vec<(u32, Nanos)> {
    setsockopt(socket, sockopt::ReceiveTimestampns, &true).unwrap();
    let mut numbers = Vec::new();
    while numbers.len() < count
        && let Some(number) = receive_number(socket)
    {
        numbers.push(number);
    }
    numbers
}

fn receive_number(socket: &UdpSocket) -> Option<(u32, Nanos)> {
    let mut buffer = [0; 2_000];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let mut parts = [IoSliceMut::new(&mut buffer)];
    let flags = MsgFlags::empty();
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags).ok()?;
    let arrived = message.cmsgs().unwrap().find_map(|it| match it {
        ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
        _ => None,
    });
    assert!(message.bytes >= 4);
    let number = u32::from_be_bytes(buffer[..4].try_into().unwrap());
    Some((number, nanos(arrived.unwrap())))
}

/// The time on the clock of the kernel's timestamps.
fn real_now() -> Nanos {
    nanos(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap())
}

fn send_number(socket: &UdpSocket, to: SocketAddr, number: u32, length: usize) {
    let mut bytes = vec![0; length];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    socket.send_to(&bytes, to).unwrap();
}

#[test]
fn delays_packets_as_specified_without_loss_or_reordering() {
    let name = "delays_packets_as_specified_without_loss_or_reordering";
    if common::is_root(name) {
        judge(name, delay_packets);
    }
}

/// Breaks if packets come early, are lost or overtake each other; late ones are for the judge.
fn delay_packets() -> Attempt {
    let testbed = Testbed::start(vec![PathSpec::new(home_link(), home_link())]).unwrap();
    let (server, client, address) = sockets(testbed.path(0));
    let receiver = std::thread::spawn(move || receive_numbers(&client, 100));
    let mut sent = Vec::new();
    for number in 0..100 {
        sent.push(real_now());
        send_number(&server, address, number, FULL_PAYLOAD);
        std::thread::sleep(Duration::from_millis(3));
    }
    let received = receiver.join().unwrap();
    let report = testbed.stop().unwrap();
    assert!(
        received.iter().map(|(number, _)| *number).eq(0..100),
        "{received:?}"
    );
    let delays = received
        .iter()
        .zip(&sent)
        .map(|((_, arrived), sent)| arrived.since(*sent));
    let mut delays_ms: Vec<f64> = delays.map(Nanos::as_millis_f64).collect();
    delays_ms.sort_by(f64::total_cmp);
    // 1500 bytes at 10 Mbit/s are 1.2 ms, and 50 ms of delay; never earlier. The median
    // is asked for, because this test shares its machine with others: between a look at the
    // clock and sending there may be a pause.
    assert!(delays_ms[0] >= 51.2, "{delays_ms:?}");
    let link = report.paths[0].forward.statistics.total();
    assert_eq!(
        (link.delivered_pkts, link.dropped_pkts, link.lost_pkts),
        (100, 0, 0)
    );
    let is_late = delays_ms[50] >= 53.2;
    let wrong = is_late.then(|| format!("{delays_ms:?}"));
    Attempt::over(&report, wrong.into_iter().collect())
}

#[test]
fn carries_ipv6_and_ipv4_in_both_directions_on_each_path() {
    if !common::is_root("carries_ipv6_and_ipv4_in_both_directions_on_each_path") {
        return;
    }
    let spec = PathSpec::new(LinkSpec::default(), LinkSpec::default());
    let testbed = Testbed::start(vec![spec.clone(), spec.clone(), spec]).unwrap();
    let addresses: [(IpAddr, IpAddr); 2] = [
        (SERVER_IPV4.into(), CLIENT_IPV4.into()),
        (SERVER_IPV6.into(), CLIENT_IPV6.into()),
    ];
    for (number, path) in testbed.paths().iter().enumerate() {
        for (server_address, client_address) in addresses {
            let server = bind(path.server(), server_address);
            let client = bind(path.client(), client_address);
            let mut buffer = [0; 100];
            let question = format!("path {number}");
            client
                .send_to(question.as_bytes(), server.local_addr().unwrap())
                .unwrap();
            let (length, from) = server.recv_from(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], question.as_bytes());
            assert_eq!(from, client.local_addr().unwrap());
            server.send_to(b"answer", from).unwrap();
            assert_eq!(client.recv(&mut buffer).unwrap(), 6);
        }
    }
    for path in testbed.stop().unwrap().paths {
        assert_eq!(path.forward.statistics.total().delivered_pkts, 2);
        assert_eq!(path.reverse.statistics.total().delivered_pkts, 2);
        assert_eq!(
            (path.forward.refused_pkts, path.reverse.refused_pkts),
            (0, 0)
        );
    }
}

#[test]
fn lets_best_effort_overtake_under_strict_priority() {
    if !common::is_root("lets_best_effort_overtake_under_strict_priority") {
        return;
    }
    let limit = QueueLimit::Packets(100);
    let forward =
        LinkSpec::strict_priority(Rate::from_mbit_per_s(10), Nanos::from_millis(5), limit);
    let testbed = Testbed::start(vec![PathSpec::new(forward, LinkSpec::default())]).unwrap();
    let (yielding, client, address) = sockets(testbed.path(0));
    let first = bind(testbed.path(0).server(), SERVER_IPV4.into());
    testbed.set_class(
        0,
        yielding.local_addr().unwrap().port(),
        Class::LessThanBestEffort,
    );
    for number in 0..50 {
        send_number(&yielding, address, number, FULL_PAYLOAD);
    }
    send_number(&first, address, 1_000, FULL_PAYLOAD);
    let received = receive_numbers(&client, 51);
    let report = testbed.stop().unwrap();
    assert_eq!(received.len(), 51);
    let place = received
        .iter()
        .position(|(number, _)| *number == 1_000)
        .unwrap();
    // Those that the link had begun to send before it came are before it: at 1.2 ms
    // each far from all.
    assert!(place < 40, "{place}");
    let series = &report.paths[0].forward.series;
    let waited = |class| series.between(class, Nanos::ZERO, Nanos(u64::MAX)).waiting;
    assert_eq!(waited(Class::BestEffort).count, 1);
    assert!(waited(Class::BestEffort).max_ns <= 1_200_000);
    assert_eq!(waited(Class::LessThanBestEffort).count, 50);
    // The last one waited for 50 others, less those sent while it was on its way here.
    assert!(waited(Class::LessThanBestEffort).max_ns > 30_000_000);
}

#[test]
fn drops_what_the_queue_cannot_hold_and_loses_what_it_is_told_to() {
    if !common::is_root("drops_what_the_queue_cannot_hold_and_loses_what_it_is_told_to") {
        return;
    }
    let rate = Rate::from_mbit_per_s(1);
    let narrow = LinkSpec::drop_tail(rate, Nanos::ZERO, QueueLimit::Packets(5));
    let lossy = LinkSpec {
        loss: Probability::ALWAYS,
        ..LinkSpec::default()
    };
    let testbed = Testbed::start(vec![
        PathSpec::new(narrow, LinkSpec::default()),
        PathSpec::new(lossy, LinkSpec::default()),
    ])
    .unwrap();
    for number in 0..2 {
        let (server, client, address) = sockets(testbed.path(number));
        for number in 0..20 {
            send_number(&server, address, number, FULL_PAYLOAD);
        }
        // What was dropped does not come.
        let pause = Duration::from_millis(500);
        client.set_read_timeout(Some(pause)).unwrap();
        let received = receive_numbers(&client, 20).len() as u64;
        let most = [20, 0][number];
        assert!(received <= most);
    }
    let report = testbed.stop().unwrap();
    let narrow = report.paths[0].forward.statistics.total();
    assert_eq!(narrow.delivered_pkts + narrow.dropped_pkts, 20);
    // 12 ms a packet: 20 come within a few of them.
    assert!(narrow.dropped_pkts >= 5, "{narrow:?}");
    let lossy = report.paths[1].forward.statistics.total();
    assert_eq!((lossy.lost_pkts, lossy.delivered_pkts), (20, 0));
}
