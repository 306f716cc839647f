// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb lab shell`: what the flags say of the link.
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use ebb_lab::emulator::{Classifier, PathSpec};
use ebb_lab::shell::{self, Shell};
use ebb_link::{
    Capacity, LinkSpec, Nanos, Probability, QueueLimit, QueueSpec, Rate, Reroute, Trace,
};

/// DSCP of the lower-effort service. [RFC8622]
const DSCP_LOWER_EFFORT: u8 = 1;

/// Open a shell behind an emulated link
#[derive(Clone, Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct LabShell {
    /// Rate of the link, in bits per second of whole IP packets, like 10mbit; without it
    /// and --trace there is no bottleneck
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    rate: Option<Rate>,

    /// Rate from the client to the server, where it differs
    #[arg(long, value_name = "RATE", requires = "rate", help_heading = "Link")]
    up_rate: Option<Rate>,

    /// File of delivery times: one time in milliseconds per line, each for one packet of
    /// 1500 bytes, repeated after the last
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "rate",
        help_heading = "Link"
    )]
    trace: Option<PathBuf>,

    /// One-way delay: half of the round trip, like 50ms
    #[arg(long, value_name = "TIME", default_value = "0", help_heading = "Link")]
    delay: Nanos,

    /// Queue in front of the link: packets, like 86, or bytes, like 128kb
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "100",
        help_heading = "Link"
    )]
    queue: QueueLimit,

    /// Two queues of that size: packets marked as lower effort (DSCP 1) are sent only while
    /// no others wait
    #[arg(long, help_heading = "Link")]
    priority: bool,

    /// Use ECN, and mark packets that find more than this in the queue
    #[arg(long, value_name = "SIZE", help_heading = "Link")]
    ecn_threshold: Option<QueueLimit>,

    /// Random loss, like 2% or 0.02
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = "Link")]
    loss: Probability,

    /// Additional delay of each packet, uniform up to this; the order is kept
    #[arg(long, value_name = "TIME", default_value = "0", help_heading = "Link")]
    jitter: Nanos,

    /// Another delay from some time on, as of a changed route, like 30s=80ms (may be repeated)
    #[arg(long, value_name = "TIME=DELAY", value_parser = read_reroute, help_heading = "Link")]
    reroute: Vec<Reroute>,

    /// Let packets overtake each other by jitter
    #[arg(long, requires = "jitter", help_heading = "Link")]
    jitter_reorders: bool,

    /// Share of packets that arrive late by --reorder-delay, so that others overtake
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = "Link")]
    reorder: Probability,

    /// How late these packets are
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5ms",
        help_heading = "Link"
    )]
    reorder_delay: Nanos,

    /// Share of packets that arrive twice
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = "Link")]
    duplicate: Probability,

    /// Seed of all of the link's random numbers
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        help_heading = "Link"
    )]
    seed: u64,

    /// Congestion control of both ends, as in
    /// /proc/sys/net/ipv4/tcp_available_congestion_control
    #[arg(
        long,
        value_name = "NAME",
        default_value = "cubic",
        help_heading = "Ends"
    )]
    congestion: String,

    /// Largest TCP payload of a segment that both ends announce
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(256..=1460),
          help_heading = "Ends")]
    mss: Option<u16>,

    /// Command line that runs at the server's end, by sh, until the shell ends
    #[arg(long, value_name = "COMMAND", help_heading = "Ends")]
    server: Option<String>,

    /// Command to run at the client's end in place of a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const LONG_ABOUT: &str = "\
Open a shell behind an emulated link.

Only the network of the shell is another one; files and processes are the machine's, and `ebb run` \
works in it. At the link's other end is a second network, at $EBB_LAB_SERVER (10.77.0.1) and \
$EBB_LAB_SERVER6 (fd77::1), in which --server runs a command for the shell to talk to. Both \
directions have the same values, but for --up-rate. When the shell ends everything goes away, and \
the link tells what it carried, and how exactly it kept its times.";

const AFTER_HELP: &str = "\
Examples:
  sudo ebb lab shell --rate 10mbit --delay 50ms --queue 86
  sudo ebb lab shell --rate 10mbit --delay 50ms --server 'python3 -m http.server 80'
  sudo ebb lab shell --trace cell.txt --loss 1% --server 'nginx -g \"daemon off;\"' -- curl http://10.77.0.1/

Exit status: that of the shell or command, 128 and the number of the signal that ended it; 1 when \
Ebb failed.";

impl LabShell {
    /// Runs the shell; answers its exit status.
    pub(super) fn execute(self) -> Result<u8> {
        Ok(shell::run(&Shell {
            path: self.path_spec()?,
            server: self.server,
            command: self.command,
        })?)
    }

    /// The path that is asked for.
    fn path_spec(&self) -> Result<PathSpec> {
        self.check_congestion()?;
        let down = self.capacity(self.rate)?;
        let up = self.capacity(self.up_rate.or(self.rate))?;
        let mut spec = PathSpec::new(self.link(down), self.link(up));
        spec.seed = self.seed;
        spec.route_mss = self.mss;
        spec.congestion_control = Some(self.congestion.clone());
        if self.priority {
            spec.classifier = Classifier::Dscp(DSCP_LOWER_EFFORT);
        }
        if self.ecn_threshold.is_some() {
            let name = "net.ipv4.tcp_ecn";
            spec = spec
                .with_server_sysctl(name, "1")
                .with_client_sysctl(name, "1");
        }
        Ok(spec)
    }

    fn capacity(&self, rate: Option<Rate>) -> Result<Capacity> {
        match (&self.trace, rate) {
            (Some(file), _) => read_trace(file).map(Capacity::Trace),
            (None, Some(rate)) => Ok(Capacity::Rate(rate)),
            (None, None) => Ok(Capacity::Unlimited),
        }
    }

    fn link(&self, capacity: Capacity) -> LinkSpec {
        let queue = match self.priority {
            false => QueueSpec::DropTail(self.queue),
            true => QueueSpec::StrictPriority {
                best_effort: self.queue,
                less_than_best_effort: self.queue,
            },
        };
        LinkSpec {
            capacity,
            bucket: None,
            aggregation: None,
            queue,
            ecn_threshold: self.ecn_threshold,
            delay: self.delay,
            reroutes: self.reroute.clone(),
            jitter: self.jitter,
            jitter_reorders: self.jitter_reorders,
            loss: self.loss,
            reorder: self.reorder,
            reorder_delay: self.reorder_delay,
            duplicate: self.duplicate,
        }
    }

    /// `ip` would say no more than "Invalid argument".
    fn check_congestion(&self) -> Result<()> {
        let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        let available =
            std::fs::read_to_string(file).with_context(|| format!("{file} (is /proc mounted?)"))?;
        if available
            .split_whitespace()
            .any(|name| name == self.congestion)
        {
            return Ok(());
        }
        let (name, available) = (&self.congestion, available.trim());
        bail!("--congestion {name}: this kernel does not have it; it has {available}");
    }
}

fn read_reroute(text: &str) -> Result<Reroute, String> {
    let (at, delay) = text
        .split_once('=')
        .ok_or("write it like 30s=80ms: from 30 s on, 80 ms each way")?;
    let time = |text: &str| text.parse::<Nanos>().map_err(|error| error.to_string());
    Ok(Reroute {
        at: time(at)?,
        delay: time(delay)?,
    })
}

fn read_trace(file: &Path) -> Result<Trace> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| {
        format!("{name} (--trace wants a text file, one time in milliseconds per line)")
    })?;
    Ok(Trace::parse(&name, &text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::io::Write;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: LabShell,
    }

    fn parse(line: &str) -> Result<LabShell, clap::Error> {
        let words = std::iter::once("shell").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.args)
    }

    #[test]
    fn makes_the_link_that_the_flags_describe() {
        let args = parse(
            "--rate 10mbit --up-rate 1mbit --delay 50ms --queue 86 --loss 2% --reroute 30s=80ms",
        )
        .unwrap();
        let spec = args.path_spec().unwrap();
        let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(50));
        let link = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(86));
        let loss = Probability::new(0.02).unwrap();
        let reorder_delay = Nanos::from_millis(5);
        let forward = LinkSpec {
            loss,
            reorder_delay,
            reroutes: vec![Reroute {
                at: Nanos::from_secs(30),
                delay: Nanos::from_millis(80),
            }],
            ..link
        };
        assert_eq!(spec.forward, forward);
        let capacity = Capacity::Rate(Rate::from_mbit_per_s(1));
        assert_eq!(
            spec.reverse,
            LinkSpec {
                capacity,
                ..forward
            }
        );
    }

    #[test]
    fn keeps_the_command_after_the_dashes_as_it_is() {
        let args = parse("--rate 1mbit -- curl --rate 5").unwrap();
        assert_eq!(args.command, ["curl", "--rate", "5"]);
    }

    #[test]
    fn refuses_wrong_values_by_naming_flag_and_remedy() {
        for (line, flag, remedy) in [
            ("--rate 10", "--rate", "10mbit"),
            ("--rate 1mbit --delay 50", "--delay", "50ms"),
            ("--queue 0", "--queue", "at least one packet"),
            ("--loss 200%", "--loss", "from 0 to 1"),
            ("--rate 1mbit --trace f", "--trace", "cannot be used with"),
            ("--reroute 30s", "--reroute", "30s=80ms"),
            ("--reroute 30s=80", "--reroute", "50ms"),
            ("--mss 20", "--mss", "256..=1460"),
        ] {
            let message = parse(line).unwrap_err().to_string();
            assert!(
                message.contains(flag) && message.contains(remedy),
                "{message}"
            );
        }
    }

    #[test]
    fn refuses_a_congestion_control_that_the_kernel_does_not_have() {
        let message = parse("--congestion fast")
            .unwrap()
            .path_spec()
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("--congestion fast"), "{message}");
        assert!(message.contains("reno"), "{message}");
    }

    #[test]
    fn names_file_and_line_of_a_wrong_trace() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "1\n2\nthree").unwrap();
        let path = file.path().display().to_string();
        let error = parse(&format!("--trace {path}"))
            .unwrap()
            .path_spec()
            .unwrap_err();
        assert!(
            error.to_string().contains(&format!("{path}:3: `three`")),
            "{error:#}"
        );
        let error = parse("--trace /nowhere/t")
            .unwrap()
            .path_spec()
            .unwrap_err();
        assert!(error.to_string().contains("/nowhere/t"), "{error}");
    }
}
