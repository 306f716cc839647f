// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arrival times of UDP packets, by the receiving kernel's clock, beside those that the
//! link model computes from the sending times.
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use ebb_lab::LabError;
use ebb_lab::emulator::{CLIENT_IPV4, PathSpec, SERVER_IPV4, Testbed};
use ebb_link::{Class, Link, LinkSpec, Nanos, Packet, QueueLimit, Rate};
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::time::{ClockId, clock_gettime};

use crate::judge;

const PACKETS: u32 = 4_000;
const HEADER_BYTES: u32 = 28;
const TOLERANCE: Nanos = Nanos::from_micros(200);
const GOAL_SHARE: f64 = 0.99;

pub fn run() -> Result<bool, LabError> {
    let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(50));
    let link = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(86));
    let testbed = Testbed::start(vec![PathSpec::new(link.clone(), link.clone())])?;
    let bind = |namespace: &ebb_lab::namespace::NamespaceHandle, address| {
        let socket = namespace.run_in(|| UdpSocket::bind((address, 0)))?;
        Ok::<_, LabError>(socket.expect("the address is the namespace's own"))
    };
    let server = bind(testbed.path(0).server(), SERVER_IPV4)?;
    let client = bind(testbed.path(0).client(), CLIENT_IPV4)?;
    let address = client.local_addr().expect("a bound socket has an address");
    let receiver = std::thread::spawn(move || receive(&client));
    let sent = send(&server, address);
    let arrived = receiver.join().expect("the receiver does not panic");
    let report = testbed.stop()?;

    let due = model(&link, &sent);
    let is_right = |number: &usize| {
        arrived[*number].is_some_and(|arrived| arrived.0.abs_diff(due[*number].0) <= TOLERANCE.0)
    };
    let right = (0..sent.len()).filter(is_right).count();
    let share = right as f64 / sent.len() as f64;
    println!("precision    {}", report.summary());
    println!("precision    {}", describe(&arrived, &due));
    let figure = format!(
        "{right} of {} packets within 0.2 ms of the model, {share:.4} (goal {GOAL_SHARE})",
        sent.len()
    );
    Ok(judge("precision", &figure, share >= GOAL_SHARE))
}

/// Sends numbered packets, in small bursts so that a queue builds up now and then;
/// answers when, and how large they were as IP packets.
fn send(socket: &UdpSocket, to: SocketAddr) -> Vec<(Nanos, u32)> {
    let mut sent = Vec::with_capacity(PACKETS as usize);
    for number in 0..PACKETS {
        let burst = 1 + number % 7;
        if number % burst == 0 {
            std::thread::sleep(Duration::from_micros(1_500 + u64::from(number * 7 % 1_000)));
        }
        let payload = 100 + number * 37 % 1_300;
        let mut bytes = vec![0; payload as usize];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        sent.push((now(), payload + HEADER_BYTES));
        socket
            .send_to(&bytes, to)
            .expect("the device's queue is long");
    }
    sent
}

/// When the packets arrived, by number.
fn receive(socket: &UdpSocket) -> Vec<Option<Nanos>> {
    setsockopt(socket, ReceiveTimestampns, &true).expect("Linux has SO_TIMESTAMPNS");
    socket
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("a second is not zero");
    let mut arrived = vec![None; PACKETS as usize];
    let mut bytes = [0; 2_000];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    loop {
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::empty();
        let fd = socket.as_raw_fd();
        let Ok(message) = recvmsg::<()>(fd, &mut slices, Some(&mut control), flags) else {
            return arrived;
        };
        let stamp = message
            .cmsgs()
            .expect("the buffer is large enough")
            .find_map(|message| match message {
                ControlMessageOwned::ScmTimestampns(time) => Some(nanos(time)),
                _ => None,
            });
        let number = u32::from_be_bytes(bytes[..4].try_into().expect("four bytes"));
        arrived[number as usize] = stamp;
    }
}

/// When the link, given the same packets at the same times, delivers them.
fn model(spec: &LinkSpec, sent: &[(Nanos, u32)]) -> Vec<Nanos> {
    let mut link = Link::new(spec, 0).expect("the testbed took the same specification");
    let mut due = vec![Nanos(u64::MAX); sent.len()];
    for (number, (time, size_bytes)) in sent.iter().enumerate() {
        // A packet that does not fit stays due never: the queue is long enough here.
        let _ = link.enqueue(*time, Packet::new(*size_bytes, Class::BestEffort, number));
    }
    while let Some(delivery) = link.poll(Nanos(u64::MAX)) {
        due[delivery.packet.payload] = delivery.due;
    }
    due
}

fn describe(arrived: &[Option<Nanos>], due: &[Nanos]) -> String {
    let pairs = arrived.iter().zip(due);
    let errors = pairs.filter_map(|(arrived, due)| Some(arrived.as_ref()?.0 as f64 - due.0 as f64));
    let mut errors_us: Vec<f64> = errors.map(|error| error / 1e3).collect();
    errors_us.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (errors_us.len().saturating_sub(1) as f64 * share) as usize;
        errors_us.get(index).copied().unwrap_or(f64::NAN)
    };
    format!(
        "arrival after the model's: 1 % {:.0} us, median {:.0} us, 99 % {:.0} us, worst {:.0} us",
        at(0.01),
        at(0.5),
        at(0.99),
        at(1.0)
    )
}

/// The clock of kernel time stamps.
fn now() -> Nanos {
    nanos(clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has CLOCK_REALTIME"))
}

fn nanos(time: nix::sys::time::TimeSpec) -> Nanos {
    Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
