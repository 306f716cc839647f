// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One connection: what is seen of it, what its laws are told, what is set.

use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ebb_algorithms::{Floor, Policy};
use ebb_host::TcpInfo;

use crate::claim::Claim;
use crate::download::{Download, tells_queue};
use crate::hold::Own;
use crate::socket::CopiedSocket;
use crate::timing::until_next_look;
use crate::upload::Upload;
use crate::wanted::{Direction, Flow, Wanted, address};

/// Nothing is known of the path yet: look soon.
const UNKNOWN_RTT_US: u32 = 100_000;

/// What a look led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Payload that has arrived since the last.
    pub(crate) received_bytes: u64,
    /// Payload that was acknowledged since the last.
    pub(crate) sent_bytes: u64,
    /// Limits that were set.
    pub(crate) settings: u64,
    /// Nothing can move any more.
    pub(crate) has_ended: bool,
}

/// A connection that is to be governed, as it is met.
pub(crate) struct Met {
    pub(crate) cookie: u64,
    pub(crate) info: TcpInfo,
    pub(crate) own: Own,
    pub(crate) ends: ((IpAddr, u16), (IpAddr, u16)),
    pub(crate) claim: Claim,
    /// What all have together at the least: of what arrives, of what is sent.
    pub(crate) floors: [Floor; 2],
    /// What is sent is not marked.
    pub(crate) keeps_code_point: bool,
    /// While it does not move it is looked at rarely.
    pub(crate) may_sleep: bool,
}

/// A connection under laws.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) cookie: u64,
    pub(crate) own: Own,
    ends: ((IpAddr, u16), (IpAddr, u16)),
    wanted: Wanted,
    download: Download,
    upload: Option<Upload>,
    upload_floor: Floor,
    keeps_code_point: bool,
    may_sleep: bool,
    begun: TcpInfo,
    last: TcpInfo,
    idle_looks: u32,
    pub(crate) due: Instant,
    /// Nobody else's while it lives.
    _claim: Claim,
}

impl Connection {
    /// Takes a connection over as it is now.
    pub(crate) fn new(met: Met, wanted: &Wanted, now: (Instant, u64)) -> Self {
        let mut connection = Self {
            cookie: met.cookie,
            own: met.own,
            ends: met.ends,
            wanted: Wanted::default(),
            download: Download::new(&met.floors[0]),
            upload: None,
            upload_floor: met.floors[1].clone(),
            keeps_code_point: met.keeps_code_point,
            may_sleep: met.may_sleep,
            begun: met.info,
            last: met.info,
            idle_looks: 0,
            due: now.0,
            _claim: met.claim,
        };
        connection.set_wanted(wanted.clone(), now);
        connection
    }

    /// What is wanted of it.
    pub(crate) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Wants something else of it from the next look on, which is at once. A law goes on with
    /// new parameters; another one starts anew.
    pub(crate) fn set_wanted(&mut self, wanted: Wanted, now: (Instant, u64)) {
        self.download
            .set_policy(wanted.download.as_ref(), &self.last, now.1);
        match (&mut self.upload, &wanted.upload) {
            (Some(upload), Some(policy)) if upload.is_of(policy) => upload.set_policy(policy),
            (Some(upload), Some(policy)) => upload.restart(policy.clone(), &self.last, now.1),
            (None, Some(policy)) => {
                let marks = !self.keeps_code_point;
                let seen = (&self.last, now.1);
                let policy = policy.clone();
                let upload = Upload::new(policy, &self.upload_floor, seen, self.own, marks);
                self.upload = Some(upload);
            }
            // It stays until its limits are lifted.
            (_, None) => {}
        }
        self.wanted = wanted;
        self.due = now.0;
    }

    /// Has a part of other floors from now on: of what arrives, of what is sent.
    pub(crate) fn set_floors(&mut self, [download, upload]: &[Floor; 2]) {
        self.download.set_floor(download);
        self.upload_floor = upload.clone();
        if let Some(own) = &mut self.upload {
            own.set_floor(upload);
        }
    }

    /// Sets everything again at the next look, which is at once.
    pub(crate) fn forget_settings(&mut self, now: Instant) {
        self.download.forget_settings();
        if let Some(upload) = &mut self.upload {
            upload.forget_settings();
        }
        self.due = now;
    }

    /// Whether it moved lately.
    pub(crate) fn is_moving(&self) -> bool {
        self.idle_looks < 4
    }

    /// Looks at it, asks the laws, sets what they want.
    ///
    /// *Errors:* the copy is no TCP socket.
    pub(crate) fn look(
        &mut self,
        socket: &CopiedSocket,
        now: (Instant, u64),
        moving: usize,
    ) -> io::Result<Look> {
        let info = socket.info()?;
        let mut look = Look {
            received_bytes: info.bytes_received.saturating_sub(self.last.bytes_received),
            sent_bytes: info.bytes_acked.saturating_sub(self.last.bytes_acked),
            settings: 0,
            has_ended: !info.receives() && !info.sends(),
        };
        if info.receives() {
            let is_free = self.is_free(Direction::Down, &info);
            let download = &mut self.download;
            look.settings += download.look(socket, &self.last, &info, now.1, is_free)?;
        }
        if info.sends() {
            look.settings += self.govern_upload(socket, &info, now.1)?;
        }
        let has_moved = look.received_bytes > 0 || look.sent_bytes > 0;
        self.idle_looks = if has_moved {
            0
        } else {
            self.idle_looks.saturating_add(1)
        };
        self.due = now.0 + self.until_next(&info, moving);
        self.last = info;
        Ok(look)
    }

    fn until_next(&self, info: &TcpInfo, moving: usize) -> Duration {
        let rtt_us = match (info.rcv_rtt_us, info.rtt_us) {
            (0, 0) => UNKNOWN_RTT_US,
            (0, rtt_us) | (rtt_us, 0) => rtt_us,
            (rcv_rtt_us, rtt_us) => rcv_rtt_us.min(rtt_us),
        };
        until_next_look(rtt_us, moving, self.idle_looks, self.may_sleep)
    }

    fn govern_upload(
        &mut self,
        socket: &CopiedSocket,
        info: &TcpInfo,
        now_us: u64,
    ) -> io::Result<u64> {
        let Some(upload) = &mut self.upload else {
            return Ok(0);
        };
        if self.wanted.upload.is_none() || self.wanted.is_upload_free {
            let settings = upload.release(socket)?;
            if self.wanted.upload.is_none() {
                self.upload = None;
            }
            return Ok(settings);
        }
        upload.look(socket, &self.last, info, now_us)
    }

    /// Lifts every limit.
    ///
    /// *Errors:* the copy is no TCP socket.
    pub(crate) fn release(&mut self, socket: &CopiedSocket) -> io::Result<()> {
        self.download.release(socket)?;
        if let Some(upload) = &mut self.upload {
            upload.release(socket)?;
        }
        Ok(())
    }

    /// What is seen of it: one for each direction that has a law.
    pub(crate) fn flows(&self, pid: u32) -> impl Iterator<Item = Flow> {
        let (info, begun) = (&self.last, &self.begun);
        let known = |us: u32| (us > 0).then_some(us);
        let download = self.download.flow().map(|own| Flow {
            payload_bytes: info.bytes_received.saturating_sub(begun.bytes_received),
            window_bytes: self.download.window_bytes(info),
            rtt_us: self.download.rtt_us().or(known(info.rtt_us)),
            is_limited: self.download.is_limited(),
            ..self.flow(pid, Direction::Down, own.policy(), own.state_bytes())
        });
        let upload = self.upload.as_ref().map(|own| Flow {
            payload_bytes: info.bytes_acked.saturating_sub(begun.bytes_acked),
            window_bytes: own.window_bytes(info),
            pace_bytes_per_s: own.pace_bytes_per_s(),
            rtt_us: known(info.rtt_us),
            is_limited: own.pace_bytes_per_s().is_some(),
            ..self.flow(pid, Direction::Up, own.policy(), own.state_bytes())
        });
        download.into_iter().chain(upload)
    }

    /// What both directions tell alike.
    fn flow(&self, pid: u32, direction: Direction, policy: &Policy, state: &[u8]) -> Flow {
        Flow {
            cookie: self.cookie,
            pid,
            direction,
            local: address(self.ends.0),
            peer: address(self.ends.1),
            law: policy.law().name,
            payload_bytes: 0,
            window_bytes: 0,
            pace_bytes_per_s: None,
            rtt_us: None,
            insight: policy.insight(state),
            is_limited: false,
            is_free: self.is_free(direction, &self.last),
        }
    }

    fn is_free(&self, direction: Direction, info: &TcpInfo) -> bool {
        match direction {
            Direction::Down => self.wanted.is_download_free || !tells_queue(info),
            Direction::Up => self.wanted.is_upload_free,
        }
    }
}
