// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A shell behind an emulated link, for anyone to try things.
//!
//! Only the network of the shell is another one; files, processes, cgroups and `/sys`
//! are the machine's, so that `ebb run` works in it.
mod programs;

use std::ffi::OsString;
use std::process::Command;

use ebb_link::{Capacity, LinkSpec, QueueLimit, QueueSpec};

use crate::LabError;
use crate::emulator::{
    CLIENT_IPV4, CLIENT_IPV6, DirectionReport, EmulatorReport, Path, PathSpec, SERVER_IPV4,
    SERVER_IPV6, Testbed,
};
use programs::{end_all, run_in_background, run_in_foreground};

/// A link, and what runs at its two ends.
#[derive(Clone, Debug, Default)]
pub struct Shell {
    /// The link, both directions.
    pub path: PathSpec,
    /// Command line that runs at the server's end, by sh, until the shell ends.
    pub server: Option<String>,
    /// Command at the client's end; empty: the user's shell.
    pub command: Vec<OsString>,
}

/// Runs a shell or a command behind the link; answers its exit status, 128 and the
/// number for one that a signal ended.
///
/// Commands find the addresses of both ends in `EBB_LAB_SERVER`, `EBB_LAB_SERVER6`,
/// `EBB_LAB_CLIENT` and `EBB_LAB_CLIENT6`.
///
/// *Errors:* those of [`Testbed::start`], and [`LabError::System`] for a command that cannot be
/// started.
pub fn run(shell: &Shell) -> Result<u8, LabError> {
    let banner = banner(&shell.path, shell.server.as_deref());
    let testbed = Testbed::start(vec![shell.path.clone()])?;
    let path = testbed.path(0);
    if shell.command.is_empty() {
        eprintln!("{banner}");
    }
    let status = run_both_ends(shell, path);
    end_all(path.client())?;
    end_all(path.server())?;
    let report = testbed.stop()?;
    eprintln!("{}", summary(&report));
    status
}

fn run_both_ends(shell: &Shell, path: &Path) -> Result<u8, LabError> {
    let mut server = None;
    if let Some(line) = &shell.server {
        let mut command = path.server().command("sh");
        command.arg("-c").arg(line);
        server = Some((run_in_background(with_addresses(command))?, line));
    }
    let users = users_shell();
    let (program, arguments) = shell.command.split_first().unwrap_or((&users, &[]));
    let mut command = path.client().command(program);
    command.args(arguments);
    let status = run_in_foreground(with_addresses(command));
    if let Some((mut server, line)) = server
        && let Ok(Some(failure)) = server.try_wait()
        && !failure.success()
    {
        eprintln!("--server `{line}` had ended by itself: {failure}");
    }
    status
}

fn users_shell() -> OsString {
    std::env::var_os("SHELL")
        .filter(|shell| !shell.is_empty())
        .unwrap_or("/bin/sh".into())
}

fn with_addresses(mut command: Command) -> Command {
    command
        .env("EBB_LAB_SERVER", SERVER_IPV4.to_string())
        .env("EBB_LAB_SERVER6", SERVER_IPV6.to_string())
        .env("EBB_LAB_CLIENT", CLIENT_IPV4.to_string())
        .env("EBB_LAB_CLIENT6", CLIENT_IPV6.to_string());
    command
}

fn banner(spec: &PathSpec, server: Option<&str>) -> String {
    let talk = match server {
        Some(line) => format!("Behind it runs: {line}"),
        None => "Nothing listens there; `--server COMMAND` starts something, like\n  \
                 ebb lab shell --rate 10mbit --delay 50ms --server 'python3 -m http.server 80'"
            .to_owned(),
    };
    format!(
        "This shell is behind an emulated link.\n\
         to you:    {}\n\
         from you:  {}\n\
         The other end is {SERVER_IPV4} and {SERVER_IPV6} ($EBB_LAB_SERVER); you are \
         {CLIENT_IPV4}.\n\
         {talk}\n\
         Leave with `exit`.",
        describe(&spec.forward),
        describe(&spec.reverse)
    )
}

fn describe(link: &LinkSpec) -> String {
    let rate = match &link.capacity {
        Capacity::Unlimited => "no bottleneck".to_owned(),
        Capacity::Rate(rate) => format!("{rate}/s"),
        Capacity::Trace(trace) => {
            format!(
                "a trace of {:.2} Mbit/s on average",
                trace.mean_bits_per_s() / 1e6
            )
        }
        Capacity::Steps(rates) => {
            format!(
                "rates of {:.2} Mbit/s on average",
                rates.mean_bits_per_s() / 1e6
            )
        }
    };
    let limit = |limit| match limit {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => format!("{bytes} bytes"),
    };
    let queue = match link.queue {
        QueueSpec::DropTail(size) => limit(size),
        QueueSpec::StrictPriority { best_effort, .. } => format!("twice {}", limit(best_effort)),
        active => format!("{} under {}", limit(active.limit()), active.name()),
    };
    format!("{rate}, {} one way, queue of {queue}", link.delay)
}

fn summary(report: &EmulatorReport) -> String {
    let path = &report.paths[0];
    let lines = [
        describe_traffic("to the client:", &path.forward),
        describe_traffic("to the server:", &path.reverse),
        report.summary(),
    ];
    lines.join("\n")
}

fn describe_traffic(direction: &str, report: &DirectionReport) -> String {
    let total = report.statistics.total();
    format!(
        "{direction} {} packets, {:.1} MB; {} dropped by the queue, {} lost on the way; waited \
         {:.1} ms on average, {:.1} ms at most",
        total.delivered_pkts,
        total.delivered_bytes as f64 / 1e6,
        total.dropped_pkts,
        total.lost_pkts,
        total.waiting.mean_ns().unwrap_or(0.0) / 1e6,
        total.waiting.max_ns as f64 / 1e6,
    )
}
