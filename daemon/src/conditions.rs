// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads whom a rule is for.

use std::collections::BTreeMap;

use ebb_keeper::services;
use ebb_scenario::reading::{FromValue, Section};
use nix::unistd::User;
use toml::de::DeValue;

use crate::rule::{Conditions, ContainerPattern};

/// The kernel's programs look at so much of a name.
const LONGEST_EXECUTABLE_BYTES: usize = 63;

/// One or several of them.
struct Names(Vec<String>);

/// What is named in a rule; what is wrong with it is noted.
pub(crate) fn read_conditions(section: &Section<'_, '_>) -> Conditions {
    let units = read_globs(section, "unit");
    let slices = read_globs(section, "slice");
    no_paths(section, "unit", &units);
    no_paths(section, "slice", &slices);
    Conditions {
        units: units.iter().map(|name| services::full_name(name)).collect(),
        slices: slices.into_iter().map(with_slice).collect(),
        cgroups: read_cgroups(section),
        containers: read_containers(section),
        executables: read_executables(section),
        users: read_users(section),
        ports: read_ports(section),
    }
}

/// One name or several.
pub(crate) fn read_names(section: &Section<'_, '_>, key: &'static str) -> Vec<String> {
    section.get::<Names>(key).map_or_else(Vec::new, |it| it.0)
}

fn read_globs(section: &Section<'_, '_>, key: &'static str) -> Vec<String> {
    let names = read_names(section, key);
    for name in &names {
        if name.is_empty() || name.contains(['[', ']', '{', '}']) {
            let message = format!("`{name}`: of a name only '*' and '?' stand for others");
            section.wrong(key, message);
        }
    }
    names
}

fn no_paths(section: &Section<'_, '_>, key: &'static str, names: &[String]) {
    for name in names.iter().filter(|name| name.contains('/')) {
        let message = format!("`{name}`: a name has no '/'; paths belong into `cgroup`");
        section.wrong(key, message);
    }
}

fn read_cgroups(section: &Section<'_, '_>) -> Vec<String> {
    let cgroups = read_globs(section, "cgroup");
    for path in cgroups.iter().filter(|path| !path.starts_with('/')) {
        let message = format!(
            "`{path}`: write the path from the root of the hierarchy, as /proc/PID/cgroup has it: \
             \"/system.slice/backup.service\""
        );
        section.wrong("cgroup", message);
    }
    cgroups
}

fn with_slice(name: String) -> String {
    match name.ends_with(".slice") {
        true => name,
        false => name + ".slice",
    }
}

fn read_executables(section: &Section<'_, '_>) -> Vec<String> {
    let names = read_names(section, "executable");
    for name in &names {
        if name.is_empty() || name.contains(['/', '*', '?']) {
            section.wrong(
                "executable",
                format!(
                    "`{name}`: write the name of the file alone, as \"restic\": it is the same \
                     in every folder and container, and after an upgrade"
                ),
            );
        } else if name.len() > LONGEST_EXECUTABLE_BYTES {
            let message = format!("`{name}`: more than {LONGEST_EXECUTABLE_BYTES} bytes");
            section.wrong("executable", message);
        }
    }
    names
}

fn read_users(section: &Section<'_, '_>) -> BTreeMap<String, u32> {
    let mut users = BTreeMap::new();
    for name in read_names(section, "user") {
        let number = match name.parse() {
            Ok(number) => Some(number),
            Err(_) => User::from_name(&name)
                .ok()
                .flatten()
                .map(|user| user.uid.as_raw()),
        };
        match number {
            Some(number) => drop(users.insert(name, number)),
            None => section.wrong(
                "user",
                format!("there is no user `{name}`; 'getent passwd' lists them"),
            ),
        }
    }
    users
}

fn read_ports(section: &Section<'_, '_>) -> Vec<u16> {
    let Some(value) = section.value("port") else {
        return Vec::new();
    };
    let values = match value.get_ref() {
        DeValue::Array(values) => values.iter().collect(),
        _ => vec![value],
    };
    let mut ports = Vec::new();
    for value in values {
        let number = u64::from_value(value.get_ref()).ok();
        match number.and_then(|number| u16::try_from(number).ok()) {
            Some(port) if port > 0 => ports.push(port),
            _ => section.wrong_value("port", value, "write a number from 1 to 65535, or a list"),
        }
    }
    ports
}

fn read_containers(section: &Section<'_, '_>) -> Vec<ContainerPattern> {
    const EXAMPLE: &str = "write container = \"web*\", or { name = \"web*\", image = \
        \"*/nginx:*\", label = \"ebb=yes\" }, or a list of these";
    let Some(value) = section.value("container") else {
        return Vec::new();
    };
    let values = match value.get_ref() {
        DeValue::Array(values) => values.iter().collect(),
        _ => vec![value],
    };
    let mut patterns = Vec::new();
    for value in values {
        match value.get_ref() {
            DeValue::String(name) if !name.is_empty() => patterns.push(ContainerPattern {
                name: Some(name.to_string()),
                ..ContainerPattern::default()
            }),
            DeValue::Table(table) => {
                let title = "container";
                let inner = Section::new(section.source, table, value.span(), title);
                let label: Option<String> = inner.get("label");
                patterns.push(ContainerPattern {
                    name: inner.get("name"),
                    image: inner.get("image"),
                    label: label.map(|label| match label.split_once('=') {
                        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                        None => (label, None),
                    }),
                });
                if patterns.last() == Some(&ContainerPattern::default()) {
                    section.wrong_value("container", value, EXAMPLE);
                }
                inner.finish();
            }
            _ => section.wrong_value("container", value, EXAMPLE),
        }
    }
    patterns
}

impl FromValue for Names {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::String(text) => Ok(Self(vec![text.to_string()])),
            DeValue::Array(_) => Vec::<String>::from_value(value).map(Self),
            _ => Err("text in quotes is needed, or a list of texts".to_owned()),
        }
    }
}
