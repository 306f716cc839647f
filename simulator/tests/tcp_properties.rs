// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Over paths that lose, delay and double segments at random: every byte arrives once and
//! in order, nothing stalls, windows keep their rules.

mod tcp_support;

use ebb_algorithms::{Side, laws_of};
use ebb_link::Nanos;
use ebb_scenario::{Buffer, Pacing, Recovery, TcpOptions};
use ebb_simulator::Flags;
use ebb_simulator::tcp::{State, TcpConfig};
use proptest::prelude::*;
use tcp_support::{Fate, Pair, Sent, ms, pair_of};

/// A path's vices, each in thousandths of its segments.
#[derive(Clone, Copy, Debug)]
struct Vices {
    loss: u64,
    ack_loss: u64,
    lateness: u64,
    doubling: u64,
    marking: u64,
    seed: u64,
    in_row: [u8; 2],
}

/// Segments lost in a row, each way, at the most: a sender that hears nothing after 15
/// time-outs gives up, and 200 000 cases would meet a path that is so unkind by chance.
const MOST_IN_ROW: [u8; 2] = [3, 2];
/// The same while a connection opens, which is given up sooner.
const MOST_SYNS_IN_ROW: u8 = 1;

fn vices() -> impl Strategy<Value = Vices> {
    (
        0..150_u64,
        0..300_u64,
        0..200_u64,
        0..100_u64,
        0..50_u64,
        any::<u64>(),
    )
        .prop_map(
            |(loss, ack_loss, lateness, doubling, marking, seed)| Vices {
                loss,
                ack_loss,
                lateness,
                doubling,
                marking,
                seed,
                in_row: [0; 2],
            },
        )
}

fn mixed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Vices {
    fn fate(&mut self, sent: &Sent) -> Fate {
        let is_syn = sent.segment.flags.has(Flags::SYN);
        let most = match is_syn {
            true => MOST_SYNS_IN_ROW,
            false => MOST_IN_ROW[sent.from],
        };
        let fate = match self.draw(sent, is_syn) {
            Fate::IsLost if self.in_row[sent.from] >= most => Fate::Arrives,
            fate => fate,
        };
        let in_row = &mut self.in_row[sent.from];
        *in_row = if fate == Fate::IsLost { *in_row + 1 } else { 0 };
        fate
    }

    fn draw(&mut self, sent: &Sent, is_syn: bool) -> Fate {
        let draw = mixed(&mut self.seed) % 1_000;
        let later = Nanos(mixed(&mut self.seed) % 60_000_000);
        let loss = match sent.segment.payload_bytes {
            0 if is_syn => self.ack_loss / 4,
            0 => self.ack_loss,
            _ => self.loss,
        };
        let limits = [loss, self.lateness, self.doubling, self.marking];
        let mut limit = 0;
        for (number, share) in limits.into_iter().enumerate() {
            limit += share;
            if draw < limit {
                return match number {
                    0 => Fate::IsLost,
                    1 => Fate::ComesLater(later),
                    2 => Fate::ComesTwice(later),
                    _ => Fate::IsMarked,
                };
            }
        }
        Fate::Arrives
    }
}

fn options() -> impl Strategy<Value = TcpOptions> {
    let recovery = prop_oneof![
        Just(Recovery::Rack),
        Just(Recovery::Sack),
        Just(Recovery::NewReno),
        Just(Recovery::Reno)
    ];
    let flags = prop::collection::vec(any::<bool>(), 10);
    let buffer = prop_oneof![
        (3_000_u64..100_000).prop_map(Buffer::Fixed),
        Just(Buffer::Autotuned {
            initial_bytes: 65_536,
            max_bytes: 3 << 20
        })
    ];
    (recovery, flags, buffer, 1..4_u32, 200..2_000_u32).prop_map(
        |(recovery, flags, receive_buffer, ack_segments, mss_bytes)| {
            let mut options = if flags[0] {
                TcpOptions::LINUX
            } else {
                TcpOptions::PAPER
            };
            options.recovery = recovery;
            options.receive_buffer = receive_buffer;
            options.mss_bytes = mss_bytes;
            options.delayed_acks.segments = ack_segments;
            options.has_sack = flags[1];
            options.has_window_scaling = flags[2];
            options.has_limited_transmit = flags[3];
            options.has_frto = flags[4];
            options.has_ecn = flags[5];
            options.pacing = if flags[6] { Pacing::On } else { Pacing::ByLaw };
            options.tso_pkts = if flags[7] { 10 } else { 1 };
            if flags[8] {
                options.timestamps = TcpOptions::LINUX.timestamps;
            }
            options
        },
    )
}

/// Steps once and checks what must hold at any time.
fn step_and_check(pair: &mut Pair, edges: &mut [u64; 2]) {
    let states = [0, 1].map(|place| pair.ends[place].state());
    assert!(
        !states.iter().any(|state| matches!(state, State::Failed(_))),
        "{states:?}"
    );
    let seen = pair.log.len();
    assert!(
        pair.step(Nanos(u64::MAX)),
        "nothing happens any more at {}",
        pair.now
    );
    for place in [0, 1] {
        let edge = pair.ends[place].right_edge_bytes();
        assert!(edge >= edges[place], "the right edge moved back");
        edges[place] = edge;
    }
    for sent in &pair.log[seen..] {
        let (start, bytes) = (sent.segment.seq, sent.segment.payload_bytes);
        let initial = if sent.from == 0 { 1_000_u32 } else { 5_000 };
        let end = u64::from(start.wrapping_sub(initial + 1)) + u64::from(bytes);
        assert!(
            bytes == 0 || end <= edges[1 - sent.from],
            "more than the window was sent"
        );
    }
}

fn transfer(options: TcpOptions, laws: (&str, Option<&str>), mut vices: Vices, bytes: [u64; 2]) {
    let config = TcpConfig::new(options, laws.0, laws.1).unwrap();
    let mut pair = pair_of(&config, &config, ms(20));
    pair.ns_per_byte = 800;
    pair.queue_bytes = 50_000;
    pair.disturb(move |sent| vices.fate(sent));
    pair.connect();
    for (from, bytes) in bytes.into_iter().enumerate() {
        pair.write(from, bytes);
        pair.close(from);
    }
    let mut edges = [0; 2];
    let end = Nanos::from_secs(20_000);
    let is_over = |pair: &Pair| pair.ends.iter().all(|end| end.state() == State::Finished);
    while !is_over(&pair) {
        assert!(
            pair.now < end,
            "it takes for ever: {:?}",
            pair.ends[0].info()
        );
        step_and_check(&mut pair, &mut edges);
    }
    for place in [0, 1] {
        assert_eq!(pair.ends[place].received_bytes(), bytes[1 - place]);
        assert_eq!(pair.ends[place].acknowledged_bytes(), bytes[place]);
        let info = pair.ends[place].info();
        assert_eq!((info.out_pkts, info.inflight_pkts), (0, 0));
    }
}

/// A server that reads so much, then waits so long, and so on.
fn slow_reading(options: TcpOptions, mut vices: Vices, bytes: u64, reads: &[(u64, u64)]) {
    let buffer_bytes = options.receive_buffer.max_bytes();
    let config = TcpConfig::new(options, "cubic", None).unwrap();
    let mut pair = pair_of(&config, &config, ms(20));
    pair.ns_per_byte = 800;
    pair.queue_bytes = 50_000;
    pair.disturb(move |sent| vices.fate(sent));
    pair.ends[1].read_on_demand();
    pair.connect();
    pair.write(0, bytes);
    pair.close(0);
    pair.close(1);
    let mut edges = [0; 2];
    let mut read_bytes = 0;
    let mut reads = reads.iter().cycle();
    let mut next_read_at = Nanos::ZERO;
    let is_over = |pair: &Pair| pair.ends.iter().all(|end| end.state() == State::Finished);
    while !is_over(&pair) {
        assert!(pair.now < Nanos::from_secs(100_000), "it takes for ever");
        let is_all_read = read_bytes == bytes;
        if is_all_read || pair.next_event().is_some_and(|at| at <= next_read_at) {
            step_and_check(&mut pair, &mut edges);
        } else {
            pair.now = pair.now.max(next_read_at);
            let (wanted, wait_ms) = *reads.next().expect("it goes round");
            let there = pair.ends[1].received_bytes() - read_bytes;
            pair.consume(1, wanted);
            read_bytes += wanted.min(there);
            next_read_at = pair.now + ms(wait_ms);
        }
        // A window is rounded up to what its scale can say.
        let unread_bytes = pair.ends[1].received_bytes() - read_bytes;
        assert!(unread_bytes <= buffer_bytes + (1 << 14), "{unread_bytes}");
    }
    assert_eq!(pair.ends[1].received_bytes(), bytes);
    assert_eq!(pair.ends[0].acknowledged_bytes(), bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_byte_arrives_at_a_receiver_that_reads_slowly(
        options in options(),
        vices in vices(),
        bytes in 0..200_000_u64,
        reads in prop::collection::vec((300..30_000_u64, 1..3_000_u64), 1..6),
    ) {
        slow_reading(options, vices, bytes, &reads);
    }

    #[test]
    fn every_byte_arrives_once_and_in_order(
        options in options(),
        vices in vices(),
        bytes in 0..300_000_u64,
        back_bytes in prop_oneof![Just(0), 0..60_000_u64],
    ) {
        transfer(options, ("reno", None), vices, [bytes, back_bytes]);
    }

    #[test]
    fn every_byte_arrives_under_each_pair_of_laws(
        sender in any::<prop::sample::Index>(),
        receiver in any::<prop::sample::Index>(),
        options in options(),
        vices in vices(),
        bytes in 0..300_000_u64,
    ) {
        let senders: Vec<_> = laws_of(Side::Sender).map(|law| law.name).collect();
        let receivers: Vec<_> = laws_of(Side::Receiver).map(|law| law.name).collect();
        let laws = (*sender.get(&senders), Some(*receiver.get(&receivers)));
        transfer(options, laws, vices, [bytes, 0]);
    }
}
