// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which rules hold for the path of a cgroup: one automaton for all of them, which the programs in
//! the kernel walk through as well (`bpf/rules.bpf.c`).

use crate::error::{Error, Result};
use crate::layout::{Constant, Paths};
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Anchored, MatchKind};
use std::collections::HashMap;
use std::mem::offset_of;

const CELLS: usize = Constant::EBB_PATH_CELLS.0 as usize;
const ACCEPTS: usize = Constant::EBB_PATH_ACCEPTS.0 as usize;
/// What a builder may take before it gives up: patterns can be such that states explode.
const LIMIT_BYTES: usize = 64 << 20;

/// For each path the rules that hold for it, as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRules {
    start: u32,
    accepts: Vec<u64>,
    cells: Vec<u32>,
    classes: [u8; 256],
}

/// A state of the automaton before it is laid out.
struct State {
    next: Box<[u32; 256]>,
    rules: u64,
}

impl PathRules {
    /// Of regular expressions over whole paths, in the syntax of the crate `regex`, byte by byte,
    /// each with the bits of what holds where it matches.
    ///
    /// *Errors*: [`Error::Patterns`] if one is none, or all of them together are too much.
    pub fn build(patterns: &[(String, u64)]) -> Result<Self> {
        let states = states_of(patterns)?;
        let (classes, representatives) = classes_of(&states);
        // A cell in front of each row tells what is accepted there.
        let row = representatives.len() + 1;
        let mut accepts = Vec::new();
        let mut cells = Vec::with_capacity(states.len() * row);
        for state in &states {
            let known = accepts.iter().position(|rules| *rules == state.rules);
            cells.push(known.unwrap_or_else(|| {
                accepts.push(state.rules);
                accepts.len() - 1
            }) as u32);
            let next = representatives
                .iter()
                .map(|byte| state.next[usize::from(*byte)] * row as u32);
            cells.extend(next);
        }
        if cells.len() > CELLS || accepts.len() > ACCEPTS || row > 255 {
            return Err(too_much());
        }
        Ok(Self {
            start: 0,
            accepts,
            cells,
            classes,
        })
    }

    /// The bits of what holds for a path.
    pub fn rules_of(&self, path: &str) -> u64 {
        let mut state = self.start as usize;
        for byte in path.bytes() {
            let class = self.classes[usize::from(byte)];
            state = self.cells[state + usize::from(class)] as usize;
        }
        self.accepts[self.cells[state] as usize]
    }

    /// As the programs read it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<Paths>()];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(
            offset_of!(Paths, start),
            &u64::from(self.start).to_ne_bytes(),
        );
        put(offset_of!(Paths, classes), &self.classes);
        for (at, rules) in self.accepts.iter().enumerate() {
            put(offset_of!(Paths, accepts) + at * 8, &rules.to_ne_bytes());
        }
        for (at, cell) in self.cells.iter().enumerate() {
            put(offset_of!(Paths, cells) + at * 4, &cell.to_ne_bytes());
        }
        bytes
    }
}

fn too_much() -> Error {
    Error::Patterns {
        reason: "they are too many, or too alike, to be judged together: name units and \
                 cgroups with fewer '*'"
            .to_owned(),
    }
}

fn automaton_of(patterns: &[(String, u64)]) -> Result<dense::DFA<Vec<u32>>> {
    let config = dense::Config::new()
        .match_kind(MatchKind::All)
        .start_kind(StartKind::Anchored)
        .minimize(patterns.len() <= 64)
        .dfa_size_limit(Some(LIMIT_BYTES))
        .determinize_size_limit(Some(LIMIT_BYTES));
    let texts: Vec<&str> = patterns.iter().map(|(text, _)| text.as_str()).collect();
    let built = dense::Builder::new()
        .configure(config)
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .build_many(&texts);
    built.map_err(|error| match error.is_size_limit_exceeded() {
        true => too_much(),
        false => Error::Patterns {
            reason: error.to_string(),
        },
    })
}

/// Every state that can be reached; the first is where a path begins.
fn states_of(patterns: &[(String, u64)]) -> Result<Vec<State>> {
    let automaton = automaton_of(patterns)?;
    let start = automaton.universal_start_state(Anchored::Yes);
    let start = start.ok_or_else(too_much)?;
    let mut numbers = HashMap::from([(start, 0)]);
    let mut waiting = vec![start];
    let mut at = 0;
    let mut states = Vec::new();
    while let Some(state) = waiting.get(at).copied() {
        at += 1;
        let next = std::array::from_fn(|byte| {
            let next = automaton.next_state(state, byte as u8);
            *numbers.entry(next).or_insert_with(|| {
                waiting.push(next);
                waiting.len() as u32 - 1
            })
        });
        states.push(State {
            next: Box::new(next),
            rules: rules_at_end(&automaton, state, patterns),
        });
        if states.len() > CELLS {
            return Err(too_much());
        }
    }
    Ok(states)
}

fn rules_at_end(automaton: &impl Automaton, state: StateID, patterns: &[(String, u64)]) -> u64 {
    let end = automaton.next_eoi_state(state);
    if !automaton.is_match_state(end) {
        return 0;
    }
    (0..automaton.match_len(end))
        .map(|at| patterns[automaton.match_pattern(end, at).as_usize()].1)
        .fold(0, |all, rules| all | rules)
}

/// Bytes that all states treat alike are one class, from 1 on; with a byte of each class.
fn classes_of(states: &[State]) -> ([u8; 256], Vec<u8>) {
    let mut known: HashMap<Vec<u32>, u8> = HashMap::new();
    let mut representatives = Vec::new();
    let classes = std::array::from_fn(|byte| {
        let column: Vec<u32> = states.iter().map(|state| state.next[byte]).collect();
        *known.entry(column).or_insert_with(|| {
            representatives.push(byte as u8);
            // At the most 256, and `build` refuses so many.
            u8::try_from(representatives.len()).unwrap_or(u8::MAX)
        })
    });
    (classes, representatives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_that_matches_a_whole_path_is_in_the_answer() {
        let rules = PathRules::build(&[
            ("(/.*)?/backup[^/]*\\.service(/.*)?".to_owned(), 1),
            ("/system\\.slice(/.*)?".to_owned(), 2),
            ("(/.*)?/x".to_owned(), 4),
        ])
        .unwrap();
        for (path, expected) in [
            ("/", 0),
            ("/system.slice", 2),
            ("/system.slice/backup@1.service", 3),
            ("/system.slice/backup.service/x", 7),
            ("/user.slice/backup.service.d", 0),
            ("/system.slicex", 0),
            ("/x/y", 0),
            ("", 0),
            ("/system.slice/\u{fc}", 2),
        ] {
            assert_eq!(rules.rules_of(path), expected, "{path}");
        }
        assert!(rules.bytes().len() == size_of::<Paths>());
        assert_eq!(PathRules::build(&[]).unwrap().rules_of("/x"), 0);
    }

    #[test]
    fn patterns_that_cannot_be_judged_together_are_refused_in_words() {
        let many: Vec<(String, u64)> = (0..30)
            .map(|n| (format!(".*{n}.*a{n}.*b{n}.*"), 1 << n))
            .collect();
        let error = PathRules::build(&many).unwrap_err().to_string();
        assert!(error.contains("fewer '*'"), "{error}");
    }
}
