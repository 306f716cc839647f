// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs on an interface: by tcx (Linux 6.6), or as filters of the queueing discipline
//! clsact.

use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::offload;
use crate::trial;
use libbpf_rs::libbpf_sys as raw;
use libbpf_rs::{TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// `bpf_attach_type` of tcx.
const TCX_INGRESS: raw::bpf_attach_type = 46;
const TCX_EGRESS: raw::bpf_attach_type = 47;
/// In front of all others: one of them may keep packets from those behind it.
const BPF_F_BEFORE: u32 = 1 << 3;
/// What our filters are found by; the next Ebb puts its own in the place of a dead one's.
const FILTER_HANDLE: u32 = 0xebb;
/// Before all that choose none: these get 49152 and less, the least first.
const FILTER_PRIORITY: u32 = 1;

/// How programs are put on an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Links, which go with their owner (Linux 6.6).
    Tcx,
    /// Filters of clsact, which stay when their owner is killed and do nothing then.
    Clsact,
}

impl fmt::Display for Hook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tcx => "tcx",
            Self::Clsact => "clsact",
        })
    }
}

/// An interface that is this gateway's, and the programs on it.
#[derive(Debug)]
pub(crate) struct Stand {
    // Taken off before another may take its place.
    attachment: Option<Attachment>,
    interface: Interface,
    _claim: UnixDatagram,
}

impl Stand {
    /// Nobody else's, from now on; there are no programs on it yet.
    ///
    /// *Errors:* it is another's, or hardware forwards its packets.
    pub(crate) fn claim(interface: &Interface) -> Result<Self> {
        offload::refuse(interface)?;
        Ok(Self {
            attachment: None,
            interface: interface.clone(),
            _claim: claim(interface)?,
        })
    }

    /// Puts the programs on it, by the hook that is wanted or the best that there is.
    pub(crate) fn put(
        &mut self,
        programs: [BorrowedFd<'_>; 2],
        wanted: Option<Hook>,
    ) -> Result<()> {
        self.attachment = Some(Attachment::new(&self.interface, programs, wanted)?);
        Ok(())
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    pub(crate) fn hook(&self) -> Option<Hook> {
        self.attachment.as_ref().map(Attachment::hook)
    }

    /// Whether the interface is there, and nobody else has taken the programs off.
    pub(crate) fn is_whole(&self) -> bool {
        let is_whole = |it: &Attachment| it.is_whole();
        self.interface.exists() && self.attachment.as_ref().is_some_and(is_whole)
    }
}

/// Programs on an interface; taken off when this is dropped.
#[derive(Debug)]
enum Attachment {
    Tcx { _links: [OwnedFd; 2] },
    Clsact { filters: [Filter; 2] },
}

impl Attachment {
    /// Puts the programs on the interface, by the hook that is wanted or the best that there is.
    fn new(
        interface: &Interface,
        programs: [BorrowedFd<'_>; 2],
        wanted: Option<Hook>,
    ) -> Result<Self> {
        match wanted {
            Some(Hook::Tcx) => {
                Self::tcx(interface, programs).map_err(|error| failed(interface, error))
            }
            Some(Hook::Clsact) => Self::clsact(interface, programs),
            None => match Self::tcx(interface, programs) {
                Ok(attachment) => Ok(attachment),
                // The kernel does not know of tcx.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    Self::clsact(interface, programs)
                }
                Err(error) => Err(failed(interface, error)),
            },
        }
    }

    fn hook(&self) -> Hook {
        match self {
            Self::Tcx { .. } => Hook::Tcx,
            Self::Clsact { .. } => Hook::Clsact,
        }
    }

    /// Whether nobody else has taken them off.
    fn is_whole(&self) -> bool {
        match self {
            // A link goes with its interface alone.
            Self::Tcx { .. } => true,
            Self::Clsact { filters } => filters.iter().all(Filter::is_there),
        }
    }

    fn tcx(interface: &Interface, programs: [BorrowedFd<'_>; 2]) -> io::Result<Self> {
        let [from_lan, to_lan] = programs;
        Ok(Self::Tcx {
            _links: [
                link(interface, from_lan, TCX_INGRESS)?,
                link(interface, to_lan, TCX_EGRESS)?,
            ],
        })
    }

    fn clsact(interface: &Interface, programs: [BorrowedFd<'_>; 2]) -> Result<Self> {
        let [from_lan, to_lan] = programs;
        let put = |program, point| {
            Filter::put(interface, program, point).map_err(|error| match error.kind() {
                // The kernel does not tell more: filters of one priority are of one kind.
                libbpf_rs::ErrorKind::InvalidInput => {
                    tracing::debug!("{interface}: {error}");
                    Error::PriorityTaken {
                        interface: interface.name().to_owned(),
                    }
                }
                _ => failed(interface, io::Error::other(error.to_string())),
            })
        };
        let filters = [put(from_lan, TC_INGRESS)?, put(to_lan, TC_EGRESS)?];
        // The queueing discipline `ingress` has one place for both ways, where the second program
        // has put itself over the first.
        if !filters.iter().all(Filter::is_there) {
            return Err(Error::NotClsact {
                interface: interface.name().to_owned(),
            });
        }
        Ok(Self::Clsact { filters })
    }
}

/// A filter of clsact; taken off when this is dropped.
#[derive(Debug)]
struct Filter {
    program: OwnedFd,
    interface: i32,
    point: TcAttachPoint,
}

impl Filter {
    /// Puts it there, in the place of one that a killed Ebb has left.
    fn put(
        interface: &Interface,
        program: BorrowedFd<'_>,
        point: TcAttachPoint,
    ) -> libbpf_rs::Result<Self> {
        let (interface, owned) = (interface.number() as i32, program.try_clone_to_owned()?);
        // That the queueing discipline is there already is no error, but libbpf would print it.
        let usual = libbpf_rs::set_print(None);
        let put = filter_hook(program, interface, point)
            .create()
            .and_then(|mut hook| hook.attach());
        libbpf_rs::set_print(usual);
        put?;
        Ok(Self {
            program: owned,
            interface,
            point,
        })
    }

    /// Whether what stands there is this program, and no other one.
    fn is_there(&self) -> bool {
        let own = trial::number(self.program.as_fd());
        let found = self.hook().query();
        matches!((own, found), (Ok(own), Ok(found)) if own == found)
    }

    fn hook(&self) -> TcHook {
        filter_hook(self.program.as_fd(), self.interface, self.point)
    }
}

/// Where a filter of ours stands, or is to.
fn filter_hook(program: BorrowedFd<'_>, interface: i32, point: TcAttachPoint) -> TcHook {
    let mut hook = TcHook::new(program);
    hook.ifindex(interface)
        .attach_point(point)
        .handle(FILTER_HANDLE)
        .priority(FILTER_PRIORITY)
        .replace(true);
    hook
}

impl Drop for Filter {
    fn drop(&mut self) {
        if let Err(error) = self.hook().detach() {
            tracing::debug!("while taking a filter off: {error}");
        }
    }
}

/// A name of this network namespace that says whose gateway this process is; it goes with the
/// process, however that ends.
fn claim(interface: &Interface) -> Result<UnixDatagram> {
    let name = format!("ebb-gateway-{}", interface.number());
    let claimed =
        SocketAddr::from_abstract_name(name).and_then(|address| UnixDatagram::bind_addr(&address));
    claimed.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Error::Taken {
            interface: interface.name().to_owned(),
        },
        _ => failed(interface, error),
    })
}

fn link(
    interface: &Interface,
    program: BorrowedFd<'_>,
    kind: raw::bpf_attach_type,
) -> io::Result<OwnedFd> {
    let options = raw::bpf_link_create_opts {
        sz: size_of::<raw::bpf_link_create_opts>() as _,
        flags: BPF_F_BEFORE,
        ..Default::default()
    };
    // SAFETY: the descriptor is open, the options live through the call.
    let link = unsafe {
        raw::bpf_link_create(
            program.as_raw_fd(),
            interface.number() as i32,
            kind,
            &raw const options,
        )
    };
    if link < 0 {
        return Err(io::Error::from_raw_os_error(-link));
    }
    // SAFETY: just made, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(link) })
}

fn failed(interface: &Interface, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::PermissionDenied => Error::NotPermitted {
            what: format!("put programs on {interface}"),
        },
        _ => Error::Program {
            what: format!("interface {interface}"),
            action: "put programs on",
            source,
        },
    }
}
