// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is taken from what applications saw.
use ebb_link::Nanos;
use ebb_scenario::{ApplicationMeasure, LateShare};

use crate::take::View;

impl View<'_> {
    pub(crate) fn object_s(&self, flows: &str, size_bytes: Option<f64>) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0);
        for flow in self.measures(flows) {
            let Some(ApplicationMeasure::Web {
                object_s,
                object_s_by_size,
                ..
            }) = &flow.application
            else {
                continue;
            };
            let Some(size_bytes) = size_bytes else {
                sum += object_s.mean * object_s.count as f64;
                count += object_s.count;
                continue;
            };
            // A tenth on either side: classes are as wide, and few objects are in each.
            let is_about = |from: u64, to: u64| {
                from as f64 <= size_bytes * 1.1 && to as f64 > size_bytes / 1.1
            };
            for class in object_s_by_size {
                if is_about(class.from_bytes, class.to_bytes) {
                    sum += class.mean_s * class.count as f64;
                    count += class.count;
                }
            }
        }
        (count > 0).then(|| sum / count as f64)
    }

    /// Of flows together, or by the objects that came; none if none came.
    pub(crate) fn timeouts(&self, flows: &str, per_object: bool) -> Option<f64> {
        let (mut timeouts, mut objects) = (0, 0);
        for flow in self.measures(flows) {
            timeouts += flow.timeouts;
            if let Some(ApplicationMeasure::Web { object_s, .. }) = &flow.application {
                objects += object_s.count;
            }
        }
        match per_object {
            true => (objects > 0).then(|| timeouts as f64 / objects as f64),
            false => Some(timeouts as f64),
        }
    }

    pub(crate) fn page_s(&self, flows: &str) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0);
        for flow in self.measures(flows) {
            if let Some(ApplicationMeasure::Web { page_s, .. }) = &flow.application {
                sum += page_s.mean * page_s.count as f64;
                count += page_s.count;
            }
        }
        (count > 0).then(|| sum / count as f64)
    }

    /// Of several videos the longest; none if none of those listed is enough.
    pub(crate) fn pre_buffer_s(&self, flows: &str) -> Option<f64> {
        let mut longest = None;
        for flow in self.measures(flows) {
            if let Some(ApplicationMeasure::Video { late, .. }) = &flow.application {
                let is_enough = |share: &&LateShare| share.late_pkts == 0 && share.due_pkts > 0;
                let enough = late
                    .iter()
                    .filter(is_enough)
                    .map(|share| share.pre_buffer_s);
                longest = Some(enough.reduce(f64::min)?.max(longest.unwrap_or(0.0)));
            }
        }
        longest
    }

    /// Of several videos together; none if no packet's turn came.
    pub(crate) fn late_share(&self, flows: &str, pre_buffer: Nanos) -> Option<f64> {
        let (mut late_pkts, mut due_pkts) = (0, 0);
        for flow in self.measures(flows) {
            if let Some(ApplicationMeasure::Video { late, .. }) = &flow.application {
                let is_meant = |share: &&LateShare| {
                    (share.pre_buffer_s - pre_buffer.as_secs_f64()).abs() < 1e-9
                };
                let share = late.iter().find(is_meant)?;
                late_pkts += share.late_pkts;
                due_pkts += share.due_pkts;
            }
        }
        (due_pkts > 0).then(|| late_pkts as f64 / due_pkts as f64)
    }
}
