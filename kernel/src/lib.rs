// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws on a stock Linux kernel, without patch or module.
//!
//! [`Attachment::attach`] puts the TCP connections of a [`cgroup::Cgroup`] under a
//! policy. Of a receiver law, eBPF programs tell it of every arriving data segment and ask
//! it for the window before every outgoing one; a sender law becomes the connections'
//! congestion control ([`LoadedLaws`] lets programs select one themselves). Nothing else on the
//! machine changes, no packet is dropped or rewritten. [`features::probe`] tells what this machine
//! can do.
//!
//! ```no_run
//! use ebb_kernel::{Attachment, AttachOptions, cgroup::Cgroup};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let group = Cgroup::root()?.create_child("background")?;
//! let policy = "ebb:target_us=7000".parse()?;
//! let attachment = Attachment::attach(&group, &policy, AttachOptions::default())?;
//! group.add_process(4711)?;
//! println!("{:?}", attachment.counters()?);
//! attachment.detach()?;
//! # Ok(())
//! # }
//! ```
//!
//! **Fail open.** Programs act only while their owner renews a lease of two seconds; past
//! it they lift every limit at the connection's next segment. `docs/kernel-backend.md`
//! has the whole story.

pub mod cgroup;
pub mod claims;
pub mod features;
pub mod own;
pub mod rules;
pub mod trace;

mod attachment;
mod conflict;
mod congestion;
mod control;
mod counters;
mod ending;
mod error;
mod flows;
mod glance;
mod laws;
mod layout;
mod lease;
mod messages;
mod names;
mod namespaces;
mod object;
mod paths;
mod peers;
mod programs;
mod recorder;
mod registrations;
mod run_times;
mod selection;
mod sets;
mod shared;
mod skeleton;
mod sweep;
mod sys;
mod tables;
mod testing;
mod walk;

pub use attachment::{AttachOptions, Attachment};
pub use congestion::congestion_name;
pub use counters::Counters;
pub use ending::Ending;
pub use error::{Error, Result};
pub use flows::Flow;
pub use glance::Glance;
pub use laws::LoadedLaws;
pub use paths::PathRules;
pub use run_times::{RunStatistics, RunTime};
pub use selection::{RuleSelection, Selection};
pub use sweep::{detach_all, owner_of, sweep};
pub use testing::{requires, requires_absence, requires_feature, requires_root, until};
