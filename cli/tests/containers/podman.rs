// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Podman, with an image of one program that connects.

use std::fs::File;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use crate::support::machine::Machine;
use crate::support::{PATIENCE, stderr};

/// What each connection gets as soon as it is there: what is counted of it came under the rule.
pub const BYTES: u64 = 1_000;
/// Debian's Podman takes crun by itself, which wants to lock more memory than a container of CI may.
pub const PODMAN: &str = "podman --runtime=runc";

/// Waits for connections, and keeps them open.
pub struct Server {
    accepted: Receiver<TcpStream>,
}

impl Server {
    /// Serves whoever connects to it, at once.
    pub fn of(listener: TcpListener) -> Self {
        let (sender, accepted) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.write_all(&[7; BYTES as usize]).unwrap();
                if sender.send(stream).is_err() {
                    return;
                }
            }
        });
        Self { accepted }
    }

    /// The next so many connections.
    pub fn connections(&self, number: usize) -> Vec<TcpStream> {
        let next = |_| self.accepted.recv_timeout(PATIENCE);
        (0..number).map(next).collect::<Result<_, _>>().unwrap()
    }
}

/// Has images in the machine, `mirror:1` and `other:1`; says what is wrong if no container starts.
pub fn prepare(machine: &Machine) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/containers/first.c");
    let program = folder.path().join("first");
    run(Command::new("cc")
        .args(["-static", "-O1", "-o"])
        .arg(&program)
        .arg(source))?;
    let archive = folder.path().join("image.tar");
    run(Command::new("tar")
        .arg("-C")
        .arg(folder.path())
        .arg("-cf")
        .arg(&archive)
        .arg("first"))?;
    for image in ["mirror:1", "other:1"] {
        let import = format!("{PODMAN} import --quiet - localhost/{image}");
        run(machine.enter(&import).stdin(File::open(&archive).unwrap()))?;
    }
    try_start(machine, ALONE)
}

/// Whether a container with these options runs; else what is wrong.
pub fn try_start(machine: &Machine, options: &str) -> Result<(), String> {
    let script = format!("{PODMAN} run --rm {options} localhost/other:1 /first");
    let tried = machine.enter(&script).output().unwrap();
    // It ends with 2 for want of an address: then it has run.
    match tried.status.code() {
        Some(2) => Ok(()),
        _ => Err(stderr(&tried)),
    }
}

/// In the network of the test; no controllers of cgroups are needed.
pub const ALONE: &str = "--network=host --pids-limit=-1";
/// In a network namespace of its own, behind Podman's bridge.
pub const BRIDGED: &str = "--network=podman --pids-limit=-1";

/// Starts a container that connects.
pub fn start(machine: &Machine, options: &str, image: &str, to: &str) -> Child {
    let script =
        format!("exec {PODMAN} run --quiet --detach --rm {options} localhost/{image} /first {to}");
    let mut command = machine.enter(&script);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// It has been started.
pub fn has_started(starter: Child) {
    let output = starter.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Of the flows of a rule this end, and what arrived there.
pub fn ends_of(flows: &[Value]) -> Vec<(SocketAddr, u64)> {
    let end = |flow: &Value| {
        let address = serde_json::from_value(flow["local"].clone()).unwrap();
        (address, flow["payload_bytes"].as_u64().unwrap())
    };
    flows.iter().map(end).collect()
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(output),
        false => Err(stderr(&output)),
    }
}
