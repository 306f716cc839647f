// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The keys of a link: what it sends at, delay, queue, and what the wire does to packets.
use ebb_link::{
    Aggregation, Capacity, LinkError, LinkSpec, Nanos, Probability, Rate, RateSteps, Reroute,
    TokenBucket, Trace,
};

use super::queues;
use super::section::Section;
use super::value::Size;

/// What the values of a link are taken from where the section does not give them.
pub(super) struct Base<'s> {
    /// A link whose values hold where the section has none.
    pub spec: &'s LinkSpec,
    /// Whether the section must say what queue there is.
    pub needs_queue: bool,
    /// The round trip for queues in bandwidth-delay products; none: cannot be used.
    pub round_trip: Option<Nanos>,
}

/// Reads the keys of a link. The delay is the caller's.
pub(super) fn read(section: &Section<'_, '_>, base: &Base<'_>) -> LinkSpec {
    let problems = section.source.problem_count();
    let mut spec = base.spec.clone();
    if let Some(capacity) = read_capacity(section) {
        spec.capacity = capacity;
    }
    spec.bucket = read_bucket(section).or(spec.bucket);
    spec.aggregation = read_aggregation(section).or(spec.aggregation);
    match queues::read(section, spec.mean_bits_per_s(), base.round_trip) {
        Some(queue) => spec.queue = queue,
        None if section.has("queue") || !base.needs_queue => {}
        None if spec.capacity == Capacity::Unlimited => {}
        None => section.wrong_here(
            "`queue` is missing; write queue = 86 (packets), \"128kb\" or a table with a kind",
        ),
    }
    spec.ecn_threshold = section.get("ecn_threshold").or(spec.ecn_threshold);
    if section.has("reroute") {
        spec.reroutes = read_reroutes(section);
    }
    spec.jitter = section.get_or("jitter", spec.jitter);
    spec.jitter_reorders = section.get_or("jitter_reorders", spec.jitter_reorders);
    spec.loss = section.get_or::<Probability>("loss", spec.loss);
    spec.reorder = section.get_or("reorder", spec.reorder);
    spec.reorder_delay = section.get_or("reorder_delay", spec.reorder_delay);
    spec.duplicate = section.get_or("duplicate", spec.duplicate);
    // What follows from a value that was not understood is not worth saying.
    if problems == section.source.problem_count() {
        check(section, &spec);
    }
    spec
}

fn check(section: &Section<'_, '_>, spec: &LinkSpec) {
    match spec.validate() {
        Ok(()) => {}
        Err(LinkError::Spec(problem)) => section.wrong_here(problem),
        Err(other) => section.wrong_here(other.to_string()),
    }
}

fn read_reroutes(section: &Section<'_, '_>) -> Vec<Reroute> {
    let read = |section: Section<'_, '_>| {
        let at = section.required("at", "\"30s\"");
        let delay = section.required("delay", "\"80ms\"");
        section.finish();
        Some(Reroute {
            at: at?,
            delay: delay?,
        })
    };
    let sections = section.sections("reroute");
    sections.into_iter().filter_map(read).collect()
}

fn read_bucket(section: &Section<'_, '_>) -> Option<TokenBucket> {
    let bucket = section.section("bucket")?;
    let rate = bucket.required("rate", "\"50mbit\"");
    let size = bucket.required("size", "\"3MB\"");
    bucket.finish();
    let Size(size_bytes) = size?;
    Some(TokenBucket {
        rate: rate?,
        size_bytes,
    })
}

fn read_aggregation(section: &Section<'_, '_>) -> Option<Aggregation> {
    /// What a block acknowledgement of 802.11n covers.
    const MAX_PKTS: u32 = 64;
    let aggregation = section.section("aggregation")?;
    let overhead = aggregation.required("overhead", "\"200us\"");
    let airtime = aggregation.required("airtime", "\"4ms\"");
    let max_pkts = aggregation.number_or("packets", (1, 1 << 16), MAX_PKTS);
    aggregation.finish();
    Some(Aggregation {
        overhead: overhead?,
        airtime: airtime?,
        max_pkts,
    })
}

fn read_capacity(section: &Section<'_, '_>) -> Option<Capacity> {
    let rate = section.get::<Rate>("rate");
    let given = ["rate", "trace", "rates"].map(|key| section.has(key));
    if given.iter().filter(|is_given| **is_given).count() > 1 {
        let key = if given[1] { "trace" } else { "rates" };
        section.wrong(key, "a link has a rate, a trace or rates, only one of them");
    }
    if let Some(trace) = read_file(section, "trace", Trace::parse) {
        return Some(Capacity::Trace(trace));
    }
    if let Some(rates) = read_file(section, "rates", RateSteps::parse) {
        return Some(Capacity::Steps(rates));
    }
    rate.map(Capacity::Rate)
}

/// Reads the file beside the scenario that a key names.
fn read_file<T>(
    section: &Section<'_, '_>,
    key: &'static str,
    parse: impl Fn(&str, &str) -> Result<T, LinkError>,
) -> Option<T> {
    let file = section.get::<String>(key)?;
    let path = section.source.folder.join(&file);
    let read = std::fs::read_to_string(&path)
        .map_err(|error| format!("{}: {error}", path.display()))
        .and_then(|text| {
            parse(&path.display().to_string(), &text).map_err(|error| error.to_string())
        });
    match read {
        Ok(value) => Some(value),
        Err(problem) => {
            section.wrong(key, problem);
            None
        }
    }
}
