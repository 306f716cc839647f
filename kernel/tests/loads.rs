// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every law passes the verifier of the running kernel, with room to grow.

use ebb_algorithms::{Policy, laws};
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::rules::Classifier;
use ebb_kernel::{AttachOptions, Attachment, Selection, requires_root};
use libbpf_rs::query::ProgInfoIter;

/// What a program starts with: some microseconds for each. Each verifier gives up after a million.
const MAX_VERIFIED_INSTRUCTIONS: u32 = 40_000;

#[test]
fn every_law_loads_in_every_form_with_room_to_grow() {
    if !requires_root("every_law_loads_in_every_form_with_room_to_grow") {
        return;
    }
    let trace = std::env::temp_dir().join(format!("ebb-loads-{}", std::process::id()));
    let name = format!("ebbk-loads-{}", std::process::id());
    let classifier = Classifier::load(&Cgroup::root().unwrap()).unwrap();
    for law in laws() {
        let chosen = Selection::Processes(vec![std::process::id()]);
        for (selection, trace) in [
            (Selection::WholeCgroup, None),
            (chosen, Some(trace.clone())),
            (classifier.selection(0), None),
        ] {
            let cgroup = Cgroup::root().unwrap().create_child(&name).unwrap();
            let options = AttachOptions {
                selection,
                trace,
                ..Default::default()
            };
            let policy = Policy::with_defaults(law);
            let attachment = Attachment::attach(&cgroup, &policy, options).unwrap();
            for program in attachment.run_times().unwrap() {
                let info = ProgInfoIter::default()
                    .find(|info| info.id == program.id)
                    .unwrap();
                let (name, count) = (program.program, info.verified_insns);
                eprintln!("{} {name}: {count} instructions verified", law.name);
                assert!(
                    count < MAX_VERIFIED_INSTRUCTIONS,
                    "{} {name}: {count}",
                    law.name
                );
            }
            attachment.detach().unwrap();
            cgroup.remove().unwrap();
        }
    }
    std::fs::remove_file(trace).unwrap();
}
