// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether cases have what a measure names.
use ebb_link::Nanos;
use ebb_scenario::reading::{Section, unknown_name};
use ebb_scenario::{Scenario, Traffic};

use crate::take::is_of;
use crate::{Beside, Bound, Case, Measure, MeasureKind, Times};

/// Notes what the cases that are measured do not have; whether they have it all.
pub(crate) fn check(
    section: &Section<'_, '_>,
    measure: &Measure,
    values: &[(usize, Bound, f64)],
    cases: &[Case],
) -> bool {
    let mut is_right = true;
    for part in measure
        .parts()
        .into_iter()
        .filter(|part| !part.is_analytic())
    {
        let places: Vec<usize> = match part.case.or(measure.case) {
            Some(case) => vec![case],
            None => values.iter().map(|(case, _, _)| *case).collect(),
        };
        for case in places.into_iter().filter_map(|place| cases.get(place)) {
            let check = |scenario| part.check(scenario);
            if let Err(message) = case.scenarios().try_for_each(check) {
                section.wrong("measure", format!("in case `{}` {message}", case.name));
                is_right = false;
            }
        }
    }
    is_right
}

impl Measure {
    /// Whether it is a formula.
    pub(crate) fn is_analytic(&self) -> bool {
        matches!(
            self.kind,
            MeasureKind::InferenceBound { .. } | MeasureKind::Rate { .. }
        )
    }

    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        if let Some(interval) = &self.interval {
            let names = scenario.intervals.iter().map(|one| one.name.as_str());
            find("interval", interval, names)?;
        }
        if let Some(link) = self.link() {
            let reported = scenario.links.iter().filter(|link| link.is_reported);
            find(
                "reported link",
                link,
                reported.map(|link| link.name.as_str()),
            )?;
        }
        for wanted in self.flows() {
            let flows = &scenario.flows;
            if !flows
                .iter()
                .any(|flow| is_of(&flow.name, &flow.group, wanted))
            {
                find("flow", wanted, flows.iter().map(|flow| flow.group.as_str()))?;
            }
        }
        match &self.kind {
            MeasureKind::LateShare { flows, pre_buffer } => {
                check_video(scenario, flows, *pre_buffer)
            }
            MeasureKind::Goodput { beside, .. } | MeasureKind::Share { beside, .. } => match beside
            {
                Some(beside) => check_bursts(scenario, beside),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn link(&self) -> Option<&str> {
        match &self.kind {
            MeasureKind::Utilisation { link }
            | MeasureKind::QueueMean { link, .. }
            | MeasureKind::QueueP95 { link }
            | MeasureKind::Drops { link }
            | MeasureKind::DropShare { link } => Some(link),
            _ => None,
        }
    }

    fn flows(&self) -> Vec<&str> {
        match &self.kind {
            MeasureKind::SpareShare { flows, others, .. }
            | MeasureKind::Share {
                flows,
                others,
                beside: None,
            } => vec![flows, others],
            MeasureKind::Share {
                flows,
                others,
                beside: Some(beside),
            } => vec![flows, others, &beside.flows],
            MeasureKind::Goodput {
                flows,
                beside: Some(beside),
                ..
            } => vec![flows, &beside.flows],
            MeasureKind::TimeTo { flows, .. }
            | MeasureKind::Window { flows, .. }
            | MeasureKind::Variations { flows, .. } => vec![flows],
            MeasureKind::Goodput { flows, .. }
            | MeasureKind::LossShare { flows }
            | MeasureKind::Timeouts { flows, .. }
            | MeasureKind::RttMean { flows }
            | MeasureKind::Jain { flows }
            | MeasureKind::Completion { flows }
            | MeasureKind::ObjectTime { flows, .. }
            | MeasureKind::PageTime { flows }
            | MeasureKind::PreBuffer { flows }
            | MeasureKind::LateShare { flows, .. } => vec![flows],
            _ => Vec::new(),
        }
    }
}

/// Only the pre-buffering times that a video lists are counted.
fn check_video(scenario: &Scenario, wanted: &str, pre_buffer: Nanos) -> Result<(), String> {
    let flows = scenario.flows.iter();
    for flow in flows.filter(|flow| is_of(&flow.name, &flow.group, wanted)) {
        let Traffic::Video(video) = &flow.traffic else {
            return Err(format!("flow: `{}` is no video", flow.name));
        };
        if !video.pre_buffer.contains(&pre_buffer) {
            let seconds = |time: &Nanos| time.as_secs_f64().to_string();
            let listed: Vec<String> = video.pre_buffer.iter().map(seconds).collect();
            return Err(format!(
                "`pre_buffer`: {} s is none of those of the video `{}`: {} s",
                seconds(&pre_buffer),
                flow.name,
                listed.join(", ")
            ));
        }
    }
    Ok(())
}

/// Only one flow that is on and off has bursts.
fn check_bursts(scenario: &Scenario, beside: &Beside) -> Result<(), String> {
    if matches!(beside.times, Times::Active | Times::Silent) {
        return Ok(());
    }
    let wanted = &beside.flows;
    let flows = scenario.flows.iter();
    let mut flows = flows.filter(|flow| is_of(&flow.name, &flow.group, wanted));
    match (flows.next(), flows.next()) {
        (Some(flow), None) if matches!(flow.traffic, Traffic::OnOff { .. }) => Ok(()),
        _ => Err(format!(
            "flow: `{wanted}` is not one flow that is on and off"
        )),
    }
}

fn find<'n>(what: &str, wanted: &str, names: impl Iterator<Item = &'n str>) -> Result<(), String> {
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    match names.contains(&wanted) {
        true => Ok(()),
        false => Err(format!(
            "{what}: {}",
            unknown_name(wanted, names.into_iter())
        )),
    }
}
