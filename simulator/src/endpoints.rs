// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP connections in the network: both ends, their timers, their segments.

use ebb_link::{Class, Ecn};

use crate::application::End;
use crate::flows::FlowCounters;
use crate::network::Network;
use crate::parcel::Parcel;
use crate::simulation::Simulation;

/// All connections that exist.
#[derive(Default)]
pub(crate) struct Endpoints {}

impl Endpoints {
    /// Which end of its connection an endpoint is.
    pub(crate) const fn end_of(endpoint: u32) -> End {
        if endpoint.is_multiple_of(2) {
            End::Source
        } else {
            End::Sink
        }
    }
}

impl Network {
    pub(crate) fn set_yielding(&mut self, flow: u32, is_yielding: bool) {
        let state = &mut self.flows[flow as usize];
        state.class = if is_yielding {
            state.spec.class
        } else {
            Class::BestEffort
        };
    }

    pub(crate) fn flow_counters(&self, flow: usize) -> FlowCounters {
        self.flows[flow].meter.counters
    }

    pub(crate) fn flow_windows(&self, _flow: usize) -> Option<(u64, u64)> {
        None
    }
}

impl Simulation<'_> {
    pub(crate) fn wake_endpoint(&mut self, _endpoint: u32) {}
    pub(crate) fn receive(&mut self, parcel: Box<Parcel>, _ecn: Ecn) {
        self.network.pool.free(parcel);
    }
}
