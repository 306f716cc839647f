// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading what a curve over time is of.
use ebb_scenario::Scenario;
use ebb_scenario::reading::{Section, unknown_name};

use crate::Unit;
use crate::plot::{Quantity, Source};
use crate::read_plot::Known;
use crate::take::is_of;

const QUANTITIES: [(&str, Quantity); 9] = [
    ("goodput", Quantity::Goodput),
    ("cwnd", Quantity::Cwnd),
    ("rwnd", Quantity::Rwnd),
    ("estimate", Quantity::Estimate),
    ("rtt", Quantity::Rtt),
    ("queue-delay", Quantity::QueueDelay),
    ("queue", Quantity::Queue),
    ("positive-share", Quantity::PositiveShare),
    ("variation-sum", Quantity::VariationSum),
];

impl Known<'_> {
    /// `series` of a `flow` or a `link`.
    pub(crate) fn series(&self, section: &Section<'_, '_>, unit: &str) -> Option<Source> {
        let case = self.case_of(section);
        if !section.has("series") {
            section.wrong_here("`series` is missing; write series = \"goodput\"");
        }
        let quantity = section.choice("series", &QUANTITIES);
        let is_of_link = matches!(quantity, Some(Quantity::QueueDelay | Quantity::Queue));
        let of = match is_of_link {
            true => Some(section.get_or("link", "bottleneck".to_owned())),
            false => section.required("flow", "\"mine\""),
        }?;
        let (case, quantity) = (case?, quantity?);
        let scenario = &self.cases[case].scenario;
        let key = if is_of_link { "link" } else { "flow" };
        if let Err(message) = find(scenario, key, &of) {
            section.wrong(key, message);
        }
        let size = quantity.size(unit, scenario, &of);
        if size.is_none() {
            let units = quantity.units().join("\", \"");
            section.wrong(
                "series",
                format!("the y axis has the unit \"{unit}\"; it can be \"{units}\" for this"),
            );
        }
        Some(Source::Series {
            case,
            quantity,
            of,
            size: size?,
        })
    }
}

/// That what has a series is there; else with the names that there are.
fn find(scenario: &Scenario, key: &str, name: &str) -> Result<(), String> {
    let links = scenario.links.iter();
    let flows = scenario.flows.iter().map(|flow| flow.name.as_str());
    let (is_there, names): (bool, Vec<&str>) = match key {
        "link" => (
            links
                .clone()
                .any(|link| link.name == name && link.is_reported),
            links.map(|link| link.name.as_str()).collect(),
        ),
        _ => (flows.clone().any(|flow| flow == name), flows.collect()),
    };
    match is_there {
        true => Ok(()),
        false => Err(unknown_name(name, names.into_iter())),
    }
}

impl Quantity {
    fn units(self) -> &'static [&'static str] {
        match self {
            Self::Goodput => &["Mbit/s", "kbit/s"],
            Self::Cwnd | Self::Rwnd | Self::Estimate => &["packets", "kB", "bytes"],
            Self::Rtt | Self::QueueDelay => &["ms", "s"],
            Self::Queue => &["packets"],
            Self::PositiveShare => &["%", "share"],
            Self::VariationSum => &["jiffies"],
        }
    }

    /// How much of the series' own unit one on the axis is.
    fn size(self, unit: &str, scenario: &Scenario, flow: &str) -> Option<f64> {
        if !self.units().contains(&unit) {
            return None;
        }
        let rate = [Unit::MbitPerS, Unit::KbitPerS];
        let rate = rate.into_iter().find(|one| one.name() == unit);
        let segment_bytes = || {
            let flow = scenario.flows.iter().find(|it| is_of(&it.name, "", flow))?;
            Some(f64::from(flow.tcp.mss_bytes))
        };
        match unit {
            "kB" => Some(1e3),
            "s" => Some(1e3),
            "%" => Some(0.01),
            "packets" if self != Self::Queue => segment_bytes(),
            _ => Some(rate.map_or(1.0, Unit::size)),
        }
    }
}
