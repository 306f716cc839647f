// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transfer, drawn by chance, and the paths that it may have to cross.

use ebb_lab::emulator::PathSpec;
use ebb_link::{LinkSpec, Nanos, Probability, QueueLimit, Rate};
use rand::RngExt;
use rand::seq::IndexedRandom;

use crate::settings::Settings;

/// Of both directions of every path.
const MBIT_PER_S: u32 = 10;
const ONE_WAY_MS: u64 = 15;
/// Sizes are spread evenly over their logarithms.
const MOST_BYTES: f64 = 4_000_000.0;
/// What all transfers are parts of.
pub const CONTENT_BYTES: usize = 8_000_000;

/// As server.rs and client.py have them.
const SLOW_BYTES_PER_S: f64 = 8_192.0 / 0.01;
const PAUSE_S: f64 = 0.5;

/// How the two ends behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manner {
    /// As fast as they can.
    Usual,
    /// The reader takes 8 KiB every 10 ms, two thirds of what the path carries.
    SlowReader,
    /// The reader does not read for half a second, at the beginning and in the middle.
    ZeroWindow,
    /// Who receives has said at once that it sends nothing more.
    HalfClose,
}

/// What a path does to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    Nothing,
    Loss,
    Reordering,
    Duplication,
    Corruption,
    MtuChanges,
    /// All of these at once.
    Everything,
}

/// What follows from a seed and a number.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub number: u64,
    pub is_upload: bool,
    pub bytes: usize,
    /// Where in the content it begins.
    pub offset: usize,
    pub manner: Manner,
}

impl Manner {
    pub const ALL: [Self; 4] = [
        Self::Usual,
        Self::SlowReader,
        Self::ZeroWindow,
        Self::HalfClose,
    ];
}

impl Harm {
    pub const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Loss,
        Self::Reordering,
        Self::Duplication,
        Self::Corruption,
        Self::MtuChanges,
        Self::Everything,
    ];

    pub fn changes_mtu(self) -> bool {
        matches!(self, Self::MtuChanges | Self::Everything)
    }

    /// A path that does it, both ways.
    pub fn path(self, seed: u64) -> PathSpec {
        let has = |harm| self == harm || self == Self::Everything;
        let share = |is_so: bool, share| match is_so {
            true => Probability::new(share).unwrap(),
            false => Probability::NEVER,
        };
        let delay = Nanos::from_millis(ONE_WAY_MS);
        let rate = Rate::from_mbit_per_s(MBIT_PER_S);
        let link = LinkSpec {
            loss: share(has(Self::Loss), 0.01),
            reorder: share(has(Self::Reordering), 0.02),
            reorder_delay: Nanos::from_millis(4),
            duplicate: share(has(Self::Duplication), 0.02),
            ..LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(86))
        };
        PathSpec {
            corrupt: share(has(Self::Corruption), 0.01),
            congestion_control: Some("cubic".into()),
            seed,
            ..PathSpec::new(link.clone(), link)
        }
    }
}

impl Transfer {
    pub fn draw(settings: &Settings, number: u64) -> Self {
        let mut chance = settings.chance(number);
        let manners = [
            Manner::Usual,
            Manner::Usual,
            Manner::SlowReader,
            Manner::ZeroWindow,
            Manner::HalfClose,
        ];
        let bytes = MOST_BYTES.powf(chance.random_range(0.0..1.0)) as usize;
        Self {
            number,
            is_upload: chance.random_bool(0.5),
            bytes,
            offset: chance.random_range(0..CONTENT_BYTES - bytes),
            manner: *manners.choose(&mut chance).unwrap(),
        }
    }

    /// What the client is told, and tells the server.
    pub fn words(&self) -> String {
        let way = if self.is_upload { "up" } else { "down" };
        let Self {
            number,
            bytes,
            offset,
            manner,
            ..
        } = self;
        format!("{number} {way} {offset} {bytes} {manner:?}")
    }

    /// What it was made of by [`Transfer::words`]; none if it is not whole.
    pub fn from_words(words: &str) -> Option<Self> {
        let mut words = words.split_whitespace();
        Some(Self {
            number: words.next()?.parse().ok()?,
            is_upload: words.next()? == "up",
            offset: words.next()?.parse().ok()?,
            bytes: words.next()?.parse().ok()?,
            manner: match words.next()? {
                "SlowReader" => Manner::SlowReader,
                "ZeroWindow" => Manner::ZeroWindow,
                "HalfClose" => Manner::HalfClose,
                _ => Manner::Usual,
            },
        })
    }

    /// How long it takes at the least on a path without harm: a handshake, a request, every byte
    /// with its headers, and the pauses that are intended.
    pub fn ideal_s(&self) -> f64 {
        let packets = self.bytes.div_ceil(1_448);
        let wire_bytes = self.bytes + packets * 52;
        let way_s = ONE_WAY_MS as f64 / 1e3;
        let wire_s = wire_bytes as f64 * 8.0 / f64::from(MBIT_PER_S) / 1e6;
        let intended_s = match self.manner {
            Manner::Usual | Manner::HalfClose => 0.0,
            Manner::SlowReader => (self.bytes as f64 / SLOW_BYTES_PER_S - wire_s).max(0.0),
            Manner::ZeroWindow => 2.0 * PAUSE_S,
        };
        4.0 * way_s + wire_s + intended_s
    }
}
