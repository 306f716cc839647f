// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queues of the router itself, as an administrator against full ones sets them up.

use std::time::Duration;

use ebb_kernel::requires;
use ebb_lab::home::LAN;
use ebb_lab::judging::{self, Attempt};
use ebb_lab::namespace::NamespaceHandle;

use crate::held::{Alone, EMPTY_MS, Way, alone};
use crate::home::Home;
use crate::support::Ebb;
use crate::transfers::run;
use crate::{at_once, can_run};

/// What a shaper leaves of the link, and that without headers.
const SHAPED_MBIT_PER_S: f64 = 8.0;
const SHAPED_GOODPUT_MBIT_PER_S: f64 = 0.96 * SHAPED_MBIT_PER_S;

/// What a download that is alone has of that at the least.
const MOST_OF_IT: f64 = 0.93;
/// The same where trains pass a shaper faster than its rate: it takes the law four yields to find out
/// that nobody is there (docs/ebb-law.md, §slower), which is a third of the time here.
const MORE_THAN_HALF: f64 = 0.6;

/// What may wait at a shaper behind the gateway. The law does not see this queue, but takes no more
/// than the way to the server needs; without a gateway there are 140 ms and more.
const BEHIND_MS: f64 = 80.0;

struct Case {
    what: &'static str,
    /// Words of `ip` and `tc`, a line each; QUEUE is the discipline.
    lines: &'static str,
    /// Faster than the link, or slower.
    queue: &'static str,
    shaper: Option<Shaper>,
}

struct Shaper {
    /// Whose queue is the narrow one.
    interface: &'static str,
    /// What may wait there.
    most_ms: f64,
    /// Of what it leaves without headers.
    least_part: f64,
}

const IN_FRONT: Shaper = Shaper {
    interface: "ifb0",
    most_ms: EMPTY_MS,
    least_part: MOST_OF_IT,
};

/// What arrives is sent through a device of its own, as there is no queue for what arrives.
const ON_THE_WAY_IN: &str = "ip link add ifb0 type ifb
ip link set ifb0 up
tc qdisc add dev ebb0 ingress
tc filter add dev ebb0 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect \
dev ifb0
tc qdisc add dev ifb0 root QUEUE";
const ON_BOTH_SIDES: &str = "tc qdisc add dev lan root QUEUE
tc qdisc add dev ebb0 root QUEUE";
const TO_THE_DEVICES: &str = "tc qdisc add dev lan root QUEUE";

const WIDE: &str = "tbf rate 50mbit burst 20k limit 100k";
const NARROW: &str = "tbf rate 8mbit burst 10k limit 300k";
/// With a bucket as large as tbf(8) asks for at the least, where there are 250 ticks a second.
const NARROW_AND_EVEN: &str = "tbf rate 8mbit burst 4k limit 300k";
const WIDE_CAKE: &str = "cake bandwidth 50mbit";
const NARROW_CAKE: &str = "cake bandwidth 8mbit";

const CASES: [Case; 6] = [
    Case {
        what: "a queue on both sides",
        lines: ON_BOTH_SIDES,
        queue: WIDE,
        shaper: None,
    },
    Case {
        what: "a shaper on the way in",
        lines: ON_THE_WAY_IN,
        queue: NARROW_AND_EVEN,
        shaper: Some(IN_FRONT),
    },
    Case {
        what: "a shaper on the way in that lets trains pass",
        lines: ON_THE_WAY_IN,
        queue: NARROW,
        shaper: Some(Shaper {
            least_part: MORE_THAN_HALF,
            ..IN_FRONT
        }),
    },
    Case {
        what: "a shaper to the devices",
        lines: TO_THE_DEVICES,
        queue: NARROW,
        shaper: Some(Shaper {
            interface: LAN,
            most_ms: BEHIND_MS,
            ..IN_FRONT
        }),
    },
    Case {
        what: "CAKE on both sides",
        lines: ON_BOTH_SIDES,
        queue: WIDE_CAKE,
        shaper: None,
    },
    Case {
        what: "CAKE on the way in",
        lines: ON_THE_WAY_IN,
        queue: NARROW_CAKE,
        shaper: Some(IN_FRONT),
    },
];

fn among_queues(case: &Case) -> Attempt {
    let home = Home::start(1);
    let router = home.path().client().clone();
    for line in case.lines.lines() {
        let line = line.replace("QUEUE", case.queue);
        let words: Vec<_> = line.split_whitespace().collect();
        run(router.command(words[0]).args(&words[1..]));
    }
    let ebb = Ebb::new();
    let gateway = home.gateway(&ebb, &[], "[[rule]]\neverything = true\n");
    let mut backlog_bytes = 0.0;
    let alone = alone(home, Way::Download, |_| {
        if let Some(shaper) = &case.shaper {
            backlog_bytes = mean_backlog_bytes(&router, shaper.interface);
        }
    });
    gateway.kill().unwrap();
    match &case.shaper {
        None => alone.judge(case.what, true),
        Some(shaper) => judge_shaped(case.what, &alone, shaper, backlog_bytes),
    }
}

fn judge_shaped(what: &str, alone: &Alone, shaper: &Shaper, backlog_bytes: f64) -> Attempt {
    let most_ms = shaper.most_ms;
    let waiting_ms = backlog_bytes * 8.0 / (SHAPED_MBIT_PER_S * 1e3);
    let mbit_per_s = alone.mbit_per_s;
    eprintln!("{what}: its queue {waiting_ms:.1} ms, {mbit_per_s:.2} Mbit/s");
    let mut wrong = Vec::new();
    if waiting_ms > most_ms {
        wrong.push(format!("{what}: its queue {waiting_ms:.1} of {most_ms} ms"));
    }
    if mbit_per_s < shaper.least_part * SHAPED_GOODPUT_MBIT_PER_S {
        wrong.push(format!("{what}: {mbit_per_s:.2} Mbit/s"));
    }
    Attempt::over(&alone.report, wrong)
}

/// What waits at an interface, for a while.
fn mean_backlog_bytes(router: &NamespaceHandle, interface: &str) -> f64 {
    const LOOKS: u32 = 15;
    let look = |_| {
        std::thread::sleep(Duration::from_millis(80));
        let mut tc = router.command("tc");
        let text = run(tc.args(["-s", "-j", "qdisc", "show", "dev", interface, "root"]));
        let shown: serde_json::Value = serde_json::from_str(&text).unwrap();
        shown[0]["backlog"].as_f64().unwrap()
    };
    (0..LOOKS).map(look).sum::<f64>() / f64::from(LOOKS)
}

fn has_queue(words: &str) -> bool {
    let namespace = NamespaceHandle::create().unwrap();
    let mut tc = namespace.command("tc");
    let words = format!("qdisc add dev lo root {words}");
    let output = tc.args(words.split_whitespace()).output().unwrap();
    output.status.success()
}

#[test]
fn queues_of_the_router_itself_stay_short_before_and_behind_the_gateway() {
    let name = "queues_of_the_router_itself_stay_short_before_and_behind_the_gateway";
    if !can_run(name) {
        return;
    }
    let has_cake = requires(name, "cake", "CAKE in the kernel", has_queue(WIDE_CAKE));
    let is_there = |case: &&Case| has_cake || !case.queue.starts_with("cake");
    let cases: Vec<_> = CASES.iter().filter(is_there).collect();
    judging::judge(name, || at_once(&cases, |case| among_queues(case)));
}
