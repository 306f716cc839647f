// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why something did not work, and what to do about it.

use std::io;

/// Answer of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong; each message ends with what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such interface.
    #[error("interface {name}: {source}; 'ip link' lists those that there are")]
    NoInterface {
        /// Its name.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// Packets on it have a header that nobody here can read.
    #[error(
        "interface {name} is of a kind (ARPHRD {kind}) whose packets Ebb cannot read; it reads \
         Ethernet (bridges, VLANs, Wi-Fi, veth among it) and links of bare IP (tunnels, PPP)"
    )]
    UnknownLink {
        /// Its name.
        name: String,
        /// The kernel's number of the kind.
        kind: u16,
    },
    /// Programs see what came with the tunnel's own header there.
    #[error(
        "interface {name} is a tunnel: before Linux 5.14 its packets show the tunnel's own header \
         to programs (this is {release}): name an interface of Ethernet that they pass as well, or \
         use Linux 5.14 or newer"
    )]
    OldTunnel {
        /// Its name.
        name: String,
        /// The kernel's release.
        release: String,
    },
    /// Nothing is forwarded over it.
    #[error("interface {name} is this machine's own: name the one that the clients are behind")]
    Loopback {
        /// Its name.
        name: String,
    },
    /// A network namespace cannot be told by its interface.
    #[error("network namespace {name}: {source}")]
    Namespace {
        /// As it was written.
        name: String,
        /// What the kernel said, or what is in it.
        source: io::Error,
    },
    /// Programs read packets of one kind of link.
    #[error(
        "interfaces {first} and {other} are links of two kinds (Ethernet, bare IP): each kind \
         needs a gateway of its own"
    )]
    OtherKind {
        /// One that the gateway is on.
        first: String,
        /// The one that it should be on as well.
        other: String,
    },
    /// Hardware forwards what we would have to see.
    #[error(
        "flowtable {table} forwards what passes {interface} in hardware, where no program sees \
         it: take 'flags offload' out of it (nft list flowtables shows it)"
    )]
    HardwareOffload {
        /// The flowtable, with its table.
        table: String,
        /// The interface.
        interface: String,
    },
    /// A flowtable passes packets between ports, past the interface above them.
    #[error(
        "flowtable {table} has {port}, and passes packets between it and others past {interface}, \
         where the gateway would be: be the gateway of {port} in the stead of {interface}, or take \
         it out of the flowtable (nft list flowtables shows it)"
    )]
    Bypass {
        /// The flowtable, with its table.
        table: String,
        /// What is below the interface.
        port: String,
        /// The interface.
        interface: String,
    },
    /// There is another queueing discipline in the place of clsact.
    #[error(
        "interface {interface} has the queueing discipline `ingress`, which has no place for \
         programs on packets that leave: put `clsact` there in its stead ('tc qdisc replace dev \
         {interface} clsact'; its filters have to be added again), or use tcx (Linux 6.6 or newer)"
    )]
    NotClsact {
        /// The interface.
        interface: String,
    },
    /// Others have the place of our filters.
    #[error(
        "interface {interface} has filters of another kind or protocol at priority 1 of clsact, \
         where the gateway's go: move those to another priority ('tc filter show dev {interface} ingress', \
         and egress, show them), or use tcx (Linux 6.6 or newer)"
    )]
    PriorityTaken {
        /// The interface.
        interface: String,
    },
    /// No packet has what a rule goes by.
    #[error(
        "rule {rule} is for an address of Ethernet (mac, netns), and packets of {interface} have \
         none: name the client by its address"
    )]
    NoMacs {
        /// The rule.
        rule: String,
        /// The interface.
        interface: String,
    },
    /// Another Ebb is the gateway of this interface.
    #[error("another Ebb is the gateway of {interface} already: 'ebb status' names it")]
    Taken {
        /// The interface.
        interface: String,
    },
    /// A privilege is missing.
    #[error("not permitted to {what}; run as root (CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON)")]
    NotPermitted {
        /// What was tried.
        what: String,
    },
    /// The law is not for a host that sees packets.
    #[error("{law} is no law of a receiver that sees packets: 'ebb policies' lists those that are")]
    NotForGateways {
        /// The law.
        law: &'static str,
    },
    /// The law is compiled into the running programs.
    #[error("the gateway runs the law {law}; another one needs another start of it")]
    OtherLaw {
        /// The law that runs.
        law: &'static str,
    },
    /// There are more rules than the programs ask.
    #[error("{count} rules; {most} are possible")]
    TooManyRules {
        /// How many.
        count: usize,
        /// As many as possible.
        most: usize,
    },
    /// The kernel refused the programs.
    #[error("the kernel refused {what}: {reason}")]
    Load {
        /// What.
        what: String,
        /// What libbpf and the verifier said.
        reason: String,
    },
    /// Something with loaded programs failed.
    #[error("cannot {action} {what}: {source}")]
    Program {
        /// What it was done to.
        what: String,
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A condition of a rule cannot be read.
    #[error("{text:?}: {expected}")]
    Condition {
        /// As it was written.
        text: String,
        /// What would be right.
        expected: &'static str,
    },
}
