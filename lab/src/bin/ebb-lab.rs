// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The laboratory on its own: what `ebb lab figures` and `ebb lab compare` do, and the
//! endpoint worker of the test programs.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ebb_lab::figures::{CompareArguments, FiguresArguments};

#[derive(Parser)]
#[command(
    version,
    about = "Measure policies on emulated links with real kernel TCP"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure scenarios under several policies side by side
    Compare(CompareArguments),
    /// Reproduce figures and check them against their bounds
    Figures(FiguresArguments),
}

fn main() -> ExitCode {
    ebb_lab::endpoint::become_worker_if_asked();
    let outcome = match Arguments::parse().command {
        Command::Compare(arguments) => arguments.run(),
        Command::Figures(arguments) => arguments.run(),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("ebb-lab: {error}");
            ExitCode::FAILURE
        }
    }
}
