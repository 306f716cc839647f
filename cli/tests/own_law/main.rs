// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A law of one's own is built, simulated and scored as those of Ebb are: docs/laws/own-law.md.

mod kernel;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use support::{stderr, stdout};
use tempfile::TempDir;

/// A folder to build laws in.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn ebb(&self, laws: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ebb"));
        let files = laws.iter().map(|name| self.path(name));
        command
            .current_dir(self.0.path())
            .env("EBB_LAWS", std::env::join_paths(files).unwrap());
        command
    }

    /// For the simulator and the score alone: the kernel's programs take their time.
    fn build(&self, name: &str, header: &str) -> Output {
        self.build_as(name, header, &["--no-kernel"])
    }

    fn build_as(&self, name: &str, header: &str, how: &[&str]) -> Output {
        std::fs::write(self.path(name), header).unwrap();
        let mut command = self.ebb(&[]);
        command
            .args(["law", "build", name])
            .args(how)
            .output()
            .unwrap()
    }

    fn policies(&self, laws: &[&str]) -> String {
        stdout(&self.ebb(laws).arg("policies").output().unwrap())
    }

    /// The result of two flows with this setting.
    fn simulate(&self, laws: &[&str], setting: &str) -> Value {
        let mut command = self.ebb(laws);
        command.args(["sim", "run", "--json", "--set", setting]);
        let output = command.arg(repository("scenarios/two-flows.toml"));
        let output = output.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap()
}

/// The header that the page shows.
fn gentle() -> String {
    let page = read("docs/laws/own-law.md");
    let (_, rest) = page.split_once("```c\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// A law of Ebb's under the name `mine`, with the entry of the list that it is to be in.
fn renamed(path: &str, name: &str, entry: &str) -> String {
    let header = read(path).replace(&format!("ebb_{name}_"), "ebb_mine_");
    let header = header.replace(&format!("EBB_{}_", name.to_uppercase()), "EBB_MINE_");
    format!("{header}\n{entry}\n")
}

#[test]
fn a_law_of_ones_own_does_to_the_byte_what_the_same_law_of_ebbs_does() {
    let place = Place::new();
    for (key, name, path, entry) in [
        (
            "sender",
            "reno",
            "algorithms/reno/reno.h",
            "#define EBB_OWN_SENDER_LAWS(X) X(1000, mine, \"mine\", EBB_MINE_PARAMS, 0, \"\")",
        ),
        (
            "receiver",
            "rledbat",
            "algorithms/rledbat/rledbat.h",
            "#define EBB_OWN_RECEIVER_LAWS(X) X(1001, mine, EBB_MINE_PARAMS, \"\")",
        ),
    ] {
        let built = place.build("mine.h", &renamed(path, name, entry));
        assert!(built.status.success(), "{}", stderr(&built));
        assert_eq!(stdout(&built), "mine.so: mine\n");
        let own = place.simulate(&["mine.so"], &format!("flow.mine.{key}=mine"));
        let known = place.simulate(&[], &format!("flow.mine.{key}={name}"));
        for part in ["series", "links"] {
            assert_eq!(own["runs"][0][part], known["runs"][0][part], "{name}");
        }
        assert_ne!(own["scenario"], known["scenario"]);
    }
}

/// Of a window of 30 kB in a round trip of 100 ms.
const CEILING_BITS_PER_S: f64 = 2.4e6;

#[test]
fn a_receiver_law_of_ones_own_is_asked_before_each_acknowledgement_if_it_says_so() {
    let place = Place::new();
    let entry = "\
EBB_INLINE void ebb_mine_on_ack(struct ebb_mine_state *state, const struct ebb_ack *ack,
				const struct ebb_mine_params *params)
{
	(void)ack;
	(void)params;
	state->rwnd_bytes = 30000;
}
#define EBB_OWN_RECEIVER_LAWS(X) X(1001, mine, EBB_MINE_PARAMS, \"\")
#define EBB_OWN_ON_ACK_LAWS(X) X(mine)";
    let header = renamed("algorithms/rledbat/rledbat.h", "rledbat", entry);
    let built = place.build("mine.h", &header);
    assert!(built.status.success(), "{}", stderr(&built));
    let result = place.simulate(&["mine.so"], "flow.mine.receiver=mine");
    let alone = &result["runs"][0]["flows"][0]["measures"][0]["goodput_bits_per_s"];
    let alone = alone.as_f64().unwrap();
    assert!((2e6..=CEILING_BITS_PER_S).contains(&alone), "{alone}");
}

/// An upload under a law, beside which another begins by CUBIC after 20 s.
const UPLOADS: &str = "\
duration = \"40s\"
[measure]
alone = [\"5s\", \"20s\"]
together = [\"25s\", \"40s\"]
[bottleneck]
rate = \"10mbit\"
rtt = \"100ms\"
queue = 86
[[flow]]
name = \"mine\"
class = \"lbe\"
sender = \"gentle\"
[[flow]]
name = \"other\"
start = \"20s\"
";

#[test]
fn the_law_of_the_page_takes_an_empty_link_and_yields_and_is_scored() {
    let place = Place::new();
    let built = place.build("gentle.h", &gentle());
    assert!(built.status.success(), "{}", stderr(&built));
    std::fs::write(place.path("uploads.toml"), UPLOADS).unwrap();
    let mut command = place.ebb(&["gentle.so"]);
    let output = command.args(["sim", "run", "--json", "uploads.toml"]);
    let result: Value = serde_json::from_slice(&output.output().unwrap().stdout).unwrap();
    let mbits = |flow: usize, interval: usize| {
        let measure = &result["runs"][0]["flows"][flow]["measures"][interval];
        measure["goodput_bits_per_s"].as_f64().unwrap() / 1e6
    };
    assert!(mbits(0, 0) > 7.0 && mbits(1, 1) > 8.0, "{result}");

    let mut command = place.ebb(&["gentle.so"]);
    let output = command
        .args([
            "score",
            "--law",
            "gentle",
            "--scenario",
            "on-off-3s",
            "--runs",
            "1",
            "--json",
        ])
        .arg("--matrix")
        .arg(repository("experiments/score"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let scores: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(scores.to_string().contains("\"gentle\""), "{scores}");
    let listed = place.policies(&["gentle.so"]);
    assert!(
        listed.contains("uploads in the simulator alone: gentle"),
        "{listed}"
    );
}

#[test]
fn mistakes_in_a_law_are_told_with_their_place() {
    let place = Place::new();
    let told = |header: &str| {
        let built = place.build("gentle.h", header);
        assert_eq!(built.status.code(), Some(1));
        assert!(!place.path("gentle.so").exists());
        stderr(&built)
    };
    let gentle = gentle();
    let complaint = told(&gentle.replace("u32 acked_pkts = ack->acked_pkts;", "u32 acked_pkts;"));
    assert!(
        complaint.contains("gentle.h:") && complaint.contains("acked_pkts"),
        "{complaint}"
    );
    for (from, to, expected) in [
        ("X(1000, ", "X(7, ", "gentle.h: gentle has the number 7"),
        (
            "\"gentle\"",
            "\"reno\"",
            "gentle.h: reno is the name of a law of Ebb's",
        ),
        ("EBB_OWN_SENDER_LAWS", "EBB_OWN_LAWS", "defines neither"),
    ] {
        let complaint = told(&gentle.replace(from, to));
        assert!(complaint.contains(expected), "{complaint}");
    }
}

#[test]
fn two_laws_with_one_number_are_refused_together() {
    let place = Place::new();
    let other = gentle()
        .replace("gentle", "other")
        .replace("GENTLE", "OTHER");
    for (name, header) in [("gentle.h", gentle()), ("other.h", other)] {
        let built = place.build(name, &header);
        assert!(built.status.success(), "{}", stderr(&built));
    }
    let mut command = place.ebb(&["gentle.so", "other.so"]);
    let said = stderr(&command.arg("policies").output().unwrap());
    assert!(
        said.contains("other.so: other has the name or the number of gentle, 1000"),
        "{said}"
    );
    // Both in one file.
    let entry = "#define EBB_OWN_RECEIVER_LAWS(X) X(1000, mine, EBB_MINE_PARAMS, \"\")";
    let mine = renamed("algorithms/rledbat/rledbat.h", "rledbat", entry);
    let said = stderr(&place.build("both.h", &format!("{}{mine}", gentle())));
    assert!(
        said.contains("both.h: gentle has the name or the number of mine, 1000"),
        "{said}"
    );
}

#[test]
fn a_command_is_not_said_to_have_failed_where_a_law_is_wrong() {
    let place = Place::new();
    let mut command = place.ebb(&["missing.so"]);
    let output = command.args(["run", "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
}

#[test]
fn what_is_no_law_is_refused_by_name_and_without_it_there_is_none() {
    let place = Place::new();
    std::fs::write(place.path("text.so"), "no object").unwrap();
    for (laws, expected) in [
        (&["text.so"][..], "text.so: no law in it"),
        (&["missing.so"], "missing.so: No such file"),
    ] {
        let output = place.ebb(laws).arg("policies").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    let output = place
        .ebb(&[])
        .args(["policies", "gentle"])
        .output()
        .unwrap();
    assert!(stderr(&output).contains("gentle"), "{}", stderr(&output));
    assert!(!output.status.success());
    // Whoever runs no law does not look.
    let output = place.ebb(&["text.so"]).arg("status").output().unwrap();
    assert!(!stderr(&output).contains("text.so"), "{}", stderr(&output));
}
