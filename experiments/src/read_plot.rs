// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading `[[plot]]`.
use ebb_link::Nanos;
use ebb_scenario::reading::{FromValue, Section, unknown_name};
use toml::de::DeValue;

use crate::check_measure::check;
use crate::plot::{Axis, Form, Line, Place, Plot, Source};
use crate::read_measure::{PLACE, Reader};
use crate::unit::UNITS;
use crate::{Bound, Case, Measure, Row};

const FORMS: [(&str, Form); 4] = [
    ("lines", Form::Lines),
    ("bars", Form::Bars),
    ("time", Form::Time),
    ("time-bars", Form::TimeBars),
];
/// Bins of curves over time, unless given.
const BINS: u64 = 180;

/// What plots and sweeps may name.
pub(crate) struct Known<'e> {
    pub(crate) cases: &'e [Case],
    pub(crate) rows: &'e [Row],
    pub(crate) quick_runs: u32,
}

impl<'e> Known<'e> {
    pub fn new(cases: &'e [Case], rows: &'e [Row], quick_runs: u32) -> Self {
        Self {
            cases,
            rows,
            quick_runs,
        }
    }

    /// Reads a plot; none if it is wrong, which is noted.
    pub fn plot(&self, section: &Section<'_, '_>) -> Option<Plot> {
        let form = section.choice("form", &FORMS).unwrap_or(Form::Lines);
        let y = axis(section, "y");
        let x = match (form, section.has("x")) {
            (Form::Lines, _) | (_, true) => axis(section, "x"),
            (Form::Time | Form::TimeBars, false) => Some(Axis {
                label: "time".into(),
                unit: "s".into(),
                ..Axis::default()
            }),
            (Form::Bars, false) => Some(Axis::default()),
        };
        let bin: Option<Nanos> = section.get("bin");
        let mut lines = Vec::new();
        for line in section.sections("line") {
            lines.extend(self.line(&line, form, y.as_ref()));
        }
        let marks = section.sections("mark");
        let marks = marks.iter().filter_map(|mark| self.mark(mark, form));
        let marks = marks.collect();
        if lines.is_empty() && !section.has("line") {
            section.wrong_here("[[plot.line]] is missing: what is on it?");
        }
        let title = section.get_or("title", String::new());
        section.finish();
        let shortest = self.cases.iter().map(|case| case.scenario.duration.0).min();
        let default = Nanos((shortest.unwrap_or(BINS) / BINS).max(1));
        Some(Plot {
            title,
            form,
            x: x?,
            y: y?,
            bin: bin.filter(|bin| bin.0 > 0).unwrap_or(default),
            lines,
            marks,
        })
    }

    fn line(&self, section: &Section<'_, '_>, form: Form, y: Option<&Axis>) -> Option<Line> {
        let name = section.required("name", "\"TCP\"");
        // Known, even if what they belong to is wrong.
        for key in ["x", "labels", "case", "cases"] {
            section.has(key);
        }
        let source = match form {
            Form::Time | Form::TimeBars => {
                Some(self.series(section, y.map_or("", |y| y.unit.as_str())))
            }
            _ if section.has("measure") || section.has("measures") => {
                Some(self.measured(section, form))
            }
            _ if section.has("row") || section.has("rows") => Some(self.cells(section, form)),
            _ if section.has("paper") => None,
            _ => {
                section.wrong_here("`row` is missing; write row = \"goodput\"");
                Some(None)
            }
        };
        let paper = section.value("paper").map_or_else(Vec::new, |value| {
            read_off(value.get_ref()).unwrap_or_else(|message| {
                section.wrong("paper", message);
                Vec::new()
            })
        });
        let is_upside_down = read_upside_down(section, form, y);
        let stack = read_stack(section, form, y);
        section.finish();
        Some(Line {
            name: name?,
            is_upside_down,
            stack,
            source: match source {
                None => None,
                Some(source) => Some(source?),
            },
            paper,
        })
    }

    /// `row` or `rows`, and `cases` if not all of theirs.
    fn cells(&self, section: &Section<'_, '_>, form: Form) -> Option<Source> {
        let single = section.get::<String>("row").map(|row| vec![row]);
        let names = single.or_else(|| section.get("rows"))?;
        let cases = self.cases_of(section)?;
        let mut cells = Vec::new();
        for name in names {
            let Some(place) = self.rows.iter().position(|row| row.name == name) else {
                let rows = self.rows.iter().map(|row| row.name.as_str());
                section.wrong(
                    if section.has("row") { "row" } else { "rows" },
                    unknown_name(&name, rows),
                );
                return None;
            };
            let own: Vec<usize> = self.rows[place].paper.iter().map(|it| it.case).collect();
            let wanted = cases.clone().unwrap_or(own.clone());
            let wanted = wanted.into_iter().filter(|case| own.contains(case));
            cells.extend(wanted.map(|case| (place, case)));
        }
        let places: Vec<usize> = cells.iter().map(|(_, case)| *case).collect();
        let at = self.at(section, form, &places)?;
        Some(Source::Cells { cells, at })
    }

    fn measured(&self, section: &Section<'_, '_>, form: Form) -> Option<Source> {
        let values = self.measures(section)?;
        let Some((first, _)) = values.first() else {
            section.wrong_here("there is nothing to measure; write measures = [{ kind = … }, …]");
            return None;
        };
        let dimension = first.dimension();
        let unit = section.choice("unit", &UNITS);
        let unit = unit.unwrap_or(dimension.unit());
        for (measure, case) in &values {
            if !unit.fits(measure.dimension()) {
                let right = dimension.unit().name();
                section.wrong(
                    "unit",
                    format!("this measure has no such unit; write \"{right}\""),
                );
                return None;
            }
            if !check(section, measure, &[(*case, Bound::Exact, 0.0)], self.cases) {
                return None;
            }
        }
        let cases: Vec<usize> = values.iter().map(|(_, case)| *case).collect();
        let at = self.at(section, form, &cases)?;
        Some(Source::Measured { values, unit, at })
    }

    /// `measure` of `cases`, or `measures` of `case`.
    fn measures(&self, section: &Section<'_, '_>) -> Option<Vec<(Measure, usize)>> {
        let reader = Reader {
            cases: self.cases,
            each: PLACE,
        };
        if section.has("measure") {
            let measure = reader.read(&section.section("measure")?)?;
            let all: Vec<usize> = (0..self.cases.len()).collect();
            let cases = self.cases_of(section)?.unwrap_or(all).into_iter();
            return Some(cases.map(|case| (measure.clone(), case)).collect());
        }
        let tables = section.sections("measures");
        let measures: Vec<_> = tables.iter().map(|table| reader.read(table)).collect();
        let measures: Option<Vec<Measure>> = measures.into_iter().collect();
        // Formulas are of no case.
        let are_formulas =
            |all: &Vec<Measure>| self.cases.is_empty() && all.iter().all(Measure::is_analytic);
        let case = match measures.as_ref().is_some_and(are_formulas) {
            true => Some(0),
            false => self.case_of(section),
        };
        let (case, measures) = (case?, measures?);
        Some(measures.into_iter().map(|one| (one, case)).collect())
    }

    /// `case`, which may be left out if there is one only.
    pub(crate) fn case_of(&self, section: &Section<'_, '_>) -> Option<usize> {
        let Some(name) = section.get::<String>("case") else {
            if self.cases.len() != 1 {
                section.wrong_here("`case` is missing: which of the cases?");
            }
            return (self.cases.len() == 1).then_some(0);
        };
        let place = self.cases.iter().position(|case| case.name == name);
        if place.is_none() {
            let cases = self.cases.iter().map(|case| case.name.as_str());
            section.wrong("case", unknown_name(&name, cases));
        }
        place
    }

    /// The outer none: something is wrong; the inner: none are named.
    pub(crate) fn cases_of(&self, section: &Section<'_, '_>) -> Option<Option<Vec<usize>>> {
        let Some(names) = section.get::<Vec<String>>("cases") else {
            return Some(None);
        };
        let mut places = Vec::new();
        for name in names {
            match self.cases.iter().position(|case| case.name == name) {
                Some(place) => places.push(place),
                None => {
                    let cases = self.cases.iter().map(|case| case.name.as_str());
                    section.wrong("cases", unknown_name(&name, cases));
                    return None;
                }
            }
        }
        Some(Some(places))
    }

    /// `x` for lines, `labels` for bars: the names of cases unless given.
    fn at(&self, section: &Section<'_, '_>, form: Form, cases: &[usize]) -> Option<Vec<Place>> {
        let (key, places) = match form {
            Form::Bars => {
                let labels: Option<Vec<String>> = section.get("labels");
                let names = cases.iter().map(|case| self.name_of(*case).to_owned());
                let labels = labels.unwrap_or_else(|| names.collect());
                ("labels", labels.into_iter().map(Place::Label).collect())
            }
            Form::Lines | Form::Time | Form::TimeBars => {
                if !section.has("x") {
                    section.wrong_here("`x` is missing; write x = [1, 2, 5], one for each case");
                    return None;
                }
                let value = section.value("x")?.get_ref();
                let numbers = numbers(value).unwrap_or_else(|message| {
                    section.wrong("x", message);
                    Vec::new()
                });
                let places = numbers.into_iter().map(Place::Number);
                ("x", places.collect::<Vec<_>>())
            }
        };
        if places.len() == cases.len() {
            return Some(places);
        }
        let names: Vec<&str> = cases.iter().map(|case| self.name_of(*case)).collect();
        section.wrong(
            key,
            format!(
                "there are {} for {} values, which are those of: {}",
                places.len(),
                names.len(),
                names.join(", ")
            ),
        );
        None
    }

    fn name_of(&self, case: usize) -> &str {
        self.cases.get(case).map_or("a formula", |case| &case.name)
    }
}

/// `upside_down`: where that is has an end that does not move with the values.
fn read_upside_down(section: &Section<'_, '_>, form: Form, y: Option<&Axis>) -> bool {
    let is_upside_down = section.get_or("upside_down", false);
    if is_upside_down && form == Form::Bars {
        section.wrong("upside_down", "bars stand on their axis; it is for curves");
    }
    if is_upside_down && y.is_some_and(|y| y.to.is_none()) {
        section.wrong(
            "upside_down",
            "it hangs from the end of the y axis, which must be said; write y = { to = 10, … }",
        );
    }
    is_upside_down
}

/// `stack`: on a logarithmic axis equal parts of a bar are not equally long.
fn read_stack(section: &Section<'_, '_>, form: Form, y: Option<&Axis>) -> Option<String> {
    let stack = section.get("stack");
    if stack.is_some() && form != Form::Bars {
        section.wrong(
            "stack",
            "only bars stand on each other; write form = \"bars\"",
        );
    }
    if stack.is_some() && y.is_some_and(|y| y.is_log) {
        section.wrong(
            "stack",
            "bars cannot stand on each other if the y axis is logarithmic",
        );
    }
    stack
}

fn axis(section: &Section<'_, '_>, key: &'static str) -> Option<Axis> {
    let Some(inner) = section.section(key) else {
        if !section.has(key) {
            section.wrong_here(format!(
                "`{key}` is missing; write {key} = {{ label = \"period\", unit = \"s\" }}"
            ));
        }
        return None;
    };
    let axis = Axis {
        label: inner.required("label", "\"period\"").unwrap_or_default(),
        unit: inner.get_or("unit", String::new()),
        from: inner.get("from"),
        to: inner.get("to"),
        is_log: inner.get_or("log", false),
    };
    inner.finish();
    if let (Some(from), Some(to)) = (axis.from, axis.to)
        && from >= to
    {
        section.wrong(key, "`from` must be less than `to`");
    }
    if axis.is_log && (axis.from.is_some_and(|from| from <= 0.0)) {
        section.wrong(key, "a logarithmic axis begins above 0");
    }
    Some(axis)
}

const NUMBERS: &str = "numbers are needed, as [1, 2, 5]";

fn numbers(value: &DeValue<'_>) -> Result<Vec<f64>, String> {
    let items = value.as_array().ok_or(NUMBERS)?;
    let number = |item: &toml::Spanned<DeValue<'_>>| f64::from_value(item.get_ref());
    items.iter().map(number).collect()
}

/// `[[0.1, 50], [0.2, 60]]`.
fn read_off(value: &DeValue<'_>) -> Result<Vec<(f64, f64)>, String> {
    const USAGE: &str = "points are needed, as [[0.1, 50], [0.2, 60]]";
    let points = value.as_array().ok_or(USAGE)?;
    let point = |point: &toml::Spanned<DeValue<'_>>| {
        let numbers = numbers(point.get_ref()).map_err(|_| USAGE)?;
        let [x, y] = numbers[..] else {
            return Err(USAGE.to_owned());
        };
        Ok((x, y))
    };
    points.iter().map(point).collect()
}
