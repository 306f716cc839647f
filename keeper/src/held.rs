// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is held, whatever holds it.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use ebb_algorithms::Policy;
use ebb_link::Rate;

use crate::backend::Backend;
use crate::deadline::Deadline;
use crate::error::Result;
use crate::flow::FlowView;
use crate::policies::{Minimum, Policies, UploadPolicy};
use crate::protocol::{Due, Part, Reply, Request, Switch};
use crate::pursuit::Pursued;
use crate::summary::Summary;

/// Policies on connections, for as long as it lives: dropping it lets everything go.
///
/// It has no thread and no loop of its own that its owner would have to know of. Who keeps it
/// calls [`Self::work`] when that says so ([`crate::Post`] does, and answers requests
/// meanwhile); who keeps many of them takes the least of their moments.
pub trait Held: Send {
    /// How its policies reach connections.
    fn backend(&self) -> Backend;

    /// What is in force, or was at last.
    fn in_force(&self) -> InForce;

    /// Whether any policy still acts: it was not released, and has not ended by itself.
    fn is_held(&self) -> bool;

    /// Whether that which it is for is still there. Looks at processes: ask about once a second.
    fn is_needed(&mut self) -> bool;

    /// Does what is due; answers when something is due again. Earlier does no harm.
    ///
    /// *Errors:* it cannot go on; what is left to be done is to release it.
    fn work(&mut self) -> Result<Instant>;

    /// What is to be waited for beside that moment, if anything: work is due once one of these
    /// can be read.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Changes it, live.
    ///
    /// *Errors:* it has been released; what is named is not there; it cannot be changed so.
    fn change(&mut self, change: &Change) -> Result<()>;

    /// Every connection that it acts on, one for each way.
    fn flows(&mut self) -> Result<Vec<FlowView>>;

    /// What came of it so far.
    fn summary(&mut self) -> Summary;

    /// Lifts everything. It holds nothing any more, whether or not that fails.
    fn release(&mut self) -> Result<()>;

    /// What people should know, once each.
    fn take_notices(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// What is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InForce {
    /// The policy in its shortest form.
    pub policy: String,
    /// The policy for what is sent, if there is one.
    pub upload_policy: Option<String>,
    /// What is sent keeps the code point that it has.
    pub keeps_code_point: bool,
    /// What all connections have together at the least, each way, if that is asked for.
    pub minimum: Option<String>,
    /// How it stands with the deadline, if there is one.
    pub deadline: Option<Pursued>,
    /// It watches only: nothing yields.
    pub is_observing: bool,
    /// Connections that are not governed: the kernel had no memory for their state, or the user
    /// backend no descriptor to look at them.
    pub ungoverned_connections: u64,
}

impl InForce {
    /// These policies, which act.
    pub fn of(policies: &Policies) -> Self {
        Self {
            policy: policies.download.to_string(),
            upload_policy: policies.upload.as_ref().map(Policy::to_string),
            keeps_code_point: policies.keeps_code_point,
            minimum: policies.minimum.as_ref().map(ToString::to_string),
            ..Self::default()
        }
    }
}

/// A change of what is held.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Another policy for what arrives.
    Download(Policy),
    /// Another policy for what is sent, or one at last, or none any more.
    Upload(Option<Policy>),
    /// Another rate that all connections have together at the least, or none any more.
    Minimum(Option<Rate>),
    /// Another deadline, which counts from now on, or none any more.
    Deadline(Option<Deadline>),
    /// Only watch, or act again; what was changed in part follows.
    Observing(bool),
    /// Some of the connections are free, or are not, whatever the others are.
    Free(Part, bool),
    /// Some of the connections have another policy, for the way that its law is for.
    Policy(Part, Policy),
}

/// Does what is asked for; who asks is whoever may.
///
/// *Errors:* those of [`Held::change`], [`Held::flows`] and [`Held::release`]; the policy is none.
pub fn obey<H: Held + ?Sized>(held: &mut H, request: &Request) -> Result<Reply> {
    match request {
        Request::Detach => held.release()?,
        Request::Flows => return Ok(Reply::Flows(held.flows()?)),
        Request::SetPolicy(text) => held.change(&Change::Download(Policy::receiver(text)?))?,
        Request::SetUploadPolicy(text) => {
            let chosen: UploadPolicy = text.parse()?;
            held.change(&Change::Upload(chosen.policy().cloned()))?;
        }
        Request::SetMinimum(text) => {
            let Minimum(rate) = text.parse()?;
            held.change(&Change::Minimum(rate))?;
        }
        Request::SetDeadline(due) => {
            held.change(&Change::Deadline(due.map(Due::deadline).transpose()?))?;
        }
        Request::SetObserving(is_observing) => held.change(&Change::Observing(*is_observing))?,
        Request::Switch { whose, to } => held.change(&match to {
            Switch::Free => Change::Free(*whose, true),
            Switch::Held => Change::Free(*whose, false),
            Switch::Policy(text) => Change::Policy(*whose, text.parse()?),
        })?,
    }
    Ok(Reply::Done)
}
