// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The file that says who is to have what.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use ebb_algorithms::Policy;
use ebb_keeper::share::{Arrangement, Program, Who};
use ebb_link::Nanos;
use ebb_scenario::ScenarioError;
use ebb_scenario::reading::{Section, Source, preferences};
use ebb_sharing::{Preferences, Target};

/// As in scenarios: targets are held more nearly than the steps of the search.
const POLICY: &str = "rate:slack_x1024=51";
const PERIOD: Nanos = Nanos::from_millis(1_000);
/// Shorter ones would ask the kernel for all connections too often, longer ones never settle.
const PERIODS: Range<Nanos> = Nanos::from_millis(100)..Nanos::from_millis(60_001);

const WHO: [&str; 5] = ["command", "pid", "cgroup", "unit", "container"];

/// Reads the file.
///
/// *Errors:* it cannot be read; all that is wrong in it, each with line and key.
pub fn read(path: &Path) -> Result<Arrangement> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).context(name.clone())?;
    Ok(parse(&name, &text)?)
}

fn parse(name: &str, text: &str) -> Result<Arrangement, ScenarioError> {
    let source = Source::new(name, text, Path::new(""));
    let read = source.root(read_root).flatten();
    match (read, source.into_problems()) {
        (Some(arrangement), problems) if problems.is_empty() => Ok(arrangement),
        (_, problems) => Err(ScenarioError::Problems(problems)),
    }
}

fn read_root(root: &Section<'_, '_>) -> Option<Arrangement> {
    let period = root.get_or("period", PERIOD);
    if !PERIODS.contains(&period) {
        root.wrong(
            "period",
            format!("{period} is out of range; it can be 100ms to 60s"),
        );
    }
    let policy = read_policy(root);
    let mut programs: Vec<Program> = Vec::new();
    for section in &root.sections("program") {
        let program = read_program(section);
        section.finish_with(explain);
        let Some(program) = program else { continue };
        if programs.iter().any(|other| other.name == program.name) {
            section.wrong("name", format!("there are two programs `{}`", program.name));
        }
        programs.push(program);
    }
    root.finish_with(|key| match key {
        "programs" => Some("unknown key; write [[program]]".into()),
        "flows" | "sharing" => Some("belongs to scenarios; here it is [[program]]".into()),
        _ => None,
    });
    if root.sections("program").len() < 2 {
        root.wrong_here("sharing takes two or more; write a [[program]] for each");
    }
    Some(Arrangement {
        period: Duration::from_nanos(period.0),
        policy: policy?,
        programs,
    })
}

fn read_policy(root: &Section<'_, '_>) -> Option<Policy> {
    let text = root.get_or("policy", POLICY.to_owned());
    let policy = Policy::receiver(&text).map_err(|error| error.to_string());
    let policy = policy.and_then(|policy| match Target::Free.policy(&policy) {
        Ok(_) => Ok(policy),
        Err(error) => Err(error.to_string()),
    });
    policy.map_err(|message| root.wrong("policy", message)).ok()
}

fn read_program(section: &Section<'_, '_>) -> Option<Program> {
    let name = section.required::<String>("name", "\"film\"");
    let who = read_who(section);
    let wanted = preferences(section, Preferences::default());
    Some(Program {
        name: name?,
        who: who?,
        wanted,
    })
}

/// Exactly one of the keys that say whose connections.
fn read_who(section: &Section<'_, '_>) -> Option<Who> {
    let user = section.get::<String>("user");
    let key = read_key(section)?;
    if user.is_some() && key != "command" {
        section.wrong("user", "only for what is started here, with `command`");
    }
    match key {
        "command" => {
            let words: Vec<String> = section.get("command")?;
            if words.is_empty() {
                section.wrong("command", "it is empty; write [\"curl\", \"-O\", \"URL\"]");
                return None;
            }
            Some(Who::Command { words, user })
        }
        "pid" => {
            let pid = section.number("pid", (2, u64::from(u32::MAX)))?;
            Some(Who::Process(u32::try_from(pid).ok()?))
        }
        "cgroup" => Some(Who::Cgroup(section.get::<String>("cgroup")?.into())),
        "unit" => Some(Who::Unit(section.get("unit")?)),
        _ => Some(Who::Container(section.get("container")?)),
    }
}

fn read_key(section: &Section<'_, '_>) -> Option<&'static str> {
    let given = WHO.iter().copied().filter(|key| section.has(key));
    match given.collect::<Vec<_>>()[..] {
        [key] => return Some(key),
        [first, second, ..] => {
            section.wrong(
                second,
                format!("there is `{first}`, too; write only one of them"),
            );
        }
        [] => section.wrong_here(
            "whose connections? write command = [\"curl\", \"-O\", \"URL\"], pid = 4242, \
             cgroup, unit or container",
        ),
    }
    None
}

fn explain(key: &str) -> Option<String> {
    match key {
        "rate" | "limit" | "maximum" => Some(
            "there are no fixed rates; write minimum = \"3mbit\", weight = 2 or priority = 1"
                .into(),
        ),
        "cmd" | "exec" | "run" => Some("unknown key; did you mean `command`?".into()),
        "min" => Some("unknown key; did you mean `minimum`?".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_sharing::NO_BOUND;

    const TWO: &str = r#"
[[program]]
name = "film"
command = ["mpv", "https://example.org/film"]
user = "ada"
minimum = "3mbit"
priority = 1

[[program]]
name = "backup"
pid = 4242
weight = 3
minimum = "all"
"#;

    #[test]
    fn reads_who_is_to_have_what() {
        let file = parse("home.toml", TWO).unwrap();
        assert_eq!(file.period, Duration::from_secs(1));
        let [film, backup] = &file.programs[..] else {
            panic!("{file:?}");
        };
        let words = ["mpv", "https://example.org/film"]
            .map(str::to_owned)
            .to_vec();
        let user = Some("ada".to_owned());
        assert_eq!(film.who, Who::Command { words, user });
        assert_eq!(film.wanted.minimum_bits_per_s, 3_000_000);
        assert_eq!(backup.who, Who::Process(4242));
        assert_eq!(
            (backup.wanted.weight, backup.wanted.minimum_bits_per_s),
            (3, NO_BOUND)
        );
    }

    fn problems(text: &str) -> Vec<(usize, String)> {
        match parse("home.toml", text) {
            Err(ScenarioError::Problems(problems)) => problems
                .into_iter()
                .map(|problem| (problem.line, problem.message))
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn says_what_is_wrong_with_line_and_key() {
        let wrong = |from: &str, to: &str| problems(&TWO.replacen(from, to, 1));
        let first = |from, to| wrong(from, to).remove(0);
        let (line, message) = first("minimum = \"3mbit\"", "minimum = \"3 apples\"");
        assert_eq!(line, 6);
        assert!(message.contains("[[program]] film: `minimum`"), "{message}");
        let (line, message) = first("pid = 4242", "pid = 4242\ncgroup = \"/a\"");
        assert_eq!(line, 12);
        assert!(message.contains("there is `pid`, too"), "{message}");
        let (_, message) = first("pid = 4242\n", "");
        assert!(message.contains("whose connections?"), "{message}");
        let (line, message) = first("weight = 3", "rate = \"3mbit\"");
        assert_eq!(line, 12);
        assert!(message.contains("there are no fixed rates"), "{message}");
        let (line, message) = first("\n[[program]]", "policy = \"ebb\"\n[[program]]");
        assert_eq!(line, 1);
        assert!(message.contains("by the law 'rate'"), "{message}");
        let (_, message) = first("\"backup\"", "\"film\"");
        assert!(message.contains("two programs `film`"), "{message}");
        let (_, message) = problems("[[program]]\nname = \"a\"\npid = 7\n").remove(0);
        assert!(message.contains("two or more"), "{message}");
    }
}
