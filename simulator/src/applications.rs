// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The plain sources of traffic.

mod constant;
mod greedy;
mod udp;

use ebb_link::{Nanos, Rate};
use ebb_scenario::{Flow, Traffic};

use crate::{Application, Error, traffic};

pub use constant::Constant;
pub use greedy::{Fixed, Greedy};
pub use udp::{Poisson, Udp};

/// The application of a flow.
pub(crate) fn application(flow: &Flow) -> Result<Box<dyn Application>, Error> {
    Ok(match &flow.traffic {
        Traffic::Greedy => Box::new(Greedy::default()),
        Traffic::Fixed { bytes } => Box::new(Fixed::new(*bytes)),
        Traffic::Constant {
            rate,
            write_bytes,
            backlog_bytes,
        } => Box::new(Constant::new(*rate, *write_bytes, *backlog_bytes)),
        Traffic::Udp { rate, packet_bytes } => Box::new(Udp::constant(*rate, *packet_bytes)),
        Traffic::UdpSquareWave {
            rate,
            low_rate,
            period,
            packet_bytes,
        } => Box::new(Udp::square_wave(*rate, *low_rate, *period, *packet_bytes)),
        Traffic::OnOff { on, off, reconnect } => {
            Box::new(traffic::OnOff::new(*on, *off, *reconnect))
        }
        Traffic::Web(web) => Box::new(traffic::Web::new(*web)),
        Traffic::Video(video) => Box::new(traffic::Video::new(video.clone())),
        Traffic::Call(call) => Box::new(traffic::Call::new(*call)),
    })
}

/// How long so many packets take at a rate, rounded down to a nanosecond.
pub(crate) fn time_of(packets: u64, packet_bytes: u32, rate: Rate) -> Nanos {
    let bits = u128::from(packets) * u128::from(packet_bytes) * 8;
    let nanoseconds = bits * 1_000_000_000 / u128::from(rate.bits_per_s());
    Nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}
