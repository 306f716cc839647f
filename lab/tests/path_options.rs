// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a path can be told to make of TCP: seen from the sockets at its ends.
mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use ebb_lab::emulator::{Path, PathSpec, SERVER_IPV4, SERVER_IPV6, Testbed};
use ebb_link::{LinkSpec, Nanos, Probability, QueueLimit, Rate};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::TcpCongestion;

/// From linux/tcp.h: tcpi_options.
const TIMESTAMPS: u8 = 1;
const WINDOW_SCALE: u8 = 4;
const ECN: u8 = 8;
const ECN_SEEN: u8 = 16;

/// Sends so many bytes from the server to the client; answers the sockets of both.
fn transfer(path: &Path, length: usize) -> (TcpStream, TcpStream) {
    transfer_from(path, SERVER_IPV4.into(), length)
}

fn transfer_from(path: &Path, server: IpAddr, length: usize) -> (TcpStream, TcpStream) {
    let listener = path
        .server()
        .run_in(|| TcpListener::bind((server, 0)))
        .unwrap()
        .unwrap();
    let address = listener.local_addr().unwrap();
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&vec![7; length]).unwrap();
        stream
    });
    let mut client = path
        .client()
        .run_in(|| TcpStream::connect(address))
        .unwrap()
        .unwrap();
    let mut bytes = vec![0; length];
    client.read_exact(&mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 7));
    (sender.join().unwrap(), client)
}

fn tcp_info(stream: &TcpStream) -> libc::tcp_info {
    // SAFETY: tcp_info is plain data for which zero bytes are valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at the most `length` bytes into `info`.
    let result = unsafe {
        let (fd, to) = (stream.as_raw_fd(), (&raw mut info).cast());
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
    };
    assert_eq!(result, 0);
    info
}

fn start(spec: PathSpec) -> Testbed {
    Testbed::start(vec![spec]).unwrap()
}

#[test]
fn has_all_tcp_options_unless_told_otherwise() {
    if !common::is_root("has_all_tcp_options_unless_told_otherwise") {
        return;
    }
    let testbed = start(PathSpec::default());
    let (server, _client) = transfer(testbed.path(0), 100_000);
    let info = tcp_info(&server);
    assert_eq!(
        info.tcpi_options & (TIMESTAMPS | WINDOW_SCALE),
        TIMESTAMPS | WINDOW_SCALE
    );
    // 1500 less 40 bytes of headers and 12 of timestamps.
    assert_eq!(info.tcpi_snd_mss, 1_448);
}

#[test]
fn switches_timestamps_and_window_scaling_off_by_sysctl() {
    if !common::is_root("switches_timestamps_and_window_scaling_off_by_sysctl") {
        return;
    }
    let spec = PathSpec::default()
        .with_server_sysctl("net.ipv4.tcp_timestamps", "0")
        .with_client_sysctl("net.ipv4.tcp_window_scaling", "0");
    let testbed = start(spec);
    let (server, client) = transfer(testbed.path(0), 100_000);
    for stream in [server, client] {
        assert_eq!(
            tcp_info(&stream).tcpi_options & (TIMESTAMPS | WINDOW_SCALE),
            0
        );
    }
}

#[test]
fn limits_segments_by_the_mss_of_the_route() {
    if !common::is_root("limits_segments_by_the_mss_of_the_route") {
        return;
    }
    let testbed = start(PathSpec {
        route_mss: Some(536),
        ..PathSpec::default()
    });
    let (server, _client) = transfer(testbed.path(0), 100_000);
    // 536 less 12 bytes of timestamps.
    assert_eq!(tcp_info(&server).tcpi_snd_mss, 524);
    let forward = testbed.stop().unwrap().paths[0].forward.statistics.total();
    assert!(
        forward.delivered_bytes / forward.delivered_pkts <= 576,
        "{forward:?}"
    );
}

/// `tcpi_data_segs_in`, which libc's structure ends before: packets with data, as they came.
fn packets_in(stream: &TcpStream) -> u32 {
    const AT: usize = 152;
    let mut info = [0_u8; 256];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at the most `length` bytes into `info`.
    let result = unsafe {
        let (fd, to) = (stream.as_raw_fd(), (&raw mut info).cast());
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
    };
    assert_eq!(result, 0);
    assert!(length as usize >= AT + 4, "the kernel tells {length} bytes");
    u32::from_ne_bytes(info[AT..AT + 4].try_into().unwrap())
}

#[test]
fn hands_over_several_segments_as_one_packet_and_no_byte_is_lost() {
    if !common::is_root("hands_over_several_segments_as_one_packet_and_no_byte_is_lost") {
        return;
    }
    const BYTES: usize = 1_000_000;
    const SEGMENTS: u32 = BYTES.div_ceil(1_448) as u32;
    let packets = |wait, corrupt| {
        let (rate, delay) = (Rate::from_mbit_per_s(20), Nanos::from_millis(10));
        let link = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(500));
        let testbed = start(PathSpec {
            receive_offload: wait,
            corrupt: Probability::new(corrupt).unwrap(),
            ..PathSpec::new(link.clone(), link)
        });
        let (_server, client) = transfer(testbed.path(0), BYTES);
        packets_in(&client)
    };
    assert!(packets(Nanos::ZERO, 0.0) >= SEGMENTS);
    let aggregates = packets(Nanos::from_millis(5), 0.0);
    assert!(aggregates * 3 < SEGMENTS * 2, "{aggregates} of {SEGMENTS}");
    // A segment that is broken is not covered by a checksum that nobody computes.
    packets(Nanos::from_millis(5), 0.02);
}

#[test]
fn chooses_the_congestion_control_by_the_route() {
    if !common::is_root("chooses_the_congestion_control_by_the_route") {
        return;
    }
    for name in ["reno", "cubic"] {
        let congestion_control = Some(name.to_owned());
        let testbed = start(PathSpec {
            congestion_control,
            ..PathSpec::default()
        });
        for address in [SERVER_IPV4.into(), SERVER_IPV6.into()] {
            let (server, client) = transfer_from(testbed.path(0), address, 1_000);
            for stream in [server, client] {
                let chosen = getsockopt(&stream, TcpCongestion).unwrap();
                let chosen = chosen.to_string_lossy();
                assert_eq!(chosen.trim_end_matches('\0'), name, "{address}");
            }
        }
    }
}

#[test]
fn marks_packets_where_both_ends_use_ecn() {
    if !common::is_root("marks_packets_where_both_ends_use_ecn") {
        return;
    }
    let (rate, delay) = (Rate::from_mbit_per_s(20), Nanos::from_millis(10));
    let link = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(500));
    let forward = LinkSpec {
        ecn_threshold: Some(QueueLimit::Packets(20)),
        ..link
    };
    let mut spec = PathSpec::new(forward, LinkSpec::delay_only(delay));
    spec.congestion_control = Some("cubic".into());
    let name = "net.ipv4.tcp_ecn";
    let spec = spec
        .with_server_sysctl(name, "1")
        .with_client_sysctl(name, "1");
    let testbed = start(spec);
    let (server, client) = transfer(testbed.path(0), 2_000_000);
    assert_eq!(tcp_info(&server).tcpi_options & ECN, ECN);
    assert_eq!(tcp_info(&client).tcpi_options & ECN_SEEN, ECN_SEEN);
    let forward = testbed.stop().unwrap().paths[0].forward.statistics.total();
    assert!(forward.marked_pkts > 0, "{forward:?}");
    // The sender heeds the marks before the queue is full.
    assert_eq!(forward.dropped_pkts, 0, "{forward:?}");
}

#[test]
fn flipped_bits_are_found_by_checksums_and_sent_again() {
    if !common::is_root("flipped_bits_are_found_by_checksums_and_sent_again") {
        return;
    }
    let testbed = start(PathSpec {
        corrupt: Probability::new(0.05).unwrap(),
        ..PathSpec::default()
    });
    for server in [SERVER_IPV4.into(), SERVER_IPV6.into()] {
        // Looks at every byte.
        transfer_from(testbed.path(0), server, 500_000);
    }
    let report = testbed.stop().unwrap();
    let forward = &report.paths[0].forward;
    // 700 packets at the least.
    assert!(forward.corrupted_pkts > 15, "{}", forward.corrupted_pkts);
}
