// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb attach`: makes what runs already yield.

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};
use ebb_algorithms::Policy;

use crate::commands::run::require_root;
use crate::held::Policies;
use crate::keeper;
use crate::line::Start;
use crate::output;
use crate::runtime::{Request, Runtime};
use crate::target::{ARGUMENTS, Chosen};
use crate::uploads::UploadPolicy;

/// Make a running process, or everything in a unit, a container or a cgroup, yield
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
#[command(group(ArgGroup::new("what").required(true).args(ARGUMENTS)))]
pub struct Attach {
    #[command(flatten)]
    chosen: Chosen,

    /// How to yield: a law, or law:key=value,… (see `ebb policies`)
    #[arg(short, long, value_name = "POLICY", default_value_t, value_parser = Policy::receiver)]
    policy: Policy,

    /// How to yield when sending: a sender law (ledbat++ unless given), or none
    #[arg(long, value_name = "POLICY")]
    upload_policy: Option<UploadPolicy>,

    /// Do not mark what is sent as Lower Effort (RFC 8622) while a law is on it
    #[arg(long)]
    keep_code_point: bool,
}

const LONG_ABOUT: &str = "\
Make a running process, or everything in a unit, a container or a cgroup, yield.

Acts on the connections that exist and on those to come, also in other network namespaces: of \
the process and its descendants, or of every process in the cgroup and in those below it (the \
unit's, the container's). \
Returns when the policy is active. A process in the background keeps it active until the \
process, or the cgroup, has gone, or until `ebb detach`.

Attaching once more changes the policy; without --upload-policy, that for sending stays.";

const AFTER_HELP: &str = "\
Exit status: 0 the policy is active, 1 it is not, 2 wrong usage.

Examples:
  sudo ebb attach --pid $(pidof -s rsync)
  sudo ebb attach --pid 4242 --policy vulture
  sudo ebb attach --pid 4242 --upload-policy ledbat
  sudo ebb attach --unit backup
  sudo ebb attach --container registry-mirror
  sudo ebb attach --cgroup /sys/fs/cgroup/system.slice/backup.service
  sudo ebb status";

impl Attach {
    /// Attaches the policy, or changes it where one is attached.
    pub fn execute(self) -> Result<()> {
        require_root("attach")?;
        let runtime = Runtime::open()?;
        let lock = runtime.lock()?;
        if let Some(record) = self.chosen.find(&runtime.records()?)? {
            runtime.ask(&record.id, &Request::SetPolicy(self.policy.to_string()))?;
            if let Some(upload) = &self.upload_policy {
                runtime.ask(&record.id, &Request::SetUploadPolicy(upload.to_string()))?;
            }
            return output::print(&format!(
                "{} yields by {}\n",
                record.target,
                self.policies(self.upload_policy.as_ref())
            ));
        }
        let duty = self.chosen.duty()?;
        let upload = self.upload_policy.clone().unwrap_or_default();
        let policies = Policies {
            download: self.policy.clone(),
            upload: upload.policy().cloned(),
            needs_upload: self.upload_policy.is_some(),
            keeps_code_point: self.keep_code_point,
        };
        let start = keeper::start(duty, &policies)?.1;
        drop(lock);
        match start {
            Start::Ready(_) => output::print(&format!(
                "{} yields by {}; to end it: ebb detach {}\n",
                self.chosen,
                self.policies(Some(&upload)),
                self.chosen.as_option()
            )),
            Start::AlreadyAttached(cause) | Start::Refused(cause) => bail!(cause),
        }
    }

    fn policies(&self, upload: Option<&UploadPolicy>) -> String {
        output::policies(
            &self.policy.to_string(),
            upload.and_then(UploadPolicy::policy),
        )
    }
}
