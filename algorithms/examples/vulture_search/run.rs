// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs flows over one bottleneck and records what arrives.

use crate::network::{Event, Link, MILLISECOND_NS, MSS_BYTES, Packet, Queue, SECOND_NS};
use crate::receiver::{Receiver, Yielding};
use crate::sender::{Application, Sender};

#[derive(Debug, Clone)]
pub struct Flow {
    pub application: Application,
    pub start_ns: u64,
    pub is_reverse: bool,
    pub yielding: Option<Yielding>,
}

/// What one flow received: goodput by bins of time, and how long its packets waited.
pub struct Record {
    pub bins_bytes: Vec<u64>,
    pub wait_ns_sum: Vec<u64>,
    pub wait_count: Vec<u64>,
    /// Times of first and last byte of each burst (gaps above 0.3 s divide bursts).
    pub bursts_ns: Vec<(u64, u64)>,
    pub rwnd_trace: Vec<(u64, u64)>,
}

/// Periods of time, each with begin and end in ns.
pub type Spans = Vec<(u64, u64)>;

pub const BIN_NS: u64 = 50 * MILLISECOND_NS;
const BURST_GAP_NS: u64 = 300 * MILLISECOND_NS;

struct Endpoint {
    sender: Sender,
    receiver: Receiver,
    clock_offset_ns: u64,
}

struct World<'a> {
    flows: &'a [Flow],
    endpoints: Vec<Endpoint>,
    records: Vec<Record>,
    links: [Link; 2],
    queue: Queue,
    sender_tick_ns: u64,
}

pub struct Setting {
    pub rate_bits_per_s: u64,
    pub delay_ns: u64,
    pub queue_pkts: usize,
    pub sender_tick_ns: u64,
    pub duration_ns: u64,
    /// Moves the clocks' phases.
    pub seed: u64,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            rate_bits_per_s: 10_000_000,
            delay_ns: 50 * MILLISECOND_NS,
            queue_pkts: 86,
            sender_tick_ns: MILLISECOND_NS,
            duration_ns: 60 * SECOND_NS,
            seed: 0,
        }
    }
}

/// Runs the flows and returns what each received.
pub fn run(setting: &Setting, flows: &[Flow]) -> Vec<Record> {
    let mut world = World::new(setting, flows);
    while let Some((now_ns, event)) = world.queue.pop() {
        if now_ns >= setting.duration_ns {
            break;
        }
        world.on_event(now_ns, event);
    }
    world.records
}

impl<'a> World<'a> {
    fn new(setting: &Setting, flows: &'a [Flow]) -> Self {
        let (rate, delay_ns) = (setting.rate_bits_per_s, setting.delay_ns);
        let link = || Link::new(rate, delay_ns, setting.queue_pkts);
        let bins = (setting.duration_ns / BIN_NS) as usize + 1;
        let mut world = Self {
            flows,
            endpoints: Vec::new(),
            records: Vec::new(),
            links: [link(), link()],
            queue: Queue::default(),
            sender_tick_ns: setting.sender_tick_ns,
        };
        for (number, flow) in flows.iter().enumerate() {
            let mix = (setting.seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mix = mix ^ (number as u64 * 7919);
            world.endpoints.push(Endpoint {
                sender: Sender::new(flow.application),
                receiver: Receiver::new(flow.yielding.clone()),
                clock_offset_ns: mix % SECOND_NS,
            });
            world.records.push(Record::new(bins));
            let start_ns = flow.start_ns + mix % (37 * MILLISECOND_NS);
            let start = Event::Application { flow: number };
            world.queue.push(start_ns, start);
        }
        world
    }

    fn on_event(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::Sent { link } => self.on_sent(now_ns, link),
            Event::Delivered { packet } if packet.is_data => self.on_data(now_ns, &packet),
            Event::Delivered { packet } => {
                self.endpoints[packet.flow].sender.on_ack(now_ns, &packet);
                self.send(now_ns, packet.flow);
            }
            Event::SenderTimer { flow } => {
                self.endpoints[flow].sender.on_timer(now_ns);
                self.send(now_ns, flow);
            }
            Event::ReceiverTimer { flow } => {
                let due_ns = self.endpoints[flow].receiver.timer_at_ns;
                if due_ns.is_some_and(|due_ns| now_ns >= due_ns) {
                    self.acknowledge(now_ns, flow);
                }
            }
            Event::Application { flow } => {
                let start_ns = self.flows[flow].start_ns;
                let sender = &mut self.endpoints[flow].sender;
                if let Some(next_ns) = sender.on_application(now_ns, start_ns) {
                    self.queue.push(next_ns, Event::Application { flow });
                }
                self.send(now_ns, flow);
            }
        }
    }

    fn on_sent(&mut self, now_ns: u64, number: usize) {
        let link = &mut self.links[number];
        let (packet, next_ns) = link.take(now_ns);
        let waited_ns = now_ns - packet.queued_at_ns - link.sending_ns(&packet);
        let at_ns = now_ns + link.delay_ns;
        if let Some(next_ns) = next_ns {
            self.queue.push(next_ns, Event::Sent { link: number });
        }
        if number == 0 && packet.is_data {
            let record = &mut self.records[packet.flow];
            record.wait_ns_sum[(now_ns / BIN_NS) as usize] += waited_ns;
            record.wait_count[(now_ns / BIN_NS) as usize] += 1;
        }
        self.queue.push(at_ns, Event::Delivered { packet });
    }

    fn on_data(&mut self, now_ns: u64, packet: &Packet) {
        let receiver = &mut self.endpoints[packet.flow].receiver;
        let before_seq = receiver.next_seq;
        let is_urgent = receiver.on_data(now_ns, packet);
        let arrived_bytes = receiver.next_seq - before_seq;
        let timer_at_ns = receiver.timer_at_ns;
        self.records[packet.flow].note(now_ns, arrived_bytes);
        if is_urgent {
            self.acknowledge(now_ns, packet.flow);
        } else if let Some(at_ns) = timer_at_ns {
            self.queue
                .push(at_ns, Event::ReceiverTimer { flow: packet.flow });
        }
    }

    fn acknowledge(&mut self, now_ns: u64, flow: usize) {
        let ack = self.endpoints[flow].receiver.acknowledge(now_ns, flow);
        let window_bytes = ack.right_edge_seq - ack.ack_seq;
        self.records[flow]
            .rwnd_trace
            .push((now_ns, window_bytes / MSS_BYTES));
        self.offer(now_ns, usize::from(!self.flows[flow].is_reverse), ack);
    }

    fn send(&mut self, now_ns: u64, flow: usize) {
        let tick_ns = self.sender_tick_ns;
        let timer_before = self.endpoints[flow].sender.timer_at_ns;
        let tsval = ((now_ns + self.endpoints[flow].clock_offset_ns) / tick_ns) as u32;
        while let Some(packet) = self.endpoints[flow].sender.next_packet(now_ns, flow, tsval) {
            self.offer(now_ns, usize::from(self.flows[flow].is_reverse), packet);
        }
        let timer_at_ns = self.endpoints[flow].sender.timer_at_ns;
        if let Some(at_ns) = timer_at_ns.filter(|_| timer_at_ns != timer_before) {
            self.queue.push(at_ns, Event::SenderTimer { flow });
        }
    }

    fn offer(&mut self, now_ns: u64, link: usize, packet: Packet) {
        if let Some(at_ns) = self.links[link].offer(now_ns, packet) {
            self.queue.push(at_ns, Event::Sent { link });
        }
    }
}

impl Record {
    fn new(bins: usize) -> Self {
        Self {
            bins_bytes: vec![0; bins],
            wait_ns_sum: vec![0; bins],
            wait_count: vec![0; bins],
            bursts_ns: Vec::new(),
            rwnd_trace: Vec::new(),
        }
    }

    fn note(&mut self, now_ns: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.bins_bytes[(now_ns / BIN_NS) as usize] += bytes;
        match self.bursts_ns.last_mut() {
            Some((_, last_ns)) if now_ns - *last_ns < BURST_GAP_NS => *last_ns = now_ns,
            _ => self.bursts_ns.push((now_ns, now_ns)),
        }
    }

    /// Complete bursts and the pauses between them; `None` if there is no pause.
    pub fn on_and_off(&self) -> Option<(Spans, Spans)> {
        let (_, on) = self.bursts_ns.split_last()?;
        let off: Spans = self
            .bursts_ns
            .windows(2)
            .map(|pair| (pair[0].1, pair[1].0))
            .collect();
        (!off.is_empty()).then(|| (on.to_vec(), off))
    }

    /// Goodput in Mbit/s between two times.
    pub fn goodput_mbit(&self, from_ns: u64, to_ns: u64) -> f64 {
        let bins = &self.bins_bytes[(from_ns / BIN_NS) as usize..(to_ns / BIN_NS) as usize];
        bins.iter().sum::<u64>() as f64 * 8e3 / (bins.len() as u64 * BIN_NS) as f64
    }

    /// Mean time in the queue between two times.
    pub fn wait_ms(&self, from_ns: u64, to_ns: u64) -> f64 {
        let range = (from_ns / BIN_NS) as usize..(to_ns / BIN_NS) as usize;
        let sum_ns: u64 = self.wait_ns_sum[range.clone()].iter().sum();
        let count: u64 = self.wait_count[range].iter().sum();
        sum_ns as f64 / count.max(1) as f64 / 1e6
    }
}
