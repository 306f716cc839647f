// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables have connections by numbers. Two of the same number, as only who knows the secret can
//! choose them, are never taken for each other.

mod support;

use std::net::{IpAddr, Ipv6Addr};

use ebb_gateway::Gateway;
use ebb_host::testing::requires_root;
use libbpf_rs::{MapCore, MapFlags};
use support::{Segment, everything, gateway, receive, shake_hands, tables};

/// Where the secret is in `struct ebb_gateway_config`.
const SECRET: std::ops::Range<usize> = 12..52;

fn secret(gateway: &Gateway) -> Vec<u32> {
    let tables = tables(gateway);
    let mut named = tables
        .iter()
        .filter(|it| it.name().to_string_lossy().contains("rodata"));
    let config = named.next().expect("the configuration is a table");
    let bytes = config.lookup(&[0; 4], MapFlags::ANY).unwrap().unwrap();
    let words = bytes[SECRET].chunks_exact(4);
    words
        .map(|it| u32::from_ne_bytes(it.try_into().unwrap()))
        .collect()
}

/// An address whose last words have the same product once the secret is in them: the first one's
/// factors in the other order.
fn twin(address: Ipv6Addr, secret: &[u32]) -> Ipv6Addr {
    let mut bytes = address.octets();
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let factors = [
        word(8).wrapping_add(secret[2]),
        word(12).wrapping_add(secret[3]),
    ];
    let swapped = [
        factors[1].wrapping_sub(secret[2]),
        factors[0].wrapping_sub(secret[3]),
    ];
    bytes[8..12].copy_from_slice(&swapped[0].to_ne_bytes());
    bytes[12..].copy_from_slice(&swapped[1].to_ne_bytes());
    bytes.into()
}

#[test]
fn connections_of_one_number_are_never_taken_for_each_other() {
    if !requires_root("connections_of_one_number_are_never_taken_for_each_other") {
        return;
    }
    let gateway = gateway(&[everything()], 65_536);
    let address: Ipv6Addr = "fd07::12:3456:789a".parse().unwrap();
    let mut one = Segment {
        client: address.into(),
        remote: "fd07::1".parse().unwrap(),
        window: 4000,
        ..Segment::of(1024)
    };
    let mut other = Segment {
        client: twin(address, &secret(&gateway)).into(),
        ..one.clone()
    };
    assert_ne!(one.client, other.client);
    let clients = || -> Vec<IpAddr> {
        let flows = gateway.flows().into_iter();
        flows.map(|flow| flow.client.ip()).collect()
    };

    shake_hands(&gateway, &one);
    receive(&gateway, &mut one, 1448);
    assert!(receive(&gateway, &mut one, 1448) < one.window);
    assert_eq!(clients(), [one.client]);

    // Nothing of the other's is known, whatever comes first of it.
    assert_eq!(receive(&gateway, &mut other, 1448), other.window);
    let answer = Segment {
        is_from_client: false,
        is_syn: true,
        ..other.clone()
    };
    assert_eq!(answer.pass(&gateway), answer.frame());
    assert_eq!(receive(&gateway, &mut other, 1448), other.window);
    assert!(receive(&gateway, &mut one, 1448) < one.window);
    assert_eq!(clients(), [one.client]);

    // It begins, and has the place.
    shake_hands(&gateway, &other);
    receive(&gateway, &mut other, 1448);
    assert!(receive(&gateway, &mut other, 1448) < other.window);
    assert_eq!(clients(), [other.client]);
    assert_eq!(receive(&gateway, &mut one, 1448), one.window);
    assert_eq!(clients(), [other.client]);
}
