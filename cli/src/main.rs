// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb`: gives a command only the bandwidth that nobody else wants.
//!
//! Here arguments are read, answers printed and statuses chosen, and nothing else is done: each
//! command is a module of `commands` and calls one of the crates below, which print nothing.
//! `ebb-keeper` holds policies on connections, `ebb-experiments` runs and judges experiments,
//! `ebb-report` writes what people read.
//!
//! ```sh
//! ebb run -- curl -O https://example.org/large
//! ```

mod backend;
mod chosen;
mod commands;
mod count;
mod data;
mod floor;
mod output;
mod own_laws;
mod scope;
mod sharing_file;
mod summary;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgAction, Parser};

use commands::Command;

/// Make any transfer yield: it gets the bandwidth that nobody else wants
#[derive(Debug, Parser)]
#[command(name = "ebb", version, long_about = LONG_ABOUT, after_help = AFTER_HELP)]
#[command(propagate_version = false, max_term_width = 100)]
pub struct Cli {
    /// Say more on standard error; twice for every detail
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 900)]
    pub verbose: u8,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const LONG_ABOUT: &str = "\
Make any transfer yield: it gets the bandwidth that nobody else wants.

A command under Ebb takes the whole link while nobody else needs it, and steps aside within a \
few round trips when somebody does. Nothing has to be known about the link, and neither the \
sender nor the routers have to cooperate: it is `nice` for the network.";

const AFTER_HELP: &str = "\
Examples:
  sudo ebb run -- curl -O https://example.org/large.iso    download in the background
  sudo ebb attach --pid 4242                               make a running program yield
  sudo ebb detach --pid 4242                               ... and give it back its share
  sudo systemctl enable --now ebbd                         keep what the rules in /etc/ebb say
  ebb doctor                                               what this machine offers

Exit status: 0 done, 1 failed, 2 wrong usage. `ebb run` exits as its command does; see there.

Environment: EBB_LOG sets what is logged, as in EBB_LOG=debug; EBB_RUNTIME_DIR is where Ebb notes \
what is attached: if it is not set, /run/ebb for root, else ebb in XDG_RUNTIME_DIR or /tmp/ebb-UID; \
EBB_STATE_DIR is where ebbd has its history, if that is not /var/lib/ebb; \
EBB_LAWS names laws of one's own, files of ebb law build with colons between them, for ebb sim, \
score, policies, run, attach, lab and laws.";

fn main() -> ExitCode {
    ebb_lab::endpoint::become_worker_if_asked();
    if let Err(error) = own_laws::load_if_asked() {
        output::complain(&output::describe(&error));
        return ExitCode::from(if is_run() {
            commands::run::EBB_FAILED
        } else {
            1
        });
    }
    let cli = match Cli::try_parse_from(arguments()) {
        Ok(cli) => cli,
        Err(error) => return usage_error(&error),
    };
    start_log(cli.verbose);
    let failure = cli.command.failure_status();
    match cli.command.execute() {
        Ok(status) => ExitCode::from(status),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&output::describe(&error));
            ExitCode::from(failure)
        }
    }
}

/// What it is called as `ebbd` is short for `ebb daemon`.
fn arguments() -> impl Iterator<Item = OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let name = words.first().map(Path::new).and_then(Path::file_name);
    if name.is_some_and(|name| name == "ebbd") {
        words.insert(1, "daemon".into());
    }
    words.into_iter()
}

/// What goes wrong before its command runs must not look like the command's status.
fn is_run() -> bool {
    command_word().is_some_and(|command| command == "run")
}

/// Help and version are no errors.
fn usage_error(error: &clap::Error) -> ExitCode {
    // Nothing is left to be done where even the terminal is gone.
    let _ = error.print();
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if is_run() => ExitCode::from(commands::run::EBB_FAILED),
        _ => ExitCode::from(2),
    }
}

/// The first word that is no flag, before anything is read.
fn command_word() -> Option<OsString> {
    let mut words = std::env::args_os().skip(1);
    words.find(|word| !word.to_string_lossy().starts_with('-'))
}

fn start_log(verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("EBB_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false)
        .init();
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
