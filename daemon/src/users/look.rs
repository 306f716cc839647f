// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A look at the connections of all users at once, which serves for a while: it costs the same for
//! one of them as for all.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ebb_algorithms::Side;
use ebb_keeper::kernel::rules::Classifier;
use ebb_keeper::{Direction, FlowView};

/// A look serves for so long.
const SERVES_FOR: Duration = Duration::from_millis(100);
/// And so many times as long as it took.
const SERVES_SHARE: u32 = 10;

/// The last look.
#[derive(Debug, Default)]
pub(crate) struct Look {
    flows: BTreeMap<u32, Vec<FlowView>>,
    serves_until: Option<Instant>,
}

impl Look {
    /// The connections under a claim, both ways.
    pub(crate) fn at(&mut self, classifier: &Classifier, claim: u32) -> Vec<FlowView> {
        let now = Instant::now();
        if self.serves_until.is_none_or(|until| now >= until) {
            self.flows = by_number(classifier);
            self.serves_until = Some(now + SERVES_FOR.max(now.elapsed() * (SERVES_SHARE + 1)));
        }
        self.flows.get(&claim).cloned().unwrap_or_default()
    }

    /// What it shows has changed.
    pub(crate) fn forget(&mut self) {
        self.serves_until = None;
    }
}

fn by_number(classifier: &Classifier) -> BTreeMap<u32, Vec<FlowView>> {
    let glances = classifier.glance().unwrap_or_else(|error| {
        tracing::warn!("connections cannot be looked at: {error}");
        Vec::new()
    });
    let mut flows: BTreeMap<u32, Vec<FlowView>> = BTreeMap::new();
    for glance in &glances {
        let direction = match glance.policy.law().side() {
            Side::Receiver => Direction::Down,
            Side::Sender => Direction::Up,
        };
        for (number, flow) in &glance.flows {
            let view = FlowView::new(flow, &glance.policy, direction);
            flows.entry(*number).or_default().push(view);
        }
    }
    flows
}
