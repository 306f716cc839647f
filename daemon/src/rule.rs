// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rules: who is to yield, and how.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ebb_keeper::Wanted;
use ebb_keeper::registry::Attached;

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its name, by which it is listed.
    pub name: String,
    /// The file that has it.
    pub file: PathBuf,
    /// Where in the file, from 1.
    pub line: usize,
    /// Whom it is for.
    pub conditions: Conditions,
    /// How they are to yield.
    pub wanted: Wanted,
    /// What it has beside other rules of what others leave, if that is said.
    pub weight: Option<u32>,
}

/// Whom a rule is for: everything that is named has to hold. Of units, slices, cgroups and
/// containers one has to, and likewise one of several of a kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conditions {
    /// Names of systemd's units, with their suffixes; globs.
    pub units: Vec<String>,
    /// Names of slices, with their suffix; globs.
    pub slices: Vec<String>,
    /// Paths from the root of the hierarchy; globs.
    pub cgroups: Vec<String>,
    /// Containers.
    pub containers: Vec<ContainerPattern>,
    /// Names of programs' files.
    pub executables: Vec<String>,
    /// Users: their numbers by how they are called in the file.
    pub users: BTreeMap<String, u32>,
    /// TCP ports, at either end.
    pub ports: Vec<u16>,
}

/// Containers: everything that is named has to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerPattern {
    /// Its name; a glob.
    pub name: Option<String>,
    /// Its image as its manager names it; a glob.
    pub image: Option<String>,
    /// A label, and its value if that matters; a glob.
    pub label: Option<(String, Option<String>)>,
}

/// All rules, the first one that holds being the one that acts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Book {
    /// In their order.
    pub rules: Vec<Rule>,
}

#[cfg(test)]
impl Rule {
    /// One for tests.
    pub(crate) fn named(name: &str, conditions: Conditions) -> Self {
        Self {
            name: name.to_owned(),
            file: "/etc/ebb/a.toml".into(),
            line: 1,
            conditions,
            wanted: Wanted::default(),
            weight: None,
        }
    }
}

impl Rule {
    /// As it is listed among what is attached.
    pub fn attached(&self) -> Attached {
        Attached::Rule {
            name: self.name.clone(),
            file: self.file.clone(),
            weight: self.weight,
        }
    }

    /// The name of its record.
    pub fn id(&self) -> String {
        format!("rule-{}", self.name)
    }
}

impl Conditions {
    /// Whether it names any cgroups, by whatever name.
    pub fn has_groups(&self) -> bool {
        !(self.units.is_empty()
            && self.slices.is_empty()
            && self.cgroups.is_empty()
            && self.containers.is_empty())
    }

    /// Whether it names nobody at all.
    pub fn are_empty(&self) -> bool {
        *self == Self::default()
    }

    /// In words, for lists: `unit apt*.service, user ada`.
    pub fn in_words(&self) -> String {
        let mut words = Vec::new();
        let mut say = |key: &str, names: Vec<String>| {
            words.extend((!names.is_empty()).then(|| format!("{key} {}", names.join(" or "))));
        };
        say("unit", self.units.clone());
        say("slice", self.slices.clone());
        say("cgroup", self.cgroups.clone());
        let containers = self.containers.iter().map(ContainerPattern::in_words);
        say("container", containers.collect());
        say("executable", self.executables.clone());
        say("user", self.users.keys().cloned().collect());
        say("port", self.ports.iter().map(u16::to_string).collect());
        words.join(", ")
    }
}

impl ContainerPattern {
    fn in_words(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.name.clone());
        words.extend(self.image.as_ref().map(|image| format!("image {image}")));
        words.extend(self.label.as_ref().map(|(key, value)| match value {
            Some(value) => format!("label {key}={value}"),
            None => format!("label {key}"),
        }));
        words.join(" ")
    }
}
