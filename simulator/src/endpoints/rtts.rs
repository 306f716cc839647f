// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RTT samples, which are counted some at a time: with each alone the processor would wait for
//! the memory of its flow's distributions.

use super::Endpoints;
use crate::application::End;
use crate::network::Network;

/// Samples of an endpoint that its flow has not counted. *Shape:* a line of the cache.
#[derive(Clone, Copy, Default)]
pub(super) struct Rtts {
    /// Samples that the endpoint has had, the lower bits.
    seen: u16,
    waiting: u16,
    us: [u32; 15],
}

const _: () = assert!(size_of::<Rtts>() == 64);

impl Network {
    /// Takes note of the sample that an endpoint may have had just now.
    #[inline]
    pub(super) fn note_rtt(&mut self, place: u32) {
        let endpoint = &mut self.endpoints.list[place as usize];
        let (samples, last_us) = endpoint.connection.rtt_samples();
        let rtts = &mut endpoint.rtts;
        if samples as u16 == rtts.seen {
            return;
        }
        rtts.seen = samples as u16;
        rtts.us[usize::from(rtts.waiting)] = last_us;
        rtts.waiting += 1;
        if usize::from(rtts.waiting) == rtts.us.len() {
            self.count_rtts(place);
        }
    }

    /// Counts the samples of an endpoint that wait for it.
    #[inline(never)]
    pub(super) fn count_rtts(&mut self, place: u32) {
        let endpoint = &mut self.endpoints.list[place as usize];
        let rtts = &mut endpoint.rtts;
        let waiting = usize::from(std::mem::take(&mut rtts.waiting));
        let flow = &mut self.flows[endpoint.origin.flow as usize];
        flow.meter.add_rtts(self.clock.open(), &rtts.us[..waiting]);
    }

    /// Counts all samples that wait for it: before other intervals are open, and at the end.
    pub(crate) fn count_all_rtts(&mut self) {
        for place in 0..self.endpoints.list.len() as u32 {
            if Endpoints::end_of(place) == End::Source {
                self.count_rtts(place);
            }
        }
    }
}
