// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every law passes the verifier of the running kernel in the gateway's programs, with room to
//! grow.

mod support;

use ebb_algorithms::{Policy, Side, laws_of};
use ebb_host::testing::requires_root;
use libbpf_rs::query::ProgInfoIter;
use support::{everything, gateway_by};

/// Each verifier gives up after a million. It walks through a law once, whichever way data goes: each
/// call is a function of its own, which takes the lock and gives it back.
const MAX_VERIFIED_INSTRUCTIONS: u32 = 120_000;

#[test]
fn every_law_loads_with_room_to_grow() {
    if !requires_root("every_law_loads_with_room_to_grow") {
        return;
    }
    for law in laws_of(Side::Receiver) {
        let gateway = gateway_by(Policy::with_defaults(law), &[everything()], 1_024);
        for number in gateway.program_numbers().unwrap() {
            let info = ProgInfoIter::default().find(|info| info.id == number);
            let info = info.unwrap();
            let (name, count) = (info.name.to_string_lossy(), info.verified_insns);
            eprintln!("{} {name}: {count} instructions verified", law.name);
            assert!(
                count < MAX_VERIFIED_INSTRUCTIONS,
                "{} {name}: {count}",
                law.name
            );
        }
    }
}
