// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What ordinary users may have held.

use std::collections::BTreeSet;
use std::path::Path;

use ebb_scenario::reading::Section;
use nix::unistd::{Group, User};

use crate::conditions::read_names;

/// What ordinary users may have held by the kernel backend, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSettings {
    /// Why nobody may, if nobody may; in words.
    pub why_off: Option<String>,
    /// These users may, and those of [`Self::allowed_groups`]; where both are empty, all may.
    pub allowed_users: BTreeSet<u32>,
    /// See there.
    pub allowed_groups: BTreeSet<u32>,
    /// These may not, whatever else is said.
    pub denied_users: BTreeSet<u32>,
    /// Nor may those who are in one of these.
    pub denied_groups: BTreeSet<u32>,
    /// Policies that one user has in force at once, at the most.
    pub policies: usize,
    /// Connections to the service that one user has at once, at the most.
    pub connections: usize,
    /// Requests of one user in a second, in the long run.
    pub requests_per_s: u32,
}

impl Default for UserSettings {
    /// Everybody may.
    fn default() -> Self {
        Self {
            why_off: None,
            allowed_users: BTreeSet::new(),
            allowed_groups: BTreeSet::new(),
            denied_users: BTreeSet::new(),
            denied_groups: BTreeSet::new(),
            policies: 16,
            connections: 32,
            requests_per_s: 50,
        }
    }
}

impl UserSettings {
    /// Nobody may, and why.
    pub fn off(why: &str) -> Self {
        Self {
            why_off: Some(why.to_owned()),
            ..Self::default()
        }
    }

    /// Why a user may have nothing held, who is in these groups; none: it may.
    pub fn refusal(&self, user: u32, groups: &[u32]) -> Option<String> {
        if let Some(why) = &self.why_off {
            return Some(format!("ebbd holds nothing for users here: {why}"));
        }
        let is_in = |named: &BTreeSet<u32>| groups.iter().any(|group| named.contains(group));
        let is_denied = self.denied_users.contains(&user) || is_in(&self.denied_groups);
        let all_may = self.allowed_users.is_empty() && self.allowed_groups.is_empty();
        let may = all_may || self.allowed_users.contains(&user) || is_in(&self.allowed_groups);
        (is_denied || !may).then(|| {
            "the administrator of this machine does not let you have the kernel backend (allow_… \
             and deny_… in settings/ebbd.toml)"
                .to_owned()
        })
    }
}

/// Reads them; what is wrong is noted.
pub(super) fn read(section: &Section<'_, '_>, path: &Path) -> UserSettings {
    let default = UserSettings::default();
    let is_enabled = section.get_or("enabled", true);
    let settings = UserSettings {
        why_off: (!is_enabled).then(|| {
            format!(
                "an administrator has switched that off (enabled = false in {})",
                path.display()
            )
        }),
        allowed_users: read_numbers(section, "allow_users", "user"),
        allowed_groups: read_numbers(section, "allow_groups", "group"),
        denied_users: read_numbers(section, "deny_users", "user"),
        denied_groups: read_numbers(section, "deny_groups", "group"),
        policies: read_limit(section, "policies", default.policies, 400),
        connections: read_limit(section, "connections", default.connections, 400),
        requests_per_s: read_limit(section, "requests_per_s", default.requests_per_s, 10_000),
    };
    section.finish_with(|key| match key {
        "allow" | "deny" => Some(format!(
            "unknown key; write {key}_users or {key}_groups, with a name or a list"
        )),
        _ => None,
    });
    settings
}

/// Users or groups, by name or number.
fn read_numbers(section: &Section<'_, '_>, key: &'static str, kind: &str) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    for name in read_names(section, key) {
        let known = match kind {
            "user" => (User::from_name(&name).ok().flatten()).map(|user| user.uid.as_raw()),
            _ => (Group::from_name(&name).ok().flatten()).map(|group| group.gid.as_raw()),
        };
        match name.parse().ok().or(known) {
            Some(number) => drop(numbers.insert(number)),
            None => section.wrong(
                key,
                format!("there is no {kind} `{name}`; 'getent {kind}' lists them")
                    .replace("getent user", "getent passwd"),
            ),
        }
    }
    numbers
}

fn read_limit<T>(section: &Section<'_, '_>, key: &'static str, default: T, most: u64) -> T
where
    T: TryFrom<u64>,
{
    let Some(number) = section.get::<u64>(key) else {
        return default;
    };
    match T::try_from(number) {
        Ok(limit) if (1..=most).contains(&number) => limit,
        _ => {
            section.wrong(key, format!("write a number from 1 to {most}"));
            default
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_denied_may_not_and_of_the_others_those_who_are_allowed() {
        let all = UserSettings::default();
        assert_eq!(all.refusal(1_000, &[1_000]), None);
        let some = UserSettings {
            allowed_users: [1_000].into(),
            allowed_groups: [50].into(),
            denied_users: [1_001].into(),
            denied_groups: [60].into(),
            ..UserSettings::default()
        };
        for (user, groups, may) in [
            (1_000, &[1_000][..], true),
            (1_002, &[1_002, 50], true),
            (1_002, &[1_002], false),
            (1_001, &[50], false),
            (1_000, &[1_000, 60], false),
        ] {
            assert_eq!(
                some.refusal(user, groups).is_none(),
                may,
                "{user} {groups:?}"
            );
        }
        let off = UserSettings::off("for a reason")
            .refusal(1_000, &[])
            .unwrap();
        assert!(off.ends_with("for a reason"), "{off}");
    }
}
