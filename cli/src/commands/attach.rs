// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb attach`: makes what runs already yield.

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};
use ebb_algorithms::Policy;

use crate::commands::run::{Backend as BackendChoice, require_root};
use crate::held::Policies;
use crate::keeper;
use crate::line::Start;
use crate::output;
use crate::runtime::{Backend, Record, Request, Runtime};
use crate::target::{ARGUMENTS, Chosen};
use crate::uploads::UploadPolicy;
use crate::user_attach;
use crate::user_run::UserPolicies;

/// Make a running process, or everything in a unit, a container or a cgroup, or on a port, yield
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
#[command(group(ArgGroup::new("what").required(true).args(ARGUMENTS)))]
pub struct Attach {
    #[command(flatten)]
    chosen: Chosen,

    /// How to yield: a law, or law:key=value,… (see `ebb policies`); without it `ebb`, with
    /// the user backend `sampled`
    #[arg(short, long, value_name = "POLICY", value_parser = Policy::receiver)]
    policy: Option<Policy>,

    /// How to yield when sending: a sender law, or none; without it `ledbat++`, with the user
    /// backend `paced`
    #[arg(long, value_name = "POLICY")]
    upload_policy: Option<UploadPolicy>,

    /// How the policy reaches the connections
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,

    /// Do not mark what is sent as Lower Effort (RFC 8622) while a law is on it
    #[arg(long)]
    keep_code_point: bool,
}

const LONG_ABOUT: &str = "\
Make a running process, or everything in a unit, a container or a cgroup, or on a port, yield.

Acts on the connections that exist and on those to come, also in other network namespaces: of \
the process and its descendants, or of every process in the cgroup and in those below it (the \
unit's, the container's). With --port only on the connections of that port, at either end, in \
this network namespace, whoever has them. \
Returns when the policy is active. A process in the background keeps it active until the \
process, or the cgroup, has gone, or until `ebb detach`.

Without root the user backend does this for your own processes, where Yama lets it \
(kernel.yama.ptrace_scope = 0).

Attaching once more changes the policy; without --upload-policy, that for sending stays.";

const AFTER_HELP: &str = "\
Exit status: 0 the policy is active, 1 it is not, 2 wrong usage.

Examples:
  ebb attach --pid $(pidof -s rsync)
  ebb attach --port 873
  sudo ebb attach --pid 4242 --policy vulture
  sudo ebb attach --pid 4242 --upload-policy ledbat
  sudo ebb attach --unit backup
  sudo ebb attach --container registry-mirror
  sudo ebb attach --cgroup /sys/fs/cgroup/system.slice/backup.service
  ebb status";

impl Attach {
    /// Attaches the policy, or changes it where one is attached.
    pub fn execute(self) -> Result<()> {
        let is_root = nix::unistd::geteuid().is_root();
        if self.backend == BackendChoice::Kernel {
            require_root("attach --backend kernel")?;
        }
        let runtime = Runtime::open()?;
        let lock = runtime.lock()?;
        if let Some(record) = self.chosen.find(&runtime.records()?)? {
            return self.change(&runtime, &record);
        }
        let start = match self.backend {
            BackendChoice::Kernel => self.attach_by_kernel(),
            BackendChoice::Auto if is_root && !self.chosen.is_port() => self.attach_by_kernel(),
            BackendChoice::Auto | BackendChoice::User => self.attach_by_user(),
        }?;
        drop(lock);
        match start {
            (Start::Ready(_), policies) => output::print(&format!(
                "{} yields by {policies}; to end it: ebb detach {}\n",
                self.chosen,
                self.chosen.as_option()
            )),
            (Start::AlreadyAttached(cause) | Start::Refused(cause), _) => bail!(cause),
        }
    }

    fn attach_by_kernel(&self) -> Result<(Start, String)> {
        let upload = self.upload_policy.clone().unwrap_or_default();
        let policies = Policies {
            download: self.policy.clone().unwrap_or_default(),
            upload: upload.policy().cloned(),
            needs_upload: self.upload_policy.is_some(),
            keeps_code_point: self.keep_code_point,
        };
        let words = output::policies(&policies.download.to_string(), upload.policy());
        Ok((keeper::start(self.chosen.duty()?, &policies)?.1, words))
    }

    fn attach_by_user(&self) -> Result<(Start, String)> {
        let policies = self.user_policies()?;
        let start = user_attach::start(self.chosen.user_duty()?, &policies)?;
        let words = output::policies(&policies.download.to_string(), policies.upload.as_ref());
        Ok((start, format!("{words} (user backend)")))
    }

    fn user_policies(&self) -> Result<UserPolicies> {
        let upload = self.upload_policy.as_ref();
        UserPolicies::of(self.policy.as_ref(), upload, self.keep_code_point)
    }

    fn change(&self, runtime: &Runtime, record: &Record) -> Result<()> {
        let is_other = match self.backend {
            BackendChoice::Auto => false,
            BackendChoice::Kernel => record.backend == Backend::User,
            BackendChoice::User => record.backend == Backend::Kernel,
        };
        if is_other {
            bail!(
                "{} yields already, by the other backend; first: ebb detach {}",
                record.target,
                self.chosen.as_option()
            );
        }
        let policy = match record.backend {
            Backend::Kernel => self.policy.clone().unwrap_or_default(),
            Backend::User => self.user_policies()?.download,
        };
        runtime.ask(record, &Request::SetPolicy(policy.to_string()))?;
        if let Some(upload) = &self.upload_policy {
            runtime.ask(record, &Request::SetUploadPolicy(upload.to_string()))?;
        }
        let upload = self.upload_policy.as_ref().and_then(UploadPolicy::policy);
        let policies = output::policies(&policy.to_string(), upload);
        output::print(&format!("{} yields by {policies}\n", record.target))
    }
}
