// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb man`: the manual pages, made from the same texts as `--help`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};

/// Write the manual pages into a directory
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Man {
    /// Directory to write to; it is made if need be
    directory: PathBuf,
}

impl Man {
    /// Writes one page per command: `ebb.1`, `ebb-run.1`, …
    pub fn execute(self) -> Result<()> {
        let context = || self.directory.display().to_string();
        fs::create_dir_all(&self.directory).with_context(context)?;
        let mut command = crate::Cli::command().disable_help_subcommand(true);
        command.build();
        write_pages(&command, &self.directory)
    }
}

fn write_pages(command: &clap::Command, directory: &Path) -> Result<()> {
    for subcommand in command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        write_pages(subcommand, directory)?;
    }
    let path = directory.join(format!("{}.1", page_name(command)));
    fs::write(&path, page(command)?).with_context(|| path.display().to_string())
}

/// `ebb-lab-shell`, as manual pages are called.
fn page_name(command: &clap::Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

fn page(command: &clap::Command) -> Result<Vec<u8>> {
    let page = clap_mangen::Man::new(command.clone())
        .title(page_name(command).to_uppercase())
        .source(concat!("ebb ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    text.extend(synopsis(command).bytes());
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    let after_help = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    text.extend(
        after_help
            .split("\n\n")
            .flat_map(|part| section(part).into_bytes()),
    );
    Ok(text)
}

fn synopsis(command: &clap::Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage
        .strip_prefix("Usage: ")
        .unwrap_or(&usage)
        .trim()
        .replace('\n', "\n.br\n");
    format!(".SH SYNOPSIS\n{}\n", escape(&usage))
}

/// A part of what follows the options: examples line by line, anything else as running text.
fn section(part: &str) -> String {
    match part.split_once(':') {
        Some(("Examples", lines)) => format!(".SH EXAMPLES\n.nf{}\n.fi\n", escape(lines)),
        Some((title @ ("Exit status" | "Environment"), text)) => {
            format!(".SH {}\n{}\n", title.to_uppercase(), escape(text.trim()))
        }
        _ => format!(".PP\n{}\n", escape(part)),
    }
}

/// Keeps roff from reading text as its own: backslashes, hyphens, dots in front.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = text.lines().map(|line| match line.chars().next() {
        Some('.' | '\'') if line != ".br" => format!("\\&{line}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_not_read_as_roff() {
        assert_eq!(escape("a-b \\n\n.TH\n'x"), "a\\-b \\en\n\\&.TH\n\\&'x");
    }

    #[test]
    fn examples_keep_their_lines() {
        let text = section("Examples:\n  ebb  run\n  ebb man");
        assert_eq!(text, ".SH EXAMPLES\n.nf\n  ebb  run\n  ebb man\n.fi\n");
    }
}
