// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb doctor`: what this machine offers, and what to do about the rest.

use std::fmt::Write;

use anyhow::Result;
use clap::Args;
use ebb_keeper::kernel::features::{self, Feature, Presence};
use ebb_keeper::{Cgroup, kernel, user};
use serde::Serialize;

use crate::output;
use crate::scope;

/// Tell what this machine offers, and what to do about what is missing
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Doctor {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

const LONG_ABOUT: &str = "\
Tell what this machine offers, and what to do about what is missing.

Looks at everything that Ebb uses, says which backend `ebb run` will use, and gives a remedy \
for each thing that is missing. As root it also tries: it attaches a policy to an empty cgroup \
of its own and takes it off again. Nothing else is changed.";

const AFTER_HELP: &str = "\
Exit status: 0 Ebb can be used here, 1 it cannot.

Examples:
  sudo ebb doctor
  sudo ebb doctor --json | jq -r '.checks[] | select(.presence == \"missing\") | .remedy'";

#[derive(Serialize)]
struct Diagnosis {
    kernel_release: String,
    is_usable: bool,
    /// Why sockets of one's own processes cannot be copied, if they cannot: what the user
    /// backend needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_backend_problem: Option<String>,
    /// The backend that `ebb run` will use, if any.
    backend: Option<&'static str>,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Check {
    key: &'static str,
    name: &'static str,
    /// The first release of Linux that has it, if it is the kernel's.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'static str>,
    presence: &'static str,
    is_required: bool,
    detail: String,
    /// Only if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// What Ebb does without it, if it is missing and not required.
    #[serde(skip_serializing_if = "Option::is_none")]
    otherwise: Option<&'static str>,
}

impl Doctor {
    /// Prints the diagnosis; answers the exit status.
    pub fn execute(self) -> Result<u8> {
        let diagnosis = examine();
        if self.json {
            output::print_json(&diagnosis)?;
        } else {
            output::print(&describe(&diagnosis))?;
        }
        Ok(u8::from(!diagnosis.is_usable))
    }
}

fn examine() -> Diagnosis {
    // Forks, so before anything starts a thread.
    let user_backend_problem = user::probe().err().map(|error| error.to_string());
    let features = features::probe();
    let mut checks: Vec<Check> = features.features.iter().map(Check::from).collect();
    checks.push(place_of_commands());
    if features.is_usable() {
        checks.push(trial());
    }
    let has_kernel_backend = checks
        .iter()
        .all(|check| !check.is_required || check.presence != "missing");
    let kernel_release = features.kernel_release;
    Diagnosis {
        kernel_release,
        is_usable: has_kernel_backend || user_backend_problem.is_none(),
        backend: match &user_backend_problem {
            _ if has_kernel_backend => Some("kernel"),
            None => Some("user"),
            Some(_) => None,
        },
        user_backend_problem,
        checks,
    }
}

impl From<&Feature> for Check {
    fn from(feature: &Feature) -> Self {
        let is_missing = feature.presence == Presence::Missing;
        Self {
            key: feature.key,
            name: feature.name,
            since: feature.since,
            presence: match feature.presence {
                Presence::Present => "present",
                Presence::Missing => "missing",
                Presence::Unknown => "unknown",
            },
            is_required: feature.is_required(),
            detail: feature.detail.clone(),
            remedy: is_missing.then(|| feature.remedy.to_owned()),
            otherwise: feature.otherwise.filter(|_| is_missing),
        }
    }
}

/// Where `ebb run` puts its commands.
fn place_of_commands() -> Check {
    let detail = if scope::is_available() {
        "a transient scope of systemd".to_owned()
    } else {
        match Cgroup::of_process(std::process::id()) {
            Ok(own) => format!("a cgroup below {}", own.path().display()),
            Err(_) => "a cgroup below the root".to_owned(),
        }
    };
    Check {
        key: "place",
        name: "place for commands",
        since: None,
        presence: "present",
        is_required: false,
        detail,
        remedy: None,
        otherwise: None,
    }
}

/// The proof of the pudding.
fn trial() -> Check {
    let tried = kernel::try_out();
    let error = tried.err().map(|error| output::describe(&error.into()));
    Check {
        key: "trial",
        name: "trial",
        since: None,
        presence: if error.is_none() {
            "present"
        } else {
            "missing"
        },
        is_required: true,
        detail: match &error {
            None => "a policy was attached to an empty cgroup and taken off again".to_owned(),
            Some(error) => error.clone(),
        },
        remedy: error.map(|_| "look up the reason above; with -vv Ebb tells more".to_owned()),
        otherwise: None,
    }
}

fn describe(diagnosis: &Diagnosis) -> String {
    let mut text = format!(
        "Linux {}; behind each feature of the kernel the release that brought it\n\n",
        diagnosis.kernel_release
    );
    let name_width = widest(diagnosis.checks.iter().map(|check| check.name));
    for check in &diagnosis.checks {
        let mark = match (check.presence, check.is_required) {
            ("present", _) => "ok",
            ("missing", true) => "MISSING",
            ("missing", false) => "absent",
            _ => "unknown",
        };
        // Writing to a string cannot fail.
        let (name, since) = (check.name, check.since.unwrap_or_default());
        let _ = writeln!(
            text,
            "  {mark:8} {name:name_width$}  {since:>5}  {}",
            check.detail
        );
        if let Some(consequence) = check.otherwise.or(check.remedy.as_deref()) {
            let _ = writeln!(
                text,
                "  {:8} {:name_width$}  {:5}  -> {consequence}",
                "", "", ""
            );
        }
    }
    if let Some(problem) = &diagnosis.user_backend_problem {
        let _ = writeln!(text, "  {:8} user backend: {problem}", "absent");
    }
    text.push_str(match diagnosis.backend {
        Some("user") => {
            "\n`ebb run` uses the user backend here: what is missing above is for the kernel backend.\n"
        }
        Some(_) => "\n`ebb run` uses the kernel backend here.\n",
        None => "\nEbb cannot be used here, as this user: see what is missing above.\n",
    });
    text
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(str::len).max().unwrap_or(0)
}
