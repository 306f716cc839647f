// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Python imports the module and uses all of it: `module.py`.

mod support;

use std::path::Path;

use ebb_host::testing::requires_root;
use ebb_lab::namespace::NamespaceHandle;

/// Not those of the loopback device, whose connections are left alone; segments as on a network.
const ADDRESSES: &str =
    "link set lo mtu 1500 up\naddr add 10.9.0.1/32 dev lo\naddr add 10.9.0.2/32 dev lo\n";

#[test]
fn python_has_all_of_it_as_the_stubs_say() {
    if !requires_root("python_has_all_of_it_as_the_stubs_say") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    support::install(folder.path());
    let namespace = NamespaceHandle::create().unwrap();
    namespace.ip(ADDRESSES).unwrap();
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut python = namespace.command("python3");
    let output = python
        .arg(package.join("tests/module.py"))
        .arg(package.join("ebb/_native.pyi"))
        .env("PYTHONPATH", folder.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all so\n");
}
