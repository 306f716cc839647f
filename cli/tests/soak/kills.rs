// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kills Ebb at random points and looks whether everything is free in time: by what the kernel has
//! for each connection, not by how fast anything is.

use std::collections::VecDeque;
use std::process::Child;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ebb_lab::emulator::{self, EmulatorReport, PathSpec, Testbed};
use ebb_link::{LinkSpec, Nanos, Probability, QueueLimit, Rate};

use crate::peers::Peers;
use crate::point::{Phase, Point};
use crate::scene::Scene;
use crate::victims::{Victims, kill_them};
use crate::watch::{Freed, Watch};

/// Kinds of paths; a point has that of its number.
const KINDS: usize = 4;
const QUEUE: QueueLimit = QueueLimit::Packets(40);
/// For a program that was to be started as Ebb was killed.
const STARTED_WITHIN: Duration = Duration::from_secs(3);

/// What came of a point.
#[derive(Clone, Debug)]
pub struct Killed {
    pub point: Point,
    /// Who was killed, by name.
    pub whom: Vec<String>,
    /// What Ebb was about had not ended.
    pub is_under_way: bool,
    pub freed: Vec<Freed>,
    pub problems: Vec<String>,
}

/// Goes through all points, so many at once.
pub fn run(points: Vec<Point>, parallel: usize) -> (Vec<Killed>, EmulatorReport) {
    let kinds: Vec<usize> = (0..parallel).map(|it| it % KINDS).collect();
    let testbed = Testbed::start(kinds.iter().map(|kind| path_of(*kind)).collect()).unwrap();
    let mut queues = vec![VecDeque::new(); KINDS.min(parallel)];
    let count = queues.len();
    for point in points {
        queues[usize::try_from(point.number).unwrap() % count].push_back(point);
    }
    let queues: Vec<_> = queues.into_iter().map(Mutex::new).collect();
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (kind, path) in kinds.iter().zip(testbed.paths()) {
            let (queues, done) = (&queues, &done);
            scope.spawn(move || {
                let _peers = Peers::start(path);
                loop {
                    let Some(point) = queues[*kind].lock().unwrap().pop_front() else {
                        return;
                    };
                    let killed = kill_at(point, path);
                    for problem in &killed.problems {
                        eprintln!("{:?}: {problem}", killed.point);
                    }
                    done.lock().unwrap().push(killed);
                }
            });
        }
    });
    let report = testbed.stop().unwrap();
    (done.into_inner().unwrap(), report)
}

/// Narrow ones: what a law lets through is far less than what TCP begins with.
fn path_of(kind: usize) -> PathSpec {
    let link = |mbit_per_s, delay_ms| {
        let delay = Nanos::from_millis(delay_ms);
        LinkSpec::drop_tail(Rate::from_mbit_per_s(mbit_per_s), delay, QUEUE)
    };
    let link = match kind {
        0 => link(2, 20),
        1 => link(1, 50),
        2 => link(4, 5),
        _ => {
            let loss = Probability::new(0.01).unwrap();
            let (reorder, reorder_delay) = (loss, Nanos::from_millis(5));
            LinkSpec {
                loss,
                reorder,
                reorder_delay,
                ..link(2, 20)
            }
        }
    };
    PathSpec {
        congestion_control: Some("cubic".into()),
        ..PathSpec::new(link.clone(), link)
    }
}

fn kill_at(point: Point, path: &emulator::Path) -> Killed {
    let mut scene = Scene::start(&point, path);
    let mut killed = match prepare(&point, &mut scene) {
        Ok(()) => kill_and_watch(&point, &mut scene),
        Err(problem) => Killed {
            point: point.clone(),
            whom: Vec::new(),
            is_under_way: false,
            freed: Vec::new(),
            problems: vec![problem],
        },
    };
    killed.problems.extend(scene.clear().err());
    killed
}

/// Up to the beginning of the phase.
fn prepare(point: &Point, scene: &mut Scene<'_>) -> Result<(), String> {
    if point.phase == Phase::Load {
        return Ok(());
    }
    scene.expect_ready()?;
    match point.phase {
        Phase::Attach | Phase::Adopt => Ok(()),
        Phase::Hold => scene.settle(),
        _ => scene.attach_and_settle(),
    }
}

fn kill_and_watch(point: &Point, scene: &mut Scene<'_>) -> Killed {
    // As docs/user-backend.md has it: nobody who knew of it is left.
    let may_lose_pace = point.victims == Victims::HolderAndGuardian;
    let mut watch = Watch::new(point.backend, may_lose_pace);
    let mut operation = begin(point, scene, &mut watch);
    let began = Instant::now();
    while let Some(left) = point.delay.checked_sub(began.elapsed()) {
        // The last look is as near to the kill as can be.
        if let Some(pid) = scene.pid {
            watch.look(pid, None);
        }
        std::thread::sleep(left.min(Duration::from_millis(10)));
    }
    if point.opens_more {
        scene.open(1);
    }
    let first = operation.as_ref().unwrap_or(&scene.child).id();
    let is_over = |child: &mut Child| child.try_wait().unwrap().is_some();
    let is_under_way = match &mut operation {
        Some(operation) => !is_over(operation),
        None => scene.pid.is_none() || point.phase != Phase::Load,
    };
    if point.phase == Phase::Change
        && let Some(attaching) = &mut operation
    {
        // Where it finds no keeper any more it attaches anew, and is an Ebb of its own.
        let _ = attaching.kill();
    }
    let (at, whom) = kill_them(&scene.runtime(), point.victims, first);
    after_kill(point, scene, &mut watch, at);
    if let Some(mut operation) = operation {
        let _ = operation.kill();
        let _ = operation.wait();
    }
    let (freed, problems) = watch.end(at);
    Killed {
        point: point.clone(),
        whom,
        is_under_way,
        freed,
        problems,
    }
}

/// Begins what is to be disturbed; answers its process.
fn begin(point: &Point, scene: &mut Scene<'_>, watch: &mut Watch) -> Option<Child> {
    match point.phase {
        Phase::Load | Phase::Hold => None,
        Phase::Attach => Some(scene.attach(0).spawn().unwrap()),
        Phase::Adopt => {
            let attaching = scene.attach(0).spawn().unwrap();
            let deadline = Instant::now() + STARTED_WITHIN;
            let pid = scene.pid.unwrap();
            while watch.is_anything_limited().is_none() && Instant::now() < deadline {
                watch.look(pid, None);
                std::thread::sleep(Duration::from_millis(2));
            }
            Some(attaching)
        }
        Phase::Change => Some(scene.attach(1).spawn().unwrap()),
        Phase::Switch => {
            std::thread::spawn(scene.toggle());
            None
        }
        Phase::Detach => Some(scene.detach().spawn().unwrap()),
    }
}

fn after_kill(point: &Point, scene: &mut Scene<'_>, watch: &mut Watch, at: Instant) {
    let expected = point.sets + usize::from(point.opens_more);
    if scene.pid.is_none() && !scene.is_heard_within(STARTED_WITHIN) {
        // Ebb was killed before it had started the program, which is as it should be.
        return;
    }
    let pid = scene.pid.unwrap();
    watch.look_until_settled(pid, at);
    if !watch.problems.is_empty() {
        return;
    }
    // What begins now is as if there had never been an Ebb.
    scene.open(1);
    if let Err(problem) = scene.expect_ready() {
        return watch.problems.push(problem);
    }
    if let Some(limit) = watch.first_limit_of_all() {
        watch.problems.push(format!("limited at the end: {limit}"));
    }
    let (seen, expected) = (watch.connections(), 4 * (expected + 1));
    if seen < expected {
        watch
            .problems
            .push(format!("{seen} connections, not {expected}"));
    }
}
