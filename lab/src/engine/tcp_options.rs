// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a scenario says of TCP, as settings of the kernel.
use ebb_scenario::{Buffer, Scenario, TcpOptions};

use super::EngineError;
use super::prepared::Refusal;
use crate::emulator::PathSpec;

/// What a packet of 641 to 1664 bytes takes of a receiver's buffer. *Units:* bytes.
const PACKET_MEMORY_BYTES: u64 = 2_304;

/// Sets what the kernel can set for a whole path; all flows must agree.
///
/// *Errors:* [`EngineError::Unsupported`].
pub(super) fn apply_tcp_options(
    scenario: &Scenario,
    path: &mut PathSpec,
) -> Result<(), EngineError> {
    let mut flows = scenario.flows.iter().filter(|flow| flow.traffic.is_tcp());
    let Some(first) = flows.next() else {
        return Ok(());
    };
    let options = first.tcp;
    if let Some(other) = flows.find(|flow| flow.tcp != options) {
        let what = format!(
            "flow `{}` has other TCP options than `{}`",
            other.name, first.name
        );
        return Err(Refusal(scenario).because(what, "in the lab all flows have the same"));
    }
    if !can_be_set(&options) {
        let what = format!("flow `{}` has TCP options that no sysctl sets", first.name);
        let instead = "the lab's TCP is that of its kernel; it can set mss, ecn, sack, \
             window scaling and shrink_window";
        return Err(Refusal(scenario).because(what, instead));
    }
    if options.mss_bytes != TcpOptions::LINUX.mss_bytes {
        path.route_mss = u16::try_from(options.mss_bytes).ok();
    }
    path.receive_offload = options.receive_offload;
    set_switches(&options, path);
    set_receive_buffer(&options, path);
    Ok(())
}

/// Whether all that is not as in Linux is what the lab sets; send buffers of the kernel are larger
/// than any path needs.
fn can_be_set(options: &TcpOptions) -> bool {
    let comparable = TcpOptions {
        mss_bytes: TcpOptions::LINUX.mss_bytes,
        has_ecn: TcpOptions::LINUX.has_ecn,
        has_sack: TcpOptions::LINUX.has_sack,
        has_window_scaling: TcpOptions::LINUX.has_window_scaling,
        shrinks_window: TcpOptions::LINUX.shrinks_window,
        receive_offload: TcpOptions::LINUX.receive_offload,
        closes_window: TcpOptions::LINUX.closes_window,
        receive_buffer: TcpOptions::LINUX.receive_buffer,
        send_buffer: TcpOptions::LINUX.send_buffer,
        tso_pkts: TcpOptions::LINUX.tso_pkts,
        ..*options
    };
    comparable == TcpOptions::LINUX
}

/// Both sides have the same.
fn set_switches(options: &TcpOptions, path: &mut PathSpec) {
    let switches = [
        ("net.ipv4.tcp_ecn", Some(options.has_ecn)),
        ("net.ipv4.tcp_sack", Some(options.has_sack)),
        (
            "net.ipv4.tcp_window_scaling",
            Some(options.has_window_scaling),
        ),
        // Off, it isn't named: kernels before 6.5 don't have it.
        (
            "net.ipv4.tcp_shrink_window",
            options.shrinks_window.then_some(true),
        ),
    ];
    for (name, is_on) in switches {
        let Some(is_on) = is_on else { continue };
        let value = if is_on { "1" } else { "0" };
        for sysctls in [&mut path.server_sysctls, &mut path.client_sysctls] {
            sysctls.push((name.into(), value.into()));
        }
    }
}

/// The kernel counts what packets take in memory, a scenario the payload that a buffer holds.
fn set_receive_buffer(options: &TcpOptions, path: &mut PathSpec) {
    let Buffer::Fixed(bytes) = options.receive_buffer else {
        return;
    };
    let timestamps_bytes = options.timestamps.map_or(0, |_| 12);
    let payload_bytes = u64::from(options.mss_bytes - timestamps_bytes).max(1);
    let bytes = bytes.saturating_mul(PACKET_MEMORY_BYTES) / payload_bytes;
    let bytes = bytes.min(i32::MAX as u64);
    let value = format!("4096 {bytes} {bytes}");
    for sysctls in [&mut path.server_sysctls, &mut path.client_sysctls] {
        sysctls.push(("net.ipv4.tcp_rmem".into(), value.clone()));
    }
}
