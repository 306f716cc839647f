// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The backend that needs no privilege: it acts on the TCP sockets of the user's own
//! processes, from outside.
//!
//! A [`Governor`] follows the descendants of a process, finds their sockets, copies each for
//! a moment (`pidfd_getfd`), reads what the kernel knows of it (`TCP_INFO`), tells a law, and
//! sets the window that may be advertised (`TCP_WINDOW_CLAMP`) and the pace of what is sent
//! (`SO_MAX_PACING_RATE`). No copy is kept: a connection ends when its own program closes it.
//! `docs/user-backend.md` has the whole.

mod connection;
mod copying;
mod counters;
mod error;
mod governor;
mod guardian;
mod info;
mod process;
mod socket;
mod timing;
mod upload;

pub use copying::probe;
pub use counters::Counters;
pub use error::{Error, Result};
pub use governor::{Ends, Filter, Governor, Options, Root};
pub use guardian::lift_limits_of_descendants;
pub use info::TcpInfo;
pub use process::{changes_privileges, descendants_of, sockets_of};
pub use socket::{CopiedSocket, Kind, own_namespace};
