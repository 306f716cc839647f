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
        let is_there = match is_of_link {
            true => scenario
                .links
                .iter()
                .any(|link| link.name == of && link.is_reported),
            false => scenario.flows.iter().any(|flow| flow.name == of),
        };
        if !is_there {
            let key = if is_of_link { "link" } else { "flow" };
            let flows = scenario.flows.iter().map(|flow| flow.name.as_str());
            let links = scenario.links.iter().map(|link| link.name.as_str());
            let names: Vec<&str> = match is_of_link {
                true => links.collect(),
                false => flows.collect(),
            };
            section.wrong(key, unknown_name(&of, names.into_iter()));
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
