// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps policies on connections, for any backend: what the command line, a service and a
//! library have in common.
//!
//! [`hold`] puts [`Policies`] on the connections of a process, a cgroup or a port ([`Whose`]), and
//! answers something [`Held`]: it can be changed, looked at and released, and says when it has to
//! work again. It has no loop of its own, so that one process can keep many. A [`Post`] is that
//! loop for one of them: it does what is due, and answers the requests of `ebb status`, `top` and
//! `detach`, which find it in the [`registry`] and speak the [`protocol`].
//!
//! ```no_run
//! use ebb_keeper::{Backend, Policies, Post, Wait, Wanted, Whose, hold};
//!
//! # fn main() -> ebb_keeper::Result<()> {
//! let backend = Backend::Kernel;
//! let policies = Policies::new(&Wanted::default(), backend)?;
//! let whose = Whose::Process(4711);
//! let mut post = Post::new(hold(backend, &whose, &policies, None)?);
//! post.register(whose.attached(), whose.id())?;
//! while post.held().is_needed() {
//!     post.work(Wait::new())?;
//! }
//! println!("{} bytes arrived", post.summary().received_bytes);
//! # Ok(())
//! # }
//! ```
//!
//! `examples/yielding_child.rs` is a whole program.
//!
//! # Who keeps what
//!
//! - [`keep`] forks a keeper off, a process of its own that holds policies until what they are on
//!   has gone: `ebb attach`. [`laws::load`] does so for congestion controls.
//! - [`run::Run`] starts a command that yields from its first packet on, and attends to it as a
//!   shell expects of its job: `ebb run`.
//! - [`share::Session`] has programs share what arrives: `ebb share`.
//!
//! Whatever keeps policies may die: with the kernel backend the programs in the kernel let go when
//! their lease is over, with the user backend a guardian does ([`guarded`]).
//!
//! # For a service
//!
//! It keeps as many [`Held`] as it has rules, in one thread: it waits ([`Wait`]) until the least of
//! the moments that [`Held::work`] answers, and at a [`protocol::Desk`], which takes requests with
//! the credentials of whoever asks and delays nobody for those who are slow. [`obey`] does what a
//! request asks for, once it is settled whose connections it may concern.
//!
//! # What belongs here
//!
//! What a service or a library needs as well as the command line. That is how a command is started
//! inside a cgroup, in a process group, as another user; signals, as far as keepers and those
//! who attend to commands have to do with them; names of units and containers. The command
//! line keeps what only it can know: its arguments, how it starts itself again in a scope of
//! systemd, the terminal of `ebb top`, and every word that it prints. Nothing here prints.

mod account;
mod backend;
mod deadline;
mod describe;
mod detached;
pub mod ebbd;
mod error;
mod floor;
mod flow;
pub mod gateway;
mod guardian;
mod held;
mod keeper;
pub mod kernel;
pub mod laws;
mod open_files;
mod owners;
mod place;
mod policies;
mod post;
mod process;
pub mod protocol;
mod pursuit;
pub mod registry;
pub mod run;
pub mod services;
pub mod share;
mod signals;
mod starter;
mod summary;
pub mod user;
mod wait;
mod watch;
mod whose;

pub use account::Account;
pub use backend::Backend;
pub use deadline::{By, DataSize, Deadline};
pub use describe::describe;
pub use ebb_host::clock::unix_time;
pub use ebb_sockets::{CopiedSocket, Kind};
pub use error::{Error, Result};
pub use flow::{Direction, FlowView};
pub use gateway::GatewayHeld;
pub use guardian::{Guardian, guarded};
pub use held::{Change, Held, InForce, obey};
pub use keeper::{hold, keep};
pub use kernel::{Counted, KernelHeld};
pub use owners::Owners;
pub use policies::{Minimum, Policies, UploadPolicy, Wanted};
pub use post::Post;
pub use process::{NOT_EXECUTABLE, NOT_FOUND, NotStarted};
pub use pursuit::{Pursued, Standing};
pub use signals::{Arrived, Signals};
pub use summary::{Datagrams, Seen, Summary};
pub use user::UserHeld;
pub use wait::Wait;
pub use watch::{QueueSeen, Watch};
pub use whose::{Cgroup, Whose};
