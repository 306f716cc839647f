// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rules that are held below a test's own cgroup.

use super::{Cable, Side};
use ebb_algorithms::{Policy, Side as End};
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::rules::{Classifier, MAX_RULES, Ruling};
use ebb_kernel::{AttachOptions, Attachment, PathRules};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// Connects at once, and waits until the other end hangs up; `$0` is its cgroup.
const CONNECT: &str = "echo 0 > $0/cgroup.procs; exec 3<>/dev/tcp/$1/$2; read -u 3";

/// Rules below a test's own cgroup, and both ends of connections.
pub struct Scene {
    pub classifier: Classifier,
    pub attachments: Vec<Attachment>,
    pub to: SocketAddr,
    pub listener: TcpListener,
    pub cable: Cable,
}

pub fn none() -> Ruling {
    Ruling {
        any_group: 0,
        any_user: u64::MAX,
        any_port: u64::MAX,
        any_executable: u64::MAX,
        container_rules: 0,
        before: [0; MAX_RULES],
        users: BTreeMap::new(),
        ports: BTreeMap::new(),
        executables: BTreeMap::new(),
        paths: PathRules::build(&[]).unwrap(),
    }
}

impl Scene {
    /// The first rule is held both ways.
    pub fn new(ruling: impl FnOnce(&mut Ruling, SocketAddr)) -> Self {
        let cable = Cable::new();
        cable.enter(Side::Left);
        let listener = TcpListener::bind((cable.ipv4(Side::Left), 0)).unwrap();
        let to = listener.local_addr().unwrap();
        cable.enter(Side::Right);
        let mut classifier = Classifier::load(&cable.cgroup).unwrap();
        let mut wanted = none();
        ruling(&mut wanted, to);
        classifier.set_ruling(&wanted).unwrap();
        let mut scene = Self {
            classifier,
            attachments: Vec::new(),
            to,
            listener,
            cable,
        };
        scene.hold(0);
        scene
    }

    /// A rule is held both ways.
    pub fn hold(&mut self, rule: u32) {
        for end in [End::Receiver, End::Sender] {
            let options = AttachOptions {
                selection: self.classifier.selection(rule),
                ..AttachOptions::default()
            };
            let policy = Policy::default_of(end);
            let attached = Attachment::attach(&self.cable.cgroup, &policy, options);
            self.attachments.push(attached.unwrap());
        }
    }

    pub fn group(&self, name: &str) -> Cgroup {
        self.cable.cgroup.create_child(name).unwrap()
    }

    /// A process that enters a cgroup and connects at once; the connection lasts as long as what
    /// is answered.
    pub fn start(&self, group: &Cgroup, change: impl FnOnce(&mut Command)) -> (Child, TcpStream) {
        let mut command = Command::new("bash");
        command
            .args(["-c", CONNECT])
            .arg(group.directory_path())
            .args([self.to.ip().to_string(), self.to.port().to_string()])
            .stdin(Stdio::null());
        change(&mut command);
        let child = command.spawn().unwrap();
        (child, self.listener.accept().unwrap().0)
    }

    /// Connections that were taken at their handshake, by the end.
    pub fn taken(&self) -> [u64; 2] {
        [0, 1].map(|end| {
            let counted = self.attachments[end].counters().unwrap();
            assert_eq!(counted.adopted_established, 0);
            counted.adopted_new
        })
    }

    pub fn flows(&self) -> [usize; 2] {
        [0, 1].map(|end| self.attachments[end].flows().unwrap().len())
    }

    pub fn end(&self, (mut child, stream): (Child, TcpStream)) {
        drop(stream);
        child.wait().unwrap();
    }
}
