// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb rules`: lists, checks, explains and changes what the service keeps.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use ebb_daemon::{Book, Holds, Rule, Verdict, read, read_files, service_of, why};
use ebb_keeper::gateway::file::Rules as GatewayRules;
use ebb_keeper::gateway::wanted::Wanted;
use ebb_keeper::protocol::Request;
use ebb_keeper::registry::{Attached, Record, Registry};
use ebb_keeper::{Backend, Policies};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::daemon::Folders;
use crate::backend::require_root;
use crate::output::{self, complain, complain_of};

/// List, check and explain the rules by which the service ebbd keeps transfers in the background
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct Rules {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    folders: Folders,
}

/// What is done with rules.
#[derive(Debug, Subcommand)]
enum Action {
    Check(Check),
    Why(Why),
    /// Have ebbd read its rules again, once they are right (as root)
    Reload(Reload),
    /// Hold a rule back again that was set free (as root)
    On(Switch),
    /// Set everything under a rule free, until it is switched on or ebbd starts again (as root)
    Off(Switch),
}

/// Say what is wrong in files of rules, with line, key and what would be right
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
struct Check {
    /// Files; without them all that ebbd reads
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    folders: Folders,
}

/// Say which rule holds for a process, and why the others do not
#[derive(Debug, Args)]
#[command(after_help = WHY_HELP)]
struct Why {
    /// The process
    #[arg(value_name = "PID")]
    pid: u32,

    #[command(flatten)]
    folders: Folders,
}

#[derive(Debug, Args)]
struct Reload {
    #[command(flatten)]
    folders: Folders,
}

#[derive(Debug, Args)]
struct Switch {
    /// The rule's name
    #[arg(value_name = "RULE")]
    name: String,
}

const LONG_ABOUT: &str = "\
List, check and explain the rules by which the service ebbd keeps transfers in the background.

Rules are in /usr/lib/ebb/*.toml and /etc/ebb/*.toml; a file, or a rule, in /etc takes the place \
of one of the same name in /usr/lib. Of several that hold for a connection the first one acts, in \
the order of the files' names.";

const AFTER_HELP: &str = "\
A rule:
  [[rule]]
  name = \"backup\"
  unit = [\"restic*\", \"backup.service\"]   # or slice, container, cgroup, executable, user, port
  policy = \"ebb\"                         # what arrives; `ebb policies` lists them
  upload_policy = \"ebb-sender\"           # what is sent; \"none\" leaves it alone
  weight = 3                             # beside other rules, which have 1

For what this machine forwards ('ebb gateway --help' has the conditions):
  [gateway]
  lan = \"br-lan\"
  [[gateway.rule]]
  name = \"console\"
  client = \"192.168.1.40\"

Examples:
  ebb rules
  ebb rules check /etc/ebb/backup.toml
  ebb rules why $(pidof -s restic)
  sudo ebb rules reload
  sudo ebb rules off backup";

const CHECK_HELP: &str = "\
Examples:
  ebb rules check
  ebb rules check my-rules.toml

Exit status: 0 all is right, 1 something is wrong.";

const WHY_HELP: &str = "\
Examples:
  ebb rules why 4242
  ebb rules why $(pidof -s rclone)

Exit status: 0 a rule holds, 1 none does.";

impl Rules {
    /// Does it; answers the exit status.
    pub fn execute(self) -> Result<u8> {
        match self.action {
            None => list(&self.folders.all()).map(|()| 0),
            Some(Action::Check(check)) => check.execute(),
            Some(Action::Why(why)) => why.execute(),
            Some(Action::Reload(reload)) => reload.execute().map(|()| 0),
            Some(Action::On(switch)) => switch.execute(false).map(|()| 0),
            Some(Action::Off(switch)) => switch.execute(true).map(|()| 0),
        }
    }
}

fn list(folders: &[PathBuf]) -> Result<()> {
    let found = read(folders)?;
    let records = held_if_seen()?;
    complain_of(&found.problems);
    if found.rule_count() == 0 {
        let names: Vec<String> = folders
            .iter()
            .map(|folder| format!("{}/*.toml", folder.display()))
            .collect();
        return output::print(&format!(
            "there are no rules in {}; examples are in /usr/share/doc/ebb/examples\n",
            names.join(" and ")
        ));
    }
    let lines: Result<Vec<String>> = found
        .book
        .rules
        .iter()
        .map(|rule| line(rule, records.as_deref()))
        .collect();
    output::print(&lines?.concat())?;
    let gateways = gateways_if_seen()?;
    for wanted in &found.gateways {
        output::print(&of_gateway(wanted, gateways.as_deref()))?;
    }
    match (records, gateways) {
        (None, _) | (_, None) => {
            complain("which of them are in force root alone can see: sudo ebb rules");
        }
        (Some(records), Some(gateways)) if records.is_empty() && gateways.is_empty() => {
            complain("none of them is in force: ebbd does not run (systemctl enable --now ebbd)");
        }
        _ => {}
    }
    Ok(())
}

fn of_gateway(wanted: &Wanted, records: Option<&[Record]>) -> String {
    let is_its = |record: &&Record| matches!(&record.attached, Attached::Gateway { file, .. } if *file == wanted.file);
    let record = records.and_then(|records| records.iter().find(is_its));
    let state = match record {
        _ if records.is_none() => String::new(),
        None => " (not in force)".to_owned(),
        Some(record) if record.is_observing => " (off)".to_owned(),
        Some(record) => match missing_interfaces(wanted, record).as_slice() {
            [] => " (on)".to_owned(),
            missing => format!(" (on, without {})", missing.join(" ")),
        },
    };
    let policy = record.map_or_else(|| wanted.policy.to_string(), |it| it.policy.clone());
    let (file, GatewayRules { rules, lines }) = (wanted.file.display(), &wanted.rules);
    let mut text = format!(
        "gateway of {}{state}\n  by {policy}; {file}:{}\n",
        wanted.interfaces.join(" "),
        wanted.line
    );
    for (rule, line) in rules.iter().zip(lines) {
        let what = match rule.is_background {
            true => "yields",
            false => "is left alone",
        };
        text += &format!("  {}: {what}; {file}:{line}\n", rule.name);
    }
    text
}

/// The interfaces that a gateway which works is not on.
fn missing_interfaces<'a>(wanted: &'a Wanted, record: &Record) -> Vec<&'a str> {
    let Attached::Gateway { interfaces, .. } = &record.attached else {
        return Vec::new();
    };
    let names = wanted.interfaces.iter();
    let missing = names.filter(|name| !interfaces.contains(name));
    missing.map(String::as_str).collect()
}

/// The gateways that work; none: root alone can see that.
fn gateways_if_seen() -> Result<Option<Vec<Record>>> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(None);
    }
    let mut records = Registry::open()?.all_records()?;
    records.retain(|record| matches!(record.attached, Attached::Gateway { .. }));
    Ok(Some(records))
}

fn line(rule: &Rule, records: Option<&[(String, Record)]>) -> Result<String> {
    let is_its = |(name, _): &&(String, Record)| *name == rule.name;
    let record = records.and_then(|records| records.iter().find(is_its));
    let state = match record {
        _ if records.is_none() => "",
        Some((_, record)) if record.is_observing => " (off)",
        Some(_) => " (on)",
        None => " (not in force)",
    };
    let policies = match record {
        Some((_, record)) => output::policies(&record.policy, record.upload_policy.as_ref()),
        None => {
            let wanted = Policies::new(&rule.wanted, Backend::Kernel)?;
            output::policies(&wanted.download.to_string(), wanted.upload.as_ref())
        }
    };
    let weight = rule.weight.map(|weight| format!(", weight {weight}"));
    Ok(format!(
        "{}{state}: {}\n  by {policies}{}; {}:{}\n",
        rule.name,
        rule.conditions.in_words(),
        weight.unwrap_or_default(),
        rule.file.display(),
        rule.line
    ))
}

/// The rules that are in force; none: root alone can see that.
fn held_if_seen() -> Result<Option<Vec<(String, Record)>>> {
    let is_root = nix::unistd::geteuid().is_root();
    is_root.then(held).transpose()
}

/// The rules that are in force, as root sees them.
fn held() -> Result<Vec<(String, Record)>> {
    let records = Registry::open()?.all_records()?;
    let rules = records.into_iter().filter_map(|record| {
        let Attached::Rule { name, .. } = &record.attached else {
            return None;
        };
        Some((name.clone(), record))
    });
    Ok(rules.collect())
}

impl Check {
    fn execute(self) -> Result<u8> {
        let found = match self.files.is_empty() {
            true => read(&self.folders.all())?,
            false => read_files(&self.files)?,
        };
        if found.problems.is_empty() {
            let count = found.rule_count();
            let plural = output::plural(count as u64);
            output::print(&format!("{count} rule{plural}: right\n"))?;
            return Ok(0);
        }
        complain_of(&found.problems);
        Ok(1)
    }
}

impl Why {
    fn execute(self) -> Result<u8> {
        let found = read(&self.folders.all())?;
        complain_of(&found.problems);
        let verdict = why(&found.book, self.pid)?;
        output::print(&explain(&verdict, &found.book))?;
        let holds = |(_, holds): &(&Rule, Holds)| matches!(holds, Holds::Acts | Holds::ForPorts);
        Ok(u8::from(!verdict.rules.iter().any(holds)))
    }
}

fn explain(verdict: &Verdict<'_>, book: &Book) -> String {
    let facts = &verdict.facts;
    let container = facts.container.as_ref().and_then(|it| it.name.as_ref());
    let mut text = format!(
        "process {}: program {}, user {}, cgroup {}{}\n",
        facts.pid,
        facts.executable.as_deref().unwrap_or("none"),
        facts.user,
        facts.cgroup.display(),
        container.map_or_else(String::new, |name| format!(", container {name}")),
    );
    if book.rules.is_empty() {
        return text + "there are no rules\n";
    }
    for (rule, holds) in &verdict.rules {
        let holds = match holds {
            Holds::Acts => "holds: new connections yield by it".to_owned(),
            Holds::ForPorts => {
                let ports: Vec<String> = rule.conditions.ports.iter().map(u16::to_string).collect();
                format!("holds for connections with port {}", ports.join(" or "))
            }
            Holds::After(first) => format!("would hold, but {first} goes before it"),
            Holds::No(reason) => format!("does not hold: {reason}"),
        };
        text += &format!("  {}: {holds}\n", rule.name);
    }
    text
}

impl Reload {
    fn execute(self) -> Result<()> {
        require_root("rules reload")?;
        let found = read(&self.folders.all())?;
        if !found.problems.is_empty() {
            complain_of(&found.problems);
            bail!("the rules stay as they are, until these files are right");
        }
        let not_running = "ebbd does not run: start it by 'systemctl enable --now ebbd'";
        let pid = service_of(Registry::open()?.directory())?.context(not_running)?;
        kill(Pid::from_raw(pid.cast_signed()), Signal::SIGHUP).context(not_running)?;
        let count = found.rule_count();
        let plural = output::plural(count as u64);
        output::print(&format!("ebbd reads {count} rule{plural}\n"))
    }
}

impl Switch {
    fn execute(self, is_free: bool) -> Result<()> {
        require_root(if is_free { "rules off" } else { "rules on" })?;
        let records = held()?;
        let Some((_, record)) = records.iter().find(|(name, _)| *name == self.name) else {
            let names: Vec<&str> = records.iter().map(|(name, _)| name.as_str()).collect();
            match names.as_slice() {
                [] => bail!("no rule is in force: ebbd does not run, or it has no rules"),
                names => bail!(
                    "no rule '{}' is in force; there are: {}",
                    self.name,
                    names.join(", ")
                ),
            }
        };
        Registry::open()?.ask(record, &Request::SetObserving(is_free))?;
        let state = if is_free {
            "free for now"
        } else {
            "held back again"
        };
        output::print(&format!("rule {}: {state}\n", self.name))
    }
}
