// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios that nobody chose: the held-out half of the matrix.
use std::fmt::Write as _;

use ebb_link::Nanos;
use ebb_scenario::{Seeds, Stream};

/// The seed of the half that is stored in `held-out.toml`.
pub const HELD_OUT_SEED: u64 = 20_261_123;
/// Scenarios of a half.
const SCENARIOS: usize = 112;
/// One of so many is quick, if no more packets fit through its link.
const QUICK_EVERY: usize = 4;
const QUICK_PKTS: f64 = 60_000.0;

/// Ranges from which values are drawn, evenly on a logarithmic scale.
const RATE_KBIT: [f64; 2] = [2_000.0, 300_000.0];
const RTT_US: [f64; 2] = [5_000.0, 400_000.0];
const QUEUE_BDP: [f64; 2] = [0.25, 4.0];
const LOSS_PERCENT: [f64; 2] = [0.001, 0.3];
const TURN_MS: [f64; 2] = [500.0, 10_000.0];
/// The same, evenly.
const CONSTANT_SHARE: [f64; 2] = [0.2, 0.9];
/// Most flows of the law.
const FLOWS: usize = 8;
/// How often there is one flow, and no loss.
const ONE_FLOW: f64 = 0.6;
const NO_LOSS: f64 = 0.7;
/// Fewer packets than this have no room in a queue that anybody sells.
const LEAST_PKTS: f64 = 8.0;
/// Rate for each of those who read pages.
const KBIT_PER_PERSON: f64 = 2_500.0;
const MOST_PEOPLE: f64 = 20.0;
/// How long others come, and are away before and after: so many round trips.
const PHASE_RTTS: f64 = 100.0;
const PHASE_S: [f64; 2] = [10.0, 40.0];
const BYTES_PER_KBIT: f64 = 125.0;
/// Bytes of a packet on the link.
pub(super) const PACKET_BYTES: f64 = 1500.0;

/// What others do, and how often.
#[derive(Clone, Copy)]
enum Others {
    Greedy(&'static str),
    First,
    Constant,
    OnOff,
    Web,
    Nobody,
}

const OTHERS: [(Others, usize); 8] = [
    (Others::Greedy("cubic"), 24),
    (Others::Greedy("reno"), 8),
    (Others::Greedy("bbr"), 8),
    (Others::First, 14),
    (Others::Constant, 14),
    (Others::OnOff, 18),
    (Others::Web, 8),
    (Others::Nobody, 6),
];

/// Queues, and how often each is met.
const QUEUES: [(&str, usize); 5] = [
    ("drop-tail", 50),
    ("red", 10),
    ("codel", 10),
    ("fq-codel", 20),
    ("pie", 10),
];

/// The text of a matrix whose scenarios were drawn with this seed: the same text each time.
pub fn draw(seed: u64) -> String {
    let mut text = format!(
        "# SPDX-License-Identifier: Apache-2.0 OR MIT\n\
         # The half of the matrix that no law is tuned on: docs/score.md. Drawn, not chosen:\n\
         # cargo run -q -p ebb-experiments --example draw_held_out -- {seed}\n"
    );
    for number in 1..=SCENARIOS {
        let mut random = Seeds::new(seed).stream("held-out", &number.to_string());
        Drawn::new(&mut random).write(number, &mut text);
    }
    text
}

struct Drawn {
    others: Others,
    rate_kbit: f64,
    rtt_us: f64,
    flows: usize,
    turn_ms: f64,
    share: f64,
    queue: String,
    queue_title: String,
    loss_percent: Option<f64>,
}

impl Drawn {
    fn new(random: &mut Stream) -> Self {
        let others = pick(random, &OTHERS);
        let rate_kbit = rounded(between(random, RATE_KBIT));
        let rtt_us = rounded(between(random, RTT_US));
        let (queue, queue_title) = queue(random, rate_kbit * rtt_us / 8e3 / PACKET_BYTES);
        let is_one = random.unit() < ONE_FLOW;
        let several = 2 + (random.unit() * (FLOWS - 1) as f64) as usize;
        let has_no_loss = random.unit() < NO_LOSS;
        let loss_percent = rounded(between(random, LOSS_PERCENT));
        Self {
            others,
            rate_kbit,
            rtt_us,
            flows: if is_one { 1 } else { several },
            turn_ms: rounded(between(random, TURN_MS)),
            share: CONSTANT_SHARE[0] + random.unit() * (CONSTANT_SHARE[1] - CONSTANT_SHARE[0]),
            queue,
            queue_title,
            loss_percent: (!has_no_loss).then_some(loss_percent),
        }
    }

    fn phase_s(&self) -> f64 {
        (PHASE_RTTS * self.rtt_us / 1e6)
            .clamp(PHASE_S[0], PHASE_S[1])
            .ceil()
    }

    fn write(&self, number: usize, text: &mut String) {
        let phase_s = self.phase_s();
        let (from_s, to_s, end_s) = (phase_s, 2.0 * phase_s, 3.0 * phase_s);
        let mut course = self.course(from_s, to_s, end_s);
        let rtt = Nanos::from_micros(self.rtt_us as u64);
        course.set.extend([
            format!("bottleneck.rate={}kbit", self.rate_kbit),
            format!("bottleneck.rtt={rtt}"),
            format!("bottleneck.queue={}", self.queue),
            format!("duration={end_s}s"),
        ]);
        if self.flows > 1 {
            course = course
                .with(format!("flow.mine.count={}", self.flows))
                .with("flow.mine.stagger=250ms".to_owned());
        }
        if let Some(percent) = self.loss_percent {
            course = course.with(format!("bottleneck.loss={percent}%"));
        }
        let pkts = self.rate_kbit * BYTES_PER_KBIT * end_s / PACKET_BYTES;
        let is_quick = number.is_multiple_of(QUICK_EVERY) && pkts < QUICK_PKTS;
        let set: String = course
            .set
            .iter()
            .map(|one| format!("  '{one}',\n"))
            .collect();
        let _ = write!(
            text,
            "\n[[scenario]]\nname = \"drawn-{number}\"\ntitle = \"{}; {}\"\n\
             file = \"{}\"\nset = [\n{set}]\n{}{}",
            course.title,
            self.title(),
            course.file,
            course.busy,
            if is_quick { "quick = true\n" } else { "" },
        );
    }

    fn title(&self) -> String {
        let loss = self.loss_percent;
        format!(
            "{} Mbit/s, {}, {}{}{}",
            self.rate_kbit / 1e3,
            Nanos::from_micros(self.rtt_us as u64),
            self.queue_title,
            if self.flows > 1 {
                format!(", {} flows", self.flows)
            } else {
                String::new()
            },
            loss.map_or(String::new(), |percent| format!(", {percent}% lost")),
        )
    }

    fn course(&self, from_s: f64, to_s: f64, end_s: f64) -> Course {
        match self.others {
            Others::Greedy(sender) => {
                let setting = format!("flow.other.sender={sender}");
                Course::once("greedy.toml", format!("greedy {sender}"), from_s, to_s).with(setting)
            }
            Others::First => {
                let title = "greedy cubic, there first".to_owned();
                let mut course = Course::once("greedy.toml", title, from_s, to_s);
                course.set[0] = "flow.other.start=0s".to_owned();
                course.with(format!("flow.mine.start={}s", from_s / 2.0))
            }
            Others::Constant => {
                let kbit = rounded(self.rate_kbit * self.share);
                let title = format!("constant {} Mbit/s", kbit / 1e3);
                let setting = format!("flow.other.rate={kbit}kbit");
                Course::once("constant.toml", title, from_s, to_s).with(setting)
            }
            Others::OnOff => Course::by_turns(self.turn_ms, from_s, end_s),
            Others::Web => {
                let people = (self.rate_kbit / KBIT_PER_PERSON).clamp(1.0, MOST_PEOPLE) as u32;
                let setting = format!("flow.pages.sessions={people}");
                Course::untimed("web.toml", format!("{people} read pages")).with(setting)
            }
            Others::Nobody => Course::untimed("alone.toml", "nobody else".to_owned()),
        }
    }
}

/// When others come and go, as a matrix has it.
struct Course {
    file: &'static str,
    title: String,
    set: Vec<String>,
    busy: String,
}

impl Course {
    fn untimed(file: &'static str, title: String) -> Self {
        Self {
            file,
            title,
            set: Vec::new(),
            busy: String::new(),
        }
    }

    fn once(file: &'static str, title: String, from_s: f64, to_s: f64) -> Self {
        Self {
            busy: format!("busy = [\"{from_s}s\", \"{to_s}s\"]\n"),
            ..Self::untimed(file, title)
        }
        .with(format!("flow.other.start={from_s}s"))
        .with(format!("flow.other.stop={to_s}s"))
    }

    fn by_turns(turn_ms: f64, from_s: f64, end_s: f64) -> Self {
        Self {
            busy: format!(
                "busy = [\"{from_s}s\", \"{end_s}s\"]\n\
                 busy_on = \"{turn_ms}ms\"\nbusy_off = \"{turn_ms}ms\"\n"
            ),
            ..Self::untimed("on-off.toml", format!("on and off for {turn_ms}ms"))
        }
        .with(format!("flow.other.period={turn_ms}ms"))
        .with(format!("flow.other.start={from_s}s"))
    }

    fn with(mut self, setting: String) -> Self {
        self.set.push(setting);
        self
    }
}

/// Setting and title.
fn queue(random: &mut Stream, bdp_pkts: f64) -> (String, String) {
    let kind = pick(random, &QUEUES);
    let bdps = rounded(between(random, QUEUE_BDP));
    let pkts = (bdps * bdp_pkts).round().max(LEAST_PKTS);
    match kind {
        "drop-tail" => (format!("{pkts}"), format!("queue of {pkts}")),
        // As far apart as RED's authors have them: the limit, its half, its sixth.
        "red" => {
            let [limit, most, least] = [1.0, 2.0, 6.0].map(|part| (pkts.max(30.0) / part).round());
            let keys = format!("limit = {limit}, max_threshold = {most}, min_threshold = {least}");
            (
                format!("{{ kind = \"red\", {keys} }}"),
                format!("RED of {limit}"),
            )
        }
        kind => (format!("{{ kind = \"{kind}\" }}"), kind.to_owned()),
    }
}

/// Evenly on a logarithmic scale.
pub(super) fn between(random: &mut Stream, [least, most]: [f64; 2]) -> f64 {
    least * (most / least).powf(random.unit())
}

/// Two digits that count.
pub(super) fn rounded(value: f64) -> f64 {
    let digit = 10_f64.powf(value.log10().floor() - 1.0);
    let digits = (value / digit).round();
    // Powers below 1 are not exact: what is divided by is.
    if digit < 1.0 {
        digits / (1.0 / digit).round()
    } else {
        digits * digit
    }
}

fn pick<T: Copy>(random: &mut Stream, of: &[(T, usize)]) -> T {
    let all: usize = of.iter().map(|(_, weight)| weight).sum();
    let mut place = (random.unit() * all as f64) as usize;
    for (one, weight) in of {
        match place.checked_sub(*weight) {
            Some(left) => place = left,
            None => return *one,
        }
    }
    of[0].0
}
