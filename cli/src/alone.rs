// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb` for a small router: the gateway and what shows it, without all other commands. `make
//! gateway` links it statically.
//!
//! ```sh
//! ebb gateway --lan br-lan home.toml
//! ```

#[expect(dead_code, reason = "the whole `ebb` uses more of it")]
mod backend;
mod commands {
    pub mod gateway;
    pub mod status;
    pub mod top {
        #[expect(dead_code, reason = "`ebb top` uses more of it")]
        pub mod sample;
    }
}
#[expect(dead_code, reason = "the whole `ebb` uses more of it")]
mod output;
#[expect(dead_code, reason = "the whole `ebb` uses more of it")]
mod summary;

use std::fmt::Debug;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Make downloads of the devices behind this machine yield
#[derive(Debug, Parser)]
#[command(name = "ebb", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
This is the gateway alone. The whole Ebb has many more commands, and does the same.";

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one")]
enum Command {
    Gateway(commands::gateway::Gateway),
    Status(commands::status::Status),
}

impl Command {
    fn execute(self) -> Result<u8> {
        match self {
            Self::Gateway(command) => command.execute(),
            Self::Status(command) => command.execute().map(|()| 0),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Nobody else has set one.
    let _ = tracing::subscriber::set_global_default(Warnings);
    match cli.command.execute() {
        Ok(status) => ExitCode::from(status),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&output::describe(&error));
            ExitCode::FAILURE
        }
    }
}

/// Says what people should know of. The log of the whole Ebb would take too much room.
struct Warnings;

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut |field: &Field, value: &dyn Debug| {
            if field.name() == "message" {
                output::complain(&format!("{value:?}"));
            }
        });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
