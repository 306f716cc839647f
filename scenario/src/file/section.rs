// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading one table of the file: typed values by key, and what nobody asked for.
use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;

use ebb_algorithms::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::value::FromValue;
use crate::Problem;

/// A value and where it stands.
pub type Value<'i> = Spanned<DeValue<'i>>;

/// The text that is read, and what was found wrong in it so far.
pub struct Source<'a> {
    /// Its name, for messages.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
    /// Where files are that the text names.
    pub folder: &'a Path,
    problems: RefCell<Vec<(usize, Problem)>>,
}

impl<'a> Source<'a> {
    /// A text in which nothing was found wrong yet.
    pub fn new(file: &'a str, text: &'a str, folder: &'a Path) -> Self {
        Self {
            file,
            text,
            folder,
            problems: RefCell::default(),
        }
    }

    /// What the text's root is read as; none, with what is wrong noted, if it is no TOML.
    pub fn root<T>(&self, read: impl FnOnce(&Section<'_, '_>) -> T) -> Option<T> {
        match DeTable::parse(self.text) {
            Ok(table) => Some(read(&Section::new(self, table.get_ref(), 0..0, ""))),
            Err(error) => {
                let end = self.text.len()..self.text.len();
                self.problem(error.span().unwrap_or(end), error.message());
                None
            }
        }
    }

    /// The line at this byte of the text, from 1.
    fn line_at(&self, start: usize) -> usize {
        let before = self.text.get(..start).unwrap_or("");
        before.matches('\n').count() + 1
    }

    /// Notes something wrong at these bytes of the text.
    pub fn problem(&self, span: Range<usize>, message: impl Into<String>) {
        let start = span.start.min(self.text.len());
        let before = self.text.get(..start).unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let source_line = self.text[line_start..].lines().next().unwrap_or("");
        let column = before[line_start..].chars().count();
        let left = source_line.chars().count().saturating_sub(column);
        let length = self.text.get(span).map_or(0, |part| part.chars().count());
        let problem = Problem {
            file: self.file.to_owned(),
            line: self.line_at(start),
            column: column + 1,
            message: message.into(),
            source_line: source_line.to_owned(),
            length: length.min(left),
        };
        self.problems.borrow_mut().push((start, problem));
    }

    /// How many things were found so far.
    pub fn problem_count(&self) -> usize {
        self.problems.borrow().len()
    }

    /// What was found, in the order of the text.
    pub fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|(start, _)| *start);
        problems.dedup();
        problems.into_iter().map(|(_, problem)| problem).collect()
    }
}

/// One table. Broken values are noted and then count as not given.
pub struct Section<'a, 'i> {
    /// The text that it is part of.
    pub source: &'a Source<'a>,
    table: &'a DeTable<'i>,
    span: Range<usize>,
    /// How messages call it: `[bottleneck]`.
    title: String,
    known: RefCell<Vec<&'static str>>,
}

impl<'a, 'i> Section<'a, 'i> {
    /// A table at these bytes of the text, with the title that messages call it by.
    pub fn new(
        source: &'a Source<'a>,
        table: &'a DeTable<'i>,
        span: Range<usize>,
        title: impl Into<String>,
    ) -> Self {
        Self {
            source,
            table,
            span,
            title: title.into(),
            known: RefCell::default(),
        }
    }

    /// The value of a key, read as `T`.
    pub fn get<T: FromValue>(&self, key: &'static str) -> Option<T> {
        let value = self.value(key)?;
        match T::from_value(value.get_ref()) {
            Ok(read) => Some(read),
            Err(message) => {
                self.source.problem(value.span(), self.about(key, &message));
                None
            }
        }
    }

    /// As [`Self::get`], or this if there is no such key.
    pub fn get_or<T: FromValue>(&self, key: &'static str, default: T) -> T {
        self.get(key).unwrap_or(default)
    }

    /// As [`Self::get`]; that it is not there is noted, with an example.
    pub fn required<T: FromValue>(&self, key: &'static str, example: &str) -> Option<T> {
        if self.value(key).is_none() {
            self.wrong_here(format!("`{key}` is missing; write {key} = {example}"));
        }
        self.get(key)
    }

    /// A whole number within bounds, both included.
    pub fn number(&self, key: &'static str, bounds: (u64, u64)) -> Option<u64> {
        let number: u64 = self.get(key)?;
        let (least, greatest) = bounds;
        if (least..=greatest).contains(&number) {
            return Some(number);
        }
        self.wrong(
            key,
            format!("{number} is out of range; it can be {least} to {greatest}"),
        );
        None
    }

    /// As [`Self::number`] for 32 bits, with a default.
    pub fn number_or(&self, key: &'static str, bounds: (u32, u32), default: u32) -> u32 {
        let bounds = (u64::from(bounds.0), u64::from(bounds.1));
        let number = self.number(key, bounds);
        number
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(default)
    }

    /// One of several names.
    pub fn choice<T: Copy>(&self, key: &'static str, choices: &[(&'static str, T)]) -> Option<T> {
        let text: String = self.get(key)?;
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == text) {
            return Some(*choice);
        }
        self.wrong(
            key,
            unknown_name(&text, choices.iter().map(|(name, _)| *name)),
        );
        None
    }

    /// The value of a key as it stands.
    pub fn value(&self, key: &'static str) -> Option<&'a Value<'i>> {
        self.note_key(key);
        self.table.get(key)
    }

    /// A table within this one.
    pub fn section(&self, key: &'static str) -> Option<Self> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Section::new(
                self.source,
                table,
                value.span(),
                format!("[{key}]"),
            )),
            other => {
                let message = match is_list_of_tables(other) {
                    true => format!("there is only one; write [{key}] with single brackets"),
                    false => format!(
                        "a table is needed here, not {}",
                        with_article(other.type_str())
                    ),
                };
                self.wrong(key, message);
                None
            }
        }
    }

    /// Tables of the form `[[key]]`.
    pub fn sections(&self, key: &'static str) -> Vec<Self> {
        let Some(value) = self.value(key) else {
            return Vec::new();
        };
        let items = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        let section = |item: &'a Value<'i>| match item.get_ref() {
            DeValue::Table(table) if value.get_ref().is_array() => {
                let title = match table.get("name").and_then(|name| name.get_ref().as_str()) {
                    Some(name) => format!("[[{key}]] {name}"),
                    None => format!("[[{key}]]"),
                };
                Some(Section::new(self.source, table, item.span(), title))
            }
            _ => {
                let message = format!("there may be several; write [[{key}]] with double brackets");
                self.source.problem(item.span(), message);
                None
            }
        };
        items.into_iter().filter_map(section).collect()
    }

    /// Keys and values in the order of the file, all of them known by this.
    pub fn entries(&self) -> Vec<(&'a str, &'a Value<'i>)> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
            .into_iter()
            .map(|(key, value)| (key.get_ref().as_ref(), value))
            .collect()
    }

    /// The line at which it begins, from 1.
    pub fn line(&self) -> usize {
        self.source.line_at(self.span.start)
    }

    /// Whether the key is given.
    pub fn has(&self, key: &'static str) -> bool {
        self.value(key).is_some()
    }

    /// Notes that the value of this key is wrong.
    pub fn wrong(&self, key: &'static str, message: impl AsRef<str>) {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.source.problem(span, self.about(key, message.as_ref()));
    }

    /// Notes that this value is wrong, which stands below a key that people chose.
    pub fn wrong_value(&self, key: &str, value: &Value<'_>, message: impl AsRef<str>) {
        let message = self.about(key, message.as_ref());
        self.source.problem(value.span(), message);
    }

    /// Notes that the section as a whole is wrong.
    pub fn wrong_here(&self, message: impl AsRef<str>) {
        let message = match self.title.as_str() {
            "" => message.as_ref().to_owned(),
            title => format!("{title}: {}", message.as_ref()),
        };
        self.source.problem(self.span.clone(), message);
    }

    /// Takes the key for known, so that it is none that nobody asked for.
    pub fn note_key(&self, key: &'static str) {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
    }

    /// Notes keys that nobody asked for. `explain` may know why a key is not asked for here.
    pub fn finish_with(&self, explain: impl Fn(&str) -> Option<String>) {
        let known = self.known.borrow();
        for (key, _) in self.table.iter() {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let message = explain(name).unwrap_or_else(|| {
                let nearest = match nearest(name, known.iter().copied()) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => format!("there are: {}", sorted(&known)),
                };
                format!("unknown key; {nearest}")
            });
            self.source.problem(key.span(), self.about(name, &message));
        }
    }

    /// As [`Self::finish_with`], without explanations.
    pub fn finish(&self) {
        self.finish_with(|_| None);
    }

    fn about(&self, key: &str, message: &str) -> String {
        match self.title.as_str() {
            "" => format!("`{key}`: {message}"),
            title => format!("{title}: `{key}`: {message}"),
        }
    }
}

/// "unknown name `x`", with the nearest one or all.
pub fn unknown_name<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let known: Vec<_> = known.collect();
    match nearest(&name.to_lowercase(), known.iter().copied()) {
        Some(nearest) => format!("there is no `{name}`; did you mean `{nearest}`?"),
        None if known.is_empty() => format!("there is no `{name}`"),
        None => format!("there is no `{name}`; there are: {}", sorted(&known)),
    }
}

fn is_list_of_tables(value: &DeValue<'_>) -> bool {
    let is_table = |item: &Value<'_>| item.get_ref().is_table();
    value
        .as_array()
        .is_some_and(|items| items.iter().all(is_table))
}

/// "a table", "an integer".
pub fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'i']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {kind}")
}

fn sorted(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.join(", ")
}
