// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading `[[plot.mark]]`.
use ebb_scenario::reading::{Section, unknown_name};

use crate::plot::{Extent, Form, Mark};
use crate::read_plot::Known;

impl Known<'_> {
    /// Reads a mark; none if it is wrong, which is noted.
    pub(crate) fn mark(&self, section: &Section<'_, '_>, form: Form) -> Option<Mark> {
        let label = section.required("label", "\"less than best effort\"");
        let y: Option<f64> = section.get("y");
        if !section.has("interval") && !section.has("y") {
            section.wrong_here("`interval` is missing, or `y`; write interval = \"during\"");
        }
        let extent = match section.has("interval") {
            true => self.extent(section, form).map(Some),
            false => Some(None),
        };
        section.finish();
        Some(Mark {
            label: label?,
            y,
            extent: extent?,
        })
    }

    /// `interval` of a `case`, which all that is run of it has to have.
    fn extent(&self, section: &Section<'_, '_>, form: Form) -> Option<Extent> {
        // Known, even if there is no case to look in.
        section.note_key("case");
        let interval: String = section.get("interval")?;
        if !matches!(form, Form::Time | Form::TimeBars) {
            section.wrong("interval", "only pictures over time have intervals");
            return None;
        }
        let case = self.case_of(section)?;
        for scenario in self.cases[case].scenarios() {
            let names = scenario.intervals.iter().map(|one| one.name.as_str());
            if !names.clone().any(|name| name == interval) {
                section.wrong("interval", unknown_name(&interval, names));
                return None;
            }
        }
        Some(Extent { case, interval })
    }
}
