// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which connections are background, and how the programs judge.

use crate::condition::{CodePoint, Mac, Mark, Ports, Prefix};
use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::layout::{RawRule, RawSubject, RawVerdict};
use crate::namespace::mac_in;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr};

/// As many rules as the programs ask.
pub const MAX_RULES: usize = 64;
/// `EBB_RULE_…` of `bpf/rules.h`.
const HAS_MAC: u8 = 1;
const IS_IPV6: u8 = 2;
/// The kernel numbers interfaces from 1 on, and has no such number.
const NO_INTERFACE: u32 = u32::MAX;

/// A rule: all conditions that it has must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// What people call it.
    pub name: String,
    /// The client's address.
    pub client: Option<Prefix>,
    /// The client's address of Ethernet.
    pub mac: Option<Mac>,
    /// The interface that the client is behind.
    pub interface: Option<String>,
    /// The network namespace that the client is in: a name of `ip netns`, or a path.
    pub namespace: Option<String>,
    /// The other end's address.
    pub remote: Option<Prefix>,
    /// The other end's port.
    pub ports: Option<Ports>,
    /// One of them was seen on the connection, in either direction.
    pub code_points: Vec<CodePoint>,
    /// The mark that the packet filter gave its packets.
    pub mark: Option<Mark>,
    /// From so many bytes on that were moved without a pause; 0 is from the first byte on.
    pub bulk_bytes: u64,
    /// Whether what it is for yields; else it is left alone.
    pub is_background: bool,
}

/// A connection, as far as rules ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The client's address.
    pub client: IpAddr,
    /// The other end's address.
    pub remote: IpAddr,
    /// The other end's port.
    pub remote_port: u16,
    /// The client's address of Ethernet, if it is known.
    pub mac: Option<Mac>,
    /// The interface that the client is behind.
    pub interface: Option<String>,
    /// A code point that was seen.
    pub code_point: Option<CodePoint>,
    /// The mark of the packet filter.
    pub mark: u32,
    /// Bytes that were moved without a pause.
    pub moved_bytes: u64,
}

/// What rules make of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The place of the rule that is for it, if one is.
    pub rule: Option<usize>,
    /// Whether it yields.
    pub is_background: bool,
    /// An earlier rule is for it from so many bytes on.
    pub again_at_bytes: Option<u64>,
}

/// Asks the rules as the programs do; the first one that is for a connection counts. One for a
/// network namespace that is not there is for nothing.
///
/// *Errors:* [`Error::Namespace`]; it takes root to look into one.
pub fn judge(rules: &[Rule], subject: &Subject) -> Result<Verdict> {
    // Interfaces are told apart by their places here: what is asked about may not exist.
    let names = rules.iter().filter_map(|rule| rule.interface.as_deref());
    let mut names: Vec<&str> = names.chain(subject.interface.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    let number = |name: &Option<String>| {
        let place = names
            .iter()
            .position(|other| Some(*other) == name.as_deref());
        place.map_or(0, |place| place as u32 + 1)
    };
    let raw_rules = rules.iter().map(|rule| {
        let raw = rule.raw_with(number(&rule.interface));
        match rule.raw_in_namespace(raw) {
            Err(Error::Namespace { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(rule.raw_for_nothing())
            }
            raw => raw,
        }
    });
    let raw_rules: Vec<RawRule> = raw_rules.collect::<Result<_>>()?;
    let raw = subject.raw(number(&subject.interface));
    let mut verdict = RawVerdict::default();
    // SAFETY: as many rules as are told, all of them live through the call.
    unsafe {
        ebb_gateway_judge(
            raw_rules.as_ptr(),
            raw_rules.len() as u32,
            &raw const raw,
            &raw mut verdict,
        );
    }
    Ok(Verdict {
        rule: (verdict.rule as usize).checked_sub(1),
        is_background: verdict.is_background != 0,
        again_at_bytes: (verdict.again_at_bytes != u64::MAX).then_some(verdict.again_at_bytes),
    })
}

impl Subject {
    /// As the programs have it, with the number of its interface.
    fn raw(&self, interface: u32) -> RawSubject {
        RawSubject {
            client: words(self.client),
            remote: words(self.remote),
            remote_port: self.remote_port,
            code_points: self.code_point.map_or(0, CodePoint::bit),
            mark: self.mark,
            moved_bytes: self.moved_bytes,
            interface,
            mac: self.mac.map_or([0; 6], |mac| mac.0),
            unmet_flags: match self.client.to_canonical() {
                IpAddr::V4(_) => IS_IPV6.into(),
                IpAddr::V6(_) => 0,
            },
            reserved: 0,
        }
    }
}

unsafe extern "C" {
    fn ebb_gateway_judge(
        rules: *const RawRule,
        count: u32,
        subject: *const RawSubject,
        verdict: *mut RawVerdict,
    );
}

impl Rule {
    /// Whether it has no condition at all.
    pub fn is_for_everything(&self) -> bool {
        let Self {
            name: _,
            client,
            mac,
            interface,
            namespace,
            remote,
            ports,
            code_points,
            mark,
            bulk_bytes,
            is_background: _,
        } = self;
        client.is_none()
            && mac.is_none()
            && interface.is_none()
            && namespace.is_none()
            && remote.is_none()
            && ports.is_none()
            && code_points.is_empty()
            && mark.is_none()
            && *bulk_bytes == 0
    }

    /// As the programs judge by it.
    pub(crate) fn raw(&self) -> Result<RawRule> {
        let interface = self.interface.as_deref().map(Interface::of).transpose()?;
        let raw = self.raw_with(interface.map_or(0, |interface| interface.number()));
        self.raw_in_namespace(raw)
    }

    /// A device in a namespace is known by its address of Ethernet, on a bridge too.
    fn raw_in_namespace(&self, raw: RawRule) -> Result<RawRule> {
        let Some(name) = &self.namespace else {
            return Ok(raw);
        };
        let Mac(mac) = mac_in(name)?;
        if raw.flags & HAS_MAC != 0 && raw.mac != mac {
            return Ok(self.raw_for_nothing());
        }
        Ok(RawRule {
            mac,
            flags: raw.flags | HAS_MAC,
            ..raw
        })
    }

    /// The same while its interface is not there.
    pub(crate) fn raw_for_nothing(&self) -> RawRule {
        self.raw_with(NO_INTERFACE)
    }

    fn flags(&self) -> u8 {
        let mut prefixes = self.client.iter().chain(&self.remote);
        let has_mac = self.mac.map_or(0, |_| HAS_MAC);
        match prefixes.any(|prefix| prefix.is_ipv6()) {
            true => has_mac | IS_IPV6,
            false => has_mac,
        }
    }

    fn raw_with(&self, interface: u32) -> RawRule {
        let any = Prefix::ANY;
        let (client, remote) = (self.client.unwrap_or(any), self.remote.unwrap_or(any));
        let ports = self.ports.unwrap_or_default();
        let mark = self.mark.unwrap_or_default();
        RawRule {
            client: words(client.address),
            client_mask: client.mask(),
            remote: words(remote.address),
            remote_mask: remote.mask(),
            code_points: self.code_points.iter().fold(0, |all, one| all | one.bit()),
            bulk_bytes: self.bulk_bytes,
            mark: mark.value,
            mark_mask: mark.mask,
            interface,
            first_port: ports.first,
            last_port: ports.last,
            mac: self.mac.map_or([0; 6], |mac| mac.0),
            flags: self.flags(),
            is_background: self.is_background.into(),
        }
    }
}

/// An address as the programs have it: IPv4 as ::ffff:a.b.c.d.
pub(crate) fn words(address: IpAddr) -> [u32; 4] {
    let bytes = mapped(address).octets();
    std::array::from_fn(|word| {
        u32::from_ne_bytes(
            bytes[word * 4..word * 4 + 4]
                .try_into()
                .expect("four bytes"),
        )
    })
}

/// The address of such words.
pub(crate) fn address(words: [u32; 4]) -> IpAddr {
    let mut bytes = [0; 16];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    Ipv6Addr::from(bytes).to_canonical()
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}
