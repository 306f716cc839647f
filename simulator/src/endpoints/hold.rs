// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flows that are held by a policy which changes while they run.

use std::sync::Arc;

use ebb_algorithms::Policy;

use crate::application::End;
use crate::network::Network;

impl Network {
    /// Holds a flow by this policy from now on, of the law that it has at its receiver, or
    /// lets it free.
    pub(crate) fn hold(&mut self, flow: u32, policy: Option<&Policy>) {
        let state = &mut self.flows[flow as usize];
        state.is_observing = policy.is_none();
        if let (Some(policy), Some(tcp)) = (policy, &mut state.tcp) {
            let config = &mut tcp.configs[End::Sink.index()];
            if config.receiver_policy() != Some(policy) {
                Arc::make_mut(config).set_receiver_policy(policy);
            }
        }
        for place in &state.connections {
            let sink = 2 * *place as usize + End::Sink.index();
            let connection = &mut self.endpoints.list[sink].connection;
            if let Some(policy) = policy {
                connection.set_receiver_policy(policy);
            }
            if connection.is_observing() != policy.is_none() {
                connection.set_observing(policy.is_none());
            }
        }
    }

    /// What has arrived on the connections that a flow has.
    pub(crate) fn arrived_bytes(&self, flow: u32) -> u64 {
        let places = self.flows[flow as usize].connections.iter();
        let arrived = |place: &u32| {
            self.endpoints
                .at(*place, End::Sink)
                .connection
                .arrived_bytes()
        };
        places.map(arrived).sum()
    }
}
