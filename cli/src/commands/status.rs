// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb status`: what yields on this machine.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use ebb_keeper::registry::{Attached, Record, Registry};
use ebb_keeper::{Backend, Direction};
use serde::Serialize;

use crate::commands::top::sample::{Look, Sampler, SeenFlow};
use crate::output;
use crate::summary;

// The gateway alone has no service.
#[cfg(feature = "whole")]
mod history;

/// What rates are measured over.
const LOOK: Duration = Duration::from_millis(500);

/// List what yields on this machine
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Status {
    /// Their connections as well, with rates over half a second
    #[arg(short, long)]
    flows: bool,

    /// What came of the rules of ebbd in the last 24 hours, by hours, instead (as root)
    #[cfg(feature = "whole")]
    #[arg(long, conflicts_with = "flows")]
    history: bool,

    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Root sees what everybody attached, other users what they attached; of those whose runtime \
directory is neither /run/user/UID/ebb nor /tmp/ebb-UID nothing is known here.

Examples:
  ebb status
  sudo ebb status --flows
  sudo ebb status --json | jq '.[].target'";

/// An attachment with its connections.
#[derive(Serialize)]
struct WithFlows<'a> {
    #[serde(flatten)]
    record: &'a Record,
    flows: Vec<&'a SeenFlow>,
}

impl Status {
    /// Prints the list.
    pub fn execute(self) -> Result<()> {
        #[cfg(feature = "whole")]
        if self.history {
            return history::print(self.json);
        }
        let look = self.look()?;
        let listed: Vec<WithFlows<'_>> = look
            .attachments
            .iter()
            .map(|record| WithFlows {
                record,
                flows: look
                    .flows
                    .iter()
                    .filter(|flow| flow.attachment == record.id)
                    .collect(),
            })
            .collect();
        if self.json && self.flows {
            return output::print_json(&listed);
        }
        if self.json {
            return output::print_json(&look.attachments);
        }
        if listed.is_empty() {
            return output::print("nothing is attached\n");
        }
        let lines: Vec<String> = listed.iter().map(describe).collect();
        output::print(&lines.concat())
    }

    fn look(&self) -> Result<Look> {
        if self.flows {
            let mut sampler = Sampler::new()?;
            sampler.look()?;
            std::thread::sleep(LOOK);
            let mut look = sampler.look()?;
            // Loaded laws have no connections that their keeper knows.
            look.attachments = Registry::open()?.all_records()?;
            return Ok(look);
        }
        Ok(Look {
            attachments: Registry::open()?.all_records()?,
            ..Look::default()
        })
    }
}

fn describe(listed: &WithFlows<'_>) -> String {
    let record = listed.record;
    let mut text = format!(
        "{record}: {}{} ({}kept by process {})\n",
        if record.is_observing {
            "free for now, "
        } else {
            ""
        },
        output::policies(&record.policy, record.upload_policy.as_ref()),
        match record.backend {
            Backend::Kernel => "",
            Backend::User => "user backend, ",
            Backend::Gateway => "what passes, ",
        },
        record.keeper_pid
    );
    if let Some(weight) = record.attached.weight() {
        text += &format!("  weight {weight} beside other rules\n");
    }
    if let Some(minimum) = &record.minimum {
        text += &format!("  {minimum} at the least, each way\n");
    }
    if let Some(deadline) = &record.deadline {
        text += &format!("  {deadline}\n");
    }
    if let Some(ungoverned) = summary::ungoverned(record.ungoverned_connections, record.backend) {
        text += &format!("  {ungoverned}\n");
    }
    if let Attached::Share { programs, .. } = &record.attached {
        for sharer in programs {
            text += &format!("  {}: {}; {}\n", sharer.name, sharer.who, sharer.wanted);
        }
    }
    for flow in &listed.flows {
        text += &describe_flow(flow);
    }
    text
}

fn describe_flow(flow: &SeenFlow) -> String {
    let view = &flow.view;
    let way = match view.direction {
        Direction::Down => "from",
        Direction::Up => "to",
    };
    let milliseconds = |us: Option<u32>| {
        us.map_or_else(
            || "unknown".to_owned(),
            |us| format!("{:.1} ms", f64::from(us) / 1e3),
        )
    };
    let limit = match view.pace_bytes_per_s {
        Some(pace) => format!("pace {:.2} Mbit/s", pace as f64 * 8e-6),
        None => format!("window {} bytes", view.window_bytes),
    };
    let reason = match view.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    let whose = flow.whose();
    format!(
        "  {whose} {way} {}: {:.2} Mbit/s, {limit}, queue {}, {}{reason}\n",
        view.peer,
        flow.rate_bit_per_s / 1e6,
        milliseconds(view.queue_us),
        view.mode,
    )
}
