// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values as people write them: rates, queue sizes, probabilities.
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::LinkError;
use crate::text::{Decimal, split_number, string_or_number_serde, string_serde};

/// A bit rate above zero. *Units:* bits per second, of whole IP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(NonZeroU64);

/// The size at which a queue drops what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At the most so many packets wait.
    Packets(u64),
    /// The packets that wait have at the most so many bytes together.
    Bytes(u64),
}

impl QueueLimit {
    /// Whether so much may wait together.
    #[inline]
    pub(crate) fn holds(self, pkts: usize, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => pkts as u64 <= limit,
            Self::Bytes(limit) => bytes <= limit,
        }
    }
}

/// A probability from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Rate {
    /// So many bits per second; `None` for zero.
    pub const fn from_bits_per_s(bits_per_s: u64) -> Option<Self> {
        match NonZeroU64::new(bits_per_s) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }

    /// So many megabits (10^6) per second.
    ///
    /// *Panics* for zero, so that a constant of zero does not compile.
    pub const fn from_mbit_per_s(mbit_per_s: u32) -> Self {
        match Self::from_bits_per_s(mbit_per_s as u64 * 1_000_000) {
            Some(rate) => rate,
            None => panic!("a rate must be above zero"),
        }
    }

    /// This rate in bits per second.
    pub const fn bits_per_s(self) -> u64 {
        self.0.get()
    }
}

impl Probability {
    /// Never.
    pub const NEVER: Self = Self(0.0);
    /// Always.
    pub const ALWAYS: Self = Self(1.0);

    /// This probability; `None` outside of 0 to 1.
    pub fn new(probability: f64) -> Option<Self> {
        (0.0..=1.0)
            .contains(&probability)
            .then_some(Self(probability))
    }

    /// This probability as a number from 0 to 1.
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

const RATE_UNITS: [(&str, u64); 4] = [
    ("gbit", 1_000_000_000),
    ("mbit", 1_000_000),
    ("kbit", 1_000),
    ("bit", 1),
];

impl fmt::Display for Rate {
    /// Writes the largest unit that divides the rate: `10mbit`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.bits_per_s();
        let (unit, scale) = RATE_UNITS
            .into_iter()
            .find(|(_, scale)| rate.is_multiple_of(*scale))
            .expect("every rate is a whole number of bits per second");
        write!(formatter, "{}{unit}", rate / scale)
    }
}

impl FromStr for Rate {
    type Err = LinkError;

    /// Reads `10mbit`, `1.5gbit`, `500kbit/s`, `9600bit`.
    fn from_str(input: &str) -> Result<Self, LinkError> {
        let error = |problem| LinkError::Value {
            what: "rate",
            input: input.to_owned(),
            problem,
            example: "10mbit, 1.5gbit or 500kbit (bits per second)",
        };
        let (number, unit) = split_number(input);
        let decimal = Decimal::parse(number).ok_or_else(|| error("not a number with a unit"))?;
        let lower = unit.to_ascii_lowercase();
        let name = lower.strip_suffix("/s").unwrap_or(&lower);
        let scale = match RATE_UNITS.iter().find(|(unit, _)| *unit == name) {
            Some((_, scale)) => *scale,
            None if unit.is_empty() => return Err(error("the unit is missing")),
            None if name.ends_with("bps") => return Err(error("bits and bytes are confused here")),
            None => return Err(error("unknown unit")),
        };
        let rate = decimal.times(scale).ok_or_else(|| error("too large"))?;
        Self::from_bits_per_s(rate).ok_or_else(|| error("a rate must be above zero"))
    }
}

const BYTE_UNITS: [(&str, u64); 9] = [
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

impl fmt::Display for QueueLimit {
    /// Writes `86` for packets, `128000b` for bytes.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(formatter, "{packets}"),
            Self::Bytes(bytes) => write!(formatter, "{bytes}b"),
        }
    }
}

impl FromStr for QueueLimit {
    type Err = LinkError;

    /// Reads packets, `86` or `86p`, or bytes, `128kb`, `64KiB`, `1500b`.
    fn from_str(input: &str) -> Result<Self, LinkError> {
        let error = |problem| LinkError::Value {
            what: "queue size",
            input: input.to_owned(),
            problem,
            example: "86 (packets), 128kb (1000 bytes each) or 64kib (1024 bytes each)",
        };
        let (number, unit) = split_number(input);
        let decimal = Decimal::parse(number).ok_or_else(|| error("not a number"))?;
        let unit = unit.to_ascii_lowercase();
        let limit = if unit.is_empty() || unit == "p" {
            let packets = decimal.whole().ok_or_else(|| error("packets come whole"))?;
            Self::Packets(packets)
        } else {
            let known = BYTE_UNITS.iter().find(|(name, _)| *name == unit);
            let (_, scale) = known.ok_or_else(|| error("unknown unit"))?;
            Self::Bytes(decimal.times(*scale).ok_or_else(|| error("too large"))?)
        };
        match limit {
            Self::Packets(0) | Self::Bytes(0) => Err(error("a queue holds at least one packet")),
            limit => Ok(limit),
        }
    }
}

impl fmt::Display for Probability {
    /// Writes the number from 0 to 1: `0.02`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

impl FromStr for Probability {
    type Err = LinkError;

    /// Reads `2%` or `0.02`.
    fn from_str(input: &str) -> Result<Self, LinkError> {
        let error = |problem| LinkError::Value {
            what: "probability",
            input: input.to_owned(),
            problem,
            example: "2% or 0.02",
        };
        let (number, scale) = match input.trim().strip_suffix('%') {
            Some(percent) => (percent.trim(), 100.0),
            None => (input.trim(), 1.0),
        };
        let number: f64 = number.parse().map_err(|_| error("not a number"))?;
        Self::new(number / scale).ok_or_else(|| error("must be from 0 to 1"))
    }
}

string_serde!(Rate);

string_or_number_serde!(QueueLimit, "a queue size such as 86 or \"128kb\"");
string_or_number_serde!(Probability, "a probability such as 0.02 or \"2%\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rates_in_bits_per_second() {
        let parse = |text: &str| text.parse::<Rate>().unwrap().bits_per_s();
        assert_eq!(parse("10mbit"), 10_000_000);
        assert_eq!(parse("1.5Gbit"), 1_500_000_000);
        assert_eq!(parse("500 kbit/s"), 500_000);
        assert_eq!(parse("0.1mbit"), 100_000);
        assert_eq!(parse("9600bit"), 9_600);
    }

    #[test]
    fn refuses_rates_by_saying_what_would_be_right() {
        for (text, problem) in [
            ("10", "the unit is missing"),
            ("10mbps", "bits and bytes are confused"),
            ("fast", "not a number"),
            ("1..5mbit", "not a number"),
            ("0mbit", "above zero"),
            ("-1mbit", "not a number"),
            ("10 furlongs", "unknown unit"),
            ("99999999999gbit", "too large"),
        ] {
            let message = text.parse::<Rate>().unwrap_err().to_string();
            assert!(message.contains(problem), "{text}: {message}");
            assert!(message.contains("10mbit"), "{message}");
        }
    }

    #[test]
    fn reads_queue_sizes_in_packets_or_bytes() {
        let parse = |text: &str| text.parse::<QueueLimit>().unwrap();
        assert_eq!(parse("86"), QueueLimit::Packets(86));
        assert_eq!(parse("86p"), QueueLimit::Packets(86));
        assert_eq!(parse("128kb"), QueueLimit::Bytes(128_000));
        assert_eq!(parse("64KiB"), QueueLimit::Bytes(65_536));
        assert_eq!(parse("1.5 mb"), QueueLimit::Bytes(1_500_000));
        assert_eq!(parse("40GB"), QueueLimit::Bytes(40_000_000_000));
        assert_eq!(parse("2TiB"), QueueLimit::Bytes(2 << 40));
        for text in ["", "0", "0kb", "1.5", "many", "5gallons"] {
            let message = text.parse::<QueueLimit>().unwrap_err().to_string();
            assert!(message.contains("128kb"), "{message}");
        }
    }

    #[test]
    fn reads_probabilities_as_percent_or_fraction() {
        assert_eq!("2%".parse(), Ok(Probability(0.02)));
        assert_eq!("0.02".parse(), Ok(Probability(0.02)));
        for text in ["101%", "-0.1", "NaN", "often", "2"] {
            let message = text.parse::<Probability>().unwrap_err().to_string();
            assert!(message.contains("2% or 0.02"), "{message}");
        }
    }

    #[test]
    fn prints_values_so_that_they_read_back() {
        for text in ["10mbit", "1500kbit", "7bit", "1gbit"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["86", "128000b"] {
            assert_eq!(text.parse::<QueueLimit>().unwrap().to_string(), text);
        }
        assert_eq!("2%".parse::<Probability>().unwrap().to_string(), "0.02");
    }

    #[test]
    fn reads_plain_numbers_of_packets_and_of_probability() {
        let limit = serde_json::from_str::<QueueLimit>;
        assert_eq!(limit("86").unwrap(), QueueLimit::Packets(86));
        assert_eq!(limit("\"86\"").unwrap(), QueueLimit::Packets(86));
        let probability = serde_json::from_str::<Probability>;
        assert_eq!(probability("0.02").unwrap(), Probability(0.02));
        assert_eq!(probability("1").unwrap(), Probability::ALWAYS);
        for message in [
            limit("-1").unwrap_err().to_string(),
            limit("1.5").unwrap_err().to_string(),
            limit("true").unwrap_err().to_string(),
        ] {
            assert!(message.contains("86"), "{message}");
        }
        let message = probability("2").unwrap_err().to_string();
        assert!(message.contains("must be from 0 to 1"), "{message}");
    }
}
