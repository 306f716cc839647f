// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which rule holds for a process, and why others do not.

use std::fs;
use std::path::{Path, PathBuf};

use ebb_keeper::kernel::PathRules;
use ebb_keeper::kernel::rules::EXEMPT;

use crate::bits::{Bits, patterns_of, ruling};
use crate::containers::{Container, Managers};
use crate::error::{Error, Result};
use crate::rule::{Book, Rule};

/// What holds for a process.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict<'a> {
    /// What it was judged by.
    pub facts: Facts,
    /// Each rule, in their order.
    pub rules: Vec<(&'a Rule, Holds)>,
}

/// Whether a rule holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// It acts on the process's connections.
    Acts,
    /// It acts on those of its ports, of which the rule names some.
    ForPorts,
    /// It would hold, but an earlier one does.
    After(String),
    /// It does not; why.
    No(String),
}

/// What is known of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Its number.
    pub pid: u32,
    /// The name of the file that it runs, unless it is a thread of the kernel.
    pub executable: Option<String>,
    /// Its cgroup, from the root of the hierarchy.
    pub cgroup: PathBuf,
    /// The number of its user.
    pub user: u32,
    /// Its container, if it is in one of which something is known.
    pub container: Option<Container>,
}

/// Judges a process as the kernel judges connections that it makes now. Those that it has may be
/// of another time: a connection belongs to the cgroup in which its socket was made.
///
/// *Errors:* [`Error::Process`]; the rules cannot be judged.
pub fn why(book: &Book, pid: u32) -> Result<Verdict<'_>> {
    let facts = Facts::of(pid)?;
    let mut bits = Bits::default();
    bits.assign(book);
    if holds_above(&ruling(book, &bits)?.paths, &facts.cgroup) & EXEMPT != 0 {
        let no = Holds::No("it runs under 'ebb run', which has policies of its own".to_owned());
        let rules = book.rules.iter().map(|rule| (rule, no.clone())).collect();
        return Ok(Verdict { facts, rules });
    }
    let mut first: Option<String> = None;
    let mut rules = Vec::new();
    for rule in &book.rules {
        let holds = match (misses(rule, &facts)?, &first) {
            (Some(reason), _) => Holds::No(reason),
            (None, Some(first)) => Holds::After(first.clone()),
            (None, None) if !rule.conditions.ports.is_empty() => Holds::ForPorts,
            (None, None) => {
                first = Some(rule.name.clone());
                Holds::Acts
            }
        };
        rules.push((rule, holds));
    }
    Ok(Verdict { facts, rules })
}

/// The first condition that does not hold, in words.
fn misses(rule: &Rule, facts: &Facts) -> Result<Option<String>> {
    let conditions = &rule.conditions;
    if conditions.has_groups() && !is_in_group(rule, facts)? {
        return Ok(Some(match &facts.container {
            Some(container) if !conditions.containers.is_empty() => format!(
                "its container is {} of image {}",
                container.name.as_deref().unwrap_or("without a name"),
                container.image.as_deref().unwrap_or("unknown")
            ),
            _ => format!("its cgroup is {}", facts.cgroup.display()),
        }));
    }
    let users: Vec<u32> = conditions.users.values().copied().collect();
    if !users.is_empty() && !users.contains(&facts.user) {
        return Ok(Some(format!("its user is {}", facts.user)));
    }
    let executable = facts.executable.as_deref().unwrap_or("none");
    let executables = &conditions.executables;
    if !executables.is_empty() && !executables.iter().any(|name| name == executable) {
        return Ok(Some(format!("its program is {executable}")));
    }
    Ok(None)
}

fn is_in_group(rule: &Rule, facts: &Facts) -> Result<bool> {
    let patterns = patterns_of(&rule.conditions).into_iter();
    let patterns: Vec<(String, u64)> = patterns.map(|pattern| (pattern, 1)).collect();
    let mut containers = rule.conditions.containers.iter();
    let holds_for_container = |container| containers.any(|pattern| pattern.holds_for(container));
    Ok(
        holds_above(&PathRules::build(&patterns)?, &facts.cgroup) != 0
            || facts.container.as_ref().is_some_and(holds_for_container),
    )
}

/// What holds for a cgroup, or for one that it is in.
fn holds_above(paths: &PathRules, cgroup: &Path) -> u64 {
    let above = cgroup.ancestors();
    let each = above.map(|path| paths.rules_of(&path.to_string_lossy()));
    each.fold(0, |all, rules| all | rules)
}

impl Facts {
    fn of(pid: u32) -> Result<Self> {
        let failed = |source| Error::Process { pid, source };
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let status = fs::read_to_string(proc.join("status")).map_err(failed)?;
        let cgroup = ebb_host::cgroup_of(pid).ok().flatten();
        let cgroup = cgroup.unwrap_or_else(|| PathBuf::from("/"));
        let executable = fs::read_link(proc.join("exe")).ok();
        let executable = executable.and_then(|path| {
            let name = path.file_name()?.to_str()?;
            Some(name.strip_suffix(" (deleted)").unwrap_or(name).to_owned())
        });
        let container = Managers::below(Path::new("/")).find_for(&cgroup);
        Ok(Self {
            pid,
            executable,
            cgroup,
            user: file_system_user(&status),
            container,
        })
    }
}

/// Sockets belong to the file system's user, the last number.
fn file_system_user(status: &str) -> u32 {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let last = line.and_then(|line| line.split_whitespace().last());
    last.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Conditions;

    #[test]
    fn the_first_rule_that_holds_acts_and_the_others_say_why_they_do_not() {
        let own = std::process::id();
        let facts = Facts::of(own).unwrap();
        let user = Conditions {
            users: [("me".to_owned(), facts.user)].into(),
            ..Conditions::default()
        };
        let other = Conditions {
            users: [("other".to_owned(), facts.user + 1)].into(),
            ..Conditions::default()
        };
        let unit = Conditions {
            units: vec!["no-such.service".to_owned()],
            ..user.clone()
        };
        let program = Conditions {
            executables: facts.executable.iter().cloned().collect(),
            ..Conditions::default()
        };
        let ports = Conditions {
            ports: vec![873],
            ..user.clone()
        };
        let book = Book {
            rules: vec![
                Rule::named("other", other),
                Rule::named("unit", unit),
                Rule::named("rsync", ports),
                Rule::named("program", program),
                Rule::named("user", user),
            ],
        };
        let verdict = why(&book, own).unwrap();
        let holds: Vec<&Holds> = verdict.rules.iter().map(|(_, holds)| holds).collect();
        assert_eq!(*holds[0], Holds::No(format!("its user is {}", facts.user)));
        assert!(matches!(holds[1], Holds::No(why) if why.starts_with("its cgroup is ")));
        assert_eq!(*holds[2], Holds::ForPorts);
        assert_eq!(*holds[3], Holds::Acts);
        assert_eq!(*holds[4], Holds::After("program".to_owned()));
        assert!(why(&book, u32::MAX).is_err());
    }
}
