// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How both ends speak TCP: a profile, and what differs from it.
use ebb_link::Nanos;
use toml::de::DeValue;

use super::section::{Section, unknown_name};
use super::value::{FromValue, Size};
use crate::{Buffer, Pacing, Recovery, TcpOptions, TcpProfile, Timestamps};

/// Longer, and the first acknowledgement of a window would be late.
const MAX_RECEIVE_OFFLOAD: Nanos = Nanos::from_millis(50);

const PROFILES: [(&str, TcpProfile); 2] =
    [("linux", TcpProfile::Linux), ("paper", TcpProfile::Paper)];

/// Reads `tcp = "paper"` or the table [tcp]; without either it is as `base`.
pub(super) fn read(section: &Section<'_, '_>, base: TcpOptions) -> TcpOptions {
    let Some(value) = section.value("tcp") else {
        return base;
    };
    match value.get_ref() {
        DeValue::String(name) => match PROFILES.iter().find(|(known, _)| known == name) {
            Some((_, profile)) => TcpOptions::of(*profile),
            None => {
                let names = PROFILES.iter().map(|(name, _)| *name);
                section.wrong("tcp", unknown_name(name, names));
                base
            }
        },
        DeValue::Table(_) => section
            .section("tcp")
            .map_or(base, |table| read_table(&table, base)),
        _ => {
            let message = "a profile is needed, \"linux\" or \"paper\", or a table [tcp]";
            section.wrong("tcp", message);
            base
        }
    }
}

fn read_table(table: &Section<'_, '_>, base: TcpOptions) -> TcpOptions {
    let profile = table.choice("profile", &PROFILES);
    let mut tcp = profile.map_or(base, TcpOptions::of);
    read_sizes(table, &mut tcp);
    read_acks(table, &mut tcp);
    read_timers(table, &mut tcp);
    read_sending(table, &mut tcp);
    table.finish_with(|key| {
        let right = match key {
            "rto_min" => "min_rto",
            "iw" | "initcwnd" => "initial_window",
            "rwnd" | "window" | "rcvbuf" | "buffer" => "receive_buffer",
            "gro" | "lro" | "offload" => "receive_offload",
            "sndbuf" => "send_buffer",
            "delayed_acks" | "delack" => "ack_every",
            "packet" | "segment" => "mss",
            _ => return None,
        };
        Some(format!("unknown key; did you mean `{right}`?"))
    });
    tcp
}

fn read_sizes(table: &Section<'_, '_>, tcp: &mut TcpOptions) {
    tcp.mss_bytes = table.number_or("mss", (64, 65_495), tcp.mss_bytes);
    tcp.header_bytes = table.number_or("header", (40, 120), tcp.header_bytes);
    tcp.initial_window_pkts =
        table.number_or("initial_window", (1, 1_000), tcp.initial_window_pkts);
    tcp.has_window_scaling = table.get_or("window_scaling", tcp.has_window_scaling);
    tcp.receive_buffer = read_buffer(table, "receive_buffer", tcp.receive_buffer);
    tcp.shrinks_window = table.get_or("shrink_window", tcp.shrinks_window);
    tcp.receive_offload = table.get_or("receive_offload", tcp.receive_offload);
    tcp.closes_window = table.get_or("close_window", tcp.closes_window);
    tcp.send_buffer = read_buffer(table, "send_buffer", tcp.send_buffer);
    if tcp.receive_offload > MAX_RECEIVE_OFFLOAD {
        let message = format!("is longer than {MAX_RECEIVE_OFFLOAD}, the most that a host waits");
        table.wrong("receive_offload", message);
    }
}

fn read_acks(table: &Section<'_, '_>, tcp: &mut TcpOptions) {
    let acks = &mut tcp.delayed_acks;
    acks.segments = table.number_or("ack_every", (1, 64), acks.segments);
    acks.timeout = table.get_or("ack_delay", acks.timeout);
    acks.quick_pkts = table.number_or("quick_acks", (0, 1_000), acks.quick_pkts);
    tcp.has_sack = table.get_or("sack", tcp.has_sack);
    tcp.has_ecn = table.get_or("ecn", tcp.has_ecn);
    tcp.timestamps = read_timestamps(table, tcp.timestamps);
}

fn read_timers(table: &Section<'_, '_>, tcp: &mut TcpOptions) {
    tcp.initial_rto = table.get_or("initial_rto", tcp.initial_rto);
    tcp.min_rto = table.get_or("min_rto", tcp.min_rto);
    tcp.max_rto = table.get_or("max_rto", tcp.max_rto);
    tcp.timer_granularity = table.get_or("timer_granularity", tcp.timer_granularity);
    if tcp.min_rto == Nanos::ZERO {
        table.wrong("min_rto", "must be longer than 0");
    }
    if tcp.max_rto < tcp.min_rto || tcp.max_rto < tcp.initial_rto {
        table.wrong("max_rto", "is less than `min_rto` or `initial_rto`");
    }
}

fn read_sending(table: &Section<'_, '_>, tcp: &mut TcpOptions) {
    const RECOVERIES: [(&str, Recovery); 4] = [
        ("rack", Recovery::Rack),
        ("sack", Recovery::Sack),
        ("newreno", Recovery::NewReno),
        ("reno", Recovery::Reno),
    ];
    const PACINGS: [(&str, Pacing); 2] = [("by-law", Pacing::ByLaw), ("on", Pacing::On)];
    if let Some(recovery) = table.choice("recovery", &RECOVERIES) {
        tcp.recovery = recovery;
    }
    let needs_sack = matches!(tcp.recovery, Recovery::Rack | Recovery::Sack);
    if needs_sack && !tcp.has_sack {
        if table.has("recovery") {
            table.wrong(
                "recovery",
                "needs sack = true; without it write \"newreno\" or \"reno\"",
            );
        }
        tcp.recovery = Recovery::NewReno;
    } else if tcp.has_sack && !needs_sack && !table.has("recovery") {
        tcp.recovery = Recovery::Sack;
    }
    if let Some(pacing) = table.choice("pacing", &PACINGS) {
        tcp.pacing = pacing;
    }
    tcp.has_limited_transmit = table.get_or("limited_transmit", tcp.has_limited_transmit);
    tcp.has_frto = table.get_or("frto", tcp.has_frto);
    tcp.has_idle_restart = table.get_or("idle_restart", tcp.has_idle_restart);
    tcp.tso_pkts = table.number_or("tso", (1, 64), tcp.tso_pkts);
}

/// Reads `timestamps = "1ms"` or `false`, and `clock_drift_ppm`.
fn read_timestamps(table: &Section<'_, '_>, base: Option<Timestamps>) -> Option<Timestamps> {
    const USAGE: &str = "write the length of a tick, like \"1ms\", or false";
    let mut timestamps = base;
    if let Some(value) = table.value("timestamps") {
        timestamps = match value.get_ref() {
            DeValue::Boolean(false) => None,
            value => match Nanos::from_value(value) {
                Ok(tick) if tick >= Nanos::from_micros(1) && tick <= Nanos::from_secs(1) => {
                    let drift_ppm = base.map_or(0, |base| base.drift_ppm);
                    Some(Timestamps { tick, drift_ppm })
                }
                Ok(tick) => {
                    let message = format!("{tick} is out of range; it can be 1us to 1s");
                    table.wrong("timestamps", message);
                    base
                }
                Err(_) => {
                    table.wrong("timestamps", USAGE);
                    base
                }
            },
        };
    }
    if let Some(drift) = table.get::<f64>("clock_drift_ppm") {
        const MAX_PPM: f64 = 10_000.0;
        match &mut timestamps {
            _ if drift.abs() > MAX_PPM || drift.fract() != 0.0 => {
                let message = format!("must be a whole number from -{MAX_PPM} to {MAX_PPM}");
                table.wrong("clock_drift_ppm", message);
            }
            Some(timestamps) => timestamps.drift_ppm = drift as i32,
            None => table.wrong("clock_drift_ppm", "needs timestamps"),
        }
    }
    timestamps
}

/// Reads a fixed size, `"auto"`, or `"auto:max=6MB"`.
fn read_buffer(table: &Section<'_, '_>, key: &'static str, base: Buffer) -> Buffer {
    let Some(value) = table.value(key) else {
        return base;
    };
    let auto = match key {
        "send_buffer" => TcpOptions::LINUX.send_buffer,
        _ => TcpOptions::LINUX.receive_buffer,
    };
    match buffer(value.get_ref(), auto) {
        Ok(buffer) if buffer.max_bytes() >= u64::from(TcpOptions::PAPER.mss_bytes) => buffer,
        Ok(_) => {
            table.wrong(key, "must hold at least one segment");
            base
        }
        Err(message) => {
            table.wrong(key, message);
            base
        }
    }
}

fn buffer(value: &DeValue<'_>, auto: Buffer) -> Result<Buffer, String> {
    let setting = value.as_str().and_then(|text| text.strip_prefix("auto"));
    match setting {
        None => Size::from_value(value).map(|Size(bytes)| Buffer::Fixed(bytes)),
        Some("") => Ok(auto),
        Some(setting) => match setting.strip_prefix(":max=") {
            Some(max) => Size::from_value(&DeValue::String(max.into()))
                .map(|Size(max_bytes)| autotuned(max_bytes)),
            None => Err("write \"auto\", \"auto:max=6MB\", or a size like \"256kB\"".into()),
        },
    }
}

/// It begins as that of a Linux receiver does.
fn autotuned(max_bytes: u64) -> Buffer {
    let initial_bytes = match TcpOptions::LINUX.receive_buffer {
        Buffer::Autotuned { initial_bytes, .. } => initial_bytes.min(max_bytes),
        Buffer::Fixed(_) => max_bytes,
    };
    Buffer::Autotuned {
        initial_bytes,
        max_bytes,
    }
}
