// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb policies`: what laws there are and what can be set on each.

use std::fmt::Write;

use anyhow::Result;
use clap::Args;
use ebb_algorithms::{LawInfo, ParamInfo, Policy, Side, counter_laws, laws, own_laws};
use ebb_keeper::kernel::own::has_programs;
use serde::Serialize;

use crate::output;

/// List the laws and their parameters
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct ListPolicies {
    /// Only this law
    #[arg(value_name = "LAW", value_parser = parse_law)]
    law: Option<&'static LawInfo>,

    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

const LONG_ABOUT: &str = "\
List the laws and their parameters, with defaults, bounds and sources.

A policy is a law, and values for those of its parameters that are to differ from their \
defaults: `ebb`, or `ebb:target_us=8000,high_us=20000`. All values are whole numbers. The \
sources in brackets are listed in algorithms/SOURCES.md.

A law is for one direction: what is received (`--policy`), or what is sent (`--upload-policy`); and \
for one backend of `ebb run`: those of the kernel backend judge every packet, those of the user \
backend what the kernel tells of a connection.";

const AFTER_HELP: &str = "\
Examples:
  ebb policies                 all laws
  ebb policies vulture         one law
  ebb policies sampled         of the user backend
  ebb policies --json | jq .   for programs";

impl ListPolicies {
    /// Prints the list.
    pub fn execute(self) -> Result<()> {
        let chosen: Vec<&LawInfo> = match self.law {
            Some(law) => vec![law],
            None => laws()
                .iter()
                .chain(counter_laws())
                .chain(own_laws())
                .collect(),
        };
        if self.json {
            let laws: Vec<_> = chosen.into_iter().map(LawOutput::from).collect();
            return output::print_json(&laws);
        }
        let texts: Vec<_> = chosen.into_iter().map(describe).collect();
        output::print(&texts.join("\n"))
    }
}

#[derive(Serialize)]
struct LawOutput {
    name: &'static str,
    side: String,
    direction: &'static str,
    backend: &'static str,
    /// Taken by this backend, in this direction, if none is chosen.
    is_default: bool,
    summary: &'static str,
    params: Vec<ParamOutput>,
}

#[derive(Serialize)]
struct ParamOutput {
    name: &'static str,
    default: u32,
    min: u32,
    max: u32,
    unit: &'static str,
    source: &'static str,
    what: &'static str,
}

impl From<&LawInfo> for LawOutput {
    fn from(law: &LawInfo) -> Self {
        Self {
            name: law.name,
            side: law.side().to_string(),
            direction: direction(law),
            backend: backend(law),
            is_default: is_default(law),
            summary: law.summary,
            params: law.params.iter().map(ParamOutput::from).collect(),
        }
    }
}

impl From<&ParamInfo> for ParamOutput {
    fn from(param: &ParamInfo) -> Self {
        Self {
            name: param.name,
            default: param.default,
            min: param.min,
            max: param.max,
            unit: param.unit,
            source: param.source,
            what: param.what,
        }
    }
}

fn parse_law(name: &str) -> Result<&'static LawInfo, String> {
    // A policy's name is a law's: parse it as one for the same suggestions.
    match name.parse::<ebb_algorithms::Policy>() {
        Ok(policy) if !name.contains(':') => Ok(policy.law()),
        Ok(policy) => Err(format!("name the law alone: '{}'", policy.law().name)),
        Err(error) => Err(error.to_string()),
    }
}

fn is_default(law: &LawInfo) -> bool {
    law.is_for_counters() || law.name == Policy::default_of(law.side()).law().name
}

fn direction(law: &LawInfo) -> &'static str {
    match law.side() {
        Side::Receiver => "download",
        Side::Sender => "upload",
    }
}

fn backend(law: &LawInfo) -> &'static str {
    match law.is_for_counters() {
        true => "user",
        false if has_programs(law) => "kernel",
        false => "none",
    }
}

/// Who has it, after "for uploads".
fn host(law: &LawInfo) -> String {
    match backend(law) {
        "none" => "in the simulator alone".into(),
        backend => format!("by the {backend} backend"),
    }
}

fn describe(law: &LawInfo) -> String {
    let mark = if is_default(law) {
        " (the default)"
    } else {
        ""
    };
    let mut text = format!(
        "{}{mark}, {}, for {}s {}: {}\n",
        law.name,
        law.side(),
        direction(law),
        host(law),
        law.summary
    );
    let width = law
        .params
        .iter()
        .map(|param| param.name.len())
        .max()
        .unwrap_or(0);
    for param in &law.params {
        let ParamInfo {
            name,
            default,
            min,
            max,
            unit,
            source,
            what,
        } = param;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {name:width$}  {default}{} ({min} to {max})",
            in_unit(unit)
        );
        let _ = writeln!(text, "  {:width$}  {what} {source}", "");
    }
    text
}

/// A unit behind a number; plain numbers have `1`.
fn in_unit(unit: &str) -> String {
    match unit {
        "1" => String::new(),
        unit => format!(" {unit}"),
    }
}
