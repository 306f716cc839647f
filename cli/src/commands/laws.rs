// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb laws`: sender laws as congestion controls that any program can select.

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use ebb_algorithms::{Policy, Side, laws_of};
use ebb_keeper::laws::{self, congestion_name};
use ebb_keeper::protocol::Request;
use ebb_keeper::registry::Registry;

use crate::backend::require_root;
use crate::output;

/// Load sender laws as congestion controls that any program can select
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Laws {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make them selectable
    Load {
        /// Laws, or law:key=value,…; all sender laws if none is named
        #[arg(value_name = "POLICY", value_parser = Policy::sender)]
        policies: Vec<Policy>,
    },
    /// Take them away; connections that have selected one keep it
    Unload,
}

const LONG_ABOUT: &str = "\
Load sender laws as congestion controls that any program can select.

The kernel calls them ebb_ and the law's name, with - as _ and + as p: ebb_reno, ebb_tcp_lp, \
ebb_ledbatpp. A program selects one for a socket with the option TCP_CONGESTION, or \
`sysctl net.ipv4.tcp_congestion_control` for all new ones. They stay until `ebb laws unload`: a \
process in the background keeps them, should it die, they cannot be selected any more. \
Connections keep what they have selected in either case.

This changes nothing for programs that do not ask for it. To make a program's uploads yield \
without its help: `ebb run --upload-policy`.";

const AFTER_HELP: &str = "\
Exit status: 0 done, 1 failed, 2 wrong usage.

Examples:
  sudo ebb laws load
  sudo ebb laws load tcp-lp ledbat:target_us=20000
  iperf3 --client host --congestion ebb_tcp_lp
  sudo ebb laws unload";

impl Laws {
    /// Does it, and says which names there are.
    pub fn execute(self) -> Result<()> {
        require_root("laws")?;
        let registry = Registry::open()?;
        let lock = registry.lock()?;
        let loaded = registry
            .records()?
            .into_iter()
            .find(|record| record.id == laws::ID);
        match (self.what, loaded) {
            (What::Load { .. }, Some(record)) => {
                bail!("{} are loaded; first: ebb laws unload", record.attached)
            }
            (What::Load { policies }, None) => {
                let policies = chosen(policies)?;
                laws::load(&policies)?;
                drop(lock);
                let names: Vec<String> = policies
                    .iter()
                    .map(|policy| congestion_name(policy.law()))
                    .collect();
                output::print(&format!("{}\n", names.join("\n")))
            }
            (What::Unload, Some(record)) => {
                let asked = registry.ask(&record, &Request::Detach);
                asked.with_context(|| record.attached.to_string())?;
                output::print(&format!("{}: unloaded\n", record.attached))
            }
            (What::Unload, None) => bail!("no laws are loaded; 'ebb status' tells what there is"),
        }
    }
}

fn chosen(policies: Vec<Policy>) -> Result<Vec<Policy>> {
    if policies.is_empty() {
        return Ok(laws_of(Side::Sender).map(Policy::with_defaults).collect());
    }
    for (index, policy) in policies.iter().enumerate() {
        let law = policy.law();
        if policies[..index]
            .iter()
            .any(|other| other.law().number == law.number)
        {
            bail!("{} is named twice, and can be loaded once", law.name);
        }
    }
    Ok(policies)
}
