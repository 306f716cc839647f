// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The file that says which connections yield that pass a gateway.

use std::path::Path;

use ebb_gateway::{CodePoint, MAX_RULES, Rule};
use ebb_scenario::ScenarioError;
use ebb_scenario::reading::{FromValue, Section, Size, Source};
use toml::de::DeValue;

use super::wanted::{SECTION, read_wanted};

/// What a rule may ask for.
const CONDITIONS: [&str; 9] = [
    "client",
    "mac",
    "interface",
    "netns",
    "remote",
    "port",
    "dscp",
    "mark",
    "bulk",
];

/// The rules, and where each stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// In the order in which they are asked.
    pub rules: Vec<Rule>,
    /// The line of each.
    pub lines: Vec<usize>,
}

/// Reads a file of rules, or the gateway's in a file of the service's rules.
///
/// *Errors:* it cannot be read; all that is wrong in it, each with line and key.
pub fn read(path: &Path) -> Result<Rules, ScenarioError> {
    read_by(path, |root| match root.section(SECTION) {
        Some(section) => {
            let wanted = read_wanted(&section, path);
            wanted.map(|wanted| wanted.rules).unwrap_or_default()
        }
        None => read_root(root, None),
    })
}

/// Reads a file of rules alone, for a gateway on these interfaces.
///
/// *Errors:* as [`read`]; a rule names another interface.
pub fn read_alone(path: &Path, interfaces: &[String]) -> Result<Rules, ScenarioError> {
    read_by(path, |root| read_root(root, Some(interfaces)))
}

fn read_by(
    path: &Path,
    read: impl FnOnce(&Section<'_, '_>) -> Rules,
) -> Result<Rules, ScenarioError> {
    let text = std::fs::read_to_string(path).map_err(|source| ScenarioError::File {
        path: path.to_path_buf(),
        source,
    })?;
    parse(&path.display().to_string(), &text, read)
}

fn parse(
    name: &str,
    text: &str,
    read: impl FnOnce(&Section<'_, '_>) -> Rules,
) -> Result<Rules, ScenarioError> {
    let source = Source::new(name, text, Path::new(""));
    let read = source.root(read).unwrap_or_default();
    match source.into_problems() {
        problems if problems.is_empty() => Ok(read),
        problems => Err(ScenarioError::Problems(problems)),
    }
}

fn read_root(root: &Section<'_, '_>, interfaces: Option<&[String]>) -> Rules {
    let read = read_rules(root, interfaces);
    root.finish_with(|key| match key {
        "rules" => Some("unknown key; write [[rule]]".into()),
        SECTION => Some("ebbd keeps it: put the file into /etc/ebb, 'ebb rules' lists it".into()),
        "lan" | "policy" => Some(format!("belongs to the command line: --{key}")),
        _ => None,
    });
    check_count(root, &read);
    read
}

/// The rules of a section; of its interfaces, if they are known, a rule can name one.
pub(super) fn read_rules(parent: &Section<'_, '_>, interfaces: Option<&[String]>) -> Rules {
    let mut read = Rules::default();
    for section in &parent.sections("rule") {
        let rule = read_rule(section, read.rules.len());
        section.finish_with(explain);
        if rule.name.contains('\n') {
            section.wrong("name", "it is one line");
        }
        if let (Some(name), Some(interfaces)) = (&rule.interface, interfaces)
            && !interfaces.contains(name)
        {
            let lan = interfaces.join(", ");
            let wrong = format!("{name} is none of those that devices are behind (lan): {lan}");
            section.wrong("interface", wrong);
        }
        read.lines.push(section.line());
        read.rules.push(rule);
    }
    read
}

/// Whether there are any, and not too many.
pub(super) fn check_count(parent: &Section<'_, '_>, read: &Rules) {
    match read.rules.len() {
        0 => parent.wrong_here("no rule, so nothing would yield; write a [[rule]] for each"),
        count if count > MAX_RULES => {
            parent.wrong_here(format!("{count} rules; {MAX_RULES} are possible"));
        }
        _ => {}
    }
}

fn read_rule(section: &Section<'_, '_>, place: usize) -> Rule {
    let name = section.get_or("name", format!("rule {}", place + 1));
    let is_for_all = section.get_or("everything", false);
    let has_condition = CONDITIONS.iter().any(|key| section.has(key));
    let rule = Rule {
        name,
        client: condition(section, "client"),
        mac: condition(section, "mac"),
        interface: section.get("interface"),
        namespace: section.get("netns"),
        remote: condition(section, "remote"),
        ports: condition(section, "port"),
        code_points: code_points(section),
        mark: condition(section, "mark"),
        bulk_bytes: section.get::<Size>("bulk").map_or(0, |size| size.0),
        is_background: section.get_or("yields", true),
    };
    if let (Some(client), Some(remote)) = (rule.client, rule.remote)
        && client.is_ipv6() != remote.is_ipv6()
    {
        section.wrong(
            "remote",
            "one end is of IPv4 and the other one of IPv6, which no connection has; write a rule \
             for each",
        );
    }
    match (is_for_all, has_condition) {
        (true, true) => section.wrong("everything", "there are conditions, too; write only one"),
        (false, false) => section.wrong_here(
            "for which connections? write client = \"192.168.1.40\", mac, interface, netns, remote, \
             port, dscp, mark or bulk, or everything = true",
        ),
        _ => {}
    }
    rule
}

/// What is written as text, or as a number.
struct Text(String);

impl FromValue for Text {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::Integer(_) => u64::from_value(value).map(|number| Self(number.to_string())),
            _ => String::from_value(value).map(Self),
        }
    }
}

fn condition<T>(section: &Section<'_, '_>, key: &'static str) -> Option<T>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let Text(text) = section.get(key)?;
    text.parse()
        .map_err(|error: T::Err| section.wrong(key, error.to_string()))
        .ok()
}

/// One, or a list.
fn code_points(section: &Section<'_, '_>) -> Vec<CodePoint> {
    let is_list = section
        .value("dscp")
        .is_some_and(|value| value.get_ref().is_array());
    if !is_list {
        return condition(section, "dscp").into_iter().collect();
    }
    let names: Vec<String> = section.get_or("dscp", Vec::new());
    let parse = |name: &String| {
        let parsed = name.parse::<CodePoint>();
        parsed
            .map_err(|error| section.wrong("dscp", error.to_string()))
            .ok()
    };
    if names.is_empty() {
        section.wrong(
            "dscp",
            "no code point; write some, or leave it out: any will do then",
        );
    }
    names.iter().filter_map(parse).collect()
}

fn explain(key: &str) -> Option<String> {
    let right = match key {
        "address" | "ip" | "source" | "src" | "host" => "client",
        "destination" | "dst" | "server" => "remote",
        "ports" => "port",
        "namespace" | "container" => "netns",
        "device" | "dev" => "interface",
        "background" => "yields",
        "rate" | "limit" => {
            return Some("there are no fixed rates: what yields has what nobody else wants".into());
        }
        _ => return None,
    };
    Some(format!("unknown key; did you mean `{right}`?"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::gateway) const HOME: &str = r#"
[[rule]]
name = "work laptop"
client = "192.168.1.20"
yields = false

[[rule]]
name = "console"
mac = "98:b6:e9:01:23:45"

[[rule]]
name = "what says so itself"
dscp = ["CS1", "LE"]

[[rule]]
client = "192.168.1.0/24"
port = "8000-8100"
mark = "0x10/0xff"
bulk = "20MB"
"#;

    #[test]
    fn reads_which_connections_yield() {
        let file = parse("home.toml", HOME, |root| read_root(root, None)).unwrap();
        assert_eq!(file.lines, [2, 7, 11, 15]);
        let [laptop, console, marked, rest] = &file.rules[..] else {
            panic!("{file:?}");
        };
        assert!(!laptop.is_background && console.is_background);
        assert_eq!(console.mac, Some("98-b6-e9-01-23-45".parse().unwrap()));
        assert_eq!(marked.code_points.len(), 2);
        assert_eq!(
            (rest.name.as_str(), rest.bulk_bytes),
            ("rule 4", 20_000_000)
        );
    }

    fn first_problem(text: &str) -> (usize, String) {
        match parse("home.toml", text, |root| {
            read_root(root, Some(&["br-lan".to_owned()]))
        }) {
            Err(ScenarioError::Problems(problems)) => {
                let problem = problems.into_iter().next().unwrap();
                (problem.line, problem.message)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn says_what_is_wrong_with_line_and_key() {
        for (from, to, line, said) in [
            ("\"192.168.1.20\"", "\"192.168.1\"", 4, "no address"),
            (
                "192.168.1.0/24",
                "192.168.1.7/24",
                16,
                "bits behind its prefix",
            ),
            ("98:b6", "98:g6", 9, "no address of Ethernet"),
            ("\"LE\"", "\"CS9\"", 13, "no code point"),
            ("[\"CS1\", \"LE\"]", "[]", 13, "any will do"),
            ("yields = false", "interface = \"lan1\"", 5, "br-lan"),
            ("8000-8100", "8100-8000", 17, "no port"),
            ("0x10/0xff", "0x110/0xff", 18, "no mark"),
            ("20MB", "20 apples", 19, "`bulk`"),
            ("port =", "prot =", 17, "did you mean `port`?"),
            ("mark =", "container =", 18, "did you mean `netns`?"),
            ("bulk =", "rate =", 19, "no fixed rates"),
            ("yields = false", "everything = true", 5, "write only one"),
            (
                "yields = false",
                "remote = \"::/0\"",
                5,
                "one end is of IPv4",
            ),
        ] {
            let (at, message) = first_problem(&HOME.replacen(from, to, 1));
            assert!(message.contains(said), "{to}: {message}");
            assert_eq!(at, line, "{to}: {message}");
        }
        let (line, message) = first_problem("[[rule]]\nname = \"a\"\n");
        assert_eq!(line, 1);
        assert!(message.contains("for which connections?"), "{message}");
        assert!(
            first_problem("[[rule]]\neverything = true\n[gateway]\n")
                .1
                .contains("ebbd keeps it")
        );
        assert!(first_problem("").1.contains("nothing would yield"));
        assert!(first_problem("lan = \"lan0\"\n").1.contains("--lan"));
    }
}
