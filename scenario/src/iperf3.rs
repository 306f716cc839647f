// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A run in the form of `iperf3 --json`, for whoever reads that already. A flow is a stream, a bin
//! of the time series an interval, and what is outside of the interval that is reported is omitted,
//! as by `--omit`. Keys of what is not known are left out, but for those that the package `iperf3`
//! insists on where all is TCP: they are 0.

mod document;

use ebb_link::Nanos;

use crate::{
    ApplicationMeasure, Distribution, FlowMeasure, FlowOutcome, FlowSeries, Interval, NodeId,
    Outcome, Results, Scenario,
};
use document::{
    Bin, Connected, Document, End, Ended, Most, Now, Packets, Processors, Rate, Start, TestStart,
    Timestamp,
};

impl Results {
    /// A run as JSON in the form of iperf3, in one line, with an interval of the scenario as the
    /// time that counts. *Shape:* both are places in the lists of this result; none: there is no
    /// such run or interval.
    pub fn to_iperf3(&self, run: usize, interval: usize) -> Option<String> {
        let scenario = &self.scenario;
        let outcome = self.runs.get(run)?;
        let counted = scenario.intervals.get(interval)?;
        let flows = scenario.flows.iter().zip(&outcome.flows).enumerate();
        let series = &outcome.series.flows;
        let streams = flows.map(|(place, (flow, outcome))| {
            Some(Stream {
                socket: place + 1,
                is_tcp: flow.traffic.is_tcp(),
                flow: outcome,
                measure: outcome.measures.get(interval)?,
                series: series.get(place),
            })
        });
        let streams: Vec<Stream> = streams.collect::<Option<_>>()?;
        let document = Document {
            title: Some(scenario.title.as_str()).filter(|it| !it.is_empty()),
            start: start(scenario, outcome, counted, &streams),
            intervals: bins(scenario, counted, &streams),
            end: end(scenario, counted, &streams),
        };
        let mut text = serde_json::to_string(&document).expect("text, numbers and lists are JSON");
        text.push('\n');
        Some(text)
    }
}

/// A flow, with what it did in the time that counts.
struct Stream<'a> {
    socket: usize,
    is_tcp: bool,
    flow: &'a FlowOutcome,
    measure: &'a FlowMeasure,
    /// None: the scenario keeps nothing over time of its flows.
    series: Option<&'a FlowSeries>,
}

fn start<'a>(
    scenario: &'a Scenario,
    outcome: &'a Outcome,
    counted: &Interval,
    streams: &[Stream<'a>],
) -> Start<'a> {
    let host = |node: NodeId| scenario.nodes[node.index()].name.as_str();
    let flows = scenario.flows.iter().zip(streams);
    let connected = flows.map(|(flow, stream)| Connected {
        socket: stream.socket,
        flow: &stream.flow.name,
        local_host: host(flow.from),
        local_port: 0,
        remote_host: host(flow.to),
        remote_port: 0,
    });
    Start {
        connected: connected.collect(),
        version: format!("ebb {}", outcome.version),
        system_info: &outcome.engine,
        timestamp: Timestamp::EPOCH,
        test_start: TestStart {
            protocol: protocol(streams),
            num_streams: streams.len(),
            blksize: 0,
            omit: counted.from.as_secs_f64(),
            duration: counted.length().as_secs_f64(),
            interval: scenario.bin.as_secs_f64(),
            reverse: 0,
        },
    }
}

/// None: some are of the one, some of the other.
fn protocol(streams: &[Stream<'_>]) -> Option<&'static str> {
    match (
        streams.iter().all(|it| it.is_tcp),
        streams.iter().any(|it| it.is_tcp),
    ) {
        (true, _) => Some("TCP"),
        (_, false) => Some("UDP"),
        _ => None,
    }
}

fn bins(scenario: &Scenario, counted: &Interval, streams: &[Stream<'_>]) -> Vec<Bin> {
    let has_series = streams.iter().any(|it| it.series.is_some());
    let bins = if has_series { scenario.bins() } else { 0 };
    let bin = |number: usize| {
        let edge = |number: usize| Nanos(scenario.bin.0.saturating_mul(number as u64));
        let time = Interval {
            name: String::new(),
            from: edge(number),
            to: edge(number + 1).min(scenario.duration),
        };
        let is_omitted = time.from < counted.from || time.to > counted.to;
        let all = streams.iter();
        let streams: Vec<Rate> = all.map(|it| it.in_bin(number, &time, is_omitted)).collect();
        let sum = Rate {
            omitted: Some(is_omitted),
            ..sum(&time, &streams)
        };
        Bin { streams, sum }
    };
    (0..bins).map(bin).collect()
}

fn end<'a>(scenario: &Scenario, counted: &Interval, streams: &[Stream<'a>]) -> End<'a> {
    let sent: Vec<Rate> = streams
        .iter()
        .map(|it| it.sent(scenario, counted))
        .collect();
    let received: Vec<Rate> = streams.iter().map(|it| it.received(counted)).collect();
    let sum_sent = Rate {
        sender: true,
        ..sum(counted, &sent)
    };
    let has_sum = protocol(streams) == Some("UDP");
    let sum_all = has_sum.then(|| Rate {
        packets: all_packets(&sent),
        sender: true,
        ..sum(counted, &sent)
    });
    let sum_received = sum(counted, &received);
    let ended = |((stream, sent), received): ((&Stream<'_>, Rate), Rate)| match stream.is_tcp {
        true => Ended::Tcp {
            sender: Box::new(sent),
            receiver: Box::new(received),
        },
        false => Ended::Udp {
            udp: Box::new(sent),
        },
    };
    let mut senders = streams.iter().filter(|it| it.is_tcp);
    let first = senders.next().map(|it| it.flow.sender.as_str());
    let sender_tcp_congestion =
        first.filter(|first| senders.all(|it| it.flow.sender.as_str() == *first));
    End {
        streams: streams.iter().zip(sent).zip(received).map(ended).collect(),
        sum: sum_all,
        sum_sent,
        sum_received,
        cpu_utilization_percent: Processors::default(),
        sender_tcp_congestion,
    }
}

impl Stream<'_> {
    /// What its receiver was given in a bin, and what its sender saw then.
    fn in_bin(&self, number: usize, time: &Interval, is_omitted: bool) -> Rate {
        let of = |values: fn(&FlowSeries) -> &Vec<Option<u64>>| {
            let series = self.series?;
            values(series).get(number).copied().flatten()
        };
        let goodput = self.series.and_then(|it| it.goodput_bits_per_s.get(number));
        let bits_per_second = goodput.copied().unwrap_or(0.0);
        let seconds = time.length().as_secs_f64();
        let rtt_ms = self.series.and_then(|it| it.rtt_ms.get(number)).copied();
        let resent = self.series.map(|it| &it.retransmitted_pkts);
        Rate {
            socket: Some(self.socket),
            bytes: (bits_per_second * seconds / 8.0).round() as u64,
            bits_per_second,
            retransmits: resent.and_then(|it| it.get(number)).copied(),
            now: Some(Now {
                snd_cwnd: of(|it| &it.cwnd_bytes),
                snd_wnd: of(|it| &it.rwnd_bytes),
                rtt: rtt_ms.flatten().map(micros),
            }),
            omitted: Some(is_omitted),
            ..within(time)
        }
    }

    /// What its application had TCP send, each byte once, or its packets of UDP.
    fn sent(&self, scenario: &Scenario, counted: &Interval) -> Rate {
        let measure = self.measure;
        let bytes = measure.sent_bytes - measure.retransmitted_bytes.min(measure.sent_bytes);
        let seconds = counted.length().as_secs_f64();
        Rate {
            socket: Some(self.socket),
            bytes,
            bits_per_second: bytes as f64 * 8.0 / seconds,
            retransmits: self.is_tcp.then_some(measure.retransmitted_pkts),
            most: self.is_tcp.then(|| self.most(scenario, counted)),
            packets: packets(measure),
            sender: true,
            ..within(counted)
        }
    }

    fn received(&self, counted: &Interval) -> Rate {
        Rate {
            socket: Some(self.socket),
            bytes: self.measure.delivered_bytes,
            bits_per_second: self.measure.goodput_bits_per_s,
            ..within(counted)
        }
    }

    /// The greatest windows at the ends of bins that are not omitted, and round trips.
    fn most(&self, scenario: &Scenario, counted: &Interval) -> Most {
        let first = counted.from.0.div_ceil(scenario.bin.0.max(1)) as usize;
        let last = counted.to.0.div_ceil(scenario.bin.0.max(1)) as usize;
        let greatest = |values: fn(&FlowSeries) -> &Vec<Option<u64>>| {
            let values = values(self.series?).iter().take(last).skip(first);
            values.copied().flatten().max()
        };
        let known = |value: fn(&Distribution) -> f64| {
            let rtt_ms = &self.measure.rtt_ms;
            (rtt_ms.count > 0).then(|| micros(value(rtt_ms)))
        };
        Most {
            max_snd_cwnd: greatest(|it| &it.cwnd_bytes),
            max_snd_wnd: greatest(|it| &it.rwnd_bytes),
            max_rtt: known(|it| it.max),
            min_rtt: known(|it| it.min),
            mean_rtt: known(|it| it.mean),
        }
    }
}

fn within(time: &Interval) -> Rate {
    Rate {
        start: time.from.as_secs_f64(),
        end: time.to.as_secs_f64(),
        seconds: time.length().as_secs_f64(),
        ..Rate::default()
    }
}

fn sum(time: &Interval, streams: &[Rate]) -> Rate {
    Rate {
        bytes: streams.iter().map(|it| it.bytes).sum(),
        bits_per_second: streams.iter().map(|it| it.bits_per_second).sum(),
        // Of UDP there is none, and nothing is the sum of nothing.
        retransmits: streams
            .iter()
            .filter_map(|it| it.retransmits)
            .reduce(|one, other| one + other),
        ..within(time)
    }
}

fn packets(measure: &FlowMeasure) -> Option<Packets> {
    match &measure.application {
        Some(ApplicationMeasure::Udp { lost_pkts, .. }) => {
            Some(share(*lost_pkts, measure.sent_pkts))
        }
        Some(ApplicationMeasure::Call {
            sent_pkts,
            lost_pkts,
            ..
        }) => Some(share(*lost_pkts, *sent_pkts)),
        _ => None,
    }
}

fn all_packets(streams: &[Rate]) -> Option<Packets> {
    let known = streams.iter().filter_map(|it| it.packets);
    known.reduce(|one, other| {
        share(
            one.lost_packets + other.lost_packets,
            one.packets + other.packets,
        )
    })
}

fn share(lost_packets: u64, packets: u64) -> Packets {
    Packets {
        lost_packets,
        packets,
        lost_percent: 100.0 * lost_packets as f64 / packets.max(1) as f64,
    }
}

fn micros(millis: f64) -> u64 {
    (millis * 1e3).round() as u64
}
