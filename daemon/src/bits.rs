// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rules as the kernel has them: each a bit, which it keeps for as long as there is a rule of its
//! name.

use std::collections::{BTreeMap, BTreeSet};

use ebb_keeper::kernel::rules::{EXEMPT, IN_CONTAINER, MAX_RULES, Ruling, UNDECIDED};
use ebb_keeper::kernel::{KernelError, PathRules};

use crate::globs;
use crate::rule::{Book, Conditions};

/// The cgroup of a container that has an identifier.
const CONTAINER: &str = "(/.*)?/((docker|libpod|libpod\\-payload|cri\\-containerd|crio|nerdctl)\\-)?\
    [0-9a-f]{64}(\\.scope)?";
/// The cgroup of a command under `ebb run`, which has policies of its own.
const OF_RUN: &str = "(/.*)?/ebb\\-run\\-[0-9]+(\\-[0-9]+)?(\\.scope)?";

/// The bits of rules, by their names.
#[derive(Debug, Clone, Default)]
pub struct Bits(BTreeMap<String, u32>);

impl Bits {
    /// Gives each rule of a book a bit: the one that it has, or a free one. Of no rule more than
    /// there are bits for any is asked, since no book has them.
    pub fn assign(&mut self, book: &Book) {
        let names: BTreeSet<&str> = book.rules.iter().map(|rule| rule.name.as_str()).collect();
        self.0.retain(|name, _| names.contains(name.as_str()));
        for rule in &book.rules {
            if !self.0.contains_key(&rule.name) {
                let taken: BTreeSet<u32> = self.0.values().copied().collect();
                let free = (0..MAX_RULES as u32).find(|bit| !taken.contains(bit));
                self.0.insert(rule.name.clone(), free.unwrap_or_default());
            }
        }
    }

    /// The bit of a rule.
    pub fn of(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// The same, as a number with that bit.
    pub fn mask(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |bit| 1 << bit)
    }
}

/// The tables by which the kernel judges.
pub fn ruling(book: &Book, bits: &Bits) -> Result<Ruling, KernelError> {
    let mut ruling = Ruling {
        any_group: 0,
        any_user: 0,
        any_port: 0,
        any_executable: 0,
        container_rules: 0,
        before: [0; MAX_RULES],
        users: BTreeMap::new(),
        ports: BTreeMap::new(),
        executables: BTreeMap::new(),
        paths: PathRules::build(&patterns(book, bits))?,
    };
    let mut before = 0;
    for rule in &book.rules {
        let mask = bits.mask(&rule.name);
        let conditions = &rule.conditions;
        let any = |is_any: bool| if is_any { mask } else { 0 };
        ruling.any_group |= any(!conditions.has_groups());
        ruling.any_user |= any(conditions.users.is_empty());
        ruling.any_port |= any(conditions.ports.is_empty());
        ruling.any_executable |= any(conditions.executables.is_empty());
        ruling.container_rules |= any(!conditions.containers.is_empty());
        for user in conditions.users.values() {
            *ruling.users.entry(*user).or_default() |= mask;
        }
        for port in &conditions.ports {
            *ruling.ports.entry(*port).or_default() |= mask;
        }
        for name in &conditions.executables {
            *ruling.executables.entry(name.clone()).or_default() |= mask;
        }
        ruling.before[bits.of(&rule.name) as usize] = before;
        before |= mask;
    }
    Ok(ruling)
}

fn patterns(book: &Book, bits: &Bits) -> Vec<(String, u64)> {
    let mut patterns = vec![(OF_RUN.to_owned(), EXEMPT)];
    if (book.rules.iter()).any(|rule| !rule.conditions.containers.is_empty()) {
        patterns.push((CONTAINER.to_owned(), IN_CONTAINER | UNDECIDED));
    }
    for rule in &book.rules {
        let mask = bits.mask(&rule.name);
        let of_rule = patterns_of(&rule.conditions).into_iter();
        patterns.extend(of_rule.map(|pattern| (pattern, mask)));
    }
    patterns
}

/// The paths of the cgroups that conditions name, as far as paths tell.
pub fn patterns_of(conditions: &Conditions) -> Vec<String> {
    let names = conditions.units.iter().chain(&conditions.slices);
    let named = names.map(|name| globs::named(name));
    let paths = conditions.cgroups.iter().map(|path| globs::path(path));
    // Machines of systemd-nspawn and of LXC have their names in their paths, and nothing else.
    let machines = conditions.containers.iter().filter_map(|container| {
        let name = globs::as_regex(container.name.as_ref()?);
        let is_name_all = container.image.is_none() && container.label.is_none();
        is_name_all.then(|| {
            format!(
                "(/.*)?/(machine\\-{name}\\.scope|systemd\\-nspawn@{name}\\.service|\
                 lxc\\.payload\\.{name})"
            )
        })
    });
    named.chain(paths).chain(machines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{ContainerPattern, Rule};

    fn unit(name: &str) -> Conditions {
        Conditions {
            units: vec![name.to_owned()],
            ..Conditions::default()
        }
    }

    #[test]
    fn a_rule_keeps_its_bit_whatever_comes_before_it() {
        let mut bits = Bits::default();
        let (a, b, c) = (
            Rule::named("a", unit("a.service")),
            Rule::named("b", unit("b.service")),
            Rule::named("c", unit("c.service")),
        );
        let book = |rules: &[&Rule]| Book {
            rules: rules.iter().map(|rule| (*rule).clone()).collect(),
        };
        bits.assign(&book(&[&a, &b]));
        assert_eq!((bits.of("a"), bits.of("b")), (0, 1));
        bits.assign(&book(&[&c, &b]));
        assert_eq!((bits.of("c"), bits.of("b")), (0, 1));
        assert_eq!(bits.mask("a"), 0);
        let ruling = ruling(&book(&[&c, &b]), &bits).unwrap();
        assert_eq!(ruling.before[..2], [0, 1]);
        assert_eq!(ruling.paths.rules_of("/system.slice/b.service"), 2);
        assert_eq!(ruling.any_group, 0);
        assert_eq!(ruling.any_user, 3);
    }

    #[test]
    fn as_many_rules_as_there_may_be_are_judged_together() {
        let rules = (0..MAX_RULES).map(|number| {
            let leading = (number == 7).then(|| "*-backup.scope".to_owned());
            let units = [format!("unit{number}@*.service")].into_iter();
            let conditions = Conditions {
                units: units.chain(leading).collect(),
                slices: vec![format!("s{number}.slice")],
                ..Conditions::default()
            };
            Rule::named(&format!("r{number}"), conditions)
        });
        let book = Book {
            rules: rules.collect(),
        };
        let mut bits = Bits::default();
        bits.assign(&book);
        let ruling = ruling(&book, &bits).unwrap();
        let of = |path: &str| ruling.paths.rules_of(path);
        assert_eq!(of("/a/unit59@x.service"), 1 << 59);
        assert_eq!(of("/a/x-backup.scope"), 1 << 7);
        assert_eq!(of("/a/s3.slice"), 1 << 3);
    }

    #[test]
    fn commands_under_run_are_exempt_and_containers_undecided() {
        let mut bits = Bits::default();
        let web = ContainerPattern {
            name: Some("web*".to_owned()),
            ..ContainerPattern::default()
        };
        let containers = Conditions {
            containers: vec![web],
            ..Conditions::default()
        };
        let book = Book {
            rules: vec![Rule::named("web", containers)],
        };
        bits.assign(&book);
        let ruling = ruling(&book, &bits).unwrap();
        let id = "0123456789abcdef".repeat(4);
        for (path, expected) in [
            ("/x/ebb-run-12".to_owned(), EXEMPT),
            ("/system.slice/ebb-run-12.scope".to_owned(), EXEMPT),
            ("/ebb-runner".to_owned(), 0),
            (
                format!("/system.slice/docker-{id}.scope"),
                IN_CONTAINER | UNDECIDED,
            ),
            (
                format!("/system.slice/web.service/libpod-payload-{id}"),
                IN_CONTAINER | UNDECIDED,
            ),
            (format!("/machine.slice/libpod-conmon-{id}.scope"), 0),
            (format!("/machine.slice/machine-libpod_pod_{id}.slice"), 0),
            ("/machine.slice/machine-web1.scope".to_owned(), 1),
            ("/lxc.payload.web".to_owned(), 1),
        ] {
            assert_eq!(ruling.paths.rules_of(&path), expected, "{path}");
        }
        assert_eq!(ruling.container_rules, 1);
    }
}
