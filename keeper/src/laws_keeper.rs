// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The process that keeps sender laws selectable (`ebb laws load`).

use std::os::fd::AsFd;
use std::path::PathBuf;

use crate::detached;
use crate::registry::{Record, Request, Runtime, Target};
use crate::signals::{self, Signals};
use anyhow::Result;
use ebb_algorithms::Policy;
use ebb_kernel::LoadedLaws;
use serde_json::Value;

use crate::keeper::{is_told_to_end, refusal};
use crate::line::{self, KeeperEnd, Start};

/// Names the record: there is one of them on a machine.
pub const ID: &str = "laws";

/// Forks the process off and waits until the laws are loaded, or cannot be.
///
/// Must be called while this process has a single thread.
pub fn start(policies: &[Policy]) -> Result<Start> {
    let (mut ours, theirs) = line::lay()?;
    if detached::fork()? {
        drop(ours);
        std::process::exit(i32::from(keep(&theirs, policies).is_err()));
    }
    drop(theirs);
    ours.wait_for_start()
}

fn keep(line: &KeeperEnd, policies: &[Policy]) -> Result<()> {
    let signals = Signals::receive()?;
    let loaded = match LoadedLaws::load(policies) {
        Ok(loaded) => loaded,
        Err(error) => return line.say(&refusal(&error.into())),
    };
    let names = loaded.names().to_vec();
    let texts: Vec<String> = policies.iter().map(Policy::to_string).collect();
    let record = Record::new(
        Target::Laws { names },
        ID.to_owned(),
        &texts.join(" "),
        None,
    );
    let mut registration = match Runtime::open().and_then(|runtime| runtime.register(record)) {
        Ok(registration) => registration,
        Err(error) => return line.say(&refusal(&error)),
    };
    line.say(&Start::Ready(PathBuf::new()))?;
    let mut loaded = Some(loaded);
    while loaded.is_some() && !is_told_to_end(&signals)? {
        signals::wait_readable(&[signals.as_fd(), registration.as_fd()], None)?;
        registration.answer(|registration, request| match request {
            Request::Detach => {
                loaded = None;
                registration.withdraw();
                Ok(Value::Null)
            }
            Request::Flows => Ok(Value::Array(Vec::new())),
            _ => {
                anyhow::bail!("these are loaded with their parameters: ebb laws unload, then load")
            }
        });
    }
    Ok(())
}
