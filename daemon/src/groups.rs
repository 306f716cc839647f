// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cgroups that exist, judged as the kernel judges those that are made; containers, of which
//! the kernel knows too little; and what somebody holds by hand, where no rule acts.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ebb_keeper::Cgroup;
use ebb_keeper::kernel::rules::{Classifier, EXEMPT, IN_CONTAINER, NewGroup, Ruling, UNDECIDED};
use ebb_keeper::registry::{Attached, Record};

use crate::bits::Bits;
use crate::containers::{Managers, is_pod};
use crate::rule::{Book, Rule};

/// A manager writes down what a container is before it makes its cgroup, or soon after.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);
/// One of which nothing is known yet is looked at again.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Nor before so many times the time that the last look took: who makes thousands of cgroups that
/// are called as containers' keeps nobody from being served.
const LOOK_SHARE: u32 = 10;

/// What is judged by, and what waits for it.
#[derive(Debug)]
pub struct Groups {
    below: Cgroup,
    ruling: Ruling,
    /// The rules, with their bits.
    book: Book,
    bits: Bits,
    /// Containers of which nothing is known yet: since when.
    undecided: BTreeMap<PathBuf, Instant>,
    /// New cgroups whose folders could not be seen yet.
    unseen: Vec<NewGroup>,
    /// When those are looked at again.
    look_again: Option<Instant>,
    managers: Managers,
    /// Cgroups that are held by hand.
    by_hand: BTreeSet<PathBuf>,
    /// All that is held by hand, by the kind of it.
    kinds_by_hand: BTreeMap<&'static str, u64>,
}

/// Why a user's own policy may not act somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Barred {
    /// Root holds it by hand.
    ByHand,
    /// The rule of this name holds for all that the user has there.
    ByRule(String),
}

/// What changed for existing cgroups: the bits of rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Some hold no more somewhere.
    pub has_lost: bool,
    /// Some hold now where they did not.
    pub has_gained: bool,
}

impl Changed {
    /// And this.
    pub fn add(&mut self, other: Self) {
        self.has_lost |= other.has_lost;
        self.has_gained |= other.has_gained;
    }
}

impl Groups {
    /// Nothing is judged yet.
    pub fn new(below: &Cgroup, ruling: Ruling, book: Book, bits: Bits) -> Self {
        Self {
            below: below.clone(),
            ruling,
            book,
            bits,
            undecided: BTreeMap::new(),
            unseen: Vec::new(),
            look_again: None,
            managers: Managers::below(Path::new("/")),
            by_hand: BTreeSet::new(),
            kinds_by_hand: BTreeMap::new(),
        }
    }

    /// Whether something goes before a user's own policy on all connections that the user makes in a
    /// cgroup. A rule that names ports or programs may go before it on some of them.
    pub(crate) fn bars(&self, classifier: &Classifier, cgroup: u64, user: u32) -> Option<Barred> {
        let held = classifier.group(cgroup);
        if held & EXEMPT != 0 {
            return Some(Barred::ByHand);
        }
        let held = held | self.ruling.any_group;
        let is_for_all = |rule: &&Rule| {
            let conditions = &rule.conditions;
            let users = &conditions.users;
            held & self.bits.mask(&rule.name) != 0
                && conditions.ports.is_empty()
                && conditions.executables.is_empty()
                && (users.is_empty() || users.values().any(|it| *it == user))
        };
        let rule = self.book.rules.iter().find(is_for_all)?;
        Some(Barred::ByRule(rule.name.clone()))
    }

    /// Judges every cgroup; those that have gone are forgotten.
    pub fn judge_all(&mut self, classifier: &Classifier) -> Changed {
        self.managers = Managers::below(Path::new("/"));
        let mut changed = Changed::default();
        let mut seen = BTreeSet::new();
        let top = self.below.path().to_path_buf();
        self.judge_below(classifier, &top, 0, &mut changed, &mut seen);
        for id in classifier.groups() {
            if !seen.contains(&id) {
                let _ = classifier.set_group(id, 0);
            }
        }
        changed
    }

    /// Looks whose new containers are.
    pub fn judge_new(&mut self, classifier: &Classifier, new: &[NewGroup]) -> Changed {
        let undecided = new.iter().filter(|group| group.rules & UNDECIDED != 0);
        let (paths, unseen) = self.find(undecided.cloned().collect());
        // The kernel tells of a cgroup a moment before its folder can be seen.
        self.unseen.extend(unseen);
        self.judge_paths(classifier, &paths)
    }

    /// Looks again at containers of which nothing was known, if it is time to; answers when it is
    /// the next time.
    pub fn judge_undecided(&mut self, classifier: &Classifier) -> (Changed, Option<Instant>) {
        if self.undecided.is_empty() && self.unseen.is_empty() {
            self.look_again = None;
            return (Changed::default(), None);
        }
        let now = Instant::now();
        let due = *self.look_again.get_or_insert(now + LOOK_AGAIN_AFTER);
        if now < due {
            return (Changed::default(), Some(due));
        }
        let unseen = std::mem::take(&mut self.unseen);
        let (mut paths, _) = self.find(unseen);
        paths.extend(self.undecided.keys().cloned());
        let changed = self.judge_paths(classifier, &paths);
        let wait = LOOK_AGAIN_AFTER.max(now.elapsed() * LOOK_SHARE);
        self.look_again = Some(Instant::now() + wait);
        (changed, self.look_again)
    }

    /// Looks which cgroups are held by hand, by their records.
    pub fn note_what_is_held_by_hand(
        &mut self,
        classifier: &Classifier,
        records: &Path,
    ) -> Changed {
        let attached = held_by_hand(records);
        self.kinds_by_hand.clear();
        for kind in attached.iter().map(Attached::kind) {
            *self.kinds_by_hand.entry(kind).or_default() += 1;
        }
        let held = attached.into_iter().flat_map(cgroups_of).collect();
        if held == self.by_hand {
            return Changed::default();
        }
        self.by_hand = held;
        self.judge_all(classifier)
    }

    /// What is held by hand, by the kind of it, when that was looked at last.
    pub fn kinds_by_hand(&self) -> &BTreeMap<&'static str, u64> {
        &self.kinds_by_hand
    }

    /// The rules.
    pub fn book(&self) -> &Book {
        &self.book
    }

    fn judge_paths(&mut self, classifier: &Classifier, paths: &[PathBuf]) -> Changed {
        self.managers = Managers::below(Path::new("/"));
        let mut changed = Changed::default();
        for path in paths {
            if fs::metadata(self.directory(path)).is_err() {
                self.undecided.remove(path);
                continue;
            }
            let parent = path.parent().unwrap_or(Path::new("/"));
            let parent = fs::metadata(self.directory(parent));
            let of_parent = parent.map_or(0, |parent| classifier.group(parent.ino()));
            self.judge_below(
                classifier,
                path,
                of_parent,
                &mut changed,
                &mut BTreeSet::new(),
            );
        }
        changed
    }

    /// A cgroup and those below it; some vanish meanwhile.
    fn judge_below(
        &mut self,
        classifier: &Classifier,
        path: &Path,
        of_parent: u64,
        changed: &mut Changed,
        seen: &mut BTreeSet<u64>,
    ) {
        let directory = self.directory(path);
        let Ok((id, owner)) = fs::metadata(&directory).map(|found| (found.ino(), found.uid()))
        else {
            return;
        };
        seen.insert(id);
        let rules = self.rules_of(path, owner, of_parent);
        let before = classifier.group(id);
        if rules != before {
            let flags = IN_CONTAINER | UNDECIDED;
            let is_lost = before & !rules & !flags != 0 && before & EXEMPT == 0;
            changed.has_lost |= is_lost || rules & EXEMPT != 0;
            changed.has_gained |= rules & !before & !flags != 0 || before & EXEMPT != 0;
            if let Err(error) = classifier.set_group(id, rules) {
                tracing::warn!("cgroup {}: {error}", path.display());
            }
        }
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        for child in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let path = path.join(child.file_name());
            self.judge_below(classifier, &path, rules, changed, seen);
        }
    }

    /// As `ebb_judge` in the kernel, but for what only is known here.
    fn rules_of(&mut self, path: &Path, owner: u32, of_parent: u64) -> u64 {
        let text = path.to_string_lossy();
        let mut own = self.ruling.paths.rules_of(&text);
        if owner != 0 {
            own &= !EXEMPT;
        }
        let mut rules = own | of_parent;
        if own & IN_CONTAINER != 0 {
            rules = match self.decide(path) {
                Some(of_container) => (rules & !UNDECIDED) | of_container,
                None => rules | self.ruling.container_rules,
            };
        }
        if self.by_hand.contains(path) {
            rules |= EXEMPT;
        }
        rules
    }

    /// The rules that hold for a container; none: nothing is known of it yet.
    fn decide(&mut self, path: &Path) -> Option<u64> {
        if is_pod(path) {
            return Some(0);
        }
        let Some(container) = self.managers.find_for(path) else {
            let since = *(self.undecided.entry(path.to_path_buf())).or_insert_with(Instant::now);
            if since.elapsed() < KNOWN_WITHIN {
                return None;
            }
            self.undecided.remove(path);
            tracing::info!(
                "cgroup {}: nothing is known of this container, so no rule on containers holds",
                path.display()
            );
            return Some(0);
        };
        self.undecided.remove(path);
        let rules = self.book.rules.iter();
        let held = rules.filter(|rule| {
            let mut patterns = rule.conditions.containers.iter();
            patterns.any(|pattern| pattern.holds_for(&container))
        });
        Some(held.fold(0, |all, rule| all | self.bits.mask(&rule.name)))
    }

    /// The paths of new cgroups, and those of which none can be seen.
    fn find(&self, groups: Vec<NewGroup>) -> (Vec<PathBuf>, Vec<NewGroup>) {
        let mut paths = Vec::new();
        let is_unseen = |group: &NewGroup| match self.path_of(group) {
            Some(path) => {
                paths.push(path);
                false
            }
            None => true,
        };
        let unseen = groups.into_iter().filter(is_unseen).collect();
        (paths, unseen)
    }

    /// Its path as it is seen here: in a namespace of cgroups the kernel tells more of it.
    fn path_of(&self, group: &NewGroup) -> Option<PathBuf> {
        let parts: Vec<&OsStr> = group.path.iter().skip(1).collect();
        let paths = (0..parts.len()).map(|from| {
            let below_root = parts[from..].iter().collect::<PathBuf>();
            Path::new("/").join(below_root)
        });
        let is_it = |path: &PathBuf| {
            let found = fs::metadata(self.directory(path));
            found.is_ok_and(|found| found.ino() == group.id)
        };
        paths.into_iter().find(is_it)
    }

    fn directory(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix(self.below.path());
        self.below.directory_path().join(relative.unwrap_or(path))
    }
}

/// What living keepers hold, but for what this service does by its rules.
fn held_by_hand(records: &Path) -> Vec<Attached> {
    let entries = fs::read_dir(records).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let records = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let records = records.filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok());
    let living = records.filter(|record: &Record| ebb_host::exists(record.keeper_pid));
    let is_by_rules = |record: &Record| match record.attached {
        Attached::Rule { .. } => true,
        Attached::Gateway { .. } => record.keeper_pid == std::process::id(),
        _ => false,
    };
    let by_hand = living.filter(|record| !is_by_rules(record));
    by_hand.map(|record| record.attached).collect()
}

fn cgroups_of(attached: Attached) -> Vec<PathBuf> {
    match attached {
        Attached::Cgroup { cgroup } => vec![cgroup],
        Attached::Share { programs, .. } => {
            let whole = programs.into_iter().filter(|sharer| sharer.pid.is_none());
            whole.map(|sharer| sharer.cgroup).collect()
        }
        _ => Vec::new(),
    }
}
