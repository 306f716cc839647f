// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb top`: the connections that yield, live.

mod chosen;
pub mod sample;
mod screen;
mod terminal;

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::output;
use sample::Sampler;

/// Watch the connections that yield, and switch what they yield by
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Top {
    /// Seconds between two looks
    #[arg(short, long, value_name = "SECONDS", default_value = "1",
          value_parser = parse_seconds)]
    interval: Duration,

    /// End after so many looks
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Print one JSON object for each look, for programs
    #[arg(long)]
    json: bool,
}

const LONG_ABOUT: &str = "\
Watch the connections that yield, and switch what they yield by.

One line for each connection and direction: the program, the peer, the rate in bits per second, \
the limit (a window in bytes, such as 121KiB, or a pace in bits per second, such as 2.8Mbit), the \
queueing delay that the law sees, what the law is doing and why the connection is held back; from \
110 columns on the round trip and the law as well. Where the output is no terminal, one look is \
printed and that is all.

Modes: start (doubling), grow, hold (the queue is as long as it may be), yield (others want the \
link), look (sends little for a moment, to see the path without its queue), wait (until what was \
granted before Ebb came is used up), free (switched off).";

const AFTER_HELP: &str = "\
Keys: up and down (a page: PgUp and PgDn; all the way: Home and End) choose an attachment or a \
connection; tab widens that to its process, then \
to its unit (all that is attached together); a > stands before all that is meant. Space sets it \
free or holds it back again (a process with the connections to come), l asks for another policy \
(with the kernel backend the unit's), d detaches the unit, p stops the picture, q or Esc ends.

Examples:
  ebb top
  sudo ebb top
  sudo ebb top --json | jq '.flows[] | [.program, .rate_bit_per_s]'";

impl Top {
    /// Shows what there is until it is told to end.
    pub fn execute(self) -> Result<()> {
        let mut sampler = Sampler::new()?;
        if self.json {
            return self.stream(&mut sampler);
        }
        if !terminal::is_terminal() {
            sampler.look()?;
            std::thread::sleep(self.interval);
            let look = sampler.look()?;
            return output::print(&screen::text(&look));
        }
        terminal::run(sampler, self.interval, self.count)
    }

    fn stream(&self, sampler: &mut Sampler) -> Result<()> {
        sampler.look()?;
        let mut made = 0;
        while self.count.is_none_or(|count| made < count) {
            std::thread::sleep(self.interval);
            output::print(&format!("{}\n", serde_json::to_string(&sampler.look()?)?))?;
            made += 1;
        }
        Ok(())
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| format!("'{text}' is not a number of seconds, such as 0.5 or 2"))?;
    match seconds {
        0.1..=3600.0 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("{text} is not from 0.1 to 3600 seconds")),
    }
}
