// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A gateway that the service is to keep: a section among its rules.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ebb_algorithms::{Policy, Side};
use ebb_gateway::{Hook, Interface, Options};
use ebb_scenario::reading::Section;

use super::file::{Rules, check_count, read_rules};

/// A gateway that the service is to keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The file that says so.
    pub file: PathBuf,
    /// Where in the file, from 1.
    pub line: usize,
    /// The names of the interfaces that clients are behind; they may come and go.
    pub interfaces: Vec<String>,
    /// The receiver law and its parameters.
    pub policy: Policy,
    /// How programs are put on interfaces; none: as well as the kernel can.
    pub hook: Option<Hook>,
    /// Connections that are known at once.
    pub connections: u32,
    /// Which of them yield.
    pub rules: Rules,
}

/// As many connections are known at once, if nothing else is said.
pub const CONNECTIONS: u32 = 65_536;
/// The least and the most that can be.
pub const CONNECTIONS_BOUNDS: (u32, u32) = (1_024, 4_194_304);

impl Wanted {
    /// To begin with, on these of its interfaces.
    pub fn options(&self, interfaces: Vec<Interface>) -> Options {
        Options {
            interfaces,
            policy: self.policy.clone(),
            is_observing: false,
            hook: self.hook,
            connections: self.connections,
            is_patient: true,
        }
    }

    /// Whether what was begun as the other can become this one.
    pub fn can_follow(&self, before: &Self) -> bool {
        self.file == before.file
            && self.hook == before.hook
            && self.connections == before.connections
            && self.policy.law().name == before.policy.law().name
    }
}

/// The section of a file of the service's rules that says what gateway it is to keep.
pub const SECTION: &str = "gateway";

/// Reads that section; what is wrong in it is noted there.
pub fn read_wanted(section: &Section<'_, '_>, file: &Path) -> Option<Wanted> {
    let before = section.source.problem_count();
    let interfaces = read_interfaces(section);
    let policy = section.get::<String>("policy").map(|text| {
        let policy = Policy::receiver(&text).map_err(|error| error.to_string());
        let policy = policy.and_then(|policy| match policy.law().is_for_counters() {
            true => Err("that law is for the user backend alone; see 'ebb policies'".to_owned()),
            false => Ok(policy),
        });
        policy.map_err(|message| section.wrong("policy", message))
    });
    let hook = section.choice("attach_by", &[("tcx", Hook::Tcx), ("clsact", Hook::Clsact)]);
    let connections = section.number_or("connections", CONNECTIONS_BOUNDS, CONNECTIONS);
    let rules = read_rules(section, Some(&interfaces));
    check_names(section, &rules);
    section.finish_with(|key| match key {
        "interface" | "interfaces" => Some("unknown key; did you mean `lan`?".to_owned()),
        "rules" => Some("unknown key; write [[gateway.rule]]".to_owned()),
        "upload_policy" => {
            Some("what devices send yields by the receiver's law as well: `policy`".to_owned())
        }
        _ => None,
    });
    check_count(section, &rules);
    if section.source.problem_count() > before {
        return None;
    }
    Some(Wanted {
        file: file.to_path_buf(),
        line: section.line(),
        interfaces,
        policy: policy
            .and_then(Result::ok)
            .unwrap_or_else(|| Policy::default_of(Side::Receiver)),
        hook,
        connections,
        rules,
    })
}

/// What came of rules is told by their names.
fn check_names(section: &Section<'_, '_>, rules: &Rules) {
    for (place, rule) in rules.rules.iter().enumerate() {
        let mut before = rules.rules[..place].iter().zip(&rules.lines);
        if let Some((_, line)) = before.find(|(other, _)| other.name == rule.name) {
            let at = rules.lines[place];
            section.wrong_here(format!(
                "two rules are `{}`, in lines {line} and {at}",
                rule.name
            ));
        }
    }
}

/// What is there more than once.
pub fn twice(names: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    names.iter().find(|name| !seen.insert(*name))
}

/// One, or a list.
fn read_interfaces(section: &Section<'_, '_>) -> Vec<String> {
    let is_list = section
        .value("lan")
        .is_some_and(|value| value.get_ref().is_array());
    let names = match is_list {
        true => section.get_or("lan", Vec::new()),
        false => (section.required::<String>("lan", "\"br-lan\"").into_iter()).collect(),
    };
    let is_wrong = |name: &&String| !(1..16).contains(&name.len()) || name.contains('/');
    if let Some(name) = names.iter().find(is_wrong) {
        section.wrong("lan", format!("{name:?} is no name of an interface"));
    } else if is_list && names.is_empty() {
        section.wrong("lan", "name the interfaces that the devices are behind");
    } else if let Some(name) = twice(&names) {
        section.wrong("lan", format!("{name} is there twice"));
    }
    names
}

#[cfg(test)]
mod tests {
    use ebb_scenario::reading::Source;

    use super::super::file::tests::HOME;
    use super::*;

    /// As the service has it: its own rules are none of these.
    fn wanted(text: &str) -> (Option<Wanted>, Vec<String>) {
        let source = Source::new("home.toml", text, Path::new(""));
        let read = source.root(|root| {
            let section = root.section(SECTION).unwrap();
            read_wanted(&section, Path::new("/etc/ebb/home.toml"))
        });
        let problems = source.into_problems().into_iter();
        let said = problems.map(|it| format!("{}: {}", it.line, it.message));
        (read.flatten(), said.collect())
    }

    #[test]
    fn a_section_of_the_services_rules_says_interfaces_law_and_rules() {
        let rules = HOME.replace("[[rule]]", "[[gateway.rule]]");
        let text = format!(
            "[gateway]\nlan = [\"br-lan\", \"wlan0\"]\npolicy = \"ebb:target_us=9000\"\n{rules}"
        );
        let (read, problems) = wanted(&text);
        assert_eq!(problems, [""; 0]);
        let read = read.unwrap();
        assert_eq!(read.interfaces, ["br-lan", "wlan0"]);
        assert_eq!((read.line, read.connections), (1, CONNECTIONS));
        assert_eq!(read.rules.lines, [5, 10, 14, 18]);
        let one = text.replace("[\"br-lan\", \"wlan0\"]", "\"br-lan\"");
        let one = wanted(&one).0.unwrap();
        assert!(one.can_follow(&read) && one.rules == read.rules);
        assert!(
            !wanted(&text.replace("ebb:", "rledbat:"))
                .0
                .is_some_and(|it| it.can_follow(&read))
        );
        for (from, to, said) in [
            ("[\"br-lan\", \"wlan0\"]", "\"\"", "2: "),
            ("[\"br-lan\", \"wlan0\"]", "[]", "2: "),
            ("\"work laptop\"", "\"console\"", "two rules are `console`"),
            ("lan =", "interfaces =", "did you mean `lan`?"),
            ("ebb:target_us", "none:target_us", "3: "),
            ("policy =", "connections = 7\npolicy =", "3: "),
            (
                "client = \"192.168.1.20\"",
                "interface = \"lan0\"",
                "none of those that devices are behind (lan)",
            ),
            ("client = \"192.168.1.20\"", "unit = \"a\"", "unknown key"),
        ] {
            let (read, problems) = wanted(&text.replacen(from, to, 1));
            assert!(read.is_none(), "{to}");
            assert!(
                problems.iter().any(|it| it.contains(said)),
                "{to}: {problems:?}"
            );
        }
    }
}
