// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The test binary as another process, with a role.

use super::transfer::{connect_multipath, connect_with, drain};
use super::{Cable, Side, enter_namespace, many};
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// What another process does. Arguments are words of one string.
#[derive(Debug, Clone, Copy)]
pub enum Role {
    /// Connects to an address and reads until the end.
    Download,
    /// Listens on an address, tells its port, reads what the first peer sends.
    Upload,
    /// As `Download`, but by the time that it reads, nobody is in the connection's namespace.
    DownloadFromElsewhere,
    /// As `Download`, over multipath TCP.
    DownloadMultipath,
    /// As `Download`, by a child of the process.
    DownloadByChild,
    /// As `Download`, by a descendant so many levels down: `levels address`.
    DownloadByDescendant,
    /// As `Download`, by a child that is given its number: `pid address`.
    DownloadByNumber,
    /// Connects to an address and sends a megabyte.
    SendMegabyte,
    /// Connects to `address congestion-control` and sends until the peer ends.
    Send,
    /// Holds an attachment on a cgroup: `path policy`.
    Owner,
    /// The same, and sets the first connection free.
    OwnerOfFree,
    /// As `Owner`, and detaches when it may go on, having no descriptor left.
    OwnerWithoutDescriptors,
    /// The same, having no room for a thread left.
    OwnerWithoutThreads,
    /// Accepts so many connections at an address: `count address`.
    AcceptMany,
    /// Makes so many, which bring something in every pause: `count address pause_ms`.
    ConnectMany,
}

/// Another process; killed on drop.
pub struct Actor {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Actor {
    /// Starts a process on the right side of the cable, in the cgroup if one is given.
    pub fn start(cable: &Cable, cgroup: Option<&Cgroup>, role: Role, arguments: &str) -> Self {
        Self::start_on(cable, Side::Right, cgroup, role, arguments)
    }

    /// As [`Self::start`], on any side.
    pub fn start_on(
        cable: &Cable,
        side: Side,
        cgroup: Option<&Cgroup>,
        role: Role,
        arguments: &str,
    ) -> Self {
        let mut actor = Self::hold_on(cable, side, cgroup, role, arguments);
        actor.go();
        actor
    }

    /// As [`Self::start`], but the process does nothing before [`Self::go`].
    pub fn start_held(
        cable: &Cable,
        cgroup: Option<&Cgroup>,
        role: Role,
        arguments: impl ToString,
    ) -> Self {
        Self::hold_on(cable, Side::Right, cgroup, role, arguments)
    }

    /// As [`Self::start_on`], by a command that starts the one whose words come last.
    pub fn start_by(
        launcher: Command,
        cable: &Cable,
        side: Side,
        role: Role,
        arguments: &str,
    ) -> Self {
        let mut actor = Self::spawn(launcher, cable, side, role, arguments);
        actor.go();
        actor
    }

    fn hold_on(
        cable: &Cable,
        side: Side,
        cgroup: Option<&Cgroup>,
        role: Role,
        arguments: impl ToString,
    ) -> Self {
        let actor = Self::spawn(Command::new("env"), cable, side, role, arguments);
        if let Some(cgroup) = cgroup {
            cgroup.add_process(actor.id()).unwrap();
        }
        actor
    }

    /// As [`Self::start_by`], but the process does nothing before [`Self::go`].
    pub fn spawn(
        mut launcher: Command,
        cable: &Cable,
        side: Side,
        role: Role,
        arguments: impl ToString,
    ) -> Self {
        let mut child = launcher
            .arg(std::env::current_exe().unwrap())
            .args(["play_a_role", "--exact", "--nocapture", "--test-threads=1"])
            .env("EBB_TEST_ROLE", format!("{role:?}"))
            .env("EBB_TEST_ARGUMENTS", arguments.to_string())
            .env("EBB_TEST_NAMESPACE", cable.namespace(side))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Lets a process begin: its sockets are made in its cgroup.
    pub fn go(&mut self) {
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"go\n")
            .unwrap();
    }

    /// The next line that begins with the word, without it.
    pub fn told(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            // libtest prints the test's name in front.
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
            line.clear();
        }
        panic!("the process ended before it said {word}");
    }

    /// Copies of its TCP sockets.
    pub fn sockets(&self) -> Vec<OwnedFd> {
        // SAFETY: plain numbers; what the kernel opens is ours.
        let process = unsafe {
            OwnedFd::from_raw_fd(libc::syscall(libc::SYS_pidfd_open, self.id(), 0) as libc::c_int)
        };
        std::fs::read_dir(format!("/proc/{}/fd", self.id()))
            .unwrap()
            .flatten()
            .filter(|entry| {
                std::fs::read_link(entry.path())
                    .is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
            })
            .map(|entry| {
                entry
                    .file_name()
                    .to_str()
                    .unwrap()
                    .parse::<libc::c_int>()
                    .unwrap()
            })
            .map(|fd| {
                // SAFETY: as above.
                unsafe {
                    let call = libc::SYS_pidfd_getfd;
                    let copy = libc::syscall(call, process.as_raw_fd(), fd, 0);
                    OwnedFd::from_raw_fd(copy as libc::c_int)
                }
            })
            .collect()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to end, and answers what it has said on standard error.
    pub fn end(mut self) -> String {
        self.signal(libc::SIGTERM);
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            errors.read_to_string(&mut said).unwrap();
        }
        self.child.wait().unwrap();
        said
    }

    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: our own child, not yet waited for.
        let result = unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        assert_eq!(result, 0);
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plays the role of the environment, if there is one: the body of a test `play_a_role`.
pub fn role() {
    let Ok(role) = std::env::var("EBB_TEST_ROLE") else {
        return;
    };
    let arguments = std::env::var("EBB_TEST_ARGUMENTS").unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    enter_namespace(&std::env::var("EBB_TEST_NAMESPACE").unwrap());
    match role.as_str() {
        "Download" => {
            let address: SocketAddr = arguments.parse().unwrap();
            let stream = TcpStream::connect(address).unwrap();
            say("CONNECTED");
            say(&format!("RECEIVED {}", drain(stream)));
        }
        "Upload" => {
            let listener = TcpListener::bind((arguments.as_str(), 0)).unwrap();
            say(&format!("LISTENING {}", listener.local_addr().unwrap()));
            let (stream, _) = listener.accept().unwrap();
            say(&format!("RECEIVED {}", drain(stream)));
        }
        "DownloadFromElsewhere" => {
            let stream = TcpStream::connect(&arguments).unwrap();
            // SAFETY: a plain number; only this thread, which is the only one there, moves.
            assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
            say("CONNECTED");
            say(&format!("RECEIVED {}", drain(stream)));
        }
        "DownloadMultipath" => {
            let stream = connect_multipath(arguments.parse().unwrap());
            say("CONNECTED");
            say(&format!("RECEIVED {}", drain(stream)));
        }
        "DownloadByChild" => download_by_child(Role::Download, &arguments),
        "DownloadByDescendant" => match arguments.split_once(' ').unwrap() {
            ("1", address) => download_by_child(Role::Download, address),
            (levels, address) => {
                let levels = levels.parse::<u32>().unwrap() - 1;
                download_by_child(Role::DownloadByDescendant, &format!("{levels} {address}"));
            }
        },
        "DownloadByNumber" => download_by_number(&arguments),
        "SendMegabyte" => {
            let mut stream = TcpStream::connect(&arguments).unwrap();
            stream.write_all(&vec![0; 1 << 20]).unwrap();
            say("SENT");
        }
        "Send" => send_until_the_end(&arguments),
        "Owner" => own(&arguments, false),
        "OwnerOfFree" => own(&arguments, true),
        "OwnerWithoutDescriptors" => {
            detach_without(&arguments, || set_limit(libc::RLIMIT_NOFILE, 3));
        }
        "OwnerWithoutThreads" => detach_without(&arguments, || {
            // A thread's stack is two megabytes.
            set_limit(libc::RLIMIT_AS, own_memory_bytes() + (1 << 20));
        }),
        "AcceptMany" => many::accept(&arguments),
        "ConnectMany" => many::connect(&arguments),
        other => panic!("no role {other}"),
    }
}

/// As if all numbers had been used since, and this one's turn had come again.
fn download_by_number(arguments: &str) {
    let (pid, address) = arguments.split_once(' ').unwrap();
    let number: libc::pid_t = pid.parse().unwrap();
    // SAFETY: zeroes are valid: a plain fork.
    let mut how: libc::clone_args = unsafe { std::mem::zeroed() };
    how.exit_signal = libc::SIGCHLD as u64;
    how.set_tid = (&raw const number) as u64;
    how.set_tid_size = 1;
    // SAFETY: the arguments live through the call; the child does what the parent would have.
    let child = unsafe { libc::syscall(libc::SYS_clone3, &raw const how, size_of_val(&how)) };
    if child == 0 {
        // SAFETY: plain numbers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let stream = TcpStream::connect(address).unwrap();
        say("CONNECTED");
        say(&format!("RECEIVED {}", drain(stream)));
        std::process::exit(0);
    }
    assert_eq!(
        child,
        i64::from(number),
        "{}",
        std::io::Error::last_os_error()
    );
    // SAFETY: our own child, whose status nobody wants.
    unsafe { libc::waitpid(number, std::ptr::null_mut(), 0) };
}

fn download_by_child(role: Role, arguments: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["play_a_role", "--exact", "--nocapture"])
        .env("EBB_TEST_ROLE", format!("{role:?}"))
        .env("EBB_TEST_ARGUMENTS", arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    // SAFETY: prctl is safe between fork and exec. The child must not outlive us.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    child.wait().unwrap();
}

fn send_until_the_end(arguments: &str) {
    let (address, congestion_control) = arguments.split_once(' ').unwrap();
    let mut stream = connect_with(address.parse().unwrap(), congestion_control).unwrap();
    say("CONNECTED");
    let buffer = vec![0; 1 << 16];
    while stream.write_all(&buffer).is_ok() {}
}

fn own(arguments: &str, sets_free: bool) {
    let (path, policy) = arguments.split_once(' ').unwrap();
    let cgroup = Cgroup::at(path).unwrap();
    let mut attachment =
        Attachment::attach(&cgroup, &policy.parse().unwrap(), AttachOptions::default()).unwrap();
    say("ATTACHED");
    if sets_free {
        set_the_first_free(&mut attachment);
    }
    let ending = attachment.wait_ended(Duration::from_secs(60));
    say(&format!("ENDED {ending:?}"));
}

/// Detaches once it may go on and something is taken away, and tells whether that succeeded.
fn detach_without(arguments: &str, take_away: impl FnOnce()) {
    let (path, policy) = arguments.split_once(' ').unwrap();
    let cgroup = Cgroup::at(path).unwrap();
    let policy = policy.parse().unwrap();
    let attachment = Attachment::attach(&cgroup, &policy, AttachOptions::default()).unwrap();
    say("ATTACHED");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    take_away();
    say(&format!("DETACHED {}", attachment.detach().is_ok()));
}

pub fn set_limit(resource: libc::__rlimit_resource_t, most: u64) {
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: the limit lives through the call.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
}

/// The address space of this process.
fn own_memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').next().unwrap().parse().unwrap();
    pages * 4096
}

fn set_the_first_free(attachment: &mut Attachment) {
    loop {
        if let Some(flow) = attachment.flows().unwrap().first() {
            assert_eq!(attachment.set_free(&[flow.cookie], true).unwrap(), 1);
            return say("FREED");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().unwrap();
}
