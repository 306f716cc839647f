// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The plain sources of traffic.

mod udp;

use ebb_scenario::{Flow, Traffic};

use crate::{Application, Error, traffic};

pub use udp::{Poisson, Udp};

/// The application of a flow.
pub(crate) fn application(flow: &Flow) -> Result<Box<dyn Application>, Error> {
    Ok(match &flow.traffic {
        Traffic::Udp { rate, packet_bytes } => Box::new(Udp::constant(*rate, *packet_bytes)),
        Traffic::UdpSquareWave {
            rate,
            low_rate,
            period,
            packet_bytes,
        } => Box::new(Udp::square_wave(*rate, *low_rate, *period, *packet_bytes)),
        Traffic::Call(call) => Box::new(traffic::Call::new(*call)),
        _ => {
            return Err(Error::Traffic {
                flow: flow.name.clone(),
            });
        }
    })
}
