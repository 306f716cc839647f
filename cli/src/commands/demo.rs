// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb demo`: shows on an emulated home link what Ebb is for.

mod shown;
mod words;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use ebb_algorithms::{Policy, Side};
use ebb_keeper::run::check_for_user_backend;
use ebb_keeper::{Backend, Error, Policies, Wanted, kernel};
use ebb_lab::demo::{self, BACKGROUND_DEVICES, Options, PartKind, Status, Yielding};
use ebb_lab::emulator::EmulatorReport;
use ebb_lab::home;
use ebb_report::{image, units};

use crate::backend::{BackendChoice, require_root};
use crate::output::{self, StatusLine};
use words::Words;

/// Show on an emulated home link what a download does to a person's traffic
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Demo {
    /// What to show
    #[arg(value_name = "WHAT", value_enum, default_value_t)]
    what: What,

    /// Directory for the plot; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = "ebb-demo")]
    output: PathBuf,

    /// Law that downloads yield by; see `ebb policies`: without it `ebb`, with the user
    /// backend `sampled`
    #[arg(short, long, value_name = "POLICY", value_parser = Policy::receiver)]
    policy: Option<Policy>,

    /// How `ebb run` reaches the connections of curl
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,

    /// Length of each of the three parts
    #[arg(long, value_name = "N", default_value_t = 22,
          value_parser = clap::value_parser!(u64).range(4..=600))]
    seconds: u64,
}

/// What there is to be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum What {
    /// A download on the person's own machine, under `ebb run`
    #[default]
    Run,
    /// Downloads of other devices of the home, behind a router with `ebb gateway`; needs root
    Gateway,
}

const LONG_ABOUT: &str = "\
Show on an emulated home link what a download does to a person's traffic.

Everything is real but the link: nginx, curl and the kernel's TCP, in network namespaces that go \
away with the demo; the Internet is not needed. The link has 10 Mbit/s, a round trip of 100 ms and \
a queue of 86 packets. A person opens a page every other second and is on a call: with nobody \
else, beside a download by plain curl, and beside the same download under `ebb run`.

`ebb demo gateway` shows a home of four devices behind a router with masquerade: a laptop reads, a \
phone is on a call, a console and a television download. Nothing of Ebb runs on any of them; in \
the third part the router runs `ebb gateway`. This needs root: packet programs in the kernel are \
refused to others, in namespaces of their own as well.

Without root all of this is in user and network namespaces of its own, and `ebb run` has the user \
backend. The table says which backend was shown.

Prints a table and writes a plot, demo.png and demo.svg. Takes about 75 seconds.";

const AFTER_HELP: &str = "\
Examples:
  ebb demo                           table, and the plot in ./ebb-demo: the user backend
  sudo ebb demo                      the same with the kernel backend
  sudo ebb demo --policy vulture     the same with another law
  sudo ebb demo --output /tmp/plot   the plot elsewhere
  sudo ebb demo gateway              a home behind a router that runs Ebb";

impl Demo {
    /// Runs the demo, prints the table, writes the plot.
    pub fn execute(self) -> Result<()> {
        let words = self.words();
        let options = match self.what {
            What::Run => self.run()?,
            What::Gateway => self.gateway()?,
        };
        prepare_folder(&self.output)?;
        if !nix::unistd::geteuid().is_root() {
            ebb_lab::without_root::enter_namespaces()?;
        }
        let mut progress = Progress::new(self.seconds, words);
        let outcome = demo::run(&options, |status| progress.tell(status));
        progress.end();
        let (outcome, emulator) = outcome?;

        let notes = notes(&emulator);
        output::print(&format!("{}\n", shown::table(&outcome, words, &notes)))?;
        let files = image::write(&shown::figure(&outcome, words), &self.output, "demo")?;
        give_to_sudoer(&self.output, &files);
        output::print(&format!(
            "Plot: {} and {}\n",
            files[1].display(),
            files[0].display()
        ))
    }

    fn words(&self) -> &'static Words {
        match self.what {
            What::Run => &words::RUN,
            What::Gateway => &words::GATEWAY,
        }
    }

    /// A home whose router runs `ebb gateway`.
    fn gateway(&self) -> Result<Options> {
        require_root("demo gateway")?;
        ensure!(
            self.backend == BackendChoice::Auto,
            "--backend is for 'ebb demo run': a gateway has one of its own"
        );
        let policy = self.policy.clone();
        let policy = policy.unwrap_or_else(|| Policy::default_of(Side::Receiver));
        let (ebb, law) = (this_program()?, policy.to_string());
        let words = [&ebb, "gateway", "--lan", home::LAN, "--policy", &law];
        let rule = |device| format!("[[rule]]\nclient = \"{device}\"\n");
        Ok(Options {
            part: Duration::from_secs(self.seconds),
            yielding: Yielding::Gateway {
                words: words.map(str::to_owned).to_vec(),
                rules: BACKGROUND_DEVICES.map(rule).concat(),
            },
            method: format!("the gateway backend, policy {law}"),
        })
    }

    /// The person's own machine, with `ebb run`.
    fn run(&self) -> Result<Options> {
        let backend = self.backend()?;
        let policy = match &self.policy {
            Some(policy) => policy.clone(),
            None => Policies::new(&Wanted::default(), backend)?.download,
        };
        ensure!(
            (backend == Backend::User) == policy.law().is_for_counters(),
            "the law '{}' is not one of the {backend} backend (see 'ebb policies'; --backend \
             chooses the backend)",
            policy.law().name
        );
        let words = [this_program()?, backend.to_string(), policy.to_string()];
        let [ebb, name, law] = &words;
        let yielding = [ebb, "run", "--backend", name, "--policy", law, "--"];
        Ok(Options {
            part: Duration::from_secs(self.seconds),
            yielding: Yielding::Command(yielding.map(str::to_owned).to_vec()),
            method: format!("the {backend} backend, policy {law}"),
        })
    }

    /// The backend that there is, before anything is set up for it.
    fn backend(&self) -> Result<Backend> {
        let is_final = |_: &anyhow::Error| false;
        self.backend.attempt(is_final, |backend| {
            if backend == Backend::Kernel {
                require_root("demo")?;
            }
            match backend {
                Backend::Kernel if self.backend == BackendChoice::Kernel => {}
                Backend::Kernel => ensure!(
                    kernel::features::probe().is_usable(),
                    "this machine cannot have the kernel backend (see 'ebb doctor')"
                ),
                Backend::User => check_for_user_backend("curl".as_ref())?,
                Backend::Gateway => return Err(Error::ByInterface.into()),
            }
            Ok(backend)
        })
    }
}

fn this_program() -> Result<String> {
    let ebb = std::env::current_exe().context("where is this program?")?;
    Ok(ebb.display().to_string())
}

/// What would go wrong at the end is told at the beginning.
fn prepare_folder(folder: &Path) -> Result<()> {
    let name = || format!("{}: the plot's directory", folder.display());
    std::fs::create_dir_all(folder).with_context(name)?;
    nix::unistd::access(folder, nix::unistd::AccessFlags::W_OK).with_context(name)
}

fn notes(emulator: &EmulatorReport) -> Vec<String> {
    let mut notes = vec![emulator.summary()];
    if emulator.is_disturbed() {
        notes.push(
            "This run was DISTURBED: the machine was too busy to emulate the link exactly, so do \
             not trust its numbers. Run it again when the machine is idle."
                .into(),
        );
    }
    notes
}

/// Under sudo, the plot belongs to the person who asked for it.
fn give_to_sudoer(folder: &Path, files: &[PathBuf]) {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    if let (Some(user), Some(group)) = (number("SUDO_UID"), number("SUDO_GID")) {
        let paths = files.iter().map(PathBuf::as_path).chain([folder]);
        // A plot that stays root's can be read all the same.
        paths.for_each(|path| drop(std::os::unix::fs::chown(path, Some(user), Some(group))));
    }
}

/// How far the demo is, on standard error: one line kept up to date on a terminal, else a
/// line when a part begins.
struct Progress {
    line: StatusLine,
    seconds: u64,
    words: &'static Words,
    current: Option<PartKind>,
}

impl Progress {
    fn new(seconds: u64, words: &'static Words) -> Self {
        Self {
            line: StatusLine::new(),
            seconds,
            words,
            current: None,
        }
    }

    fn tell(&mut self, status: Status) {
        let is_new = self.current.replace(status.kind) != Some(status.kind);
        if self.line.is_shown() {
            self.line.show(&self.text(status));
        } else if is_new {
            // The demo goes on where nobody watches.
            let _ = writeln!(std::io::stderr(), "{}", self.words.heading(status.kind));
        }
    }

    fn end(&self) {
        self.line.end();
    }

    fn text(&self, status: Status) -> String {
        let elapsed = status.elapsed_s.min(self.seconds as f64);
        let mut line = format!(
            "{}: {elapsed:.0} of {} s",
            self.words.heading(status.kind),
            self.seconds
        );
        if let Some(page) = status.last_page_s {
            line += &format!("  page {}", units::seconds(page));
        }
        line += &format!("  call {:.0} ms", status.call_ms);
        if let Some(rate) = status.download_bits_per_s {
            line += &format!("  {} {}", self.words.downloads, units::rate(rate));
        }
        line
    }
}
