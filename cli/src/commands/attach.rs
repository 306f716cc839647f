// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb attach`: makes what runs already yield.

use std::fmt;

use anyhow::{Context, Result, bail};
use clap::{ArgGroup, Args};
use ebb_algorithms::Policy;
use ebb_keeper::protocol::Request;
use ebb_keeper::registry::{Record, Registry};
use ebb_keeper::{Backend, Error, Policies, UploadPolicy, Wanted, Whose, keep};

use crate::backend::BackendChoice;
use crate::chosen::{ARGUMENTS, Chosen};
use crate::floor::FloorOptions;
use crate::output;

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

    /// How to yield when sending: a sender law, or none; without it `ebb-sender`, with the
    /// user backend `paced`
    #[arg(long, value_name = "POLICY")]
    upload_policy: Option<UploadPolicy>,

    #[command(flatten)]
    floor: FloorOptions,

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

Without root this is for your own processes, and for cgroups that were delegated to you. The service \
ebbd holds them where it runs; elsewhere the user backend does, where Yama lets it \
(kernel.yama.ptrace_scope = 0). As root it does where the kernel backend cannot be used, or lacks \
the law.

Attaching once more changes the policies that are named, and leaves the others as they are.";

const AFTER_HELP: &str = "\
Exit status: 0 the policy is active, 1 it is not, 2 wrong usage.

Examples:
  ebb attach --pid $(pidof -s rsync)
  ebb attach --port 873
  sudo ebb attach --pid 4242 --policy vulture
  sudo ebb attach --pid 4242 --upload-policy ledbat
  sudo ebb attach --unit backup --minimum 2mbit
  sudo ebb attach --pid 4242 --deadline 3h --size 40GB
  sudo ebb attach --container registry-mirror
  sudo ebb attach --cgroup /sys/fs/cgroup/system.slice/backup.service
  ebb status";

impl Attach {
    /// Attaches the policy, or changes it where one is attached.
    pub fn execute(self) -> Result<()> {
        let registry = Registry::open()?;
        let lock = registry.lock()?;
        let whose = self.chosen.whose()?;
        if let Some(record) = registry.find(&whose)? {
            return self.change(&registry, &whose, &record);
        }
        // The kernel backend has no ports.
        let backend = match (self.backend, &whose) {
            (BackendChoice::Auto, Whose::Port(_)) => BackendChoice::User,
            (chosen, _) => chosen,
        };
        let attach = |backend| self.attach_by(backend, &whose);
        let policies = backend.attempt(has_nothing_to_do_with_backends, attach)?;
        drop(lock);
        output::print(&format!(
            "{} yields by {policies}; to end it: ebb detach {}\n",
            self.chosen,
            self.chosen.as_option()
        ))
    }

    fn attach_by(&self, backend: Backend, whose: &Whose) -> Result<String> {
        let policies = Policies::new(&self.wanted()?, backend)?;
        let notices = keep(backend, whose, &policies)?;
        notices.iter().for_each(|notice| output::complain(notice));
        let download = policies.download.to_string();
        Ok(self::policies(&download, policies.upload.as_ref(), backend))
    }

    fn wanted(&self) -> Result<Wanted> {
        self.floor.add_to(Wanted {
            download: self.policy.clone(),
            upload: self.upload_policy.clone(),
            keeps_code_point: self.keep_code_point,
            ..Wanted::default()
        })
    }

    fn change(&self, registry: &Registry, whose: &Whose, record: &Record) -> Result<()> {
        let is_other = match self.backend {
            BackendChoice::Auto => false,
            BackendChoice::Kernel => record.backend == Backend::User,
            BackendChoice::User => record.backend == Backend::Kernel,
        };
        if is_other {
            bail!(
                "{} yields already, by the other backend; first: ebb detach {}",
                record.attached,
                self.chosen.as_option()
            );
        }
        if self.keep_code_point && !record.keeps_code_point {
            bail!(
                "{record} is attached already, so that what it sends is marked, and that cannot \
                 be changed; first: ebb detach {}",
                self.chosen.as_option()
            );
        }
        let about = || record.to_string();
        let changes = self.changes()?;
        for request in &changes {
            registry.ask(record, request).with_context(about)?;
        }
        let Some(now) = registry.find(whose)? else {
            bail!("{record} has ended just now");
        };
        let already = match changes.is_empty() {
            true => " already",
            false => "",
        };
        let policies = policies(&now.policy, now.upload_policy.as_ref(), now.backend);
        output::print(&format!("{record} yields{already} by {policies}\n"))
    }

    /// What was not named stays as it is.
    fn changes(&self) -> Result<Vec<Request>> {
        let policy = self.policy.as_ref().map(Policy::to_string);
        let upload = self.upload_policy.as_ref().map(UploadPolicy::to_string);
        let policy = policy.map(Request::SetPolicy).into_iter();
        let laws = policy.chain(upload.map(Request::SetUploadPolicy));
        Ok(laws.chain(self.floor.requests()?).collect())
    }
}

/// Another backend would have the same to say.
fn has_nothing_to_do_with_backends(error: &anyhow::Error) -> bool {
    !matches!(error.downcast_ref(), Some(Error::CannotKeep { .. }))
}

/// Both policies in words, and the backend where it is not the one for root.
fn policies(policy: &str, upload: Option<&impl fmt::Display>, backend: Backend) -> String {
    let none = UploadPolicy::Untouched.to_string();
    let upload = upload.map_or(none, ToString::to_string);
    let words = output::policies(policy, Some(&upload));
    match backend {
        Backend::Kernel => words,
        Backend::User | Backend::Gateway => format!("{words} ({backend} backend)"),
    }
}
