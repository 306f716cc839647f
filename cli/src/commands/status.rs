// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb status`: what yields on this machine.

use anyhow::Result;
use clap::Args;

use crate::commands::run::require_root;
use crate::output;
use crate::runtime::Runtime;

/// List what yields on this machine
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Status {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  sudo ebb status
  sudo ebb status --json | jq '.[].target'";

impl Status {
    /// Prints the list.
    pub fn execute(self) -> Result<()> {
        require_root("status")?;
        let records = Runtime::open()?.records()?;
        if self.json {
            return output::print_json(&records);
        }
        if records.is_empty() {
            return output::print("nothing is attached\n");
        }
        let lines: Vec<_> = records
            .iter()
            .map(|record| {
                format!(
                    "{}: {}{} (kept by process {})\n",
                    record.target,
                    if record.is_observing {
                        "free for now, "
                    } else {
                        ""
                    },
                    output::policies(&record.policy, record.upload_policy.as_ref()),
                    record.keeper_pid
                )
            })
            .collect();
        output::print(&lines.concat())
    }
}
