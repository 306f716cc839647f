// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The other side: ns-3 as Debian packages it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::ours::Run;
use crate::scenarios::Case;

/// What is run.
pub const VERSION: &str = "libns3-dev of this machine's Debian";

const MODULES: [&str; 8] = [
    "core",
    "network",
    "internet",
    "applications",
    "point-to-point",
    "traffic-control",
    "stats",
    "bridge",
];

/// Installs what is missing and builds the program; answers where it is.
pub fn build() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.parent().context("the crate is in a workspace")?;
    let setup = Command::new(root.join("scripts/setup"))
        .env("EBB_PACKAGES_FILE", root.join("scripts/packages-ns3.txt"))
        .status()
        .context("scripts/setup")?;
    ensure!(setup.success(), "scripts/setup could not install ns-3");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ns3-dumbbell");
    let built = Command::new("g++")
        .args(["-std=c++17", "-O3", "-march=native", "-DNDEBUG"])
        .arg(here.join("benches/ns3/dumbbell.cc"))
        .arg("-o")
        .arg(&program)
        .arg("-Wl,--as-needed")
        .args(MODULES.map(|module| format!("-lns3-{module}")))
        .status()
        .context("g++")?;
    ensure!(built.success(), "g++ could not build dumbbell.cc");
    Ok(program)
}

/// Runs a scenario in it.
pub fn run(program: &Path, case: &Case) -> Result<Run> {
    let output = Command::new(program)
        .args(case.ns3.split_whitespace())
        .output()
        .with_context(|| program.display().to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "ns-3 failed: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    parse(&text).with_context(|| format!("ns-3 printed: {text}"))
}

/// Reads `key=value`; of a key that comes more than once the last value counts, but for
/// goodputs.
fn parse(text: &str) -> Result<Run> {
    let pairs: Vec<(&str, &str)> = text
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .collect();
    let last: HashMap<&str, &str> = pairs.iter().copied().collect();
    let number = |key: &str| -> Result<f64> {
        let value = last.get(key).with_context(|| format!("no {key}"))?;
        value.parse().with_context(|| format!("{key}={value}"))
    };
    let mut goodputs: Vec<&str> = pairs
        .iter()
        .filter(|(key, _)| *key == "goodput_mbps")
        .map(|(_, value)| *value)
        .collect();
    let sum = format!(
        "sum {:.2}, Jain {:.3}",
        number("sum_goodput_mbps")?,
        number("jain")?
    );
    if goodputs.is_empty() {
        goodputs.push(&sum);
    }
    Ok(Run {
        wall_s: number("wall_s")?,
        events: number("events")? as u64,
        bottleneck_pkts: number("bott_pkts")? as u64,
        drops: number("drops")? as u64,
        queue_ms: number("mean_qdelay_ms")?,
        goodputs: goodputs.join(" + "),
    })
}
