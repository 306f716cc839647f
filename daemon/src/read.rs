// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads rules from files, and the settings beside them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ebb_algorithms::Policy;
use ebb_keeper::gateway::wanted as gateway;
use ebb_keeper::kernel::rules::MAX_RULES;
use ebb_keeper::{By, DataSize, Deadline, UploadPolicy, Wanted};
use ebb_scenario::Problem;
use ebb_scenario::reading::{Section, Source};

use crate::conditions::read_conditions;
use crate::error::{Error, Result};
use crate::rule::{Book, Rule};
use crate::settings::{Settings, read_settings};

/// Where rules are: those of packages, and those of the administrator, which go before them.
pub const FOLDERS: [&str; 2] = ["/usr/lib/ebb", "/etc/ebb"];

/// What a rule can weigh.
const WEIGHTS: (u64, u64) = (1, 1_000);

/// What was read.
#[derive(Debug, Default)]
pub struct Found {
    /// The rules of all files that are right.
    pub book: Book,
    /// The gateways that these files say.
    pub gateways: Vec<gateway::Wanted>,
    /// The settings, if they are right.
    pub settings: Settings,
    /// What is wrong with the others, of which no rule is in the book.
    pub problems: Vec<Problem>,
}

impl Found {
    /// How many rules there are, gateways' among them.
    pub fn rule_count(&self) -> usize {
        let gateways = self.gateways.iter();
        let of_gateways = gateways.map(|gateway| gateway.rules.rules.len());
        self.book.rules.len() + of_gateways.sum::<usize>()
    }
}

/// A rule as it was read; one that is not enabled only takes the place of another of its name.
struct Read {
    rule: Rule,
    is_enabled: bool,
}

/// Reads every `*.toml` of the folders, in the order of their names whatever their folder. A file
/// takes the place of one of the same name in an earlier folder, and a rule that of a rule of the
/// same name there. Folders that do not exist have no rules. The settings are those of the last
/// folder that has any.
///
/// *Errors:* [`Error::File`]: a folder or file cannot be read.
pub fn read(folders: &[PathBuf]) -> Result<Found> {
    let mut files: BTreeMap<std::ffi::OsString, (usize, PathBuf)> = BTreeMap::new();
    for (rank, folder) in folders.iter().enumerate() {
        for path in files_in(folder)? {
            let name = path.file_name().unwrap_or_default().to_owned();
            files.insert(name, (rank, path));
        }
    }
    let files: Vec<(usize, PathBuf)> = files.into_values().collect();
    let mut found = read_ranked(&files)?;
    let (settings, problems) = read_settings(folders)?;
    found.settings = settings;
    found.problems.extend(problems);
    Ok(found)
}

/// Reads these files of rules only.
///
/// *Errors:* as [`read`].
pub fn read_files(files: &[PathBuf]) -> Result<Found> {
    let files: Vec<_> = files.iter().map(|path| (0, path.clone())).collect();
    read_ranked(&files)
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|source| Error::file(folder, source))?,
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths: io::Result<Vec<PathBuf>> = paths.collect();
    let mut paths = paths.map_err(|source| Error::file(folder, source))?;
    paths.retain(|path| path.extension().is_some_and(|it| it == "toml"));
    Ok(paths)
}

fn read_ranked(files: &[(usize, PathBuf)]) -> Result<Found> {
    let mut found = Found::default();
    let mut known: Vec<(usize, Read)> = Vec::new();
    for (rank, path) in files {
        let text = fs::read_to_string(path).map_err(|source| Error::file(path, source))?;
        match parse(path, &text, *rank, &known, &found.gateways) {
            Ok((read, gateway)) => {
                found.gateways.extend(gateway);
                for new in read {
                    known.retain(|(other, old)| *other >= *rank || old.rule.name != new.rule.name);
                    let is_outdone = (known.iter())
                        .any(|(other, old)| *other > *rank && old.rule.name == new.rule.name);
                    if !is_outdone {
                        known.push((*rank, new));
                    }
                }
            }
            Err(problems) => found.problems.extend(problems),
        }
    }
    let rules = known.into_iter().map(|(_, read)| read);
    let enabled = rules.filter(|read| read.is_enabled);
    found.book.rules = enabled.map(|read| read.rule).collect();
    Ok(found)
}

fn parse(
    path: &Path,
    text: &str,
    rank: usize,
    known: &[(usize, Read)],
    gateways: &[gateway::Wanted],
) -> Result<(Vec<Read>, Option<gateway::Wanted>), Vec<Problem>> {
    let name = path.display().to_string();
    let source = Source::new(&name, text, Path::new(""));
    let read = source.root(|root| {
        let gateway = read_gateway(root, path, gateways);
        (read_root(root, path, rank, known), gateway)
    });
    let problems = source.into_problems();
    match problems.is_empty() {
        true => Ok(read.unwrap_or_default()),
        false => Err(problems),
    }
}

fn read_gateway(
    root: &Section<'_, '_>,
    path: &Path,
    others: &[gateway::Wanted],
) -> Option<gateway::Wanted> {
    let section = root.section(gateway::SECTION)?;
    let wanted = gateway::read_wanted(&section, path)?;
    for other in others {
        let mut names = wanted.interfaces.iter();
        if let Some(name) = names.find(|name| other.interfaces.contains(name)) {
            let place = format!("{}:{}", other.file.display(), other.line);
            section.wrong("lan", format!("{name} has a gateway in {place}"));
        }
    }
    Some(wanted)
}

fn read_root(
    root: &Section<'_, '_>,
    path: &Path,
    rank: usize,
    known: &[(usize, Read)],
) -> Vec<Read> {
    let mut rules: Vec<Read> = Vec::new();
    for section in &root.sections("rule") {
        let read = read_rule(section, path);
        section.finish_with(explain);
        let Some(read) = read else { continue };
        let of_rank = known.iter().filter(|(other, _)| *other == rank);
        let mut others = of_rank.map(|(_, other)| other).chain(&rules);
        if let Some(other) = others.find(|other| other.rule.name == read.rule.name) {
            let place = format!("{}:{}", other.rule.file.display(), other.rule.line);
            let message = format!("there is a rule `{}` in {place}", read.rule.name);
            section.wrong("name", message);
        }
        rules.push(read);
    }
    if known.len() + rules.len() > MAX_RULES {
        root.wrong_here(format!("there are more than {MAX_RULES} rules"));
    }
    root.finish_with(|key| match key {
        "rules" => Some("unknown key; write [[rule]]".to_owned()),
        "lan" => Some("unknown key; it belongs below [gateway]".to_owned()),
        _ => None,
    });
    rules
}

fn read_rule(section: &Section<'_, '_>, path: &Path) -> Option<Read> {
    let name = read_name(section);
    let conditions = read_conditions(section);
    let wanted = read_wanted(section);
    let weight = section.number("weight", WEIGHTS);
    let weight = weight.and_then(|weight| u32::try_from(weight).ok());
    let is_enabled = section.get_or("enabled", true);
    if is_enabled && conditions.are_empty() {
        section.wrong_here(
            "whom is it for? write unit = \"backup.service\", or slice, container, cgroup, \
             executable, user or port",
        );
    }
    let rule = Rule {
        name: name?,
        file: path.to_path_buf(),
        line: section.line(),
        conditions,
        wanted: wanted?,
        weight,
    };
    Some(Read { rule, is_enabled })
}

/// Names stand in names of files, and on the command line.
fn read_name(section: &Section<'_, '_>) -> Option<String> {
    let name = section.required::<String>("name", "\"backup\"")?;
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) || name.starts_with('.') {
        section.wrong(
            "name",
            "a name has 1 to 64 letters, digits, '-', '_' and '.', and does not begin with '.'",
        );
        return None;
    }
    Some(name)
}

fn read_wanted(section: &Section<'_, '_>) -> Option<Wanted> {
    let before = section.source.problem_count();
    let download = section.get::<String>("policy").and_then(|text| {
        let policy = Policy::receiver(&text).map_err(|error| error.to_string());
        policy
            .and_then(|policy| match policy.law().is_for_counters() {
                true => Err(format!(
                    "the law '{}' is for the user backend alone; leave `policy` away, or see \
                     'ebb policies'",
                    policy.law().name
                )),
                false => Ok(policy),
            })
            .map_err(|message| section.wrong("policy", message))
            .ok()
    });
    let upload = section.get::<String>("upload_policy").and_then(|text| {
        let policy = text.parse::<UploadPolicy>();
        policy
            .map_err(|error| section.wrong("upload_policy", error.to_string()))
            .ok()
    });
    let keeps_code_point = section.get_or("keep_code_point", false);
    let minimum = section.get("minimum");
    let deadline = read_deadline(section);
    (section.source.problem_count() == before).then_some(Wanted {
        download,
        upload,
        keeps_code_point,
        minimum,
        deadline,
    })
}

fn read_deadline(section: &Section<'_, '_>) -> Option<Deadline> {
    let by = parsed::<By>(section, "deadline");
    let size = parsed::<DataSize>(section, "size");
    match (by, size) {
        (Some(Ok(by)), Some(Ok(DataSize(size_bytes)))) => Some(Deadline { by, size_bytes }),
        (Some(Ok(_)), None) => {
            section.wrong(
                "deadline",
                "how much is to be transferred by then? write size = \"40GB\" beside it; where \
                 that is not known, minimum = \"2mbit\" is a rate",
            );
            None
        }
        (None, Some(Ok(_))) => {
            let message = "until when? write deadline = \"06:00\" beside it";
            section.wrong("size", message);
            None
        }
        _ => None,
    }
}

/// What stands there; an error has been told.
fn parsed<T: FromStr<Err = ebb_keeper::Error>>(
    section: &Section<'_, '_>,
    key: &'static str,
) -> Option<Result<T, ()>> {
    let text = section.get::<String>(key)?;
    let read = text.parse::<T>();
    Some(read.map_err(|error| section.wrong(key, error.to_string())))
}

fn explain(key: &str) -> Option<String> {
    match key {
        "match" | "who" => Some(
            "unknown key; write unit, slice, container, cgroup, executable, user or port in the \
             rule itself"
                .to_owned(),
        ),
        "rate" | "limit" | "maximum" => {
            Some("there are no fixed rates: what yields takes what nobody else wants".to_owned())
        }
        "until" | "by" => Some("unknown key; did you mean `deadline`?".to_owned()),
        "bytes" | "amount" => Some("unknown key; did you mean `size`?".to_owned()),
        "priority" | "share" => Some("unknown key; did you mean `weight`?".to_owned()),
        "floor" => Some("unknown key; did you mean `minimum`?".to_owned()),
        "service" => Some("unknown key; did you mean `unit`?".to_owned()),
        "image" | "label" => Some(format!(
            "belongs to a container; write container = {{ {key} = \"…\" }}"
        )),
        "program" | "command" | "exe" => Some("unknown key; did you mean `executable`?".to_owned()),
        _ => None,
    }
}
