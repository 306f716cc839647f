// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What holds a connection back, as the kernel has it: the bound of its window, its congestion
//! control, its pace.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ebb_sockets::{CopiedSocket, Kind, sockets_of};

/// The ports of the peers.
pub const DOWNLOAD: u16 = 9001;
pub const UPLOAD: u16 = 9002;
pub const DRIP_DOWN: u16 = 9003;
pub const DRIP_UP: u16 = 9004;

/// Below it a window is a law's: by itself a connection begins with nearly 64 KiB.
const LIMITED_BYTES: u32 = 1 << 15;
/// As program.py sets it for uploads.
const OWN_PACE_BYTES_PER_S: u64 = 7_000_000;
/// Connections that a program opens are looked for so often.
const SEARCH_EVERY: Duration = Duration::from_millis(150);

/// Which of a connection's limits are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Of what it receives.
    Down,
    /// Of what it sends.
    Up,
}

/// A connection at a moment.
pub struct Look {
    pub is_established: bool,
    pub segments_sent: u32,
    /// Segments that came out of order so far.
    pub out_of_order_pkts: u32,
    /// What limits it, in words; none if nothing does.
    pub limits: [Option<String>; 2],
}

impl Look {
    pub fn limit(&self, way: Way) -> Option<&String> {
        self.limits[way as usize].as_ref()
    }
}

/// A connection that is looked at.
pub struct Watched {
    socket: CopiedSocket,
    pub peer_port: u16,
    may_lose_pace: bool,
}

impl Watched {
    /// Looks: first at what it has sent, so that a limit that is seen was there after that.
    pub fn look(&self) -> Look {
        let info = self.socket.info().unwrap();
        Look {
            is_established: info.sends() && info.receives(),
            segments_sent: info.segs_out,
            out_of_order_pkts: info.rcv_ooopack,
            limits: [self.limit_down(), self.limit_up()],
        }
    }

    fn limit_down(&self) -> Option<String> {
        let clamp_bytes = self.socket.window_clamp().unwrap();
        (clamp_bytes < LIMITED_BYTES).then(|| format!("clamp {clamp_bytes}"))
    }

    fn limit_up(&self) -> Option<String> {
        let congestion_control = self.socket.congestion_control().unwrap();
        let pace = self.socket.max_pace().unwrap();
        let unsent = self.socket.unsent_limit().unwrap();
        let field = self.socket.traffic_class().unwrap();
        let own_pace = match self.peer_port {
            UPLOAD => OWN_PACE_BYTES_PER_S,
            _ => u64::MAX,
        };
        let has_its_pace = pace == own_pace || (self.may_lose_pace && pace == u64::MAX);
        let is_free =
            congestion_control == "cubic" && has_its_pace && unsent == 0 && field & 0xfc == 0;
        let told = || format!("{congestion_control}, pace {pace}, unsent {unsent}, field {field}");
        (!is_free).then(told)
    }
}

/// All connections of a program, by their numbers.
pub struct Connections {
    pid: u32,
    may_lose_pace: bool,
    searched: Option<Instant>,
    pub all: BTreeMap<u64, Watched>,
}

impl Connections {
    /// Of a program that `may_lose_pace` of its own, which Ebb is to give back otherwise.
    pub fn of(pid: u32, may_lose_pace: bool) -> Self {
        Self {
            pid,
            may_lose_pace,
            searched: None,
            all: BTreeMap::new(),
        }
    }

    /// Looks for new ones, if it is time.
    pub fn search(&mut self) {
        let is_due = |at: Instant| at.elapsed() >= SEARCH_EVERY;
        if self.searched.is_some_and(|at| !is_due(at)) {
            return;
        }
        self.search_now();
    }

    /// Looks for new ones.
    pub fn search_now(&mut self) {
        self.searched = Some(Instant::now());
        let Ok(sockets) = sockets_of(self.pid) else {
            return;
        };
        for socket in sockets.filter(|it| it.kind() == Kind::Tcp) {
            let (Ok(cookie), Some((_, (_, peer_port)))) = (socket.cookie(), socket.ends()) else {
                continue;
            };
            let watched = Watched {
                socket,
                peer_port,
                may_lose_pace: self.may_lose_pace,
            };
            self.all.entry(cookie).or_insert(watched);
        }
    }
}
