// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What becomes of sockets in the background when a process forks, executes, ends, closes, or has
//! many threads: `face.c`, under AddressSanitizer, UBSan and LeakSanitizer.

#[path = "../support/c.rs"]
mod c;

use ebb_host::testing::requires_root;
use ebb_lab::namespace::NamespaceHandle;

/// Not those of the loopback device, whose connections are left alone; segments as on a network.
const ADDRESSES: &str =
    "link set lo mtu 1500 up\naddr add 10.9.0.1/32 dev lo\naddr add 10.9.0.2/32 dev lo\n";

#[test]
fn nothing_is_governed_that_was_not_asked_for_and_nothing_leaks() {
    if !requires_root("nothing_is_governed_that_was_not_asked_for_and_nothing_leaks") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = c::build_sanitized("tests/process/face.c", folder.path());
    let namespace = NamespaceHandle::create().unwrap();
    namespace.ip(ADDRESSES).unwrap();
    let said = c::run(&mut namespace.command(program));
    assert_eq!(said, "all so\n");
}
