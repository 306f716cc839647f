// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The service `ebbd`: keeps policies on whatever its rules name, from the first connection on and
//! for as long as it runs.
//!
//! - [`read`] reads the rules from their folders, [`Book`] has them in their order;
//! - [`why`] says which of them holds for a process, and why the others do not;
//! - [`Service`] keeps them, [`service_of`] says whose runs;
//! - [`Settings`] say what it serves beside that;
//! - [`read_history`] reads what came of the rules in 24 hours.
//!
//! What a rule names is decided in the kernel, by tables ([`ebb_keeper::kernel::rules`]): a cgroup
//! is judged by its path while it is being made, and every connection when it is made. So nothing
//! has to be noticed in time here. What only its manager knows of a container (name, image, labels)
//! is looked up after its cgroup was made; until that is known, all rules on containers hold for it.

mod bits;
mod conditions;
mod containers;
mod error;
mod event;
mod gateways;
mod globs;
mod groups;
mod history;
mod ledger;
mod lock;
mod metrics;
mod notify;
mod page;
mod read;
mod rule;
mod service;
mod settings;
mod snapshot;
mod users;
mod watching;
mod web;
mod why;

pub use containers::{Container, Managers};
pub use error::{Error, Result};
pub use event::Event;
pub use history::{Minute, Past, history_folder, read_history};
pub use lock::service_of;
pub use read::{FOLDERS, Found, read, read_files};
pub use rule::{Book, Conditions, ContainerPattern, Rule};
pub use service::Service;
pub use settings::{Settings, UserSettings};
pub use why::{Facts, Holds, Verdict, why};
