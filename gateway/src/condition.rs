// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conditions of rules as people write them.

use crate::error::{Error, Result};
use crate::rule::words;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Addresses that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    pub(crate) address: IpAddr,
    /// Of IPv6's 128.
    bits: u32,
}

impl Prefix {
    /// All that there are.
    pub(crate) const ANY: Self = Self {
        address: IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        bits: 0,
    };

    /// Whether they are of IPv6.
    pub fn is_ipv6(self) -> bool {
        self.address.is_ipv6()
    }

    /// The bits that count.
    pub(crate) fn mask(self) -> [u32; 4] {
        let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
        words(IpAddr::V6(Ipv6Addr::from(mask)))
    }
}

impl FromStr for Prefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |expected| Error::Condition {
            text: text.to_owned(),
            expected,
        };
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| {
            wrong("no address; write 192.168.1.40, 192.168.1.0/24, fd00::7 or fd00::/64")
        })?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length: u32 = length.map_or(Ok(most), |length| {
            let length = length.parse().ok().filter(|length| *length <= most);
            length.ok_or_else(|| wrong("a prefix has 0 to 32 bits, with IPv6 0 to 128"))
        })?;
        let bits = 128 - most + length;
        // Of ::ffff:0:0/96 on they are those of IPv4.
        let address = match bits {
            96.. => address.to_canonical(),
            _ => address,
        };
        let prefix = Self { address, bits };
        let outside = words(address).into_iter().zip(prefix.mask());
        if outside.into_iter().any(|(word, mask)| word & !mask != 0) {
            return Err(wrong(
                "the address has bits behind its prefix: write it without them, as \
                 192.168.1.0/24, or longer",
            ));
        }
        Ok(prefix)
    }
}

/// An address of Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mac(pub(crate) [u8; 6]);

impl FromStr for Mac {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut mac = [0; 6];
        let parts: Vec<&str> = text.split([':', '-']).collect();
        let is_read = parts.len() == mac.len()
            && mac.iter_mut().zip(&parts).all(|(byte, part)| {
                let read = u8::from_str_radix(part, 16);
                *byte = *read.as_ref().unwrap_or(&0);
                part.len() == 2 && read.is_ok()
            });
        is_read
            .then_some(Self(mac))
            .ok_or_else(|| Error::Condition {
                text: text.to_owned(),
                expected: "no address of Ethernet; write 98:b6:e9:01:23:45",
            })
    }
}

/// Ports from one to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ports {
    pub(crate) first: u16,
    pub(crate) last: u16,
}

impl FromStr for Ports {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let ports = port(first).zip(port(last));
        let ports = ports.filter(|(first, last)| first <= last);
        let ports = ports.map(|(first, last)| Self { first, last });
        ports.ok_or_else(|| Error::Condition {
            text: text.to_owned(),
            expected: "no port; write 443, or \"8000-8100\"",
        })
    }
}

/// A code point of Differentiated Services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodePoint(u8);

impl CodePoint {
    pub(crate) fn bit(self) -> u64 {
        1 << self.0
    }
}

/// Class selectors, Lower Effort (RFC 8622), Assured and Expedited Forwarding.
const CODE_POINTS: [(&str, u8); 22] = [
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

impl FromStr for CodePoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = CODE_POINTS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|(_, number)| *number);
        let number = named.or_else(|| text.parse().ok().filter(|number| *number < 64));
        number.map(Self).ok_or_else(|| Error::Condition {
            text: text.to_owned(),
            expected: "no code point; write \"CS1\", \"LE\", \"AF11\" or a number from 0 to 63",
        })
    }
}

/// A mark of the packet filter, or those of its bits that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    pub(crate) value: u32,
    pub(crate) mask: u32,
}

impl Mark {
    /// The bits that are set.
    pub fn value(self) -> u32 {
        self.value
    }
}

impl FromStr for Mark {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (value, mask) = match text.split_once('/') {
            Some((value, mask)) => (number(value), number(mask)),
            None => (number(text), Some(u32::MAX)),
        };
        let mark = value.zip(mask).map(|(value, mask)| Self { value, mask });
        let mark = mark.filter(|mark| mark.mask != 0 && mark.value & !mark.mask == 0);
        mark.ok_or_else(|| Error::Condition {
            text: text.to_owned(),
            expected: "no mark; write 16, \"0x10\", or \"0x10/0xff\" for some of its bits",
        })
    }
}

/// A number as the packet filter's tools write it.
fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.map(|byte| format!("{byte:02x}"));
        formatter.write_str(&bytes.join(":"))
    }
}
