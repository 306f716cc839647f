// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program of a user's that uses the library. It is this test program, and does what it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use ebb_kernel::until;
use ebb_sockets::{CopiedSocket, cookie_of, sockets_of};
use serde_json::{Value, json};

use crate::costs;
use crate::giving::give;
use crate::support::users::{ADA, Users};

/// Below it is Ebb's first window only.
const LIMITED_BYTES: u32 = 1 << 15;
/// More than the service holds of one process.
pub const MANY: usize = 4_200;
/// Fewer, which the service holds one by one.
pub const SOME: usize = 40;
/// Has this test program be the program of a user.
const PROGRAM: &str = "EBB_TEST_PROGRAM_OF_A_USER";

/// A program of a user's that uses the library, with two connections.
pub struct Program {
    pub child: Child,
    told: BufReader<ChildStderr>,
    pub streams: Vec<TcpStream>,
}

impl Program {
    pub fn start(users: &Users, user: u32, first: Option<RawFd>) -> Self {
        Self::of(of_user(users, user, first), users, first)
    }

    /// The same below `ebb run`.
    pub fn start_under_run(users: &Users, user: u32) -> Self {
        let own = std::env::current_exe().unwrap();
        let mut command = users.ebb(user, ["run", "--", own.to_str().unwrap()]);
        be_a_program(&mut command, None);
        Self::of(command, users, None)
    }

    fn of(mut command: Command, users: &Users, first: Option<RawFd>) -> Self {
        let mut child = command.spawn().unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        let accept = |_| users.scene.listener.accept().unwrap().0;
        Self {
            child,
            told,
            streams: (0..2 - u32::from(first.is_some())).map(accept).collect(),
        }
    }

    /// Tells it what to do.
    pub fn tell(&mut self, what: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{what}").unwrap();
    }

    /// What it answers.
    pub fn does(&mut self, what: &str) -> String {
        self.tell(what);
        self.hears()
    }

    pub fn hears(&mut self) -> String {
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Each connection has something to say now and then: what acts in the kernel begins and ends
    /// with what arrives.
    pub fn until(&mut self, what: &str, expected: &str) {
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
    be_a_program(&mut command, first);
    // Programs of other tests, which start meanwhile, do not have it.
    // SAFETY: a plain number, which the child has as well.
    let keep = move || match first.map_or(0, |it| unsafe { libc::fcntl(it, libc::F_SETFD, 0) }) {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    };
    // SAFETY: one system call.
    unsafe { command.pre_exec(keep) };
    command
}

fn be_a_program(command: &mut Command, first: Option<RawFd>) {
    command
        .args(["program::the_program_of_a_user", "--exact", "--nocapture"])
        .env(PROGRAM, first.map_or(-1, |it| it).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
}

#[test]
fn the_program_of_a_user() {
    let Ok(first) = std::env::var(PROGRAM) else {
        return;
    };
    let given: RawFd = first.parse().unwrap();
    let (mut one, two) = (connect(), (given < 0).then(connect));
    let is_limited = |mut socket: &TcpStream| {
        socket.set_nonblocking(true).unwrap();
        while socket.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {}
        is_clamped(socket.as_raw_fd())
    };
    let mut many = Vec::new();
    let mut child: Option<Child> = None;
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let told = match line.as_str() {
            // Without a pause.
            steps if steps.starts_with("do ") => {
                let mut steps = steps[3..].split(", ");
                format!("{:?}", steps.try_for_each(|step| go(step, &mut one)))
            }
            "background"
            | "background with 2 Mbit/s"
            | "background all"
            | "background all by its own law"
            | "background all with 2 Mbit/s"
            | "foreground all"
            | "foreground"
            | "renumber"
            | "close" => format!("{:?}", go(&line, &mut one)),
            "state" => format!("{:?}", library::state(&one).unwrap().standing),
            "limited" => format!(
                "{:?}",
                [Some(&one), two.as_ref()].map(|it| it.map(is_limited))
            ),
            "see" => see(&one).to_string(),
            // Once it has sent something more.
            "code point" => {
                one.write_all(&[7; 100]).unwrap();
                let copy = CopiedSocket::from_own(one.as_raw_fd()).unwrap();
                copy.traffic_class().unwrap().to_string()
            }
            // Until the other end is closed.
            "fetch" => {
                for stream in [Some(&one), two.as_ref()].into_iter().flatten() {
                    fetch(stream.try_clone().unwrap());
                }
                "Ok(())".to_owned()
            }
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
            // By the same number in another program, which has one connection more.
            "execute" => {
                let number = one.as_raw_fd();
                // SAFETY: a plain number; it is to be open there.
                unsafe { libc::fcntl(number, libc::F_SETFD, 0) };
                let own = std::env::current_exe().unwrap();
                let mut command = Command::new(own);
                command.args(std::env::args_os().skip(1));
                format!("{:?}", command.env(PROGRAM, number.to_string()).exec())
            }
            "one limited" => is_limited(&one).to_string(),
            "given limited" => format!("{}", is_clamped(given)),
            "background given" => format!("{:?}", library::background(&borrowed(given))),
            "foreground given" => format!("{:?}", library::foreground(&borrowed(given))),
            "state of given" => format!("{:?}", library::state(&borrowed(given)).unwrap().standing),
            "sockets" => sockets_of(std::process::id()).unwrap().count().to_string(),
            "fork" => in_child(&one).to_string(),
            "give" => {
                give(
                    &UnixStream::connect_addr(&place(parent_id())).unwrap(),
                    one.as_raw_fd(),
                );
                "Ok(())".to_owned()
            }
            "many" => {
                many.extend((0..MANY).map(|_| connect()));
                "Ok(())".to_owned()
            }
            "some" => {
                many.extend((0..SOME).map(|_| connect()));
                "Ok(())".to_owned()
            }
            "background each" | "foreground each" => {
                let act = |it: &TcpStream| match line.as_str() {
                    "background each" => library::background(it),
                    _ => library::foreground(it),
                };
                let mut all = many.iter().chain([&one]).chain(two.as_ref());
                format!("{:?}", all.try_for_each(act))
            }
            "any limited" => {
                let mut all = many.iter().chain([&one]).chain(two.as_ref());
                all.any(is_limited).to_string()
            }
            "costs, one by one" | "costs, together" => {
                let sockets = (0..costs::CONNECTIONS).map(|_| connect()).collect();
                costs::measure(sockets, line.ends_with("together")).to_string()
            }
            "states of many" => {
                let standing = |it: &TcpStream| library::state(it).unwrap().standing;
                let all = many.iter().chain([&one]).chain(two.as_ref());
                let all: Vec<_> = all.map(standing).collect();
                let count = |of| all.iter().filter(|it| **it == of).count();
                let those = [library::Standing::OfAnother, library::Standing::Background];
                format!("{:?}", those.map(count))
            }
            "together" => asks_for(&json!("sockets")),
            "single" => asks(one.as_raw_fd(), cookie_of(one.as_raw_fd()).unwrap()),
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

/// One call of the library, or another number for the socket.
fn go(step: &str, socket: &mut TcpStream) -> library::Result<()> {
    let usual = library::Options::new;
    let with_minimum = || usual().minimum("2mbit").unwrap();
    // By a law that the service has not.
    let by_own_law = || usual().download("sampled:target_us=9000").unwrap();
    match step {
        "background" => library::background(socket),
        "background by its own law" => library::background_with(socket, &by_own_law()),
        "background with 2 Mbit/s" => library::background_with(socket, &with_minimum()),
        "background all" => library::background_all(&usual()),
        "background all by its own law" => library::background_all(&by_own_law()),
        "background all with 2 Mbit/s" => library::background_all(&with_minimum()),
        "foreground" => library::foreground(socket),
        "foreground all" => {
            library::foreground_all();
            Ok(())
        }
        "renumber" => {
            *socket = socket.try_clone().unwrap();
            Ok(())
        }
        // There is another one.
        "close" => {
            *socket = connect();
            Ok(())
        }
        other => panic!("{other}"),
    }
}

fn connect() -> TcpStream {
    TcpStream::connect("10.78.0.2:7000").unwrap()
}

/// What the service answers when this is to be held.
fn asks(descriptor: RawFd, cookie: u64) -> String {
    asks_for(&json!({"socket": {"descriptor": descriptor, "cookie": cookie}}))
}

fn asks_for(whose: &Value) -> String {
    let frame = json!({"ebb": 1, "message": {"hold": {"whose": whose}}});
    let mut stream = UnixStream::connect(std::env::var("EBB_SERVICE_SOCKET").unwrap()).unwrap();
    stream.write_all(format!("{frame}\n").as_bytes()).unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    told.trim().to_owned()
}

pub fn is_clamped(descriptor: RawFd) -> bool {
    let copy = CopiedSocket::from_own(descriptor).unwrap();
    copy.window_clamp().unwrap() < LIMITED_BYTES
}

fn borrowed(descriptor: RawFd) -> BorrowedFd<'static> {
    // SAFETY: it is open for as long as this program runs.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// Where a process takes sockets that its children give it.
pub fn place(process: u32) -> SocketAddr {
    SocketAddr::from_abstract_name(format!("ebb-give-{process}")).unwrap()
}

/// Whether a child finds nothing governed, and leaves what is its parent's as it is.
fn in_child(socket: &TcpStream) -> bool {
    // SAFETY: the child ends without a return.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let standing = || library::state(socket).unwrap().standing;
        let mut is_so = standing() == library::Standing::Foreground;
        is_so &= library::foreground(socket).is_ok();
        library::foreground_all();
        is_so &= library::background(socket).is_ok();
        // Its own thread gives way to the service as well.
        let is_given_way = || standing() == library::Standing::OfAnother;
        is_so &= (0..200).any(|_| {
            thread::sleep(Duration::from_millis(50));
            is_given_way()
        });
        library::foreground_all();
        // SAFETY: a plain number.
        unsafe { libc::_exit(i32::from(!is_so)) };
    }
    let mut status = 0;
    // SAFETY: the status outlives the call.
    unsafe { libc::waitpid(child, &raw mut status, 0) == child && status == 0 }
}

/// What the library tells of a socket.
fn see(socket: &TcpStream) -> Value {
    let state = library::state(socket).unwrap();
    let flow = |flow: Option<library::Flow>| {
        flow.map(|flow| {
            json!({
                "law": flow.law,
                "payload_bytes": flow.payload_bytes,
                "window_bytes": flow.window_bytes,
                "rtt_us": flow.rtt_us,
                "queue_us": flow.queue_us,
                "held_back": format!("{:?}", flow.held_back),
            })
        })
    };
    json!({
        "standing": format!("{:?}", state.standing),
        "download": flow(state.download),
        "upload": flow(state.upload),
        "cookie": cookie_of(socket.as_raw_fd()).unwrap(),
    })
}

fn fetch(mut stream: TcpStream) {
    thread::spawn(move || {
        while stream
            .read(&mut [0; 1 << 16])
            .is_ok_and(|length| length > 0)
        {}
    });
}
