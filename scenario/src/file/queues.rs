// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The queue of a link: a size, or a table with a kind.
use ebb_link::{
    CakeSpec, ClassRedSpec, CodelSpec, DualPi2Spec, FqCodelSpec, Isolation, Nanos, PieSpec,
    Probability, QueueLimit, QueueSpec, RedCurve, RedSpec,
};
use toml::de::DeValue;

use super::section::{Section, unknown_name};
use super::value::{FromValue, Size};

/// Packets of this size are meant where a queue is given in bandwidth-delay products.
const BDP_PACKET_BYTES: f64 = 1_500.0;

/// Reads `queue = …`; none if it is not there or wrong.
pub(super) fn read(
    section: &Section<'_, '_>,
    bits_per_s: Option<f64>,
    round_trip: Option<Nanos>,
) -> Option<QueueSpec> {
    let limits = Limits {
        bits_per_s,
        round_trip,
    };
    let value = section.value("queue")?;
    if value.get_ref().is_table() {
        return read_table(&section.section("queue")?, &limits);
    }
    match limits.read(value.get_ref()) {
        Ok(limit) => Some(QueueSpec::DropTail(limit)),
        Err(message) => {
            section.wrong("queue", message);
            None
        }
    }
}

const KINDS: [&str; 9] = [
    "drop-tail",
    "strict-priority",
    "red",
    "class-red",
    "codel",
    "fq-codel",
    "pie",
    "dualpi2",
    "cake",
];

fn read_table(queue: &Section<'_, '_>, limits: &Limits) -> Option<QueueSpec> {
    let kind: String = queue.required("kind", "\"drop-tail\"")?;
    let spec = match kind.as_str() {
        "drop-tail" => limits.required(queue, "limit").map(QueueSpec::DropTail),
        "strict-priority" => read_priority(queue, limits),
        "red" => Some(QueueSpec::Red(read_red(queue, limits))),
        "class-red" => Some(QueueSpec::ClassRed(read_class_red(queue, limits))),
        "codel" => Some(QueueSpec::Codel(read_codel(queue, limits))),
        "fq-codel" => Some(QueueSpec::FqCodel(read_fq_codel(queue, limits))),
        "pie" => Some(QueueSpec::Pie(read_pie(queue, limits))),
        "dualpi2" => Some(QueueSpec::DualPi2(read_dual_pi2(queue, limits))),
        "cake" => Some(QueueSpec::Cake(read_cake(queue, limits))),
        _ => {
            queue.wrong("kind", unknown_name(&kind, KINDS.into_iter()));
            return None;
        }
    };
    queue.finish_with(|key| {
        let right = match key {
            "min" => "min_threshold",
            "max" => "max_threshold",
            "size" | "buffer" => "limit",
            _ => return None,
        };
        Some(format!("unknown key; did you mean `{right}`?"))
    });
    spec
}

fn read_priority(queue: &Section<'_, '_>, limits: &Limits) -> Option<QueueSpec> {
    let lbe_limit = limits.get(queue, "lbe_limit");
    let limit = limits.required(queue, "limit")?;
    Some(QueueSpec::StrictPriority {
        best_effort: limit,
        less_than_best_effort: lbe_limit.unwrap_or(limit),
    })
}

fn read_red(queue: &Section<'_, '_>, limits: &Limits) -> RedSpec {
    let default = RedSpec::default();
    let limit = |key, default| limits.get(queue, key).unwrap_or(default);
    RedSpec {
        limit: limit("limit", default.limit),
        min_threshold: limit("min_threshold", default.min_threshold),
        max_threshold: limit("max_threshold", default.max_threshold),
        max_probability: queue.get_or("max_probability", default.max_probability),
        gentle: queue.get_or("gentle", default.gentle),
        weight: queue.get_or("weight", default.weight),
        ecn: queue.get_or("ecn", default.ecn),
        typical_packet_bytes: read_typical_packet(queue, default.typical_packet_bytes),
    }
}

fn read_class_red(queue: &Section<'_, '_>, limits: &Limits) -> ClassRedSpec {
    let default = ClassRedSpec::default();
    if !queue.has("be") && !queue.has("lbe") {
        queue.wrong_here(
            "thresholds are missing; write be = { … } or lbe = { … } with min_threshold and \
             max_threshold",
        );
    }
    ClassRedSpec {
        limit: limits.get(queue, "limit").unwrap_or(default.limit),
        best_effort: read_curve(queue, "be", limits),
        less_than_best_effort: read_curve(queue, "lbe", limits),
        weight: queue.get_or("weight", default.weight),
        ecn: queue.get_or("ecn", default.ecn),
        only_marks: queue.get_or("only_marks", default.only_marks),
        typical_packet_bytes: read_typical_packet(queue, default.typical_packet_bytes),
    }
}

fn read_curve(queue: &Section<'_, '_>, key: &'static str, limits: &Limits) -> Option<RedCurve> {
    let curve = queue.section(key)?;
    let min_threshold = limits.required(&curve, "min_threshold");
    let max_threshold = limits.required(&curve, "max_threshold");
    let max_probability = curve.get_or("max_probability", Probability::ALWAYS);
    let gentle = curve.get_or("gentle", false);
    curve.finish();
    Some(RedCurve {
        min_threshold: min_threshold?,
        max_threshold: max_threshold?,
        max_probability,
        gentle,
    })
}

fn read_typical_packet(queue: &Section<'_, '_>, default: u32) -> u32 {
    let Some(Size(bytes)) = queue.get("typical_packet") else {
        return default;
    };
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn read_codel(queue: &Section<'_, '_>, limits: &Limits) -> CodelSpec {
    let default = CodelSpec::default();
    CodelSpec {
        limit: limits.get(queue, "limit").unwrap_or(default.limit),
        target: queue.get_or("target", default.target),
        interval: queue.get_or("interval", default.interval),
        ecn: queue.get_or("ecn", default.ecn),
    }
}

fn read_fq_codel(queue: &Section<'_, '_>, limits: &Limits) -> FqCodelSpec {
    let default = FqCodelSpec::default();
    FqCodelSpec {
        limit: limits.get(queue, "limit").unwrap_or(default.limit),
        target: queue.get_or("target", default.target),
        interval: queue.get_or("interval", default.interval),
        ecn: queue.get_or("ecn", default.ecn),
        flows: queue.number_or("flows", (1, 1 << 16), default.flows),
        quantum_bytes: queue.number_or("quantum", (1, 1 << 20), default.quantum_bytes),
    }
}

fn read_pie(queue: &Section<'_, '_>, limits: &Limits) -> PieSpec {
    let default = PieSpec::default();
    PieSpec {
        limit: limits.get(queue, "limit").unwrap_or(default.limit),
        target: queue.get_or("target", default.target),
        update: queue.get_or("update", default.update),
        alpha: queue.get_or("alpha", default.alpha),
        beta: queue.get_or("beta", default.beta),
        max_burst: queue.get_or("max_burst", default.max_burst),
        ecn: queue.get_or("ecn", default.ecn),
    }
}

fn read_dual_pi2(queue: &Section<'_, '_>, limits: &Limits) -> DualPi2Spec {
    let default = DualPi2Spec::default();
    let share = queue.get::<Probability>("classic_share");
    DualPi2Spec {
        limit: limits.get(queue, "limit").unwrap_or(default.limit),
        target: queue.get_or("target", default.target),
        update: queue.get_or("update", default.update),
        alpha: queue.get_or("alpha", default.alpha),
        beta: queue.get_or("beta", default.beta),
        coupling: queue.get_or("coupling", default.coupling),
        step: queue.get_or("step", default.step),
        step_min_pkts: queue.number_or("step_min", (0, 1 << 20), default.step_min_pkts),
        classic_share: share.map_or(default.classic_share, Probability::as_f64),
    }
}

fn read_cake(queue: &Section<'_, '_>, limits: &Limits) -> CakeSpec {
    const ISOLATIONS: [(&str, Isolation); 2] = [
        ("flows", Isolation::Flows),
        ("triple-isolate", Isolation::TripleIsolate),
    ];
    let default = CakeSpec::default();
    let quantum_bytes = queue.number("quantum", (300, 1 << 20));
    CakeSpec {
        limit: limits.get(queue, "limit").unwrap_or(default.limit),
        target: queue.get_or("target", default.target),
        interval: queue.get_or("interval", default.interval),
        ecn: queue.get_or("ecn", default.ecn),
        flows: queue.number_or("flows", (8, 1 << 16), default.flows),
        quantum_bytes: quantum_bytes.map(|bytes| bytes as u32),
        isolation: queue
            .choice("isolation", &ISOLATIONS)
            .unwrap_or(default.isolation),
    }
}

/// Reads sizes of queues, in bandwidth-delay products where the link has these.
struct Limits {
    bits_per_s: Option<f64>,
    round_trip: Option<Nanos>,
}

impl Limits {
    fn required(&self, section: &Section<'_, '_>, key: &'static str) -> Option<QueueLimit> {
        if !section.has(key) {
            section.wrong_here(format!(
                "`{key}` is missing; write {key} = 86 (packets) or \"128kb\""
            ));
        }
        self.get(section, key)
    }

    fn get(&self, section: &Section<'_, '_>, key: &'static str) -> Option<QueueLimit> {
        match self.read(section.value(key)?.get_ref()) {
            Ok(limit) => Some(limit),
            Err(message) => {
                section.wrong(key, message);
                None
            }
        }
    }

    fn read(&self, value: &DeValue<'_>) -> Result<QueueLimit, String> {
        let Some(products) = value.as_str().and_then(|text| text.strip_suffix("bdp")) else {
            return QueueLimit::from_value(value);
        };
        let products: f64 = products
            .trim()
            .parse()
            .ok()
            .filter(|products| (0.0..=1e6).contains(products))
            .ok_or("not a number of bandwidth-delay products; write it like \"2.5bdp\"")?;
        let bits_per_s = self
            .bits_per_s
            .ok_or("a link without a rate has no such product")?;
        let round_trip = self.round_trip.ok_or(
            "the round trip is known for a [bottleneck] only; write packets or bytes here",
        )?;
        let bytes = products * bits_per_s / 8.0 * round_trip.as_secs_f64();
        Ok(QueueLimit::Packets(
            (bytes / BDP_PACKET_BYTES).round().max(1.0) as u64,
        ))
    }
}
