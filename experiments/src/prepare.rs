// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What scenarios have to record for rows and pictures.
use ebb_link::Nanos;

use crate::plot::{Plot, Source as PlotSource};
use crate::{Case, Measure, Row};

/// Time series only where a measure or a picture needs them.
pub(crate) fn prepare(cases: &mut [Case], rows: &[Row], plots: &[Plot]) {
    for (place, case) in cases.iter_mut().enumerate() {
        let of_rows = rows.iter().flat_map(|row| {
            let is_used = row.paper.iter().any(|value| value.case == place);
            bins(&row.measure, place, is_used)
        });
        let of_plots = plots.iter().flat_map(|plot| {
            let of_line = move |source: &PlotSource| match source {
                PlotSource::Series { case, .. } if *case == place => vec![plot.bin],
                PlotSource::Measured { values, .. } => {
                    let of_value =
                        |(measure, case): &(Measure, usize)| bins(measure, place, *case == place);
                    values.iter().flat_map(of_value).collect()
                }
                PlotSource::Series { .. } | PlotSource::Cells { .. } => Vec::new(),
            };
            let sources = plot.lines.iter().filter_map(|line| line.source.as_ref());
            sources.flat_map(of_line).collect::<Vec<_>>()
        });
        let bin = of_rows.chain(of_plots).reduce(Nanos::common_divisor);
        for scenario in case.scenarios_mut() {
            scenario.has_flow_series = bin.is_some();
            scenario.bin = bin.unwrap_or(scenario.duration);
        }
    }
}

/// Those that a measure needs of this case.
fn bins(measure: &Measure, place: usize, is_used: bool) -> Vec<Nanos> {
    let parts = measure.parts().into_iter();
    let parts = parts.filter(|part| part.case.map_or(is_used, |case| case == place));
    parts.filter_map(Measure::bin).collect()
}
