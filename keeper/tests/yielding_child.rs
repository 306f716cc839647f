// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The example `yielding_child` in a network of its own: what was set on its child's connection,
//! and that all of a transfer arrives.

mod scene;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ebb_keeper::registry::{Attached, Record, Registry};
use ebb_keeper::{Backend, Direction, FlowView};
use ebb_kernel::requires_root;
use scene::Scene;

const PATIENCE: Duration = Duration::from_secs(60);
/// For so long a connection is looked at.
const LOOKED_AT: Duration = Duration::from_secs(2);

/// The example as `cargo test` builds it with all targets of the package.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    let example = built.join("examples/yielding_child");
    assert!(
        example.exists(),
        "{}: 'cargo test --test' does not build it: cargo build -p ebb-keeper --examples",
        example.display()
    );
    example
}

/// What the example says of itself and of its child's connection, one way.
fn seen(scene: &Scene, direction: Direction) -> (Record, FlowView) {
    let registry = Registry::at(scene.registry.path());
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let [record] = &registry.records().unwrap()[..]
            && let flows = registry.flows(record).unwrap()
            && let Some(flow) = flows.into_iter().find(|flow| flow.direction == direction)
            && flow.payload_bytes > 0
        {
            return (record.clone(), flow);
        }
        assert!(Instant::now() < deadline, "nothing is held");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn makes_its_child_yield(backend: Backend, law: &str) {
    let scene = Scene::new();
    let alone = scene.receive(&[]);
    // Whoever receives alone is granted more and more.
    let free = alone.largest_clamp(LOOKED_AT);
    alone.finish();

    let (example, backend) = (example(), backend.to_string());
    let held = scene.receive(&[example.to_str().unwrap(), &backend]);
    let (record, flow) = seen(&scene, Direction::Down);
    assert_eq!(record.attached, Attached::Process { pid: held.pid });
    assert_eq!((record.backend.to_string(), &flow.law[..]), (backend, law));
    assert!(flow.is_acting, "{flow:?}");
    let clamped = held.largest_clamp(LOOKED_AT);
    assert!(clamped * 3 < free, "{clamped} under Ebb, {free} without");
    held.finish();
    let registry = Registry::at(scene.registry.path());
    assert_eq!(registry.records().unwrap(), []);
}

#[test]
fn with_the_kernel_backend_the_childs_connection_is_clamped_and_all_arrives() {
    if requires_root("with_the_kernel_backend_the_childs_connection_is_clamped_and_all_arrives") {
        makes_its_child_yield(Backend::Kernel, "ebb");
    }
}

#[test]
fn with_the_user_backend_the_childs_connection_is_clamped_and_all_arrives() {
    if requires_root("with_the_user_backend_the_childs_connection_is_clamped_and_all_arrives") {
        makes_its_child_yield(Backend::User, "sampled");
    }
}
