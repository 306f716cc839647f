// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::PathBuf;

use ebb_algorithms::{Policy, Side, nearest};
use ebb_link::{Class, Nanos};
use ebb_scenario::Scenario;

use crate::{ExperimentError, PolicyChoice};

/// The scenarios that laws are held against.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// In the order of the file. *Shape:* at least one, names differ.
    pub scenarios: Vec<ScoreScenario>,
}

/// Which scenarios: those that laws are tuned on, or others, which do not count for its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Chosen to cover the ground, in `matrix.toml`.
    Tuning,
    /// Drawn at random, in `held-out.toml`: what a law does where nobody looked.
    HeldOut,
    /// Routers of today, DualPI2 and CAKE, in `queues.toml`.
    Queues,
    /// Links whose rate varies, in `varying.toml`.
    Varying,
    /// Routers with a queue for each flow, and what could be taken for one, in `fair.toml`.
    Fair,
    /// Links with a bucket of tokens, drawn at random, in `buckets.toml`.
    Buckets,
}

impl Group {
    pub(super) const fn file(self) -> &'static str {
        match self {
            Self::Tuning => "matrix.toml",
            Self::HeldOut => "held-out.toml",
            Self::Queues => "queues.toml",
            Self::Varying => "varying.toml",
            Self::Fair => "fair.toml",
            Self::Buckets => "buckets.toml",
        }
    }
}

/// One scenario: its flows of the class `lbe` are those that a law governs.
#[derive(Clone, Debug)]
pub struct ScoreScenario {
    /// Its name in the matrix.
    pub name: String,
    /// One line on what happens.
    pub title: String,
    /// The scenario's file.
    pub file: PathBuf,
    /// What is set in it, as `ebb sim run --set` has it.
    pub settings: Vec<String>,
    /// When others send: from, to. *Shape:* in order of time; empty: yielding and reaping are
    /// not timed.
    pub busy: Vec<(Nanos, Nanos)>,
    /// Whether it is part of a quick run.
    pub is_quick: bool,
    /// As it stands in the file, with what is set.
    pub scenario: Scenario,
}

impl Matrix {
    /// Those of these names; all of them, or the quick ones, if none is named.
    ///
    /// *Errors:* [`ExperimentError::UnknownScenario`] with the nearest name.
    pub fn select(
        &self,
        names: &[String],
        is_quick: bool,
    ) -> Result<Vec<&ScoreScenario>, ExperimentError> {
        let known = || self.scenarios.iter().map(|one| one.name.as_str());
        for name in names {
            if !known().any(|known| known == name) {
                let hint = match nearest(name, known()) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => "`ebb score --list` lists them".to_owned(),
                };
                let name = name.clone();
                return Err(ExperimentError::UnknownScenario { name, hint });
            }
        }
        let is_wanted = |one: &&ScoreScenario| match names.is_empty() {
            true => one.is_quick || !is_quick,
            false => names.contains(&one.name),
        };
        Ok(self.scenarios.iter().filter(is_wanted).collect())
    }
}

impl ScoreScenario {
    /// With this law on the flows that yield.
    pub fn with_law(&self, law: &Policy, runs: u32) -> Scenario {
        let mut scenario = self.prepared(runs);
        PolicyChoice::Law(law.clone()).apply(&mut scenario);
        scenario
    }

    /// What strict priority gives those that yield: the queue has two classes, and CUBIC
    /// takes what the first one leaves.
    pub fn ideal(&self, runs: u32) -> Scenario {
        let mut scenario = self.prepared(runs);
        PolicyChoice::Priority.apply(&mut scenario);
        scenario
    }

    /// What strict priority gives the others: nobody else is there; none if there are none.
    pub fn undisturbed(&self, runs: u32) -> Option<Scenario> {
        let mut scenario = self.prepared(runs);
        scenario.flows.retain(|flow| !yields(flow.class));
        (!scenario.flows.is_empty()).then_some(scenario)
    }

    /// The command that runs a cell by itself.
    pub fn command(&self, law: &Policy) -> String {
        let mut command = format!("ebb sim run {}", self.file.display());
        for setting in &self.settings {
            command += &format!(" --set {}", quoted(setting));
        }
        let key = match law.law().side() {
            Side::Receiver => "receiver",
            Side::Sender => "sender",
        };
        let mut groups: Vec<&str> = Vec::new();
        for flow in self.scenario.flows.iter().filter(|flow| yields(flow.class)) {
            if !groups.contains(&flow.group.as_str()) {
                groups.push(&flow.group);
                command += &format!(
                    " --set {}",
                    quoted(&format!("flow.{}.{key}={law}", flow.group))
                );
            }
        }
        command
    }

    /// How long a mean of a rate is, so that the shortest time with or without others has ten
    /// of them.
    pub(super) fn window(&self) -> Nanos {
        let busy = self.busy.iter().map(|(from, to)| to.since(*from));
        let idle = self.busy.windows(2).map(|pair| pair[1].0.since(pair[0].1));
        let shortest = busy.chain(idle).min().unwrap_or(Nanos::from_secs(10));
        Nanos((shortest.0 / 10).clamp(10_000_000, 1_000_000_000))
    }

    fn prepared(&self, runs: u32) -> Scenario {
        let mut scenario = self.scenario.clone();
        scenario.name.clone_from(&self.name);
        scenario.runs = runs;
        scenario.has_flow_series = !self.busy.is_empty();
        scenario.bin = match scenario.has_flow_series {
            true => Nanos(self.window().0 / BINS),
            false => scenario.duration,
        };
        scenario
    }
}

/// Bins of a mean: it slides by one of them.
pub(super) const BINS: u64 = 5;

pub(super) fn yields(class: Class) -> bool {
    class == Class::LessThanBestEffort
}

/// As a shell takes it for one word.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.=:/,%+".contains(letter);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
