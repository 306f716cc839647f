// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The backend that needs no privilege: it acts on the TCP sockets of the user's own
//! processes, from outside.
//!
//! A [`Governor`] follows the descendants of a process, finds their sockets, copies each for
//! a moment (`pidfd_getfd`), reads what the kernel knows of it (`TCP_INFO`), tells a law, and
//! sets the window that may be advertised (`TCP_WINDOW_CLAMP`) and the pace of what is sent
//! (`SO_MAX_PACING_RATE`). No copy is kept: a connection ends when its own program closes it.
//! `docs/user-backend.md` has the whole.
//!
//! ```
//! use ebb_sockets::{Governor, Options, Root};
//! use std::io::Write;
//! use std::net::{TcpListener, TcpStream};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let mut sender = TcpStream::connect(listener.local_addr()?)?;
//! let _receiver = listener.accept()?;
//! let options = Options {
//!     download: Some("sampled".parse()?),
//!     // Without this, connections within the machine are left alone.
//!     includes_loopback: true,
//!     ..Options::default()
//! };
//! let mut governor = Governor::new(Root::Process(std::process::id()), options)?;
//! for _look in 0..3 {
//!     sender.write_all(&[0; 1000])?;
//!     std::thread::sleep(governor.tick().saturating_duration_since(std::time::Instant::now()));
//! }
//! // Both ends are this process's.
//! assert_eq!(governor.counters().connections, 2);
//! # Ok(())
//! # }
//! ```

mod claim;
mod connection;
mod copying;
mod counters;
mod download;
mod error;
mod governor;
mod guardian;
mod hold;
mod options;
mod port;
mod process;
mod root;
mod socket;
mod timing;
mod upload;
mod wanted;

pub use copying::{probe, probe_process};
pub use counters::Counters;
pub use ebb_host::{Family, TcpInfo, descendants_of};
pub use error::{Error, Result};
pub use governor::{Governor, Standing, Terms, inode_of_socket};
pub use guardian::lift_limits_of_descendants;
pub use hold::{Hold, Holds, Note, Own};
pub use options::{Ends, Filter, Journal, Options};
pub use process::{changes_privileges, changes_user, sockets_of};
pub use root::Root;
pub use socket::{CopiedSocket, Kind, cookie_of, own_namespace};
pub use timing::Search;
pub use wanted::{Change, Direction, Flow, Whose};
