// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{Nanos, Rate};
use serde::{Deserialize, Serialize};

/// What a flow sends. Sizes are of data, TCP and IP headers not counted, unless said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Traffic {
    /// One TCP connection with always more to send.
    Greedy,
    /// One TCP connection that sends so much, closes, and tells how long it took.
    Fixed {
        /// How much.
        bytes: u64,
    },
    /// One TCP connection whose application writes at a constant rate.
    Constant {
        /// Rate of the data.
        rate: Rate,
        /// Bytes of each write.
        write_bytes: u32,
        /// A write that finds more than this waiting to be sent is left out; none: all is
        /// written, and what waits is caught up with later. *Units:* bytes.
        backlog_bytes: Option<u64>,
    },
    /// One TCP connection that is greedy for a while, then silent, and so on.
    OnOff {
        /// How long it sends; it starts with this.
        on: Nanos,
        /// How long it pauses.
        off: Nanos,
        /// Whether each time begins with a new connection; if not, what the application
        /// wrote but TCP has not sent yet when the pause begins is sent in the pause.
        reconnect: bool,
    },
    /// UDP packets at equal distances.
    Udp {
        /// Rate, IP headers counted.
        rate: Rate,
        /// Size of each packet, IP and UDP headers counted.
        packet_bytes: u32,
    },
    /// UDP packets that come and go.
    UdpSquareWave {
        /// Rate in the first half of each period, IP headers counted.
        rate: Rate,
        /// Rate in its second half; none: silence.
        low_rate: Option<Rate>,
        /// Length of a period.
        period: Nanos,
        /// Size of each packet, IP and UDP headers counted.
        packet_bytes: u32,
    },
    /// People who open web pages.
    Web(Web),
    /// A video that is watched while it arrives.
    Video(Video),
    /// A call: small UDP packets both ways.
    Call(Call),
}

impl Traffic {
    /// Whether it has TCP connections.
    pub fn is_tcp(&self) -> bool {
        !matches!(
            self,
            Self::Udp { .. } | Self::UdpSquareWave { .. } | Self::Call(_)
        )
    }
}

/// A length of time (nanoseconds) or a size (bytes) that is drawn anew each time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Draw {
    /// Always the same.
    Constant(u64),
    /// Exponential.
    Exponential {
        /// The mean.
        mean: u64,
    },
    /// Pareto: most are small, few are huge.
    Pareto {
        /// The mean of the distribution before `max` cuts it.
        mean: u64,
        /// The shape, above 1; the closer to 1, the more uneven.
        shape: f64,
        /// Draws above it count as this; none: no limit.
        max: Option<u64>,
    },
}

/// How a web page is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// A connection for each object.
    PerObject,
    /// Connections stay open from page to page.
    Persistent,
}

/// People who open web pages: each opens a page, waits until it is there, thinks, and
/// opens the next. The pages come from [`Flow::from`](crate::Flow::from).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// How many people do so at the same time.
    pub sessions: u32,
    /// Objects of a page.
    pub objects: u32,
    /// Size of an object. *Units:* bytes.
    pub object_bytes: Draw,
    /// Size of a request, which goes the other way.
    pub request_bytes: u32,
    /// Time from a page that is there to the request of the next. *Units:* ns.
    pub think: Draw,
    /// Whether people wait until a page is there; if not, the next is opened so long after
    /// the last one was, whatever the network does.
    #[serde(default = "people_wait")]
    pub waits: bool,
    /// Time from one object's request to that of the next. *Units:* ns.
    pub object_gap: Draw,
    /// Whether connections are used again.
    pub connections: Connections,
    /// How many connections a person has at the most; what finds none waits.
    pub parallel: u32,
}

/// What results from before this could be chosen are of.
fn people_wait() -> bool {
    true
}

/// A video over one TCP connection, written at its own rate as a live source does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Rate of the data.
    pub rate: Rate,
    /// Bytes of a packet: what is played, or is late, as a whole.
    pub packet_bytes: u32,
    /// The client begins to play this long after the first packet was written, and
    /// counts packets that come after their turn; one count for each.
    pub pre_buffer: Vec<Nanos>,
}

/// A call over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Time between packets of one direction.
    pub interval: Nanos,
    /// Size of each packet, IP and UDP headers counted.
    pub packet_bytes: u32,
    /// Whether both sides talk; if not, only [`Flow::from`](crate::Flow::from) does.
    pub is_two_way: bool,
    /// A packet that took longer is late.
    pub late_after: Nanos,
}
