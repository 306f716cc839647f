// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a flow sends: its `kind`, and the keys of that kind.
use ebb_link::{Nanos, Rate};

use super::section::{Section, unknown_name};
use super::value::{Size, SizeDraw, TimeDraw};
use crate::{Call, Connections, Draw, Traffic, Video, Web};

/// The kinds, and the keys that each has beside those of all flows.
const KINDS: [(&str, &[&str]); 9] = [
    ("greedy", &[]),
    ("fixed", &["size"]),
    ("constant", &["rate", "write", "backlog"]),
    ("on-off", &["on", "off", "period", "reconnect"]),
    ("udp", &["rate", "packet"]),
    ("udp-square-wave", &["rate", "low_rate", "period", "packet"]),
    (
        "web",
        &[
            "sessions",
            "objects",
            "object_size",
            "request_size",
            "think",
            "waits",
            "object_gap",
            "connections",
            "parallel",
        ],
    ),
    ("video", &["rate", "packet", "pre_buffer"]),
    ("call", &["interval", "packet", "two_way", "late_after"]),
];

/// Keys of flows with TCP connections.
const TCP_KEYS: [&str; 3] = ["sender", "receiver", "tcp"];

/// Reads `kind` and its keys; answers the name of the kind, too.
pub(super) fn read(section: &Section<'_, '_>) -> (Option<Traffic>, Option<&'static str>) {
    let text = section.get_or("kind", "greedy".to_owned());
    let Some((kind, _)) = KINDS.iter().find(|(kind, _)| *kind == text) else {
        let names = KINDS.iter().map(|(name, _)| *name);
        section.wrong("kind", unknown_name(&text, names));
        // Its keys may be those of any kind.
        for key in KINDS.iter().flat_map(|(_, keys)| *keys) {
            section.note_key(key);
        }
        return (None, None);
    };
    let traffic = match *kind {
        "greedy" => Some(Traffic::Greedy),
        "fixed" => read_fixed(section),
        "constant" => read_constant(section),
        "on-off" => read_on_off(section),
        "udp" => read_udp(section),
        "udp-square-wave" => read_square_wave(section),
        "web" => Some(Traffic::Web(read_web(section))),
        "video" => read_video(section),
        _ => Some(Traffic::Call(read_call(section))),
    };
    (traffic, Some(kind))
}

/// Why a key that is known elsewhere is not known to a flow of this kind.
pub(super) fn explain_key(key: &str, kind: Option<&str>) -> Option<String> {
    let kind = kind?;
    if TCP_KEYS.contains(&key) {
        return Some(format!("a flow of kind `{kind}` has no TCP connection"));
    }
    let having = KINDS.iter().filter(|(_, keys)| keys.contains(&key));
    let having: Vec<String> = having.map(|(kind, _)| format!("`{kind}`")).collect();
    (!having.is_empty()).then(|| {
        format!(
            "belongs to flows of kind {}; this one is `{kind}`",
            having.join(", ")
        )
    })
}

const PACKET_BOUNDS: (u64, u64) = (64, 65_535);

fn packet(section: &Section<'_, '_>, default: u32) -> u32 {
    bounded_size(section, "packet", PACKET_BOUNDS, default)
}

fn bounded_size(
    section: &Section<'_, '_>,
    key: &'static str,
    (least, greatest): (u64, u64),
    default: u32,
) -> u32 {
    let Some(Size(bytes)) = section.get(key) else {
        return default;
    };
    match u32::try_from(bytes) {
        Ok(size) if (least..=greatest).contains(&bytes) => size,
        _ => {
            let message =
                format!("{bytes} bytes are out of range; it can be {least} to {greatest}");
            section.wrong(key, message);
            default
        }
    }
}

/// A length of time that is not zero.
fn positive(section: &Section<'_, '_>, key: &'static str, time: Option<Nanos>) -> Option<Nanos> {
    if time == Some(Nanos::ZERO) {
        section.wrong(key, "must be longer than 0");
        return None;
    }
    time
}

fn read_fixed(section: &Section<'_, '_>) -> Option<Traffic> {
    let Size(bytes) = section.required("size", "\"5MB\"")?;
    if bytes == 0 {
        section.wrong("size", "must be at least one byte");
    }
    Some(Traffic::Fixed { bytes })
}

fn read_constant(section: &Section<'_, '_>) -> Option<Traffic> {
    let write_bytes = bounded_size(section, "write", (1, 1 << 24), 1_448);
    let rate = section.required::<Rate>("rate", "\"6mbit\"")?;
    let backlog_bytes = section.get("backlog").map(|Size(bytes)| bytes);
    Some(Traffic::Constant {
        rate,
        write_bytes,
        backlog_bytes,
    })
}

fn read_on_off(section: &Section<'_, '_>) -> Option<Traffic> {
    let reconnect = section.get_or("reconnect", false);
    if section.has("period") {
        for key in ["on", "off"] {
            if section.has(key) {
                section.wrong(key, "is the same as `period`, which stands for both");
            }
        }
        let period = positive(section, "period", section.get("period"))?;
        return Some(Traffic::OnOff {
            on: period,
            off: period,
            reconnect,
        });
    }
    let on = section.get::<Nanos>("on");
    let off = section.get::<Nanos>("off");
    if !section.has("on") || !section.has("off") {
        section.wrong_here(
            "how long it sends is missing; write period = \"3s\", or on = \"3s\" and off = \"1s\"",
        );
    }
    Some(Traffic::OnOff {
        on: positive(section, "on", on)?,
        off: positive(section, "off", off)?,
        reconnect,
    })
}

fn read_udp(section: &Section<'_, '_>) -> Option<Traffic> {
    let packet_bytes = packet(section, 1_500);
    let rate = section.required::<Rate>("rate", "\"2mbit\"")?;
    Some(Traffic::Udp { rate, packet_bytes })
}

fn read_square_wave(section: &Section<'_, '_>) -> Option<Traffic> {
    let packet_bytes = packet(section, 1_500);
    let low_rate = section.get("low_rate");
    let period = section.required::<Nanos>("period", "\"1s\"");
    let period = positive(section, "period", period);
    let rate = section.required::<Rate>("rate", "\"6667kbit\"")?;
    Some(Traffic::UdpSquareWave {
        rate,
        low_rate,
        period: period?,
        packet_bytes,
    })
}

fn read_web(section: &Section<'_, '_>) -> Web {
    const CONNECTIONS: [(&str, Connections); 2] = [
        ("per-object", Connections::PerObject),
        ("persistent", Connections::Persistent),
    ];
    let object_bytes = Draw::Pareto {
        mean: 12_000,
        shape: 1.2,
        max: Some(10_000_000),
    };
    let time = |key, default| section.get(key).map_or(default, |TimeDraw(draw)| draw);
    let size = |key, default| section.get(key).map_or(default, |SizeDraw(draw)| draw);
    Web {
        sessions: section.number_or("sessions", (1, 100_000), 1),
        objects: section.number_or("objects", (1, 10_000), 10),
        object_bytes: size("object_size", object_bytes),
        request_bytes: bounded_size(section, "request_size", (1, 1 << 20), 400),
        think: time(
            "think",
            Draw::Exponential {
                mean: Nanos::from_secs(1).0,
            },
        ),
        waits: section.get_or("waits", true),
        object_gap: time(
            "object_gap",
            Draw::Exponential {
                mean: Nanos::from_millis(1).0,
            },
        ),
        connections: section
            .choice("connections", &CONNECTIONS)
            .unwrap_or(Connections::PerObject),
        parallel: section.number_or("parallel", (1, 1_000), 6),
    }
}

fn read_video(section: &Section<'_, '_>) -> Option<Traffic> {
    let packet_bytes = packet(section, 1_000);
    let pre_buffer = section.get_or("pre_buffer", vec![Nanos::from_secs(5)]);
    let rate = section.required::<Rate>("rate", "\"450kbit\"")?;
    Some(Traffic::Video(Video {
        rate,
        packet_bytes,
        pre_buffer,
    }))
}

fn read_call(section: &Section<'_, '_>) -> Call {
    let interval = section.get("interval");
    Call {
        interval: positive(section, "interval", interval).unwrap_or(Nanos::from_millis(20)),
        packet_bytes: packet(section, 200),
        is_two_way: section.get_or("two_way", true),
        late_after: section.get_or("late_after", Nanos::from_millis(150)),
    }
}
