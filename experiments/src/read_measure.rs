// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading `measure = { kind = "goodput", … }`.
use ebb_link::{Class, Nanos, Rate};
use ebb_scenario::reading::{Section, unknown_name};

use crate::{Beside, Case, Measure, MeasureKind, Part, Phase, Times, VariationPart, Window};

/// Reads measures that may name these cases.
pub(crate) struct Reader<'c> {
    pub cases: &'c [Case],
    /// What `{}` stands for in the name of a case.
    pub each: &'c str,
}

/// Where the name of each case of a row goes.
pub(crate) const PLACE: &str = "{}";

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
        let read_kind = section.choice("kind", &KINDS);
        let interval = section.get("interval");
        let case = section.get::<String>("case").and_then(|name| {
            let name = name.replace(PLACE, self.each);
            let place = self.cases.iter().position(|case| case.name == name);
            if place.is_none() {
                let names = self.cases.iter().map(|case| case.name.as_str());
                section.wrong("case", unknown_name(&name, names));
            }
            place
        });
        let kind = read_kind?(self, section);
        section.finish();
        Some(Measure {
            kind: kind?,
            interval,
            case,
        })
    }

    /// A measure that another is made of.
    fn part(&self, section: &Section<'_, '_>, key: &'static str) -> Option<Box<Measure>> {
        let Some(part) = section.section(key) else {
            section.wrong_here(format!("`{key}` is missing; write {key} = {{ kind = … }}"));
            return None;
        };
        self.read(&part).map(Box::new)
    }
}

/// Reads what a kind of measure has beside its kind.
type ReadKind = fn(&Reader<'_>, &Section<'_, '_>) -> Option<MeasureKind>;

const KINDS: [(&str, ReadKind); 24] = [
    ("goodput", read_goodput),
    ("share", read_share),
    ("spare-share", read_spare_share),
    ("rate", |_, section| {
        let rate = read_rate(section)?;
        Some(MeasureKind::Rate { rate })
    }),
    ("utilisation", |_, section| {
        let link = read_link(section);
        Some(MeasureKind::Utilisation { link })
    }),
    ("queue-mean", |_, section| {
        let link = read_link(section);
        let class = section.choice("class", &CLASSES);
        Some(MeasureKind::QueueMean { link, class })
    }),
    ("queue-p95", |_, section| {
        let link = read_link(section);
        Some(MeasureKind::QueueP95 { link })
    }),
    ("drops", |_, section| {
        let link = read_link(section);
        Some(MeasureKind::Drops { link })
    }),
    ("drop-share", |_, section| {
        let link = read_link(section);
        Some(MeasureKind::DropShare { link })
    }),
    ("loss-share", |_, section| {
        let flows = read_flows(section)?;
        Some(MeasureKind::LossShare { flows })
    }),
    ("timeouts", |_, section| {
        let flows = read_flows(section)?;
        let per_object = section.get_or("per_object", false);
        Some(MeasureKind::Timeouts { flows, per_object })
    }),
    ("rtt-mean", |_, section| {
        let flows = read_flows(section)?;
        Some(MeasureKind::RttMean { flows })
    }),
    ("jain", |_, section| {
        let flows = section.get_or("flows", String::new());
        Some(MeasureKind::Jain { flows })
    }),
    ("completion", |_, section| {
        let flows = read_flows(section)?;
        Some(MeasureKind::Completion { flows })
    }),
    ("object-time", read_object_time),
    ("page-time", |_, section| {
        let flows = read_flows(section)?;
        Some(MeasureKind::PageTime { flows })
    }),
    ("pre-buffer", |_, section| {
        let flows = read_flows(section)?;
        Some(MeasureKind::PreBuffer { flows })
    }),
    ("late-share", |_, section| {
        let flows = read_flows(section)?;
        let pre_buffer = section.required("pre_buffer", "\"10s\"")?;
        Some(MeasureKind::LateShare { flows, pre_buffer })
    }),
    ("time-to", read_time_to),
    ("window", read_window),
    ("variations", read_variations),
    ("difference", |reader, section| {
        let of = reader.part(section, "of")?;
        let less = reader.part(section, "less")?;
        Some(MeasureKind::Difference { of, less })
    }),
    ("ratio", |reader, section| {
        let over = reader.part(section, "over")?;
        let under = reader.part(section, "under")?;
        Some(MeasureKind::Ratio { over, under })
    }),
    ("inference-bound", read_bound),
];

fn read_flows(section: &Section<'_, '_>) -> Option<String> {
    section.required("flows", "\"mine\"")
}

fn read_others(section: &Section<'_, '_>) -> Option<String> {
    section.required("others", "\"other\"")
}

fn read_link(section: &Section<'_, '_>) -> String {
    section.get_or("link", "bottleneck".to_owned())
}

/// *Units:* bit/s.
fn read_rate(section: &Section<'_, '_>) -> Option<f64> {
    let rate: Rate = section.required("rate", "\"9.41mbit\"")?;
    Some(rate.bits_per_s() as f64)
}

fn read_goodput(_: &Reader<'_>, section: &Section<'_, '_>) -> Option<MeasureKind> {
    let of: Option<Rate> = section.get("of");
    Some(MeasureKind::Goodput {
        flows: read_flows(section)?,
        of: of.map(|rate| rate.bits_per_s() as f64),
        phase: read_phase(section),
        beside: read_beside(section),
    })
}

fn read_share(_: &Reader<'_>, section: &Section<'_, '_>) -> Option<MeasureKind> {
    Some(MeasureKind::Share {
        flows: read_flows(section)?,
        others: read_others(section)?,
        beside: read_beside(section),
    })
}

fn read_spare_share(_: &Reader<'_>, section: &Section<'_, '_>) -> Option<MeasureKind> {
    Some(MeasureKind::SpareShare {
        flows: read_flows(section)?,
        others: read_others(section)?,
        rate: read_rate(section)?,
    })
}

fn read_object_time(_: &Reader<'_>, section: &Section<'_, '_>) -> Option<MeasureKind> {
    let flows = read_flows(section)?;
    let size_bytes = section.number("size_bytes", (1, u64::MAX));
    Some(MeasureKind::ObjectTime {
        flows,
        size_bytes: size_bytes.map(|bytes| bytes as f64),
    })
}

fn read_window(_: &Reader<'_>, section: &Section<'_, '_>) -> Option<MeasureKind> {
    let window = section.choice("window", &WINDOWS);
    let part = section.choice("part", &PARTS);
    Some(MeasureKind::Window {
        flows: read_flows(section)?,
        window: window.unwrap_or(Window::Congestion),
        part: part.unwrap_or(Part::Mean),
        bin: read_bin(section, Nanos::from_millis(100))?,
    })
}

fn read_variations(_: &Reader<'_>, section: &Section<'_, '_>) -> Option<MeasureKind> {
    let part = section.choice("part", &VARIATION_PARTS);
    Some(MeasureKind::Variations {
        flows: read_flows(section)?,
        part: part.unwrap_or(VariationPart::MaxPositiveShare),
    })
}

fn read_time_to(_: &Reader<'_>, section: &Section<'_, '_>) -> Option<MeasureKind> {
    let bits_per_s = |rate: Rate| rate.bits_per_s() as f64;
    let from = section.get_or("from", Nanos::ZERO);
    let until: Option<Nanos> = section.get("until");
    if until.is_some_and(|until| until <= from) {
        section.wrong("until", "must be later than `from`");
    }
    Some(MeasureKind::TimeTo {
        flows: read_flows(section)?,
        rate: bits_per_s(section.required("rate", "\"9mbit\"")?),
        from,
        after_below: section.get("after_below").map(bits_per_s),
        until,
        bin: read_bin(section, Nanos::from_millis(500))?,
    })
}

fn read_bound(_: &Reader<'_>, section: &Section<'_, '_>) -> Option<MeasureKind> {
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
    Some(MeasureKind::InferenceBound {
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
