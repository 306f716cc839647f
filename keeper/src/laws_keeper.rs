// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The process that keeps sender laws selectable (`ebb laws load`).

use crate::detached;
use crate::registry::{Record, Registry, Target};
use crate::signals::Signals;
use anyhow::Result;
use ebb_algorithms::Policy;
use ebb_kernel::LoadedLaws;

use crate::keeper::{is_told_to_end, refusal};
use crate::protocol::{FromKeeper, Reply, Request};
use crate::starter::{KeeperEnd, lay};
use crate::wait::Wait;

/// Names the record: there is one of them on a machine.
pub const ID: &str = "laws";

/// Forks the process off and waits until the laws are loaded, or cannot be.
///
/// Must be called while this process has a single thread.
pub fn start(policies: &[Policy]) -> Result<()> {
    let (mut ours, theirs) = lay()?;
    if detached::fork()? {
        drop(ours);
        std::process::exit(i32::from(keep(theirs, policies).is_err()));
    }
    drop(theirs);
    ours.wait_for_start()?;
    Ok(())
}

fn keep(mut line: KeeperEnd, policies: &[Policy]) -> Result<()> {
    let signals = Signals::receive()?;
    let loaded = match LoadedLaws::load(policies) {
        Ok(loaded) => loaded,
        Err(error) => return Ok(line.say(&refusal(&error.into()))?),
    };
    let names = loaded.names().to_vec();
    let texts: Vec<String> = policies.iter().map(Policy::to_string).collect();
    let record = Record::new(
        Target::Laws { names },
        ID.to_owned(),
        &texts.join(" "),
        None,
    );
    let mut registration = match Registry::open().and_then(|runtime| runtime.register(record)) {
        Ok(registration) => registration,
        Err(error) => return Ok(line.say(&refusal(&error.into()))?),
    };
    line.say(&FromKeeper::Ready { cgroup: None })?;
    let mut loaded = Some(loaded);
    while loaded.is_some() && !is_told_to_end(&signals)? {
        let mut wait = Wait::new();
        wait.readable(&signals);
        registration.add_to(&mut wait);
        wait.wait()?;
        registration.answer_all(|registration, request| match request {
            Request::Detach => {
                loaded = None;
                registration.withdraw();
                Ok(Reply::Done)
            }
            Request::Flows => Ok(Reply::Flows(Vec::new())),
            _ => {
                anyhow::bail!("these are loaded with their parameters: ebb laws unload, then load")
            }
        });
    }
    Ok(())
}
