// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this machine tells of processes and sockets, for every layer above: once, so that both
//! backends, the keeper and the lab see the same.
//!
//! Who descends from whom ([`descendants_of`], [`Family`]), whether a process lives and since
//! when ([`started_ticks`]), its sockets and copies of them ([`copies_of_sockets`]), its network
//! namespaces ([`network_namespaces_of`]), what TCP knows of a connection ([`TcpInfo`]), what
//! interfaces carry ([`Interfaces`]), the clocks that all of them share, calendar and time of day
//! ([`LocalTime`]), and memory that is shared with programs in the kernel ([`SharedMemory`]).
//! Nothing here changes anything by itself, and nothing needs a privilege for processes of one's
//! own.
//!
//! ```
//! use ebb_host::{TcpInfo, copies_of_sockets};
//! use std::net::{TcpListener, TcpStream};
//! use std::os::fd::AsFd;
//!
//! # fn main() -> std::io::Result<()> {
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let _stream = TcpStream::connect(listener.local_addr()?)?;
//! let copies = copies_of_sockets(std::process::id())?;
//! let known = copies.filter_map(|socket| TcpInfo::read(socket.as_fd()).ok());
//! assert!(known.into_iter().any(|info| info.sends() && info.snd_mss > 0));
//! # Ok(())
//! # }
//! ```

pub mod clock;
pub mod tcp_info;
pub mod testing;

mod error;
mod family;
mod handle;
mod interfaces;
mod local_time;
mod mounts;
mod namespace;
mod process;
mod shared;
mod socket;
mod sysctl;
mod tree;
mod want;

pub use error::{Error, Result};
pub use family::Family;
pub use handle::{ProcessHandle, copy_descriptor};
pub use interfaces::Interfaces;
pub use local_time::LocalTime;
pub use mounts::{Mount, mounts};
pub use namespace::{NetworkNamespace, mounted_network_namespaces, network_namespaces_of};
pub use process::{
    cgroup_of, effective_capabilities, exists, is_first_pid_namespace, is_kernel_thread,
    lives_still, name_of, owner_of, real_user_of, started_ticks, users_of,
};
pub use shared::SharedMemory;
pub use socket::{copies_of_sockets, inode_of, sockets_in, sockets_of_port};
pub use sysctl::sysctl;
pub use tcp_info::TcpInfo;
pub use tree::{all_processes, children_of, descendants_of, threads_of, with_descendants};
pub use want::{NO_FORK, what_ran_out};
