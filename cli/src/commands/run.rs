// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run`: starts a command that yields.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use ebb_algorithms::Policy;
use ebb_keeper::registry::Registry;
use ebb_keeper::run::{self as command, Outcome, Prepared};
use ebb_keeper::{
    Account, Backend, Error, NOT_FOUND, NotStarted, Policies, Summary, UploadPolicy, Wanted,
};

use crate::backend::BackendChoice;
use crate::floor::FloorOptions;
use crate::output::{self, complain};
use crate::scope;
use crate::summary;

/// The exit status of `ebb run` when Ebb itself fails, as with `env` and `timeout`.
pub const EBB_FAILED: u8 = 125;

/// Run a command that gets only the bandwidth that nobody else wants
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Run {
    /// How to yield: a law, or law:key=value,… (see `ebb policies`); without it `ebb`, with the
    /// user backend `sampled`
    #[arg(short, long, value_name = "POLICY", value_parser = Policy::receiver)]
    policy: Option<Policy>,

    /// How to yield when sending: a sender law, or none: nothing that is sent is touched; the user
    /// backend has `paced` in place of the default
    #[arg(long, value_name = "POLICY", default_value_t)]
    upload_policy: UploadPolicy,

    #[command(flatten)]
    floor: FloorOptions,

    /// Do not mark what is sent as Lower Effort (RFC 8622) while a law is on it
    #[arg(long)]
    keep_code_point: bool,

    /// How the policy reaches the connections
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,

    /// Run the command as this user, not as root, with a login's environment
    #[arg(short, long, value_name = "USER")]
    user: Option<String>,

    /// No program that the command starts gets other privileges (setuid, file capabilities)
    #[arg(long)]
    no_new_privileges: bool,

    /// What to do where Ebb cannot act (no root, old kernel): refuse, or run the command anyway
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    if_unavailable: IfUnavailable,

    /// Say on standard error, at the end, in one line: bytes each way, time held back, queueing
    /// delay, peers, and what was not controlled
    #[arg(short, long)]
    summary: bool,

    /// Set by `ebb` itself behind systemd-run
    #[arg(long = &scope::INSIDE_FLAG[2..], hide = true)]
    in_scope: bool,

    /// The command and its arguments, best behind `--`
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    words: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum IfUnavailable {
    /// Say what is missing and exit with status 125
    #[default]
    Refuse,
    /// Say what is missing and run the command without any limit
    Run,
}

const LONG_ABOUT: &str = "\
Run a command that gets only the bandwidth that nobody else wants.

What the command receives over TCP yields to all other traffic within a few round trips, and \
takes the whole link while there is none. So does what its children receive, over IPv4 and \
IPv6; connections within this machine are left alone. Processes that outlive the command keep \
yielding until they end.

What the command sends yields as well: every connection gets the law of --upload-policy as its \
congestion control, also where the command chooses another, and its own back at the end; and it is marked \
as Lower Effort, for networks that know the mark, unless the command chose a code point.

The command has the terminal, standard input and output, and the signals that are sent to ebb. \
It runs in a cgroup of its own: under systemd in a transient scope, elsewhere below the cgroup \
that ebb was started in. Once it runs, nothing that happens to Ebb stops it or keeps it slow: \
should Ebb die, all limits are lifted within two seconds.

Without root the service ebbd does the same where it runs, for what runs as you: the command stays \
in the cgroup that it was started in. Elsewhere the user backend does it, from outside: by the \
sockets of the command and of what it starts, which must run as the same user (no setuid programs); \
what is sent is held back by its pace.";

const AFTER_HELP: &str = "\
Exit status: the command's own; 128 + N if signal N killed it; 127 if there is no such \
command; 126 if it cannot be executed; 125 if Ebb refused or failed before it started.

Examples:
  ebb run -- curl -O https://example.org/large.iso
  sudo ebb run -- apt-get upgrade
  sudo ebb run --user $USER -- curl -O https://example.org/large.iso
  sudo ebb run --summary --policy ebb:target_us=8000 -- rsync -a host:/data /backup
  sudo ebb run --minimum 2mbit -- restic backup /home
  sudo ebb run --deadline 06:00 --size 40GB -- rsync -a /data host:backup
  sudo ebb run --policy vulture -- wget -i list.txt
  sudo ebb run --upload-policy tcp-lp -- rsync -a /data host:backup
  sudo ebb run --upload-policy none -- ./serve-and-fetch";

impl Run {
    /// Runs the command; answers its exit status.
    pub fn execute(self) -> Result<u8> {
        let account = self.user.as_deref().map(Account::find).transpose()?;
        // Never as somebody else, whatever --if-unavailable says.
        account.as_ref().map_or(Ok(()), Account::try_on)?;
        let run = command::Run {
            words: &self.words,
            account: account.as_ref(),
            no_new_privileges: self.no_new_privileges,
            is_watched: self.summary,
        };
        match self.prepare(&run) {
            Ok(prepared) => self.run(prepared),
            Err(error) if is_under_policy(&error) => {
                tracing::info!("{error}");
                Ok(self.not_started(&run.exec()))
            }
            Err(error) if self.if_unavailable == IfUnavailable::Run => {
                let cause = output::describe(&error);
                complain(&format!("{cause}; running the command without any limit"));
                Ok(self.not_started(&run.exec()))
            }
            Err(error) => {
                Err(error.context("the command was not run (--if-unavailable=run runs it anyway)"))
            }
        }
    }

    fn prepare<'a>(&self, run: &'a command::Run<'a>) -> Result<Prepared<'a>> {
        self.backend
            .attempt(is_under_policy, |backend| match backend {
                Backend::Kernel => self.prepare_kernel(run),
                Backend::User => self.prepare_user(run),
                Backend::Gateway => Err(Error::ByInterface.into()),
            })
    }

    fn prepare_kernel<'a>(&self, run: &'a command::Run<'a>) -> Result<Prepared<'a>> {
        let is_root = nix::unistd::geteuid().is_root();
        if is_root && !self.in_scope && scope::is_available() {
            return Err(scope::enter()).context("systemd-run");
        }
        let prepared = run.prepare(Backend::Kernel, &self.policies(Backend::Kernel)?)?;
        if is_root && let Err(error) = Registry::open() {
            let cause = output::describe(&error.into());
            complain(&format!("'ebb status' will not list it: {cause}"));
        }
        Ok(prepared)
    }

    fn prepare_user<'a>(&self, run: &'a command::Run<'a>) -> Result<Prepared<'a>> {
        Ok(run.prepare(Backend::User, &self.policies(Backend::User)?)?)
    }

    fn policies(&self, backend: Backend) -> Result<Policies> {
        // The kernel backend's default law for sending is nobody's wish.
        let is_default = self.upload_policy == UploadPolicy::default();
        let wanted = self.floor.add_to(Wanted {
            download: self.policy.clone(),
            upload: (!is_default).then(|| self.upload_policy.clone()),
            keeps_code_point: self.keep_code_point,
            ..Wanted::default()
        })?;
        Ok(Policies::new(&wanted, backend)?)
    }

    fn run(&self, prepared: Prepared<'_>) -> Result<u8> {
        let began = Instant::now();
        match prepared.execute(&complain)? {
            Outcome::NotStarted(error) => Ok(self.not_started(&error)),
            Outcome::Ended { status, summary } => {
                if let Some(summary) = summary {
                    self.tell(&summary, began.elapsed());
                }
                Ok(status)
            }
        }
    }

    fn not_started(&self, error: &NotStarted) -> u8 {
        let program = self.words[0].to_string_lossy();
        let cause = match error.status {
            NOT_FOUND if Path::new(&self.words[0]).exists() && program.contains('/') => {
                "the interpreter in its first line, or its loader, is missing".to_owned()
            }
            NOT_FOUND => "command not found".to_owned(),
            _ => error.cause.to_string(),
        };
        complain(&format!("{program}: {cause}"));
        error.status
    }

    fn tell(&self, summary: &Summary, elapsed: Duration) {
        if let Some(reason) = &summary.ended_early {
            complain(&format!(
                "the policy ended before the command did: {reason}"
            ));
        }
        if self.summary {
            complain(&summary::line(summary, elapsed));
        } else if let Some(text) =
            summary::ungoverned(summary.ungoverned_connections, summary.backend)
        {
            complain(&text);
        }
    }
}

/// It would be under another policy anyway.
fn is_under_policy(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::AlreadyAttached { .. }))
}
