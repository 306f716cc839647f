// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a packet costs by the number of flows: in time, and in what a simulated processor
//! counts, which is the same each time.
//!
//! `cargo bench -p ebb-simulator --bench flows [-- OPTIONS]`
//!
//! - `--repeats N`: runs of each number of flows, in turn (default 7);
//! - `--shared-hosts`: all flows between two hosts, which is four links at the ends in all
//!   instead of four for each flow;
//! - `--counts`, `--time`, `--memory`: only one of the three tables;
//! - `--run FLOWS SECONDS`: one run alone, for a profiler.
//!
//! Fails if a packet among 100 or 1 000 flows costs more than the bounds say. The counts
//! need valgrind, and are left out without it.

#[path = "../../tests/common/mod.rs"]
mod common;
mod counts;
mod crowd;
mod memory;
mod time;

use anyhow::{Context, Result, bail, ensure};

use crowd::Hosts;

const REPEATS: u32 = 7;

fn main() -> Result<()> {
    let arguments = Arguments::parse()?;
    if let Some((flows, seconds)) = arguments.run {
        let run = crowd::run(flows, seconds, arguments.hosts)?;
        println!("packets {} events {}", run.packets, run.events);
        return Ok(());
    }
    let mut missed = Vec::new();
    if arguments.wants(Table::Memory) {
        memory::table();
    }
    if arguments.wants(Table::Time) {
        missed.extend(time::table(arguments.hosts, arguments.repeats)?);
    }
    if arguments.wants(Table::Counts) {
        missed.extend(counts::table(arguments.hosts)?);
    }
    ensure!(missed.is_empty(), "{}", missed.join("; "));
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Table {
    Memory,
    Time,
    Counts,
}

struct Arguments {
    repeats: u32,
    hosts: Hosts,
    only: Option<Table>,
    run: Option<(u64, u64)>,
}

impl Arguments {
    fn parse() -> Result<Self> {
        let mut parsed = Self {
            repeats: REPEATS,
            hosts: Hosts::Own,
            only: None,
            run: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number = || -> Result<u64> {
                let value = arguments.next().unwrap_or_default();
                value
                    .parse()
                    .with_context(|| format!("{argument} '{value}': must be a whole number"))
            };
            match argument.as_str() {
                // What cargo adds by itself.
                "--bench" => {}
                "--repeats" => parsed.repeats = u32::try_from(number()?)?.max(1),
                "--shared-hosts" => parsed.hosts = Hosts::Shared,
                "--memory" => parsed.only = Some(Table::Memory),
                "--time" => parsed.only = Some(Table::Time),
                "--counts" => parsed.only = Some(Table::Counts),
                "--run" => parsed.run = Some((number()?.max(1), number()?.max(1))),
                _ => bail!(
                    "'{argument}': expected --repeats N, --shared-hosts, --memory, --time, \
                     --counts or --run FLOWS SECONDS"
                ),
            }
        }
        Ok(parsed)
    }

    fn wants(&self, table: Table) -> bool {
        self.only.is_none_or(|only| only == table)
    }
}
