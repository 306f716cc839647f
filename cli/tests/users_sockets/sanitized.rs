// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `held.c` under AddressSanitizer, UBSan and LeakSanitizer.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use ebb_kernel::{requires_feature, until};
use nix::sys::signal::Signal;

use crate::support::users::{ADA, Users};
use crate::{c, held};

#[test]
fn a_c_program_whose_sockets_are_held_leaks_nothing() {
    let name = "a_c_program_whose_sockets_are_held_leaks_nothing";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let program = c::build_sanitized("tests/users_sockets/held.c", folder.path());
    let users = Users::new("z");
    let service = users.serve();
    let said = c::run(&mut users.command(ADA, program.to_str().unwrap()));
    assert_eq!(said, "all so\n");
    until("let go", || held(&users).is_empty());
    service.end(Signal::SIGTERM);
}
