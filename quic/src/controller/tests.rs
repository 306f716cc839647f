// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller by itself: time is an argument.

use super::*;

const MTU: u16 = 1_200;
const RTT: Duration = Duration::from_millis(100);

/// A path whose window is used up, and of which each packet is acknowledged after [`RTT`].
struct Host {
    controller: LawController,
    now: Instant,
}

impl Host {
    fn new(policy: &str) -> Self {
        let now = Instant::now();
        let policy = Policy::sender(policy).unwrap();
        let controller = LawController::new(policy, now, MTU);
        Self { controller, now }
    }

    /// Sends a window, and has it acknowledged; answers when it was sent.
    fn round(&mut self) -> Instant {
        let (sent, pkts) = (self.now, self.controller.cwnd_pkts);
        let bytes = u64::from(pkts) * u64::from(MTU);
        self.controller.on_sent(sent, bytes, 0);
        self.now += RTT;
        for _ in 0..pkts {
            self.controller.on_packet(sent, MTU.into(), RTT, RTT);
        }
        self.controller.on_frame(self.now, 0);
        sent
    }

    fn lose(&mut self, sent: Instant, is_persistent: bool, pkts: u64) {
        let bytes = pkts * u64::from(MTU);
        let controller = &mut self.controller;
        controller.on_congestion_event(self.now, sent, is_persistent, bytes);
    }
}

#[test]
fn slow_start_doubles_the_window_and_quinn_may_use_all_of_it() {
    let mut host = Host::new("reno");
    assert_eq!(host.controller.window(), 10 * 1_200 + 1);
    host.round();
    assert_eq!(host.controller.window(), 20 * 1_200 + 1);
    host.controller.on_mtu_update(1_452);
    assert_eq!(host.controller.window(), 20 * 1_452 + 1);
}

#[test]
fn all_losses_of_a_flight_halve_the_window_once() {
    let mut host = Host::new("reno");
    let sent = host.round();
    host.lose(sent, false, 2);
    assert_eq!(host.controller.cwnd_pkts, 10);
    assert_eq!(host.controller.phase, Phase::Recovery);
    host.lose(sent, false, 1);
    assert_eq!(host.controller.cwnd_pkts, 10);
    // What was sent before the reduction does not end it, what was sent later does.
    host.controller.on_packet(sent, MTU.into(), RTT, RTT);
    host.controller.on_frame(host.now, 0);
    assert_eq!(host.controller.phase, Phase::Recovery);
    assert_eq!(host.controller.cwnd_pkts, 10);
    host.now += Duration::from_millis(1);
    host.round();
    assert_eq!(host.controller.phase, Phase::Open);
    assert_eq!(host.controller.cwnd_pkts, 11);
}

#[test]
fn persistent_congestion_leaves_one_packet() {
    let mut host = Host::new("reno");
    let sent = host.round();
    host.lose(sent, true, 10);
    assert_eq!(host.controller.window(), 1_200 + 1);
    host.now += Duration::from_millis(1);
    host.round();
    // Slow start to half of what there was.
    assert_eq!(host.controller.window(), 2 * 1_200 + 1);
    assert_eq!(host.controller.ssthresh_pkts, 10);
}

#[test]
fn a_mark_is_told_as_one() {
    let mut host = Host::new("tcp-lp-ecn");
    let sent = host.round();
    host.lose(sent, false, 0);
    assert_eq!(host.controller.phase, Phase::Cwr);
    assert_eq!(host.controller.cwnd_pkts, 10);
}

#[test]
fn what_cannot_be_had_is_refused_with_what_can() {
    let refused = |policy| LawConfig::new(policy).unwrap_err().to_string();
    assert!(refused("bbr").contains("take ledbat++"));
    assert!(refused("paced").contains("take ledbat++"));
    assert!(refused("ebb").contains("ebb is a receiver law"));
    assert!(refused("tcplp").contains("did you mean 'tcp-lp'?"));
}
