// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The subcommands, one file each.

pub mod attach;
pub mod completions;
pub mod daemon;
pub mod demo;
pub mod detach;
pub mod doctor;
pub mod gateway;
pub mod lab;
pub mod law;
pub mod laws;
pub mod man;
pub mod policies;
mod progress;
pub mod reproduce;
pub mod rules;
pub mod run;
pub mod score;
pub mod share;
pub mod sim;
pub mod status;
pub mod top;

use anyhow::Result;
use clap::Subcommand;

/// What `ebb` is told to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(run::Run),
    Attach(attach::Attach),
    Detach(detach::Detach),
    Share(share::Share),
    Gateway(gateway::Gateway),
    Rules(rules::Rules),
    Daemon(daemon::Daemon),
    Status(status::Status),
    Top(top::Top),
    Policies(policies::ListPolicies),
    Laws(laws::Laws),
    Law(law::Law),
    Doctor(doctor::Doctor),
    Demo(demo::Demo),
    Lab(lab::Lab),
    Sim(sim::Sim),
    Reproduce(reproduce::Reproduce),
    Score(score::ScoreCommand),
    Man(man::Man),
    Completions(completions::Completions),
}

impl Command {
    /// Does it; answers the exit status.
    pub fn execute(self) -> Result<u8> {
        match self {
            Self::Run(command) => command.execute(),
            Self::Share(command) => command.execute(),
            Self::Gateway(command) => command.execute(),
            Self::Doctor(command) => command.execute(),
            Self::Attach(command) => command.execute().map(|()| 0),
            Self::Detach(command) => command.execute().map(|()| 0),
            Self::Rules(command) => command.execute(),
            Self::Daemon(command) => command.execute().map(|()| 0),
            Self::Status(command) => command.execute().map(|()| 0),
            Self::Top(command) => command.execute().map(|()| 0),
            Self::Policies(command) => command.execute().map(|()| 0),
            Self::Laws(command) => command.execute().map(|()| 0),
            Self::Law(command) => command.execute().map(|()| 0),
            Self::Lab(command) => command.execute(),
            Self::Sim(command) => command.execute().map(|()| 0),
            Self::Reproduce(command) => command.execute().map(|()| 0),
            Self::Score(command) => command.execute().map(|()| 0),
            Self::Demo(command) => command.execute().map(|()| 0),
            Self::Man(command) => command.execute().map(|()| 0),
            Self::Completions(command) => command.execute().map(|()| 0),
        }
    }

    /// The exit status that says that Ebb itself failed.
    pub fn failure_status(&self) -> u8 {
        match self {
            Self::Run(_) => run::EBB_FAILED,
            _ => 1,
        }
    }
}
