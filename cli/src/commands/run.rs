// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run`: starts a command that yields.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use ebb_algorithms::Policy;
use ebb_keeper::Error;
use ebb_keeper::backend::Backend;
use ebb_keeper::keeper::{self, Duty};
use ebb_keeper::policies::{Policies, UploadPolicy, Wanted};
use ebb_keeper::process::{self, NotStarted, Start};
use ebb_keeper::registry::Registry;
use ebb_keeper::signals::Signals;
use ebb_keeper::starter::StarterEnd;
use ebb_keeper::summary::Summary;
use ebb_keeper::user::Account;
use ebb_keeper::user_run::{self, Outcome, UserRun};
use ebb_kernel::cgroup::Cgroup;

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

    /// Do not mark what is sent as Lower Effort (RFC 8622) while a law is on it
    #[arg(long)]
    keep_code_point: bool,

    /// How the policy reaches the connections
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,

    /// Run the command as this user, not as root
    #[arg(short, long, value_name = "USER")]
    user: Option<String>,

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

/// How a policy reaches connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// The kernel backend as root, else the user backend
    #[default]
    Auto,
    /// eBPF programs in the kernel; needs root
    Kernel,
    /// From outside, by the sockets of one's own processes; needs no privilege
    User,
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

Without root the user backend does this, from outside: by the sockets of the command and of what \
it starts, which must run as the same user (no setuid programs). There is no cgroup then, and \
what is sent is held back by its pace.";

const AFTER_HELP: &str = "\
Exit status: the command's own; 128 + N if signal N killed it; 127 if there is no such \
command; 126 if it cannot be executed; 125 if Ebb refused or failed before it started.

Examples:
  ebb run -- curl -O https://example.org/large.iso
  sudo ebb run -- apt-get upgrade
  sudo ebb run --user $USER -- curl -O https://example.org/large.iso
  sudo ebb run --summary --policy ebb:target_us=8000 -- rsync -a host:/data /backup
  sudo ebb run --policy vulture -- wget -i list.txt
  sudo ebb run --upload-policy tcp-lp -- rsync -a /data host:backup
  sudo ebb run --upload-policy none -- ./serve-and-fetch";

impl Run {
    /// Runs the command; answers its exit status.
    pub fn execute(self) -> Result<u8> {
        let account = self.user.as_deref().map(Account::find).transpose()?;
        // Never as somebody else, whatever --if-unavailable says.
        account.as_ref().map_or(Ok(()), Account::try_on)?;
        match self.start() {
            Ok(Prepared::Unprivileged) => self.run_unprivileged(account.as_ref()),
            Ok(Prepared::Yielding(line, cgroup)) => {
                if let Err(error) = Registry::open() {
                    let cause = output::describe(&error.into());
                    complain(&format!("'ebb status' will not list it: {cause}"));
                }
                self.run(account.as_ref(), line, &cgroup)
            }
            Ok(Prepared::Already(cause)) => {
                tracing::info!("{cause}");
                self.run_plainly(account.as_ref())
            }
            Err(error) if self.if_unavailable == IfUnavailable::Run => {
                let cause = output::describe(&error);
                complain(&format!("{cause}; running the command without any limit"));
                self.run_plainly(account.as_ref())
            }
            Err(error) => {
                Err(error.context("the command was not run (--if-unavailable=run runs it anyway)"))
            }
        }
    }

    fn start(&self) -> Result<Prepared> {
        let is_root = nix::unistd::geteuid().is_root();
        match self.backend {
            BackendChoice::Kernel => self.start_keeper(),
            BackendChoice::Auto if is_root => self.start_keeper().or_else(|kernel| {
                tracing::info!("the kernel backend cannot be used: {kernel:#}");
                self.start_unprivileged().map_err(|user| {
                    let [kernel, user] = [kernel, user].map(|error| output::describe(&error));
                    anyhow!("{kernel}; nor can the user backend be used: {user}")
                })
            }),
            BackendChoice::Auto | BackendChoice::User => self.start_unprivileged(),
        }
    }

    fn start_unprivileged(&self) -> Result<Prepared> {
        self.policies(Backend::User)?;
        user_run::check(&self.words)?;
        Ok(Prepared::Unprivileged)
    }

    fn policies(&self, backend: Backend) -> Result<Policies> {
        // The kernel backend's default law for sending is nobody's wish.
        let is_default = self.upload_policy == UploadPolicy::default();
        let wanted = Wanted {
            download: self.policy.clone(),
            upload: (!is_default).then(|| self.upload_policy.clone()),
            keeps_code_point: self.keep_code_point,
        };
        Policies::new(&wanted, backend)
    }

    fn run_unprivileged(&self, account: Option<&Account>) -> Result<u8> {
        let run = UserRun {
            words: &self.words,
            account,
            policies: self.policies(Backend::User)?,
        };
        let began = Instant::now();
        match run.execute(&complain)? {
            Outcome::NotStarted { status, errno } => {
                let cause = std::io::Error::from_raw_os_error(errno);
                Ok(self.not_started(&NotStarted { status, cause }))
            }
            Outcome::Ended { status, summary } => {
                if let (true, Some(summary)) = (self.summary, summary) {
                    complain(&summary::line(&summary, began.elapsed()));
                }
                Ok(status)
            }
        }
    }

    fn start_keeper(&self) -> Result<Prepared> {
        require_root("run")?;
        if !self.in_scope && scope::is_available() {
            return Err(scope::enter()).context("systemd-run");
        }
        let command = self
            .words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let policies = self.policies(Backend::Kernel)?;
        let duty = Duty::Run {
            command,
            is_watched: self.summary,
        };
        match keeper::start(duty, &policies) {
            Ok((line, path)) => {
                let path = path.unwrap_or_default();
                Ok(Prepared::Yielding(line, path_to_cgroup(&path)?))
            }
            Err(error) => match error.downcast_ref() {
                Some(Error::AlreadyAttached { cause }) => Ok(Prepared::Already(cause.clone())),
                _ => Err(error),
            },
        }
    }

    fn run(&self, account: Option<&Account>, line: StarterEnd, cgroup: &Cgroup) -> Result<u8> {
        let cgroup_procs = Some(cgroup.procs_file()?);
        let began = Instant::now();
        let signals = Signals::receive()?;
        let mask = Some(signals.original_mask());
        let start = Start {
            words: &self.words,
            cgroup_procs,
            account,
            mask,
            process_group: None,
        };
        let child = match start.spawn() {
            Ok(child) => child,
            Err(error) => {
                // The keeper removes the cgroup.
                let _ = line.finish();
                return Ok(self.not_started(&error));
            }
        };
        let is_ours = |pid: nix::unistd::Pid| {
            Cgroup::of_process(pid.as_raw().cast_unsigned())
                .is_ok_and(|of_sender| of_sender.path().starts_with(cgroup.path()))
        };
        let status = child.wait(&signals, is_ours)?;
        match line.finish() {
            Ok(summary) => self.tell(&summary, began.elapsed()),
            // The command has ended all the same, and its status is what counts.
            Err(error) => {
                tracing::info!("the keeper does not answer: {error:#}");
                complain("the policy ended before the command did: its keeper was killed");
            }
        }
        Ok(status)
    }

    /// Becomes the command: Ebb is out of its way.
    fn run_plainly(&self, account: Option<&Account>) -> Result<u8> {
        let start = Start {
            words: &self.words,
            cgroup_procs: None,
            account,
            mask: None,
            process_group: None,
        };
        Ok(self.not_started(&start.exec()))
    }

    fn not_started(&self, error: &NotStarted) -> u8 {
        let program = self.words[0].to_string_lossy();
        let cause = match error.status {
            process::NOT_FOUND if Path::new(&self.words[0]).exists() && program.contains('/') => {
                "the interpreter in its first line, or its loader, is missing".to_owned()
            }
            process::NOT_FOUND => "command not found".to_owned(),
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
        }
    }
}

enum Prepared {
    Yielding(StarterEnd, Cgroup),
    Already(String),
    Unprivileged,
}

/// Says what to do before the first system call fails for want of it.
pub fn require_root(command: &str) -> Result<()> {
    let hint = match command {
        "run" => " (with --user $USER behind 'run' the command is still yours)",
        _ => "",
    };
    anyhow::ensure!(
        nix::unistd::geteuid().is_root(),
        "'ebb {command}' needs root: put 'sudo' in front{hint}"
    );
    Ok(())
}

fn path_to_cgroup(path: &Path) -> Result<Cgroup> {
    Cgroup::at(path).with_context(|| format!("cgroup {}", path.display()))
}
