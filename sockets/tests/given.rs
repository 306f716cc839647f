// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A governor of this process's own sockets, over the loopback device: what was given yields and
//! nothing else, whatever becomes of descriptors.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use ebb_algorithms::Policy;
use ebb_sockets::{CopiedSocket, Direction, Error, Governor, Kind, Options, Root, Standing, Terms};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, socket};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

const NO_CLAMP_BYTES: u32 = 1 << 30;
const PATIENCE: Duration = Duration::from_secs(15);

fn governor() -> Governor {
    let options = Options {
        includes_loopback: true,
        ..Options::default()
    };
    Governor::new(Root::Own, options).unwrap()
}

fn terms() -> Terms {
    Terms {
        download: Some(Policy::receiver("sampled").unwrap()),
        upload: Some(Policy::sender("paced").unwrap()),
        keeps_code_point: false,
        minimum_bytes_per_s: 0,
    }
}

/// A connection: our end, and the other one; each has sent something, which shows what segments are
/// like.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut own = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut other, _) = listener.accept().unwrap();
    other.write_all(&[1; 1_000]).unwrap();
    own.write_all(&[1; 1_000]).unwrap();
    for end in [&own, &other] {
        assert!(end.peek(&mut [0; 1_000]).unwrap() > 0);
    }
    (own, other)
}

fn until(governor: &mut Governor, what: &str, mut is_so: impl FnMut(&Governor) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        governor.tick();
        if is_so(governor) {
            return;
        }
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Lets a governor do whatever it would.
fn work(governor: &mut Governor) {
    let until = Instant::now() + Duration::from_millis(300);
    while Instant::now() < until {
        governor.tick();
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_limited(descriptor: RawFd) -> bool {
    let copy = CopiedSocket::from_own(descriptor).unwrap();
    let field = copy.traffic_class().unwrap();
    let is_marked = field != 0;
    let is_clamped = copy.window_clamp().unwrap() < 1 << 15;
    assert_eq!(is_marked, is_clamped, "both or neither");
    is_clamped
}

#[test]
fn what_is_given_yields_and_nothing_else() {
    let ((own, _other), (own_too, _other_too)) = (pair(), pair());
    let mut governor = governor();
    assert!(!governor.has_given());
    governor.give(own.as_fd(), terms()).unwrap();
    assert!(matches!(
        governor.standing(own.as_fd()),
        Ok(Standing::NotConnected)
    ));
    until(&mut governor, "limited", |_| is_limited(own.as_raw_fd()));
    work(&mut governor);
    assert!(!is_limited(own_too.as_raw_fd()));
    assert_eq!(governor.counters().connections, 1);
    let standing = governor.standing(own.as_fd()).unwrap();
    let Standing::Governed(flows) = standing else {
        panic!("{standing:?}");
    };
    let directions: Vec<Direction> = flows.iter().map(|flow| flow.direction).collect();
    assert_eq!(directions, [Direction::Down, Direction::Up]);
    assert!(matches!(
        governor.standing(own_too.as_fd()),
        Ok(Standing::NotGiven)
    ));

    assert!(!governor.take_back(own_too.as_fd()).unwrap());
    assert!(governor.take_back(own.as_fd()).unwrap());
    // At once, without another look.
    assert!(!is_limited(own.as_raw_fd()));
    work(&mut governor);
    assert!(!is_limited(own.as_raw_fd()) && !governor.has_given());
}

#[test]
fn one_direction_yields_alone_and_another_follows_when_it_is_given_once_more() {
    let (own, _other) = pair();
    let mut governor = governor();
    let upload = None;
    governor
        .give(own.as_fd(), Terms { upload, ..terms() })
        .unwrap();
    let directions = |governor: &Governor| match governor.standing(own.as_fd()) {
        Ok(Standing::Governed(flows)) => flows.iter().map(|flow| flow.direction).collect(),
        _ => Vec::new(),
    };
    until(&mut governor, "down", |it| {
        directions(it) == [Direction::Down]
    });
    let download = None;
    governor
        .give(
            own.as_fd(),
            Terms {
                download,
                ..terms()
            },
        )
        .unwrap();
    until(&mut governor, "up", |it| directions(it) == [Direction::Up]);
    let copy = CopiedSocket::from_own(own.as_raw_fd()).unwrap();
    assert_eq!(copy.window_clamp().unwrap(), NO_CLAMP_BYTES);
}

#[test]
fn a_number_that_is_used_again_is_another_socket() {
    let (own, _other) = pair();
    let number = own.as_raw_fd();
    let mut governor = governor();
    governor.give(own.as_fd(), terms()).unwrap();
    until(&mut governor, "limited", |_| is_limited(number));
    let (next, _next_other) = pair();
    // The number is a new socket's, at once.
    // SAFETY: the number stays open, and is closed once, by its old owner.
    assert_eq!(unsafe { libc::dup2(next.as_raw_fd(), number) }, number);
    until(&mut governor, "forgotten", |it| !it.has_given());
    work(&mut governor);
    assert!(!is_limited(number) && !is_limited(next.as_raw_fd()));
    assert_eq!(governor.connections(), 0);
}

#[test]
fn a_socket_lives_on_by_another_number_and_yields_by_that() {
    let (own, mut other) = pair();
    let mut governor = governor();
    governor.give(own.as_fd(), terms()).unwrap();
    until(&mut governor, "limited", |_| is_limited(own.as_raw_fd()));
    let mut second = own.try_clone().unwrap();
    drop(own);
    work(&mut governor);
    assert!(is_limited(second.as_raw_fd()) && governor.connections() == 1);
    second.read_exact(&mut [0; 1_000]).unwrap();
    assert!(governor.take_back(second.as_fd()).unwrap());
    assert!(!is_limited(second.as_raw_fd()));
    // Nothing keeps the connection open.
    governor.give(second.as_fd(), terms()).unwrap();
    until(&mut governor, "limited", |_| is_limited(second.as_raw_fd()));
    drop(second);
    other.read_exact(&mut [0; 1_000]).unwrap();
    assert_eq!(other.read(&mut [0; 10]).unwrap(), 0);
    until(&mut governor, "forgotten", |it| !it.has_given());
}

#[test]
fn what_a_child_still_has_when_it_was_closed_here_is_let_go_there() {
    let (own, _other) = pair();
    let mut governor = governor();
    governor.give(own.as_fd(), terms()).unwrap();
    until(&mut governor, "limited", |_| is_limited(own.as_raw_fd()));
    // SAFETY: the child makes system calls on what it has, and ends without clearing up.
    let child = match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let is_right = is_let_go_later(own.as_raw_fd()) == (true, true);
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!is_right)) }
        }
    };
    drop(own);
    let mut ended = WaitStatus::StillAlive;
    until(&mut governor, "the child has ended", |_| {
        ended = waitpid(child, Some(WaitPidFlag::WNOHANG)).unwrap();
        ended != WaitStatus::StillAlive
    });
    assert_eq!(ended, WaitStatus::Exited(child, 0));
}

/// A child has a copy of a socket when this is done with it here, before the next tick.
fn is_let_go_in_a_child(leave: impl FnOnce(TcpStream, Governor)) {
    let (own, _other) = pair();
    let mut governor = governor();
    governor.give(own.as_fd(), terms()).unwrap();
    until(&mut governor, "limited", |_| is_limited(own.as_raw_fd()));
    // SAFETY: the child makes system calls on what it has, and ends without clearing up.
    match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => {
            leave(own, governor);
            assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
        }
        ForkResult::Child => {
            // It may be let go before it is looked at here.
            let is_right = is_let_go_later(own.as_raw_fd()).1;
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!is_right)) }
        }
    }
}

#[test]
fn what_only_a_child_has_is_let_go_there_before_the_governor_has_gone() {
    is_let_go_in_a_child(|own, governor| {
        drop(own);
        drop(governor);
    });
}

#[test]
fn what_only_a_child_has_is_let_go_there_when_everything_is_taken_back() {
    is_let_go_in_a_child(|own, mut governor| {
        // The number is a file's by then.
        let number = own.as_raw_fd();
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        // SAFETY: the number stays open, and is closed once, by its old owner.
        assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), number) }, number);
        governor.take_all_back();
        assert!(!governor.has_given());
        governor.abandon();
    });
}

#[test]
fn a_socket_that_has_another_number_by_now_is_let_go_with_everything() {
    let let_go: [fn(Governor) -> Option<Governor>; 2] = [
        |mut governor| {
            governor.take_all_back();
            Some(governor)
        },
        |governor| {
            drop(governor);
            None
        },
    ];
    for let_go in let_go {
        let (own, _other) = pair();
        let mut governor = governor();
        governor.give(own.as_fd(), terms()).unwrap();
        until(&mut governor, "limited", |_| is_limited(own.as_raw_fd()));
        let second = own.try_clone().unwrap();
        drop(own);
        let _governor = let_go(governor);
        assert!(!is_limited(second.as_raw_fd()));
    }
}

/// Whether it is limited at first, and whether it is not for long.
fn is_let_go_later(descriptor: RawFd) -> (bool, bool) {
    let clamp = || {
        let copy = CopiedSocket::from_own(descriptor);
        copy.and_then(|it| it.window_clamp()).unwrap_or(0)
    };
    let was_limited = clamp() < 1 << 15;
    let deadline = Instant::now() + PATIENCE / 2;
    while clamp() != NO_CLAMP_BYTES && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    (was_limited, clamp() == NO_CLAMP_BYTES)
}

#[test]
fn a_childs_copy_of_the_governor_lifts_nothing_and_gives_no_claim_up() {
    let (own, _other) = pair();
    let mut governor = governor();
    governor.give(own.as_fd(), terms()).unwrap();
    until(&mut governor, "limited", |_| is_limited(own.as_raw_fd()));
    // SAFETY: the child drops what is its own, and ends without clearing up.
    match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => {
            waitpid(child, None).unwrap();
        }
        ForkResult::Child => {
            governor.abandon();
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) }
        }
    }
    assert!(is_limited(own.as_raw_fd()));
    let mut second = Governor::new(
        Root::Own,
        Options {
            includes_loopback: true,
            ..Options::default()
        },
    )
    .unwrap();
    second.give(own.as_fd(), terms()).unwrap();
    work(&mut second);
    assert!(matches!(
        second.standing(own.as_fd()),
        Ok(Standing::OfAnother)
    ));
}

#[test]
fn all_sockets_are_given_but_for_those_that_are_taken_back() {
    // In a process of its own: other tests' sockets are left alone.
    // SAFETY: the child is this test alone, and ends without clearing up.
    match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => {
            assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
        }
        ForkResult::Child => {
            let outcome = std::panic::catch_unwind(give_all_and_take_one_back);
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(outcome.is_err())) }
        }
    }
}

fn give_all_and_take_one_back() {
    // What other tests had open when this was forked.
    // SAFETY: nothing of the others' is used in this process.
    assert_eq!(unsafe { libc::close_range(3, u32::MAX, 0) }, 0);
    let (own, other) = pair();
    let mut governor = governor();
    governor.give_all(Some(terms()));
    until(&mut governor, "both", |_| {
        is_limited(own.as_raw_fd()) && is_limited(other.as_raw_fd())
    });
    let (late, _late_other) = pair();
    until(&mut governor, "late", |_| is_limited(late.as_raw_fd()));
    assert!(governor.take_back(own.as_fd()).unwrap());
    work(&mut governor);
    assert!(!is_limited(own.as_raw_fd()) && is_limited(other.as_raw_fd()));
    governor.give(own.as_fd(), terms()).unwrap();
    governor.give_all(None);
    until(&mut governor, "one", |_| !is_limited(other.as_raw_fd()));
    until(&mut governor, "given", |_| is_limited(own.as_raw_fd()));
    governor.take_all_back();
    assert!(!is_limited(own.as_raw_fd()) && !governor.has_given());
}

#[test]
fn what_cannot_yield_is_refused_by_name() {
    let mut governor = governor();
    let mut give = |socket: &dyn AsFd| governor.give(socket.as_fd(), terms()).unwrap_err();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(matches!(give(&udp), Error::NotTcp(Kind::Udp)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(matches!(give(&listener), Error::Listens));
    let file = std::fs::File::open("/proc/self/stat").unwrap();
    assert!(matches!(give(&file), Error::NotASocket { .. }));
    let (one, _two) = std::os::unix::net::UnixStream::pair().unwrap();
    assert!(matches!(give(&one), Error::NotTcp(Kind::Other)));
    assert!(!governor.has_given());
}

#[test]
fn a_socket_is_given_before_it_connects() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (family, kind) = (AddressFamily::Inet, SockType::Stream);
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, None).unwrap();
    let mut governor = governor();
    governor.give(socket.as_fd(), terms()).unwrap();
    work(&mut governor);
    assert!(matches!(
        governor.standing(socket.as_fd()),
        Ok(Standing::NotConnected)
    ));
    let port = listener.local_addr().unwrap().port();
    let address = SockaddrIn::new(127, 0, 0, 1, port);
    connect(socket.as_raw_fd(), &address).unwrap();
    let (mut other, _) = listener.accept().unwrap();
    other.write_all(&[1; 1_000]).unwrap();
    let stream = TcpStream::from(socket.try_clone().unwrap());
    assert!(stream.peek(&mut [0; 1_000]).unwrap() > 0);
    drop(stream);
    until(&mut governor, "limited", |_| is_limited(socket.as_raw_fd()));
}
