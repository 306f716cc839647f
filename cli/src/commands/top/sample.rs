// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One look at all connections, with rates since the look before.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use anyhow::Result;
use ebb_keeper::protocol::Request;
use ebb_keeper::registry::{Attached, Record, Registry};
use ebb_keeper::{Backend, Direction, FlowView, Owners, unix_time};
use serde::Serialize;

/// What was seen.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Look {
    /// Seconds since 1970.
    pub at_unix_s: f64,
    /// What policies are attached to, oldest first.
    pub attachments: Vec<Record>,
    /// Their connections, those of the first attachment first, fast ones before slow ones.
    pub flows: Vec<SeenFlow>,
    /// Attachments whose keeper did not answer, and why.
    pub silent: Vec<String>,
}

/// A connection under an attachment.
#[derive(Debug, Clone, Serialize)]
pub struct SeenFlow {
    /// The attachment's name.
    pub attachment: String,
    /// Whose connection it is, if that process still lives: name and number.
    pub program: Option<String>,
    /// That process's number.
    pub pid: Option<u32>,
    /// How its attachment reaches it.
    #[serde(skip)]
    pub backend: Backend,
    /// Payload since the last look, in bits per second.
    pub rate_bit_per_s: f64,
    /// What its keeper says.
    #[serde(flatten)]
    pub view: FlowView,
}

impl SeenFlow {
    /// Whose connection it is: a program's, or a device's behind a gateway.
    pub fn whose(&self) -> String {
        match (self.backend, &self.program) {
            (Backend::Gateway, _) => self.view.local.ip().to_string(),
            (_, Some(program)) => program.clone(),
            (_, None) => "-".to_owned(),
        }
    }
}

impl Look {
    /// Whether an attachment's keeper did not answer.
    pub fn is_silent(&self, record: &Record) -> bool {
        let start = format!("{record}: ");
        self.silent.iter().any(|text| text.starts_with(&start))
    }
}

/// Looks, and remembers the last look.
#[derive(Debug)]
pub struct Sampler {
    registry: Registry,
    owners: Owners,
    before: HashMap<(u64, Direction), u64>,
    looked: Instant,
}

impl Sampler {
    /// Nothing was seen yet.
    pub fn new() -> Result<Self> {
        Ok(Self {
            registry: Registry::open()?,
            owners: Owners::default(),
            before: HashMap::new(),
            looked: Instant::now(),
        })
    }

    /// Asks every keeper.
    pub fn look(&mut self) -> Result<Look> {
        let mut look = Look {
            at_unix_s: unix_time().as_secs_f64(),
            ..Look::default()
        };
        let seconds = self.looked.elapsed().as_secs_f64().max(1e-3);
        self.looked = Instant::now();
        let mut counts = HashMap::new();
        for record in self.registry.all_records()? {
            if matches!(record.attached, Attached::Laws { .. }) {
                continue;
            }
            match self.registry.flows(&record) {
                Ok(views) => {
                    let mut seen = self.seen(&record, views, seconds);
                    seen.sort_by(|a, b| b.rate_bit_per_s.total_cmp(&a.rate_bit_per_s));
                    for flow in &seen {
                        let view = &flow.view;
                        counts.insert((view.cookie, view.direction), view.payload_bytes);
                    }
                    look.flows.extend(seen);
                }
                Err(error) => look.silent.push(format!("{record}: {error:#}")),
            }
            look.attachments.push(record);
        }
        self.before = counts;
        let cookies: HashSet<u64> = self.before.keys().map(|(cookie, _)| *cookie).collect();
        self.owners
            .forget_all_but(|cookie| cookies.contains(&cookie));
        Ok(look)
    }

    /// Asks a keeper to do something.
    pub fn ask(&self, record: &Record, request: &Request) -> Result<()> {
        Ok(self.registry.ask(record, request)?)
    }

    fn seen(&mut self, record: &Record, views: Vec<FlowView>, seconds: f64) -> Vec<SeenFlow> {
        self.owners.learn(record, &views);
        let rate = |view: &FlowView| {
            let before = self.before.get(&(view.cookie, view.direction));
            // One that began since the last look began with nothing.
            let bytes = view
                .payload_bytes
                .saturating_sub(before.copied().unwrap_or(0));
            bytes as f64 * 8.0 / seconds
        };
        let is_first = self.before.is_empty();
        views
            .into_iter()
            .map(|view| SeenFlow {
                attachment: record.id.clone(),
                backend: record.backend,
                program: self.owners.of(&view),
                pid: self.owners.pid_of(&view),
                rate_bit_per_s: if is_first { 0.0 } else { rate(&view) },
                view,
            })
            .collect()
    }
}
