// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the library costs a program whose sockets the service holds: the time of each call, and
//! processor time and memory for 100 sockets that move:
//!
//! ```text
//! cargo test -p ebb --test users_sockets costs -- --ignored --nocapture
//! ```

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ebb_kernel::requires_feature;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::program::Program;
use crate::support::users::{ADA, Users};

pub const CONNECTIONS: usize = 100;
/// Everybody reads so much so often: about 1 Mbit/s each.
const PIECE_BYTES: usize = 12_500;
const PAUSE: Duration = Duration::from_millis(100);
const MEASURED: Duration = Duration::from_secs(8);
const ROUNDS: u32 = 20;
/// What is allowed.
const MOST_CALL_US: f64 = 10.0;
const MOST_FREED_S: f64 = 0.5;
const MOST_CPU: f64 = 0.01;
const MOST_MEMORY_KB: u64 = 1_000;

/// The program: takes these, one by one or together, and tells what that costs.
pub fn measure(sockets: Vec<TcpStream>, are_together: bool) -> Value {
    let sockets = Arc::new(sockets);
    for socket in sockets.iter() {
        socket.set_nonblocking(true).unwrap();
    }
    let reading = sockets.clone();
    thread::spawn(move || {
        let mut piece = vec![0; 2 * PIECE_BYTES];
        loop {
            for socket in reading.iter() {
                let _ = (&mut &*socket).read(&mut piece);
            }
            thread::sleep(PAUSE / 4);
        }
    });
    thread::sleep(Duration::from_secs(1));
    let before_kb = memory_kb();
    let background = match are_together {
        // The first call starts the thread.
        true => (0..ROUNDS)
            .map(|_| time_us(|| library::background_all(&library::Options::new())))
            .collect(),
        false => sockets
            .iter()
            .map(|it| time_us(|| library::background(it)))
            .collect(),
    };
    let began = Instant::now();
    let count = || sockets.iter().filter(|it| is_held(it)).count();
    while count() < CONNECTIONS && began.elapsed() < Duration::from_secs(20) {
        thread::sleep(PAUSE);
    }
    let taken_s = began.elapsed().as_secs_f64();
    thread::sleep(Duration::from_secs(2));
    let (began, before) = (Instant::now(), thread_time());
    thread::sleep(MEASURED);
    let share = (thread_time() - before).as_secs_f64() / began.elapsed().as_secs_f64();
    let after_kb = memory_kb();
    let grown = |at: usize| after_kb[at].saturating_sub(before_kb[at]);
    let mut state = Vec::new();
    for _ in 0..ROUNDS {
        state.extend(sockets.iter().map(|it| time_us(|| library::state(it))));
        thread::sleep(PAUSE / 2);
    }
    let told = sockets.iter().filter(|it| is_told(it)).count();
    let began = Instant::now();
    let foreground = sockets.iter().map(|it| time_us(|| library::foreground(it)));
    let foreground = foreground.collect();
    while count() > 0 && began.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(1));
    }
    let freed_s = began.elapsed().as_secs_f64();
    json!({
        "held": told, "taken_s": taken_s, "freed_s": freed_s, "share": share, "memory_kb": grown(0), "file_kb": grown(1),
        "background_us": ranks(background), "state_us": ranks(state),
        "foreground_us": ranks(foreground),
    })
}

fn is_held(socket: &TcpStream) -> bool {
    library::state(socket).unwrap().standing == library::Standing::OfAnother
}

fn is_told(socket: &TcpStream) -> bool {
    let download = library::state(socket).unwrap().download;
    is_held(socket) && download.is_some_and(|flow| flow.law == "ebb")
}

fn time_us<R>(call: impl FnOnce() -> library::Result<R>) -> f64 {
    let began = Instant::now();
    call().unwrap();
    began.elapsed().as_secs_f64() * 1e6
}

/// The median, the 99th percentile, and the most.
fn ranks(mut us: Vec<f64>) -> [f64; 3] {
    us.sort_by(f64::total_cmp);
    [us[us.len() / 2], us[us.len() * 99 / 100], us[us.len() - 1]]
}

/// Of the library's thread.
fn thread_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let mut tasks = tasks.map(|task| task.unwrap().path());
    let is_ours = |name: String| name.trim() == "ebb";
    let task = tasks.find(|task| fs::read_to_string(task.join("comm")).is_ok_and(is_ours));
    let times = fs::read_to_string(task.unwrap().join("schedstat")).unwrap();
    Duration::from_nanos(times.split(' ').next().unwrap().parse().unwrap())
}

/// Of its own, and of the program's file, which is others' as well.
fn memory_kb() -> [u64; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    ["RssAnon:", "RssFile:"].map(|key| {
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    })
}

#[test]
#[ignore = "measures times: alone on the machine"]
fn costs_of_what_the_service_holds() {
    if !requires_feature("costs_of_what_the_service_holds", "callback-flags") {
        return;
    }
    for what in ["costs, one by one", "costs, together"] {
        let users = Users::new("c");
        users.set("[users]\npolicies = 400\n");
        let service = users.serve();
        let mut program = Program::start(&users, ADA, None);
        program.tell(what);
        let accept = |_| users.scene.listener.accept().unwrap().0;
        let streams: Vec<TcpStream> = (0..CONNECTIONS).map(accept).collect();
        thread::spawn(move || {
            for stream in &streams {
                stream.set_nonblocking(true).unwrap();
            }
            loop {
                // What does not fit is left out: the rates need not be exact.
                for stream in &streams {
                    let _ = (&mut &*stream).write(&[7; PIECE_BYTES]);
                }
                thread::sleep(PAUSE);
            }
        });
        let told: Value = serde_json::from_str(&program.hears()).unwrap();
        println!("{what}: {told}");
        let median = |call: &str| told[call][0].as_f64().unwrap();
        assert_eq!(told["held"], CONNECTIONS, "{told}");
        assert!(told["share"].as_f64().unwrap() <= MOST_CPU, "{told}");
        assert!(
            told["memory_kb"].as_u64().unwrap() <= MOST_MEMORY_KB,
            "{told}"
        );
        assert!(told["freed_s"].as_f64().unwrap() <= MOST_FREED_S, "{told}");
        assert!(median("state_us") <= MOST_CALL_US, "{told}");
        assert!(median("foreground_us") <= MOST_CALL_US, "{told}");
        assert!(median("background_us") <= MOST_CALL_US, "{told}");
        drop(program);
        service.end(Signal::SIGTERM);
    }
}
