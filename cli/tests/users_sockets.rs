// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One socket of an ordinary user's program is held by the service, where that runs: the library
//! asks for it.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Command, Stdio};

use ebb_kernel::{requires_feature, until};
use ebb_sockets::{CopiedSocket, cookie_of};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use support::users::{ADA, BOB, ROOT, Users, as_user};

/// Below it is Ebb's first window only.
const LIMITED_BYTES: u32 = 1 << 15;
/// Has this test program be the program of a user.
const PROGRAM: &str = "EBB_TEST_PROGRAM_OF_A_USER";

/// A program of a user's that uses the library, with two connections.
struct Program {
    child: Child,
    told: BufReader<ChildStderr>,
    streams: Vec<TcpStream>,
}

impl Program {
    fn start(users: &Users, user: u32, first: Option<RawFd>) -> Self {
        let mut command = of_user(users, user, first);
        let mut child = command.spawn().unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        let accept = |_| users.scene.listener.accept().unwrap().0;
        Self {
            child,
            told,
            streams: (0..2 - u32::from(first.is_some())).map(accept).collect(),
        }
    }

    /// What it answers.
    fn does(&mut self, what: &str) -> String {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{what}").unwrap();
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Each connection has something to say now and then: what acts in the kernel begins and ends
    /// with what arrives.
    fn until(&mut self, what: &str, expected: &str) {
        until(expected, || {
            for stream in &mut self.streams {
                stream.write_all(&[7; 100]).unwrap();
            }
            self.does(what) == expected
        });
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn of_user(users: &Users, user: u32, first: Option<RawFd>) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut command = users.command(user, own.to_str().unwrap());
    command
        .args(["the_program_of_a_user", "--exact", "--nocapture"])
        .env(PROGRAM, first.map_or(-1, |it| it).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

#[test]
fn the_program_of_a_user() {
    let Ok(first) = std::env::var(PROGRAM) else {
        return;
    };
    let connect = || TcpStream::connect("10.78.0.2:7000").unwrap();
    let given: RawFd = first.parse().unwrap();
    let (mut one, two) = (connect(), (given < 0).then(connect));
    let is_limited = |mut socket: &TcpStream| {
        socket.set_nonblocking(true).unwrap();
        while socket.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {}
        let copy = CopiedSocket::from_own(socket.as_raw_fd()).unwrap();
        copy.window_clamp().unwrap() < LIMITED_BYTES
    };
    let mut child: Option<Child> = None;
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let told = match line.as_str() {
            "background" => format!("{:?}", library::background(&one)),
            "background all" => format!("{:?}", library::background_all(&library::Options::new())),
            "background all, 2 Mbit/s" => {
                let options = library::Options::new().minimum("2mbit").unwrap();
                format!("{:?}", library::background_all(&options))
            }
            "foreground all" => {
                library::foreground_all();
                "Ok(())".to_owned()
            }
            "foreground" => format!("{:?}", library::foreground(&one)),
            "state" => format!("{:?}", library::state(&one).unwrap().standing),
            "limited" => format!(
                "{:?}",
                [Some(&one), two.as_ref()].map(|it| it.map(is_limited))
            ),
            "states" => {
                let standing = |it: &TcpStream| library::state(it).unwrap().standing;
                format!(
                    "{:?}",
                    [Some(&one), two.as_ref()].map(|it| it.map(standing))
                )
            }
            "become another user" => {
                // SAFETY: plain numbers. The C library has all threads do it.
                let done = unsafe { libc::setuid(ADA) };
                format!("{done}")
            }
            // A child has it from now on, and this program another one.
            "hand over" => {
                // SAFETY: plain numbers, and one that is ours alone.
                let number = unsafe { libc::fcntl(one.as_raw_fd(), libc::F_DUPFD, 100) };
                child = Command::new("sleep").arg("60").spawn().ok();
                // SAFETY: the same number.
                unsafe { libc::close(number) };
                one = connect();
                "Ok(())".to_owned()
            }
            // By another number from now on.
            "renumber" => {
                let other = one.try_clone().unwrap();
                one = other;
                "Ok(())".to_owned()
            }
            "theirs" => asks(given, cookie_of(given).unwrap()),
            "another" => asks(one.as_raw_fd(), cookie_of(given).unwrap()),
            "datagrams" => {
                let socket = datagrams.as_raw_fd();
                asks(socket, cookie_of(socket).unwrap())
            }
            other => panic!("{other}"),
        };
        eprintln!("{told}");
    }
    if let Some(mut child) = child {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// What the service answers when this is to be held.
fn asks(descriptor: RawFd, cookie: u64) -> String {
    let socket = json!({"socket": {"descriptor": descriptor, "cookie": cookie}});
    let frame = json!({"ebb": 1, "message": {"hold": {"whose": socket}}});
    let mut stream = UnixStream::connect(std::env::var("EBB_SERVICE_SOCKET").unwrap()).unwrap();
    stream.write_all(format!("{frame}\n").as_bytes()).unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    told.trim().to_owned()
}

fn held(users: &Users) -> Vec<Value> {
    users.sees(ADA)
}

#[test]
fn a_socket_that_is_given_is_held_by_the_service_and_by_the_program_once_that_has_gone() {
    let name =
        "a_socket_that_is_given_is_held_by_the_service_and_by_the_program_once_that_has_gone";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("s");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background"), "Ok(())");
    program.until("state", "OfAnother");
    let seen = held(&users);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0]["target"]["kind"], "socket");
    assert_eq!(seen[0]["flows"].as_array().unwrap().len(), 2, "{seen:?}");
    program.until("limited", "[Some(true), Some(false)]");

    // It is let go when the call returns.
    assert_eq!(program.does("foreground"), "Ok(())");
    assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
    assert!(held(&users).is_empty());
    assert_eq!(program.does("state"), "Foreground");

    assert_eq!(program.does("background"), "Ok(())");
    program.until("state", "OfAnother");
    service.end(Signal::SIGKILL);
    program.until("state", "Background");
    program.until("limited", "[Some(true), Some(false)]");
    assert_eq!(program.does("foreground"), "Ok(())");
    assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
}

#[test]
fn all_sockets_of_a_program_are_held_together_but_for_those_in_the_foreground() {
    let name = "all_sockets_of_a_program_are_held_together_but_for_those_in_the_foreground";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    const BOTH: &str = "[Some(OfAnother), Some(OfAnother)]";
    let users = Users::new("w");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", BOTH);
    let seen = held(&users);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0]["target"]["kind"], "sockets");
    assert_eq!(seen[0]["target"]["pid"], program.child.id());
    assert_eq!(seen[0]["flows"].as_array().unwrap().len(), 4, "{seen:?}");
    program.until("limited", "[Some(true), Some(true)]");

    // By another number it is held still, and one is taken to the foreground by that.
    assert_eq!(program.does("renumber"), "Ok(())");
    program.until("limited", "[Some(true), Some(true)]");
    assert_eq!(program.does("foreground"), "Ok(())");
    assert_eq!(program.does("limited"), "[Some(false), Some(true)]");
    assert_eq!(held(&users)[0]["flows"].as_array().unwrap().len(), 2);

    // Given once more by itself it is held by itself, on terms of its own.
    assert_eq!(program.does("background"), "Ok(())");
    program.until("states", BOTH);
    let kinds = |seen: &[Value]| -> Vec<String> {
        let kinds = seen
            .iter()
            .map(|it| it["target"]["kind"].as_str().unwrap().to_owned());
        kinds.collect()
    };
    assert_eq!(kinds(&held(&users)), ["sockets", "socket"]);

    // The thread sees to a minimum, and to nothing that the service has by itself.
    assert_eq!(program.does("background all, 2 Mbit/s"), "Ok(())");
    program.until("states", "[Some(OfAnother), Some(Background)]");
    assert_eq!(kinds(&held(&users)), ["socket"]);

    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", BOTH);
    assert_eq!(program.does("foreground all"), "Ok(())");
    assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
    assert!(held(&users).is_empty());

    // Who holds them is killed: the thread governs, and another service is asked again.
    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", BOTH);
    service.end(Signal::SIGKILL);
    program.until("states", "[Some(Background), Some(Background)]");
    let service = users.serve();
    program.until("states", BOTH);
    drop(program);
    until("let go", || held(&users).is_empty());
    service.end(Signal::SIGTERM);
}

#[test]
fn of_those_held_together_one_that_only_a_child_has_left_is_free() {
    let name = "of_those_held_together_one_that_only_a_child_has_left_is_free";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("q");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background all"), "Ok(())");
    program.until("states", "[Some(OfAnother), Some(OfAnother)]");
    let acting = || {
        let flows = held(&users)[0]["flows"].clone();
        let acting = flows
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["is_acting"] == true);
        let mut acting: Vec<bool> = acting.collect();
        acting.sort_unstable();
        acting
    };
    assert_eq!(acting(), [true; 4]);
    assert_eq!(program.does("hand over"), "Ok(())");
    program
        .streams
        .push(users.scene.listener.accept().unwrap().0);
    program.until("states", "[Some(OfAnother), Some(OfAnother)]");
    until("let go", || {
        acting() == [false, false, true, true, true, true]
    });
    drop(program);
    until("let go", || held(&users).is_empty());
    service.end(Signal::SIGTERM);
}

#[test]
fn sockets_of_a_program_of_roots_are_held_as_well() {
    let name = "sockets_of_a_program_of_roots_are_held_as_well";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("y");
    let service = users.serve();
    for (what, kind) in [("background", "socket"), ("background all", "sockets")] {
        let mut program = Program::start(&users, ROOT, None);
        assert_eq!(program.does(what), "Ok(())");
        program.until("state", "OfAnother");
        assert_eq!(users.root_sees()[0]["target"]["kind"], kind);
        program.until(
            "limited",
            match kind {
                "socket" => "[Some(true), Some(false)]",
                _ => "[Some(true), Some(true)]",
            },
        );
        // What was held for root is let go for whom the program has become.
        assert_eq!(program.does("become another user"), "0");
        assert_eq!(program.does("foreground all"), "Ok(())");
        assert_eq!(program.does("limited"), "[Some(false), Some(false)]");
        assert!(users.root_sees().is_empty());
    }
    service.end(Signal::SIGTERM);
}

#[test]
fn a_program_that_ends_leaves_nothing_held_and_without_a_service_governs_by_itself() {
    let name = "a_program_that_ends_leaves_nothing_held_and_without_a_service_governs_by_itself";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("t");
    let mut alone = Program::start(&users, ADA, None);
    assert_eq!(alone.does("background"), "Ok(())");
    alone.until("state", "Background");
    let service = users.serve();
    let mut program = Program::start(&users, ADA, None);
    assert_eq!(program.does("background"), "Ok(())");
    program.until("state", "OfAnother");
    drop(program);
    until("let go", || held(&users).is_empty());
    assert_eq!(alone.does("state"), "Background");
    service.end(Signal::SIGTERM);
}

#[test]
fn nobody_has_a_socket_held_that_another_user_made() {
    let name = "nobody_has_a_socket_held_that_another_user_made";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("u");
    let service = users.serve();
    let connect = || TcpStream::connect("10.78.0.2:7000").unwrap();
    let of_ada = as_user(ADA, connect);
    let _accepted = users.scene.listener.accept().unwrap();
    // It lives on in Bob's program, as if Ada's had given it away.
    // SAFETY: takes plain numbers.
    let number = unsafe { libc::fcntl(of_ada.as_raw_fd(), libc::F_DUPFD, 100) };
    let mut program = Program::start(&users, BOB, Some(number));
    let told = program.does("theirs");
    assert!(told.contains("made by another user"), "{told}");
    let told = program.does("another");
    assert!(told.contains("you have no socket by descriptor"), "{told}");
    let told = program.does("datagrams");
    assert!(told.contains("it is a UDP socket"), "{told}");
    assert!(users.root_sees().is_empty());

    // What a program's sockets are held together by nobody else adds to, or takes from.
    let mut of_hers = Program::start(&users, ADA, None);
    assert_eq!(of_hers.does("background all"), "Ok(())");
    of_hers.until("states", "[Some(OfAnother), Some(OfAnother)]");
    let id = held(&users)[0]["id"].as_str().unwrap().to_owned();
    for message in [
        json!({"add": {"id": id, "sockets": []}}),
        json!({"drop": {"id": id, "cookies": [1]}}),
        json!({"ask": {"id": id, "request": "detach"}}),
    ] {
        let told = users.ask(BOB, &message);
        let cause = told["refused"]["cause"].as_str().unwrap();
        assert!(cause.contains("nothing of the name"), "{told}");
    }
    assert_eq!(held(&users).len(), 1);
    drop(of_hers);
    // SAFETY: the number is ours alone.
    unsafe { libc::close(number) };
    service.end(Signal::SIGTERM);
}
