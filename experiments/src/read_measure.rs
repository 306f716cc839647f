// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading `measure = { kind = "goodput", … }`.
use ebb_link::{Class, Nanos, Rate};
use ebb_scenario::reading::{Section, unknown_name};

use crate::{Beside, Case, Figure, Measure, Part, Phase, Times, VariationPart, Window};

/// Reads measures that may name these cases.
pub(crate) struct Reader<'c> {
    pub cases: &'c [Case],
}

#[derive(Clone, Copy)]
enum Kind {
    Goodput,
    Share,
    SpareShare,
    Rate,
    Utilisation,
    QueueMean,
    QueueP95,
    Drops,
    DropShare,
    LossShare,
    Timeouts,
    RttMean,
    Jain,
    Completion,
    ObjectTime,
    PageTime,
    PreBuffer,
    LateShare,
    TimeTo,
    Window,
    Variations,
    Difference,
    Ratio,
    InferenceBound,
}

const KINDS: [(&str, Kind); 24] = [
    ("goodput", Kind::Goodput),
    ("share", Kind::Share),
    ("spare-share", Kind::SpareShare),
    ("rate", Kind::Rate),
    ("utilisation", Kind::Utilisation),
    ("queue-mean", Kind::QueueMean),
    ("queue-p95", Kind::QueueP95),
    ("drops", Kind::Drops),
    ("drop-share", Kind::DropShare),
    ("loss-share", Kind::LossShare),
    ("timeouts", Kind::Timeouts),
    ("rtt-mean", Kind::RttMean),
    ("jain", Kind::Jain),
    ("completion", Kind::Completion),
    ("object-time", Kind::ObjectTime),
    ("page-time", Kind::PageTime),
    ("pre-buffer", Kind::PreBuffer),
    ("late-share", Kind::LateShare),
    ("time-to", Kind::TimeTo),
    ("window", Kind::Window),
    ("variations", Kind::Variations),
    ("difference", Kind::Difference),
    ("ratio", Kind::Ratio),
    ("inference-bound", Kind::InferenceBound),
];

const CLASSES: [(&str, Class); 2] = [
    ("be", Class::BestEffort),
    ("lbe", Class::LessThanBestEffort),
];

const WINDOWS: [(&str, Window); 3] = [
    ("congestion", Window::Congestion),
    ("advertised", Window::Advertised),
    ("estimate", Window::Estimate),
];

const PARTS: [(&str, Part); 5] = [
    ("mean", Part::Mean),
    ("max", Part::Max),
    ("min", Part::Min),
    ("first", Part::First),
    ("last", Part::Last),
];

const VARIATION_PARTS: [(&str, VariationPart); 2] = [
    ("max-positive-share", VariationPart::MaxPositiveShare),
    ("max-sum", VariationPart::MaxSum),
];

impl Reader<'_> {
    /// Reads one; none if it is wrong, which is noted.
    pub fn read(&self, section: &Section<'_, '_>) -> Option<Measure> {
        if !section.has("kind") {
            section.wrong_here("`kind` is missing; write kind = \"goodput\"");
        }
        let kind = section.choice("kind", &KINDS);
        let interval = section.get("interval");
        let case = section.get::<String>("case").and_then(|name| {
            let place = self.cases.iter().position(|case| case.name == name);
            if place.is_none() {
                let names = self.cases.iter().map(|case| case.name.as_str());
                section.wrong("case", unknown_name(&name, names));
            }
            place
        });
        let figure = self.figure(section, kind?);
        section.finish();
        Some(Measure {
            figure: figure?,
            interval,
            case,
        })
    }

    fn figure(&self, section: &Section<'_, '_>, kind: Kind) -> Option<Figure> {
        let flows = || section.required::<String>("flows", "\"mine\"");
        let link = || Some(section.get_or("link", "bottleneck".to_owned()));
        let part = |key| match section.section(key) {
            Some(part) => self.read(&part).map(Box::new),
            None => {
                section.wrong_here(format!("`{key}` is missing; write {key} = {{ kind = … }}"));
                None
            }
        };
        Some(match kind {
            Kind::Goodput => Figure::Goodput {
                flows: flows()?,
                of: section
                    .get::<Rate>("of")
                    .map(|rate| rate.bits_per_s() as f64),
                phase: read_phase(section),
                beside: read_beside(section),
            },
            Kind::Share => Figure::Share {
                flows: flows()?,
                others: section.required("others", "\"other\"")?,
                beside: read_beside(section),
            },
            Kind::SpareShare => Figure::SpareShare {
                flows: flows()?,
                others: section.required("others", "\"other\"")?,
                rate: section
                    .required::<Rate>("rate", "\"9.41mbit\"")?
                    .bits_per_s() as f64,
            },
            Kind::Rate => Figure::Rate {
                rate: section
                    .required::<Rate>("rate", "\"9.41mbit\"")?
                    .bits_per_s() as f64,
            },
            Kind::Utilisation => Figure::Utilisation { link: link()? },
            Kind::QueueMean => Figure::QueueMean {
                link: link()?,
                class: section.choice("class", &CLASSES),
            },
            Kind::QueueP95 => Figure::QueueP95 { link: link()? },
            Kind::Drops => Figure::Drops { link: link()? },
            Kind::DropShare => Figure::DropShare { link: link()? },
            Kind::LossShare => Figure::LossShare { flows: flows()? },
            Kind::Timeouts => Figure::Timeouts {
                flows: flows()?,
                per_object: section.get_or("per_object", false),
            },
            Kind::RttMean => Figure::RttMean { flows: flows()? },
            Kind::Jain => Figure::Jain {
                flows: section.get_or("flows", String::new()),
            },
            Kind::Completion => Figure::Completion { flows: flows()? },
            Kind::ObjectTime => Figure::ObjectTime {
                flows: flows()?,
                size_bytes: section
                    .number("size_bytes", (1, u64::MAX))
                    .map(|bytes| bytes as f64),
            },
            Kind::PageTime => Figure::PageTime { flows: flows()? },
            Kind::PreBuffer => Figure::PreBuffer { flows: flows()? },
            Kind::LateShare => Figure::LateShare {
                flows: flows()?,
                pre_buffer: section.required("pre_buffer", "\"10s\"")?,
            },
            Kind::TimeTo => read_time_to(section)?,
            Kind::Window => Figure::Window {
                flows: flows()?,
                window: section
                    .choice("window", &WINDOWS)
                    .unwrap_or(Window::Congestion),
                part: section.choice("part", &PARTS).unwrap_or(Part::Mean),
                bin: read_bin(section, Nanos::from_millis(100))?,
            },
            Kind::Variations => Figure::Variations {
                flows: flows()?,
                part: section
                    .choice("part", &VARIATION_PARTS)
                    .unwrap_or(VariationPart::MaxPositiveShare),
            },
            Kind::Difference => Figure::Difference {
                of: part("of")?,
                less: part("less")?,
            },
            Kind::Ratio => Figure::Ratio {
                over: part("over")?,
                under: part("under")?,
            },
            Kind::InferenceBound => read_bound(section)?,
        })
    }
}

fn read_time_to(section: &Section<'_, '_>) -> Option<Figure> {
    let bits_per_s = |rate: Rate| rate.bits_per_s() as f64;
    let from = section.get_or("from", Nanos::ZERO);
    let until: Option<Nanos> = section.get("until");
    if until.is_some_and(|until| until <= from) {
        section.wrong("until", "must be later than `from`");
    }
    Some(Figure::TimeTo {
        flows: section.required("flows", "\"mine\"")?,
        rate: bits_per_s(section.required("rate", "\"9mbit\"")?),
        from,
        after_below: section.get("after_below").map(bits_per_s),
        until,
        bin: read_bin(section, Nanos::from_millis(500))?,
    })
}

fn read_bound(section: &Section<'_, '_>) -> Option<Figure> {
    let rate: Rate = section.required("rate", "\"1500kbit\"")?;
    let packet_bytes = section.number("packet_bytes", (1, 1 << 20));
    if packet_bytes.is_none() && !section.has("packet_bytes") {
        section.wrong_here("`packet_bytes` is missing; write packet_bytes = 1000");
    }
    let threshold: f64 = section.required("threshold", "0.15")?;
    if !(0.0..=1.0).contains(&threshold) {
        section.wrong("threshold", "it can be 0 to 1");
        return None;
    }
    Some(Figure::InferenceBound {
        pkts_per_s: rate.bits_per_s() as f64 / (8 * packet_bytes?) as f64,
        threshold,
    })
}

/// What tells times apart, the key that names whose sending, and how finely it is looked at.
const TIMES: [(&str, Times, Nanos); 4] = [
    ("while_active", Times::Active, Nanos::from_millis(100)),
    ("while_silent", Times::Silent, Nanos::from_millis(100)),
    ("in_bursts", Times::InBursts, Nanos::from_millis(10)),
    (
        "between_bursts",
        Times::BetweenBursts,
        Nanos::from_millis(10),
    ),
];

/// Only at times that somebody's sending tells apart.
fn read_beside(section: &Section<'_, '_>) -> Option<Beside> {
    let mut read: Option<(&str, String, Times, Nanos)> = None;
    for (key, times, bin) in TIMES {
        let Some(flows) = section.get::<String>(key) else {
            continue;
        };
        if let Some((before, ..)) = &read {
            let message = format!("only one of `{before}` and `{key}` can hold");
            section.wrong(key, message);
        }
        read = Some((key, flows, times, bin));
    }
    let (_, flows, times, bin) = read?;
    Some(Beside {
        flows,
        times,
        bin: read_bin(section, bin)?,
    })
}

fn read_bin(section: &Section<'_, '_>, default: Nanos) -> Option<Nanos> {
    let bin = section.get_or("bin", default);
    if bin == Nanos::ZERO {
        section.wrong("bin", "must be longer than 0");
        return None;
    }
    Some(bin)
}

/// `period`, `phase_from` and `phase_to`: only these times of each period.
fn read_phase(section: &Section<'_, '_>) -> Option<Phase> {
    let period: Option<Nanos> = section.get("period");
    let from = section.get("phase_from");
    let to = section.get("phase_to");
    let Some(period) = period else {
        for (key, time) in [("phase_from", from), ("phase_to", to)] {
            if time.is_some() {
                section.wrong(
                    key,
                    "it needs `period`, the time after which it comes again",
                );
            }
        }
        return None;
    };
    let phase = Phase {
        period,
        from: from.unwrap_or(Nanos::ZERO),
        to: to.unwrap_or(period),
    };
    if phase.from >= phase.to || phase.to > period {
        let message = "within a period, `phase_from` must come before `phase_to`";
        section.wrong("period", message);
        return None;
    }
    Some(phase)
}
