// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb gateway`: downloads of the devices behind this machine yield.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use ebb_algorithms::{Policy, Side};
use ebb_keeper::gateway::file::{self, Rules};
use ebb_keeper::gateway::wanted::{CONNECTIONS, CONNECTIONS_BOUNDS, twice};
use ebb_keeper::gateway::{
    CodePoint, Counters, Event, Hook, Interface, Mac, Mark, Options, Session, Subject, judge,
};

use crate::backend::require_root;
use crate::output::{self, complain};

/// Make downloads of the devices behind this machine yield
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Gateway {
    #[command(subcommand)]
    verb: Option<Verb>,

    /// The interface that the devices are behind; several, where they are behind several
    #[arg(long, value_name = "IF", required = true)]
    lan: Vec<String>,

    /// The receiver law and its parameters; 'ebb policies' lists them
    #[arg(short, long, value_name = "POLICY", value_parser = Policy::receiver)]
    policy: Option<Policy>,

    /// Connections that are known at once, governed or not: 200 bytes each
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS)]
    #[arg(value_parser = clap::value_parser!(u32).range(connections_bounds()))]
    connections: u32,

    /// How programs are put on the interface; by itself tcx, where the kernel has it
    #[arg(long, value_name = "HOW")]
    attach_by: Option<AttachBy>,

    /// Which connections yield (docs/gateway.md)
    #[arg(value_name = "RULES.toml", required = true)]
    rules: Option<PathBuf>,
}

/// How programs are put on an interface.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AttachBy {
    /// In front of all others; gone with Ebb (Linux 6.6)
    Tcx,
    /// As filters of the queueing discipline clsact; without effect once Ebb is gone
    Clsact,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Only say whether the rules are right
    #[command(after_help = "Examples:\n  ebb gateway check home.toml")]
    Check {
        /// The rules
        #[arg(value_name = "RULES.toml")]
        rules: PathBuf,
    },
    Why(Why),
}

/// Say which rule is for a connection
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebb gateway why home.toml 192.168.1.40 198.51.100.7:443
  ebb gateway why home.toml 192.168.1.40 198.51.100.7:443 --moved 30MB --dscp CS1")]
struct Why {
    /// The rules
    #[arg(value_name = "RULES.toml")]
    rules: PathBuf,

    /// The device's address
    client: IpAddr,

    /// The other end: its address and port, as 198.51.100.7:443 or [2001:db8::7]:443
    remote: SocketAddr,

    /// The device's address of Ethernet
    #[arg(long)]
    mac: Option<Mac>,

    /// The interface that it is behind
    #[arg(long)]
    interface: Option<String>,

    /// A code point on its packets, as CS1
    #[arg(long)]
    dscp: Option<CodePoint>,

    /// The mark that the packet filter gives its packets, as 16 or 0x10
    #[arg(long, default_value = "0")]
    mark: Mark,

    /// What it has moved without a pause of ten seconds, as 30MB
    #[arg(long, value_name = "SIZE", value_parser = ebb_scenario::reading::size)]
    moved: Option<u64>,
}

const LONG_ABOUT: &str = "\
Make downloads of the devices behind this machine yield.

This machine forwards packets: it is a router, an access point, or it runs containers or virtual \
machines. Nothing runs on the devices themselves. Which of their TCP connections are background \
is said by the rules of a file; the first that is for a connection counts, and one that no rule \
is for is left alone. What is background gets the bandwidth that nobody else wants: the windows \
in its acknowledgements are made smaller as they pass, never larger, and nothing is dropped or \
delayed. Neither servers nor devices have to cooperate, and no rate has to be typed in.

QUIC (HTTP/3) is encrypted, so no rule can hold it; it is counted. Connections that began before \
the gateway are left alone, and counted. On the signal HUP the rules are read again. INT or TERM \
lets everything go. Should Ebb be killed, all limits are lifted within two seconds. \
`ebb status` and `ebb top` show what yields.";

const AFTER_HELP: &str = "\
Rules:
  [[rule]]
  name = \"work laptop\"
  client = \"192.168.1.20\"        # or a prefix; or mac = \"98:b6:e9:01:23:45\"
  yields = false                 # first match wins: left alone

  [[rule]]
  name = \"console\"
  client = \"192.168.1.40\"

  [[rule]]
  name = \"whatever is large\"
  bulk = \"20MB\"                  # moved without a pause

  Also: interface = \"lan0.20\", netns = \"web\", remote = \"203.0.113.0/24\",
  port = 443 or \"8000-8100\", dscp = \"CS1\" or [\"CS1\", \"LE\"], mark = \"0x10/0xff\",
  everything = true.

Examples:
  sudo ebb gateway --lan br-lan home.toml
  ebb gateway check home.toml
  ebb gateway why home.toml 192.168.1.40 198.51.100.7:443

Exit status: 0 when it was let go by 'ebb detach'; 1 when Ebb refused or failed; 128 + N if \
signal N ended it.";

impl Gateway {
    /// Serves until it is ended; answers the exit status.
    pub fn execute(self) -> Result<u8> {
        match self.verb {
            Some(Verb::Check { rules }) => {
                let count = file::read(&rules)?.rules.len() as u64;
                let plural = output::plural(count);
                let right = format!("{}: right, {count} rule{plural}\n", rules.display());
                output::print(&right).map(|()| 0)
            }
            Some(Verb::Why(why)) => why.execute().map(|()| 0),
            None => self.serve(),
        }
    }

    fn serve(self) -> Result<u8> {
        let Some(path) = &self.rules else {
            bail!("which rules? name a file of them");
        };
        if let Some(name) = twice(&self.lan) {
            bail!("--lan {name} is there twice: name each interface once");
        }
        let rules = file::read_alone(path, &self.lan)?;
        require_root("gateway")?;
        let options = self.options()?;
        let mut session = Session::begin(path.clone(), &options, &rules.rules)?;
        let hook = session.held().hook().map(|hook| format!(", by {hook}"));
        complain(&format!(
            "{}: what {} names yields{}",
            self.lan.join(" "),
            path.display(),
            hook.unwrap_or_default()
        ));
        let status = follow(&mut session, path, &self.lan)?;
        account(&session.held().counters())
            .iter()
            .for_each(|line| complain(line));
        Ok(status)
    }

    fn options(&self) -> Result<Options> {
        let interfaces: Result<Vec<_>, _> = self.lan.iter().map(|it| Interface::of(it)).collect();
        Ok(Options {
            interfaces: interfaces?,
            policy: self
                .policy
                .clone()
                .unwrap_or_else(|| Policy::default_of(Side::Receiver)),
            is_observing: false,
            hook: self.attach_by.map(|by| match by {
                AttachBy::Tcx => Hook::Tcx,
                AttachBy::Clsact => Hook::Clsact,
            }),
            connections: self.connections,
            is_patient: false,
        })
    }
}

fn connections_bounds() -> RangeInclusive<i64> {
    let (least, most) = CONNECTIONS_BOUNDS;
    least.into()..=most.into()
}

fn follow(session: &mut Session, path: &Path, lan: &[String]) -> Result<u8> {
    loop {
        match session.next_event()? {
            Event::Notice(text) => complain(&text),
            Event::ReadAgain => {
                if let Err(error) = read_again(session, path, lan) {
                    complain(&format!("{}; going on as before", output::describe(&error)));
                }
            }
            Event::Over { status } => return Ok(status),
        }
    }
}

/// Takes other rules from the file; what is wrong there changes nothing.
fn read_again(session: &mut Session, path: &Path, lan: &[String]) -> Result<()> {
    let rules = file::read_alone(path, lan)?;
    Ok(session.held().set_rules(&rules.rules)?)
}

/// What passed, and what could not be held.
fn account(counters: &Counters) -> Vec<String> {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let mut lines = vec![format!(
        "{} connections passed, {} ways of them yielded: {:.1} MB received, {:.1} MB sent",
        counters.connections,
        counters.governed,
        megabytes(counters.received_bytes),
        megabytes(counters.sent_bytes),
    )];
    if counters.quic_bytes > 0 {
        lines.push(format!(
            "{:.1} MB passed over QUIC, which no rule can hold",
            megabytes(counters.quic_bytes)
        ));
    }
    if counters.without_scale > 0 {
        lines.push(format!(
            "{} connections that had begun before were left alone",
            counters.without_scale
        ));
    }
    if counters.without_room > 0 {
        lines.push(format!(
            "{} connections were left alone for want of room in the table",
            counters.without_room
        ));
    }
    lines
}

/// As rules have it: 300kB, 1.5MB.
fn size(bytes: u64) -> String {
    match bytes {
        ..1_000_000 => format!("{}kB", bytes as f64 / 1e3),
        _ => format!("{}MB", bytes as f64 / 1e6),
    }
}

impl Why {
    fn execute(self) -> Result<()> {
        let Rules { rules, lines } = file::read(&self.rules)?;
        let mut subject = Subject {
            client: self.client,
            remote: self.remote.ip(),
            remote_port: self.remote.port(),
            mac: self.mac,
            interface: self.interface,
            code_point: self.dscp,
            mark: self.mark.value(),
            moved_bytes: self.moved.unwrap_or(0),
        };
        let file = self.rules.display();
        let said = |verdict: ebb_keeper::gateway::Verdict| match verdict.rule {
            Some(place) => format!(
                "{} by {} ({file}:{})",
                if verdict.is_background {
                    "yields"
                } else {
                    "is left alone"
                },
                rules[place].name,
                lines[place]
            ),
            None => "is left alone: no rule is for it".to_owned(),
        };
        let verdict = judge(&rules, &subject)?;
        let mut text = format!("{} with {} {}\n", self.client, self.remote, said(verdict));
        if let Some(bytes) = verdict.again_at_bytes {
            subject.moved_bytes = bytes;
            let then = said(judge(&rules, &subject)?);
            text += &format!("from {} without a pause on it {then}\n", size(bytes));
        }
        output::print(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_written_as_in_rules() {
        assert_eq!(size(300_000), "300kB");
        assert_eq!(size(1_500_000), "1.5MB");
        assert_eq!(size(20_000_000), "20MB");
    }
}
