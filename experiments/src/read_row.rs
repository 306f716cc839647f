// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading `[[row]]`: a measure, and the paper's values.
use ebb_scenario::reading::{FromValue, Section, unknown_name};
use toml::de::DeValue;

use crate::check_measure::check;
use crate::read_measure::{PLACE, Reader};
use crate::unit::UNITS;
use crate::{Bound, Case, Chosen, Kind, Measure, PaperValue, Row, Tolerance, Unit};

/// Reads a row, with bounds of our own or values of a paper; with `each` as many as that has cases.
/// Without those that are wrong, which is noted.
pub(crate) fn read_rows(section: &Section<'_, '_>, cases: &[Case], is_own: bool) -> Vec<Row> {
    let each: Option<Vec<String>> = section.get("each");
    let Some(each) = each else {
        let row = read_row(section, Each { cases, of: None }, is_own);
        return row.into_iter().collect();
    };
    if let Err(message) = check_each(section, &each, cases) {
        section.wrong("each", message);
        return Vec::new();
    }
    let of_case = |name: &String| {
        let of = Some(name.as_str());
        read_row(section, Each { cases, of }, is_own)
    };
    each.iter().filter_map(of_case).collect()
}

/// What would be wrong with rows for each of these cases.
fn check_each(section: &Section<'_, '_>, each: &[String], cases: &[Case]) -> Result<(), String> {
    let all = Each { cases, of: None };
    for (place, name) in each.iter().enumerate() {
        all.place(name)?;
        if each[..place].contains(name) {
            return Err(format!("`{name}` is there twice"));
        }
    }
    let row: Option<String> = section.get("name");
    match (each, row) {
        ([], _) => Err("it names no case; take it away, or name some".to_owned()),
        (_, Some(row)) if !row.contains(PLACE) => Err(format!(
            "all rows would be called `{row}`: put {PLACE} into `name`"
        )),
        _ => Ok(()),
    }
}

/// The cases of an experiment, and the one that a row is read for, if it is for each of several.
#[derive(Clone, Copy)]
struct Each<'a> {
    cases: &'a [Case],
    of: Option<&'a str>,
}

impl Each<'_> {
    /// The text with the name of the case in its place.
    fn filled(self, text: &str) -> String {
        text.replace(PLACE, self.of.unwrap_or(PLACE))
    }

    /// Of the case of this name; what to say where there is none.
    fn place(self, name: &str) -> Result<usize, String> {
        let place = self.cases.iter().position(|case| case.name == name);
        let names = self.cases.iter().map(|case| case.name.as_str());
        place.ok_or_else(|| unknown_name(name, names))
    }
}

fn read_row(section: &Section<'_, '_>, each: Each<'_>, is_own: bool) -> Option<Row> {
    let cases = each.cases;
    let name: Option<String> = section.required("name", "\"goodput\"");
    let measure = read_measure(section, each);
    let unit = section.choice("unit", &UNITS);
    let tolerance = read_tolerance(section);
    let kind = section.choice("is", &Kind::ALL);
    let chosen = section.choice("chosen", &Chosen::ALL);
    let why = section.get("why");
    let values = match (is_own, &measure) {
        (true, _) => read_by_case(section, each, "bound", &|value| match value {
            (Bound::Exact, _) => Err(BOUND_NEEDED.into()),
            bound => Ok(bound),
        }),
        (false, Some(measure)) if measure.is_analytic() => read_value(section),
        (false, _) => read_by_case(section, each, "paper", &Ok),
    };
    section.finish();
    let measure = measure?;
    let unit = unit_of(&measure, unit, section);
    if !check(section, &measure, &values, cases) {
        return None;
    }
    let paper = paper_values(values, tolerance);
    Some(Row {
        name: each.filled(&name?),
        policy: None,
        kind: kind.unwrap_or_else(|| usual_kind(&paper)),
        chosen,
        paper,
        measure,
        unit,
        why,
    })
}

fn paper_values(values: Values, tolerance: Tolerance) -> Vec<PaperValue> {
    let of_value = |(case, bound, value)| PaperValue {
        case,
        value,
        bound,
        tolerance: Tolerance {
            precision: tolerance.precision.max(printed_precision(value)),
            ..tolerance
        },
    };
    values.into_iter().map(of_value).collect()
}

fn read_measure(section: &Section<'_, '_>, each: Each<'_>) -> Option<Measure> {
    match section.section("measure") {
        Some(measure) => {
            let reader = Reader {
                cases: each.cases,
                each: each.of.unwrap_or(PLACE),
            };
            reader.read(&measure)
        }
        None if section.has("measure") => None,
        None => {
            section.wrong_here(
                "`measure` is missing; write measure = { kind = \"goodput\", flows = \"mine\" }",
            );
            None
        }
    }
}

/// The unit that was asked for, if the measure can have it.
fn unit_of(measure: &Measure, unit: Option<Unit>, section: &Section<'_, '_>) -> Unit {
    let usual = measure.dimension().unit();
    let unit = unit.unwrap_or(usual);
    if !unit.fits(measure.dimension()) {
        let usual = usual.name();
        let message = format!("this measure has no such unit; write \"{usual}\"");
        section.wrong("unit", message);
    }
    unit
}

/// Most bounds are not a paper's numbers, but an order that it concludes.
fn usual_kind(paper: &[PaperValue]) -> Kind {
    match paper.iter().all(|value| value.bound == Bound::Exact) {
        true => Kind::Reported,
        false => Kind::Conclusion,
    }
}

/// `precision` and `effect`, in the row's unit.
fn read_tolerance(section: &Section<'_, '_>) -> Tolerance {
    let positive = |key: &'static str| {
        let value: Option<f64> = section.get(key);
        if value.is_some_and(|value| value <= 0.0) {
            section.wrong(key, "it is more than 0");
        }
        value
    };
    Tolerance {
        precision: positive("precision").unwrap_or(0.0),
        effect: positive("effect"),
    }
}

/// Half a unit of the last decimal, where there are two: what looks like fewer may be exact, since
/// zeros at the end are lost.
fn printed_precision(value: f64) -> f64 {
    let text = value.to_string();
    let decimals = text.split_once('.').map(|(_, decimals)| decimals.len());
    let decimals = decimals.filter(|places| *places > 1);
    decimals.map_or(0.0, |places| 0.5 * 10_f64.powi(-(places as i32)))
}

/// Places of cases with what is held against ours there.
type Values = Vec<(usize, Bound, f64)>;

/// `paper = 11.25`, for a formula.
fn read_value(section: &Section<'_, '_>) -> Values {
    let value = section.required("paper", "11.25");
    let value = value.map(|value| (0, Bound::Exact, value));
    value.into_iter().collect()
}

/// `[row.paper]` or `[row.bound]` with a value for each case.
fn read_by_case(
    section: &Section<'_, '_>,
    each: Each<'_>,
    key: &'static str,
    check: &dyn Fn((Bound, f64)) -> Result<(Bound, f64), String>,
) -> Values {
    let example = match key {
        "bound" => "\">= 0.5\"",
        _ => "0.56",
    };
    let Some(by_case) = section.section(key) else {
        if !section.has(key) {
            let message = format!("`{key}` is missing; write {key} = {{ CASE = {example} }}");
            section.wrong_here(message);
        }
        return Vec::new();
    };
    let mut values = Vec::new();
    for (name, value) in by_case.entries() {
        let name = each.filled(name);
        let read = each
            .place(&name)
            .map_err(|message| format!("`{key}`: among the cases {message}"))
            .and_then(|case| {
                let read = read_paper_value(value.get_ref()).and_then(check);
                let (bound, value) =
                    read.map_err(|message| format!("`{key}`: `{name}`: {message}"))?;
                Ok((case, bound, value))
            });
        match read {
            Ok(value) => values.push(value),
            Err(problem) => section.source.problem(value.span(), problem),
        }
    }
    if by_case.entries().is_empty() {
        let message = format!("a value is needed; write {key} = {{ CASE = {example} }}");
        section.wrong(key, message);
    }
    values
}

const BOUND_NEEDED: &str = "a bound is needed, as \">= 0.5\" or \"<= 0.5\"";

/// `0.56`, or `">= 0.5"` and `"<= 0.5"` where the paper has no more than that.
fn read_paper_value(value: &DeValue<'_>) -> Result<(Bound, f64), String> {
    let Some(text) = value.as_str() else {
        return f64::from_value(value).map(|value| (Bound::Exact, value));
    };
    let bounds = [Bound::AtLeast, Bound::AtMost];
    let bound = bounds.into_iter().find_map(|bound| {
        let number = text.strip_prefix(bound.sign().trim_end())?.trim();
        Some((bound, number.parse::<f64>().ok().filter(|x| x.is_finite())?))
    });
    bound.ok_or_else(|| "a number is needed, or a bound as \">= 0.5\" or \"<= 0.5\"".into())
}
