// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws on TCP connections that this machine only forwards.
//!
//! [`Gateway::start`] puts two packet programs on an interface behind which clients are. The law
//! is told of the data of background connections as it passes, and the windows in their
//! acknowledgements are made smaller as it says. [`Rule`]s say which connections are background.
//! Neither sockets nor the kernel's type information are needed.
//!
//! **Fail open.** The programs act only while their owner renews a lease of two seconds.
//! `docs/gateway.md` has the whole story.

mod attach;
mod bundles;
mod condition;
mod control;
mod counters;
mod error;
mod flows;
mod gateway;
mod interface;
mod layout;
mod namespace;
mod offload;
mod rule;
mod skeleton;
mod trial;

pub use attach::Hook;
pub use counters::{Counters, RuleCounters};
pub use error::{Error, Result};
pub use flows::{Flow, Way};
pub use gateway::{Gateway, Options, RENEW_EVERY};
pub use interface::Interface;
pub use trial::{Nothing, Tried};

pub use condition::{CodePoint, Mac, Mark, Ports, Prefix};
pub use rule::{MAX_RULES, Rule, Subject, Verdict, judge};
