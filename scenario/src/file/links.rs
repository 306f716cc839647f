// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The keys of a link: rate or trace, delay, queue, and what the wire does to packets.
use ebb_link::{Capacity, LinkError, LinkSpec, Nanos, Probability, Rate, Reroute, Trace};

use super::queues;
use super::section::Section;

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
    match queues::read(section, &spec.capacity, base.round_trip) {
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

fn read_capacity(section: &Section<'_, '_>) -> Option<Capacity> {
    let rate = section.get::<Rate>("rate");
    let Some(file) = section.get::<String>("trace") else {
        return rate.map(Capacity::Rate);
    };
    if rate.is_some() {
        section.wrong("trace", "a link has a rate or a trace, not both");
    }
    let path = section.source.folder.join(&file);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            section.wrong("trace", format!("{}: {error}", path.display()));
            return None;
        }
    };
    match Trace::parse(&path.display().to_string(), &text) {
        Ok(trace) => Some(Capacity::Trace(trace)),
        Err(error) => {
            section.wrong("trace", error.to_string());
            None
        }
    }
}
