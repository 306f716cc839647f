// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is counted for a rule stays, whatever happens to it.

mod support;

use ebb_algorithms::Policy;
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{PathRules, requires_feature, until};
use std::io::Write;
use support::ruled::Scene;

#[test]
fn a_connection_counts_once_through_changes_of_the_policy_and_nothing_counted_is_lost() {
    let name = "a_connection_counts_once_through_changes_of_the_policy_and_nothing_counted_is_lost";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let mut scene = Scene::new(|ruling, _| {
        let paths = [("(/.*)?/ebb\\-a".to_owned(), 0b01)];
        ruling.paths = PathRules::build(&paths).unwrap();
    });
    let mut connection = scene.start(&scene.group("ebb-a"), |_| {});
    let ended = scene.start(
        &Cgroup::at(scene.cable.cgroup.path().join("ebb-a")).unwrap(),
        |_| {},
    );
    scene.end(ended);
    let mut sent = 0;
    for policy in ["ebb:target_us=9000", "vulture", "ebb"] {
        connection.1.write_all(&[7; 1000]).unwrap();
        sent += 1000;
        until("it has arrived", || {
            scene.attachments[0].counters().unwrap().payload_bytes == sent
        });
        let policy = Policy::receiver(policy).unwrap();
        scene.attachments[0].set_policy(&policy).unwrap();
        let counted = scene.attachments[0].counters().unwrap();
        assert_eq!(counted.payload_bytes, sent, "{policy}");
        let taken = (counted.adopted_new, counted.adopted_established);
        assert_eq!(taken, (2, 0), "{policy}");
        assert_eq!((counted.released, counted.lapsed), (0, 0), "{policy}");
    }
    // All rules at once are told of the same.
    let glances = scene.classifier.glance().unwrap();
    let seen = glances.iter().flat_map(|it| &it.flows);
    let seen: Vec<_> = seen
        .map(|(rule, flow)| (*rule, flow.law, flow.cookie, flow.peer))
        .collect();
    let cookie = scene.attachments[0].flows().unwrap()[0].cookie;
    let both = [
        (0, "ebb-sender", cookie, scene.to),
        (0, "ebb", cookie, scene.to),
    ];
    assert_eq!(seen, both);
    scene.end(connection);
    assert_eq!(scene.classifier.glance().unwrap().len(), 2);
}
