// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is seen of a socket.

use ebb_algorithms::{Doing, law};
use ebb_sockets::Direction;

use crate::service::ToldFlow;

/// What is seen of a socket, as of the last look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Where it is.
    pub standing: Standing,
    /// What arrives, where that yields; of another Ebb's, as far as the service tells.
    pub download: Option<Flow>,
    /// What is sent, where that yields; of another Ebb's, as far as the service tells.
    pub upload: Option<Flow>,
}

/// Where a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// In the foreground.
    Foreground,
    /// In the background; it yields once it is connected.
    NotConnected,
    /// In the background, but left alone: both ends are on this machine, or nothing can move on it
    /// any more.
    LeftAlone,
    /// In the background, but another Ebb governs it (`ebb run`, `ebb attach`, the service). What
    /// the service holds for this user it tells of. So is one that was taken to the foreground until
    /// the service has let it go.
    OfAnother,
    /// In the background: it yields.
    Background,
}

/// One direction of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flow {
    /// The law's name.
    pub law: &'static str,
    /// Payload since it is in the background.
    pub payload_bytes: u64,
    /// The bound on the window that is advertised; sending, on what is in flight.
    pub window_bytes: u32,
    /// Sending: the bound on the pace. *Units:* bytes per second.
    pub pace_bytes_per_s: Option<u64>,
    /// Round trip, if one was measured.
    pub rtt_us: Option<u32>,
    /// Queueing delay, if the law sees it.
    pub queue_us: Option<u32>,
    /// Whether it is held back, and why.
    pub held_back: HeldBack,
}

/// Whether a direction is held back, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeldBack {
    /// It is not: it grows, or nothing limits it.
    No,
    /// The queue is as long as it may be.
    QueueAtTarget,
    /// Others want the link.
    OthersWantIt,
    /// For a moment, to see the path without its queue.
    SeeingThePath,
    /// What was granted before is to be used up first.
    OldWindowLeft,
}

impl From<ebb_sockets::Standing> for State {
    fn from(standing: ebb_sockets::Standing) -> Self {
        let (standing, flows) = match standing {
            ebb_sockets::Standing::NotGiven => (Standing::Foreground, Vec::new()),
            ebb_sockets::Standing::NotConnected => (Standing::NotConnected, Vec::new()),
            ebb_sockets::Standing::LeftAlone => (Standing::LeftAlone, Vec::new()),
            ebb_sockets::Standing::OfAnother => (Standing::OfAnother, Vec::new()),
            ebb_sockets::Standing::Governed(flows) => (Standing::Background, flows),
        };
        let of = |direction| {
            let mut flows = flows.iter().filter(|flow| flow.direction == direction);
            flows.next().map(Flow::from)
        };
        Self {
            standing,
            download: of(Direction::Down),
            upload: of(Direction::Up),
        }
    }
}

impl From<&ebb_sockets::Flow> for Flow {
    fn from(flow: &ebb_sockets::Flow) -> Self {
        let insight = flow.insight.filter(|_| !flow.is_free);
        let doing = insight.map_or(Doing::Unknown, |insight| insight.doing);
        Self {
            law: flow.law,
            payload_bytes: flow.payload_bytes,
            window_bytes: flow.window_bytes,
            pace_bytes_per_s: flow.pace_bytes_per_s,
            rtt_us: flow.rtt_us,
            queue_us: insight.and_then(|insight| insight.queue_us),
            held_back: HeldBack::from(doing),
        }
    }
}

impl Flow {
    /// As the service tells of it; none: by a law that is not known here.
    pub(crate) fn of_service(told: &ToldFlow) -> Option<Self> {
        let mut all = Doing::ALL.into_iter();
        let doing = all.find(|doing| doing.to_string() == told.mode);
        Some(Self {
            law: law(&told.law)?.name,
            payload_bytes: told.payload_bytes,
            window_bytes: told.window_bytes,
            pace_bytes_per_s: told.pace_bytes_per_s,
            rtt_us: told.rtt_us,
            queue_us: told.queue_us,
            held_back: doing.unwrap_or(Doing::Unknown).into(),
        })
    }
}

impl From<Doing> for HeldBack {
    fn from(doing: Doing) -> Self {
        match doing {
            Doing::Unknown | Doing::Start | Doing::Grow => Self::No,
            Doing::Hold => Self::QueueAtTarget,
            Doing::Yield => Self::OthersWantIt,
            Doing::Look => Self::SeeingThePath,
            Doing::Wait => Self::OldWindowLeft,
        }
    }
}
