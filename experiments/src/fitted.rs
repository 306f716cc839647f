// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fitted set-ups: a second column beside what the paper states, which explains and counts for
//! nothing.
use ebb_scenario::Setting;
use ebb_scenario::reading::Section;

use crate::{Case, Chosen, Experiment, Row};

/// What is set in a case beyond its own, for its second column; none: it has none.
pub(crate) type Fit = Option<Vec<String>>;

/// What stands behind the name of a case in the second column.
const FITTED: &str = " (fitted)";

/// Adds the second column: each case that has one once more, with more set, and each row once more
/// for these. `fits` are those of the cases.
///
/// What the sweeps and pictures name stays where it is. The lab does not run the second column.
pub(crate) fn with_second_column(
    mut experiment: Experiment,
    fits: &[Fit],
    root: &Section<'_, '_>,
) -> Experiment {
    let first = experiment.cases.len();
    let mut places: Vec<usize> = (0..first).collect();
    for (place, fit) in fits.iter().enumerate() {
        let Some(texts) = fit else { continue };
        match twin(&experiment.cases[place], texts) {
            Ok(case) => {
                places[place] = experiment.cases.len();
                experiment.cases.push(case);
            }
            Err(message) => root.wrong_here(format!("`fitted`: {message}")),
        }
    }
    let twin = |case: usize| places.get(case).copied().unwrap_or(case);
    let is_twin = |row: &Row| row.cases().any(|case| twin(case) != case);
    let rows = experiment.rows.iter().filter(|row| is_twin(row));
    let rows: Vec<Row> = rows.map(|row| of_twins(row, &twin)).collect();
    experiment.rows.extend(rows);
    experiment
}

fn twin(case: &Case, texts: &[String]) -> Result<Case, String> {
    let settings: Result<Vec<Setting>, _> = texts.iter().map(|text| text.parse()).collect();
    let settings = settings.map_err(|error| error.to_string())?;
    let twin = case.with_settings(&settings);
    let twin = twin.map_err(|error| format!("in case `{}` {error}", case.name))?;
    Ok(Case {
        name: format!("{}{FITTED}", case.name),
        chosen: Chosen::Fitted,
        is_second: true,
        lab: None,
        ..twin
    })
}

/// The values that a second column changes, measured in it.
fn of_twins(row: &Row, twin: &dyn Fn(usize) -> usize) -> Row {
    let names_twin = row.measure.cases().any(|case| twin(case) != case);
    let mut of_twins = row.clone();
    of_twins
        .paper
        .retain(|value| names_twin || twin(value.case) != value.case);
    Row {
        chosen: Some(Chosen::Fitted),
        ..of_twins.moved(twin)
    }
}
