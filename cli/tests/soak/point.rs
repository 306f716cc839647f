// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A point at which something of Ebb is killed, drawn by chance.

use std::time::Duration;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::settings::Settings;
use crate::victims::Victims;

/// What Ebb is about when it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// `ebb run` starts a program.
    Load,
    /// `ebb attach` begins on a program that has connections.
    Attach,
    /// It takes over the first of its connections.
    Adopt,
    /// A program runs under `ebb run`.
    Hold,
    /// `ebb attach` once more, with other policies.
    Change,
    /// Connections are set free and held back, as by `ebb top`.
    Switch,
    /// `ebb detach` lets go.
    Detach,
}

/// How the policy reaches the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backend {
    Kernel,
    User,
}

/// What follows from a seed and a number.
#[derive(Clone, Debug)]
pub struct Point {
    pub number: u64,
    pub backend: Backend,
    pub phase: Phase,
    /// From the beginning of the phase to the kill.
    pub delay: Duration,
    pub victims: Victims,
    /// Attached to its cgroup, and not to its process.
    pub is_by_cgroup: bool,
    pub is_ipv6: bool,
    /// Four connections each.
    pub sets: usize,
    /// Before the kill, and by the change of laws.
    pub policies: [[&'static str; 2]; 2],
    /// Another set of connections is opened as it is killed.
    pub opens_more: bool,
}

impl Phase {
    pub const ALL: [Self; 7] = [
        Self::Load,
        Self::Attach,
        Self::Adopt,
        Self::Hold,
        Self::Change,
        Self::Switch,
        Self::Detach,
    ];

    /// The program is started by `ebb run`.
    pub fn is_of_run(self) -> bool {
        matches!(self, Self::Load | Self::Hold)
    }

    /// The kill falls into so long from its beginning. Where programs are loaded that takes long
    /// when many do it at once.
    fn span(self) -> Duration {
        Duration::from_millis(match self {
            Self::Load | Self::Attach | Self::Change => 1_500,
            Self::Adopt => 50,
            Self::Hold => 2_000,
            Self::Switch | Self::Detach => 200,
        })
    }
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::User => "user",
        }
    }

    /// Those of who names none.
    pub fn usual_policies(self) -> [&'static str; 2] {
        [self.download_policies()[0], self.upload_policies()[0]]
    }

    fn download_policies(self) -> &'static [&'static str] {
        match self {
            Self::Kernel => &["ebb", "ebb:target_us=8000", "vulture", "rledbat"],
            Self::User => &["sampled", "sampled:target_us=9000"],
        }
    }

    fn upload_policies(self) -> &'static [&'static str] {
        match self {
            Self::Kernel => &["ebb-sender", "ledbat++", "tcp-lp", "bbr"],
            Self::User => &["paced", "paced:target_us=9000"],
        }
    }

    /// Who of it may be killed.
    pub fn victims(self, phase: Phase) -> &'static [Victims] {
        match (phase.is_of_run(), self) {
            (false, _) => &[Victims::Holder],
            (true, Self::Kernel) => &[Victims::Holder, Victims::Starter, Victims::HolderAndStarter],
            (true, Self::User) => &[
                Victims::Holder,
                Victims::Starter,
                Victims::HolderAndStarter,
                Victims::GuardianAndStarter,
                Victims::HolderAndGuardian,
            ],
        }
    }
}

impl Point {
    pub fn draw(settings: &Settings, number: u64) -> Self {
        let mut chance = settings.chance(number);
        // All pairs of the two within any fourteen numbers.
        let phase = Phase::ALL[usize::try_from(number % 7).unwrap()];
        let backend = [Backend::Kernel, Backend::User][usize::try_from(number % 2).unwrap()];
        Self {
            number,
            backend,
            phase,
            delay: phase.span().mul_f64(chance.random_range(0.0..1.0)),
            victims: *backend.victims(phase).choose(&mut chance).unwrap(),
            is_by_cgroup: chance.random_bool(0.5),
            is_ipv6: chance.random_bool(0.25),
            sets: if phase == Phase::Adopt { 4 } else { 1 },
            policies: [
                policies(backend, &mut chance),
                policies(backend, &mut chance),
            ],
            opens_more: chance.random_bool(0.5),
        }
    }
}

fn policies(backend: Backend, chance: &mut Xoshiro256PlusPlus) -> [&'static str; 2] {
    [backend.download_policies(), backend.upload_policies()].map(|of| *of.choose(chance).unwrap())
}
