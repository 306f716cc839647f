// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The paper's experiments, shortened where that changes nothing, and its results.

use crate::network::{MILLISECOND_NS, SECOND_NS};
use crate::receiver::Yielding;
use crate::run::{Flow, Record, Setting, Spans, run};
use crate::sender::Application;
use ebb_algorithms::Policy;

/// The most that the paper's link carries.
const LINK_MBIT: f64 = 9.41;

pub struct Metric {
    pub name: String,
    pub value: f64,
    pub paper: f64,
}

impl Metric {
    fn new(name: impl Into<String>, value: f64, paper: f64) -> Self {
        Self {
            name: name.into(),
            value,
            paper,
        }
    }
}

/// All metrics of a policy, in a fixed order.
pub fn metrics(policy: &Policy, seed: u64, sender_tick_ns: u64) -> Vec<Metric> {
    let mut all = constant_rate(policy, seed, sender_tick_ns);
    all.extend(alone(policy, seed, sender_tick_ns));
    for (period_s, off, share) in [
        (1, 0.15, 0.89),
        (3, 0.20, 0.88),
        (10, 0.33, 0.86),
        (30, 0.56, 0.77),
    ] {
        all.extend(on_off(policy, seed, sender_tick_ns, period_s, off, share));
    }
    for (flows, jain) in [(2, 0.96), (4, 0.99)] {
        all.push(fairness(policy, seed, sender_tick_ns, flows, jain));
    }
    all
}

fn yields(policy: &Policy, from_ns: u64) -> Option<Yielding> {
    Some(Yielding {
        policy: policy.clone(),
        from_ns,
        until_ns: u64::MAX,
    })
}

pub fn constant() -> Application {
    Application::Constant {
        bits_per_s: 6_000_000,
        every_ns: 10 * MILLISECOND_NS,
    }
}

fn flow(application: Application, start_ns: u64) -> Flow {
    Flow {
        application,
        start_ns,
        is_reverse: false,
        yielding: None,
    }
}

fn reverse() -> Flow {
    Flow {
        is_reverse: true,
        ..flow(constant(), 0)
    }
}

/// fig-15, fig-16.
pub fn constant_rate(policy: &Policy, seed: u64, sender_tick_ns: u64) -> Vec<Metric> {
    let start_ns = 5 * SECOND_NS;
    let setting = Setting {
        duration_ns: 95 * SECOND_NS,
        seed,
        sender_tick_ns,
        ..Setting::default()
    };
    let flows = [
        flow(constant(), 0),
        reverse(),
        Flow {
            yielding: yields(policy, 0),
            ..flow(Application::Greedy, start_ns)
        },
    ];
    let records = run(&setting, &flows);
    let end_ns = setting.duration_ns;
    let kept = records[0].goodput_mbit(start_ns, end_ns) / 6.0;
    let used = records[2].goodput_mbit(start_ns, end_ns) / (LINK_MBIT - 5.98);
    let added_ms = records[0].wait_ms(start_ns, end_ns) - records[0].wait_ms(SECOND_NS, start_ns);
    dump(&records[2]);
    vec![
        Metric::new("15 kept", kept, 0.997),
        Metric::new("15 used", used, 0.83),
        Metric::new("16 rtt", added_ms / 104.0, 0.40),
    ]
}

/// fig-17.
pub fn alone(policy: &Policy, seed: u64, sender_tick_ns: u64) -> Vec<Metric> {
    let from_ns = 30 * SECOND_NS;
    let setting = Setting {
        duration_ns: 120 * SECOND_NS,
        seed,
        sender_tick_ns,
        ..Setting::default()
    };
    let flows = [Flow {
        yielding: yields(policy, from_ns),
        ..flow(Application::Greedy, 0)
    }];
    let records = run(&setting, &flows);
    let overall = records[0].goodput_mbit(from_ns, setting.duration_ns) / LINK_MBIT;
    let stable = records[0].goodput_mbit(from_ns + 25 * SECOND_NS, setting.duration_ns) / LINK_MBIT;
    dump(&records[0]);
    vec![
        Metric::new("17 all", overall, 0.93),
        Metric::new("17 late", stable, 0.99),
    ]
}

/// table-1: use of the off periods, and the other flow's share of the on periods.
pub fn on_off(
    policy: &Policy,
    seed: u64,
    sender_tick_ns: u64,
    period_s: u64,
    off: f64,
    share: f64,
) -> Vec<Metric> {
    let duration_ns = (60 + 6 * period_s) * SECOND_NS;
    let setting = Setting {
        duration_ns,
        seed,
        sender_tick_ns,
        ..Setting::default()
    };
    let application = Application::OnOff {
        period_ns: period_s * SECOND_NS,
    };
    let flows = [
        flow(application, 10 * SECOND_NS),
        reverse(),
        Flow {
            yielding: yields(policy, 0),
            ..flow(Application::Greedy, 0)
        },
    ];
    let records = run(&setting, &flows);
    let (be, lbe) = (&records[0], &records[2]);
    let (on, off_spans) = be
        .on_and_off()
        .unwrap_or_else(|| scheduled(&setting, period_s));
    let be_on = mean_goodput(&on, be);
    let lbe_on = mean_goodput(&on, lbe);
    let lbe_off = mean_goodput(&off_spans, lbe);
    vec![
        Metric::new(format!("T{period_s} off"), lbe_off / LINK_MBIT, off),
        Metric::new(format!("T{period_s} BE"), be_on / (be_on + lbe_on), share),
    ]
}

/// Mean over the periods of each period's goodput, as the paper has it, in Mbit/s.
fn mean_goodput(spans: &[(u64, u64)], record: &Record) -> f64 {
    let rates: Vec<f64> = spans
        .iter()
        .filter(|(from_ns, to_ns)| *to_ns > *from_ns + 100 * MILLISECOND_NS)
        .map(|(from_ns, to_ns)| record.goodput_mbit(*from_ns, *to_ns))
        .collect();
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

/// On and off periods as the application meant them, for a flow that never came to rest.
fn scheduled(setting: &Setting, period_s: u64) -> (Spans, Spans) {
    let starts = (10..setting.duration_ns / SECOND_NS - period_s).step_by(period_s as usize);
    let spans = starts.map(|from_s| (from_s * SECOND_NS, (from_s + period_s) * SECOND_NS));
    let (on, off): (Vec<_>, Vec<_>) = spans
        .enumerate()
        .partition(|(number, _)| number.is_multiple_of(2));
    let plain = |spans: Vec<(usize, (u64, u64))>| spans.into_iter().map(|it| it.1).collect();
    (plain(on), plain(off))
}

/// table-2: Jain's index of flows that start 20 s apart.
pub fn fairness(policy: &Policy, seed: u64, sender_tick_ns: u64, count: u64, jain: f64) -> Metric {
    let last_ns = (count - 1) * 20 * SECOND_NS;
    let setting = Setting {
        duration_ns: last_ns + 180 * SECOND_NS,
        seed,
        sender_tick_ns,
        ..Setting::default()
    };
    let flows: Vec<Flow> = (0..count)
        .map(|index| Flow {
            yielding: yields(policy, 0),
            ..flow(Application::Greedy, index * 20 * SECOND_NS)
        })
        .collect();
    let rates: Vec<f64> = run(&setting, &flows)
        .iter()
        .map(|record| record.goodput_mbit(last_ns, setting.duration_ns))
        .collect();
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    Metric::new(
        format!("Jain {count}"),
        sum * sum / (count as f64 * squares),
        jain,
    )
}

/// Prints the window and goodput second by second if asked to.
fn dump(record: &Record) {
    if std::env::var_os("VULTURE_TRACE").is_none() {
        return;
    }
    let mut trace = record.rwnd_trace.iter().peekable();
    for second in 0..record.bins_bytes.len() as u64 / 20 {
        let end_ns = (second + 1) * SECOND_NS;
        let mut window = None;
        while let Some(entry) = trace.next_if(|entry| entry.0 < end_ns) {
            window = Some(entry.1);
        }
        let rate = record.goodput_mbit(second * SECOND_NS, end_ns);
        eprintln!("{second} s: window {window:?} goodput {rate:.2}");
    }
}
