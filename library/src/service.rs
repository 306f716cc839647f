// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The service ebbd, where it runs: has the kernel backend hold a socket of this process. Who asks
//! waits for a moment only; whatever goes wrong, the socket yields by this process's own thread.
//!
//! The protocol is spoken here once more, the few words of it that are needed: where the rest of it
//! is (`ebb-keeper`), what loads eBPF programs would come into every program that uses the library.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use ebb_link::Rate;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket, sockopt,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The protocol's version, as `docs/protocol.md` has it.
const VERSION: u32 = 1;
/// Where it listens for everybody; names another place; who has that has nothing to do with the
/// machine's.
const SOCKET: &str = "/run/ebbd/socket";
const SOCKET_VARIABLE: &str = "EBB_SERVICE_SOCKET";
const APART_VARIABLE: &str = "EBB_RUNTIME_DIR";
/// Policies that nobody has had yet take it some hundred milliseconds.
const WITHIN: Duration = Duration::from_secs(1);
/// As the protocol has it.
const LONGEST_BYTES: usize = 1 << 24;
/// Who has too many connections to it is refused, and asks so often and so long again.
const MOST_TRIES: u32 = 4;
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(25);

/// A socket that is to be held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) descriptor: RawFd,
    pub(crate) cookie: u64,
    pub(crate) order: Order,
}

/// How it is to hold sockets, by the laws that it has by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// What is sent keeps its code point.
    pub(crate) keeps_code_point: bool,
    /// What they have at the least, each way.
    pub(crate) minimum: Option<Rate>,
}

/// Where it would be; looked up once, since programs may change their environment meanwhile.
pub(crate) fn place() -> Option<&'static PathBuf> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || match std::env::var_os(SOCKET_VARIABLE) {
        Some(path) => Some(path.into()),
        None if std::env::var_os(APART_VARIABLE).is_some() => None,
        None => Some(SOCKET.into()),
    };
    PLACE.get_or_init(find).as_ref()
}

impl Wish {
    fn socket(&self) -> Value {
        json!({"descriptor": self.descriptor, "cookie": self.cookie})
    }
}

/// Has it hold a socket, by the laws that it has by itself; answers how it is asked for that.
///
/// *Errors:* there is none, it does not answer in time, or it refuses.
pub(crate) fn hold(wish: &Wish) -> io::Result<String> {
    hold_these(&json!({"socket": wish.socket()}), wish.order)
}

/// Has it hold sockets of this process together, those that are added.
///
/// *Errors:* as [`hold`].
pub(crate) fn hold_together(order: Order) -> io::Result<String> {
    hold_these(&json!("sockets"), order)
}

/// Adds sockets to those that it holds together. What it cannot hold is passed over.
///
/// *Errors:* as [`hold`]; it holds nothing of that name.
pub(crate) fn add(id: &str, wishes: &[Wish]) -> io::Result<()> {
    let sockets: Vec<Value> = wishes.iter().map(Wish::socket).collect();
    let answer = ask(&json!({"add": {"id": id, "sockets": sockets}}))?;
    match answer["answer"] == "done" {
        true => Ok(()),
        false => Err(refused(&answer)),
    }
}

/// What came of it when it was told to let go.
#[derive(Debug)]
pub(crate) enum Told {
    /// It holds nothing of that.
    Done,
    /// It is too busy.
    Refused,
    /// It has not answered, and may do it yet.
    Unanswered,
    /// There is none.
    Nobody,
}

/// Has it let go what it holds by these, and sockets with these numbers of those that are held
/// together: all at once.
pub(crate) fn let_these_go(ids: &[String], cookies: &[u64], together: Option<&str>) -> Told {
    match ask(&json!({"let-go": {"ids": ids, "cookies": cookies}})) {
        Ok(answer) if answer["answer"] == "done" => Told::Done,
        Ok(answer) if is_unknown(&answer) => {
            ids.iter().for_each(|id| let_go(id));
            if let Some(id) = together.filter(|_| !cookies.is_empty()) {
                insist(id, &json!({"drop": {"id": id, "cookies": cookies}}));
            }
            Told::Done
        }
        Ok(answer) => {
            tracing::debug!("the service does not let go: {answer}");
            Told::Refused
        }
        Err(error) => {
            tracing::debug!("the service does not let go: {error}");
            match error.kind() {
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => Told::Nobody,
                _ => Told::Unanswered,
            }
        }
    }
}

/// Whether an older one knows no such request.
fn is_unknown(answer: &Value) -> bool {
    let cause = answer["refused"]["cause"].as_str();
    cause.is_some_and(|cause| cause.contains("unknown variant"))
}

fn hold_these(whose: &Value, order: Order) -> io::Result<String> {
    let order = json!({
        "whose": whose,
        "keeps-code-point": order.keeps_code_point,
        "minimum": order.minimum.map(|rate| rate.to_string()),
    });
    let answer = ask(&json!({"hold": order}))?;
    let held = &answer["held"];
    let id = held["id"].as_str().ok_or_else(|| refused(&answer))?;
    // What is sent does not yield there.
    if held["notices"].as_array().is_some_and(|it| !it.is_empty()) {
        let_go(id);
        return Err(refused(held));
    }
    Ok(id.to_owned())
}

/// Has it let go what it holds by this; when it has answered, nothing limits it. Without it nothing
/// does.
pub(crate) fn let_go(id: &str) {
    insist(id, &json!({"ask": {"id": id, "request": "detach"}}));
}

/// Asks for something that is refused only if it is done already, or the service is too busy.
fn insist(id: &str, message: &Value) {
    for again in (0..MOST_TRIES).rev() {
        match ask(message) {
            Ok(answer) if answer["answer"] == "done" => return,
            Ok(answer) => tracing::debug!("{id}: {answer}"),
            Err(error) => return tracing::debug!("{id}: {error}"),
        }
        if again > 0 {
            thread::sleep(TRY_AGAIN_AFTER);
        }
    }
}

/// By what all is asked for that it holds for this user.
///
/// *Errors:* it is gone, does not answer in time, or refuses; [`ErrorKind::Unsupported`]: it is one
/// of another version.
pub(crate) fn held() -> io::Result<Vec<String>> {
    let answer = ask(&json!("records"))?;
    let records = answer["records"]
        .as_array()
        .ok_or_else(|| refused(&answer))?;
    let ids = records.iter().map(|held| held["record"]["id"].as_str());
    Ok(ids.flatten().map(str::to_owned).collect())
}

/// What it tells of connections, of those with these numbers; who asks waits no longer than that.
///
/// *Errors:* it is gone, does not answer in time, or knows no such question.
pub(crate) fn flows_of(cookies: &[u64], within: Duration) -> io::Result<Vec<ToldFlow>> {
    let told = exchange(&json!({"flows-of": {"cookies": cookies}}), within)?;
    let frame: ToldFlows = serde_json::from_slice(&told)?;
    match frame.ebb == VERSION {
        true => Ok(frame.message.answer.flows),
        false => Err(io::Error::other(format!("version {}", frame.ebb))),
    }
}

/// What is taken of that answer: as a whole a hundred sockets would take half a megabyte.
#[derive(Deserialize)]
struct ToldFlows {
    ebb: u32,
    message: ToldMessage,
}

#[derive(Deserialize)]
struct ToldMessage {
    answer: ToldAnswer,
}

#[derive(Deserialize)]
struct ToldAnswer {
    flows: Vec<ToldFlow>,
}

/// What it tells of a connection, one way, as `docs/protocol.md` has it.
#[derive(Deserialize)]
pub(crate) struct ToldFlow {
    pub(crate) cookie: u64,
    pub(crate) direction: String,
    pub(crate) law: String,
    pub(crate) payload_bytes: u64,
    pub(crate) window_bytes: u32,
    pub(crate) pace_bytes_per_s: Option<u64>,
    pub(crate) rtt_us: Option<u32>,
    pub(crate) queue_us: Option<u32>,
    pub(crate) mode: String,
}

fn refused(answer: &Value) -> io::Error {
    io::Error::other(answer.to_string())
}

fn ask(message: &Value) -> io::Result<Value> {
    let mut frame: Value = serde_json::from_slice(&exchange(message, WITHIN)?)?;
    if frame["ebb"] != VERSION {
        return Err(io::Error::new(ErrorKind::Unsupported, frame.to_string()));
    }
    Ok(frame["message"].take())
}

/// The frame that answers.
fn exchange(message: &Value, within: Duration) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + within;
    let mut stream = connect_to()?;
    stream.set_write_timeout(Some(within))?;
    let frame = json!({"ebb": VERSION, "message": message});
    stream.write_all(format!("{frame}\n").as_bytes())?;
    let (mut told, mut piece) = (Vec::new(), [0; 4096]);
    while !told.ends_with(b"\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || told.len() > LONGEST_BYTES {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => told.extend(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(told)
}

/// A connection to root's service, and to nobody else's; who is too busy is not waited for.
fn connect_to() -> io::Result<UnixStream> {
    let place = place().ok_or(io::ErrorKind::NotFound)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(place)?)?;
    if getsockopt(&socket, sockopt::PeerCredentials)?.uid() != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}
