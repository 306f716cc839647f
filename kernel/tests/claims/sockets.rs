// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets that are claimed one by one, and given back.

use super::{CONNECTED, ROOT, Scene};
use ebb_host::ProcessHandle;
use ebb_kernel::requires_feature;
use ebb_kernel::rules::Networks;
use std::os::fd::AsFd;

#[test]
fn one_socket_is_taken_off_and_its_connection_let_go_both_ways() {
    let name = "one_socket_is_taken_off_and_its_connection_let_go_both_ways";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let mut scene = Scene::new();
    let [held, other] = [ROOT; 2].map(|user| scene.claim(user));
    let running = [(); 2].map(|()| {
        let process = scene.start(CONNECTED, ROOT);
        let stream = scene.listener.accept().unwrap().0;
        let handle = ProcessHandle::open(process.0.id()).unwrap();
        // As the script has it.
        let socket = handle.copy_descriptor(3).unwrap();
        (process, stream, socket)
    });
    for (_, _, socket) in &running {
        let added = [&held, &other].map(|it| scene.claims.add_socket(&it.claim, socket.as_fd()));
        assert_eq!(added.map(Result::unwrap), [true, false]);
    }
    let socket = running[0].2.as_fd();
    // They are where the first one is, and nowhere else.
    let (nowhere, mut there) = (Networks::default(), Networks::default());
    there.add(Some(socket));
    scene.classifier.take_over_in(&nowhere).unwrap();
    assert!(held.processes().is_empty());
    scene.classifier.take_over_in(&there).unwrap();
    assert_eq!(held.processes().len(), 2);
    // Another claim's it is not.
    scene.claims.remove_socket(&other.claim, socket).unwrap();
    scene.classifier.leave_others().unwrap();
    assert_eq!(held.processes().len(), 2);
    scene.claims.remove_socket(&held.claim, socket).unwrap();
    scene.classifier.leave_others_in(&nowhere).unwrap();
    assert_eq!(held.processes().len(), 2);
    scene.classifier.leave_others_in(&there).unwrap();
    for attachment in &held.attachments {
        assert_eq!(attachment.flows().unwrap().len(), 1);
    }
    assert!(scene.claims.add_socket(&other.claim, socket).unwrap());
    for (process, stream, _) in running {
        process.end(stream);
    }
}
