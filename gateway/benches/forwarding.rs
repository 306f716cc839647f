// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What forwarding loses by the gateway: a router between two cables without limits.
//!
//! ```text
//! sudo -E cargo bench -p ebb-gateway --bench forwarding
//! ```
//!
//! A transfer runs through the router in turns: without Ebb, with a gateway whose rules are for
//! others, and under its law. Each begins anew, since a gateway governs what begins after it. The
//! server sends 4 Gbit/s; the median of the ratios of goodput, turn by turn, must be at least 0.99.
//!
//! Then it sends as fast as the processors can, which is told and not judged: they are the
//! bottleneck, so whatever else they do shows, and a law would yield to it; it only learns there.
//! At last each program's time per packet, by the kernel's own run statistics. Exits with 1 if
//! missed.

#[path = "../tests/support/mod.rs"]
mod support;

use ebb_gateway::{Gateway, Interface, Options, Rule};
use ebb_host::testing::{prefer_to_other_work, requires_root, stay_on_cpu};
use libbpf_rs::libbpf_sys as raw;
use libbpf_rs::query::ProgInfoIter;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::everything;
use support::namespace::{Namespace, enter_router};

const LEAST_RATIO: f64 = 0.99;
const LEAST_MBIT_PER_S: f64 = 3_000.0;
/// What the server sends, and no limit.
const PACED_BYTES_PER_S: u32 = 500_000_000;
const UNPACED: u32 = u32::MAX;
const TURNS: usize = 20;
/// Until the window has settled.
const SETTLING: Duration = Duration::from_millis(400);
const MEASURING: Duration = Duration::from_millis(400);
const BLOCK_BYTES: usize = 1 << 18;

fn main() -> ExitCode {
    if !requires_root("the forwarding benchmark") {
        return ExitCode::SUCCESS;
    }
    prefer_to_other_work();
    let router = Router::start();
    println!("4 Gbit/s:");
    let ways = [Way::Without, Way::Others, Way::Governed];
    let [none, ratios @ ..] = router.compare(PACED_BYTES_PER_S, ways);
    println!("as fast as can be:");
    router.compare(UNPACED, [Way::Without, Way::Others, Way::Learning]);
    router.time_per_packet();
    if none >= LEAST_MBIT_PER_S && ratios.iter().all(|ratio| *ratio >= LEAST_RATIO) {
        return ExitCode::SUCCESS;
    }
    eprintln!("missed: at {LEAST_MBIT_PER_S} Mbit/s and more at least {LEAST_RATIO}");
    ExitCode::FAILURE
}

/// What the router does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Without,
    /// A gateway's rules are for others.
    Others,
    Governed,
    /// The law is told of all, and nothing is changed.
    Learning,
}

impl Way {
    fn gateway(self) -> Option<Gateway> {
        let others = Rule {
            client: Some("192.168.7.99".parse().expect("an address")),
            ..everything()
        };
        match self {
            Self::Without => None,
            Self::Others => Some(gateway(&others, false)),
            Self::Governed => Some(gateway(&everything(), false)),
            Self::Learning => Some(gateway(&everything(), true)),
        }
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// This thread's namespace, between a client and a server.
struct Router {
    /// What the server sends, in bytes per second.
    pace: Arc<AtomicU32>,
    client: Namespace,
    /// It serves.
    _server: Namespace,
}

impl Router {
    fn start() -> Self {
        let (_router, [client, server]) = enter_router();
        let pace = Arc::new(AtomicU32::new(UNPACED));
        serve(&server, Arc::clone(&pace));
        Self {
            pace,
            client,
            _server: server,
        }
    }

    /// Answers what the first one gives, in Mbit/s, and the others' ratios to it.
    fn compare(&self, bytes_per_s: u32, ways: [Way; 3]) -> [f64; 3] {
        self.pace.store(bytes_per_s, Ordering::Relaxed);
        println!(
            "{:>4} {:>10?} {:>10?} {:>10?} Mbit/s",
            "turn", ways[0], ways[1], ways[2]
        );
        let (mut without, mut ratios) = (Vec::new(), [Vec::new(), Vec::new()]);
        for turn in 0..TURNS {
            let mut rates = [0.0; 3];
            // Whoever is first in a turn is so in a third of them.
            for place in (0..ways.len()).map(|place| (place + turn) % ways.len()) {
                rates[place] = self.goodput_mbit_per_s(ways[place]);
            }
            let [none, second, third] = rates;
            println!("{turn:>4} {none:>10.0} {second:>10.0} {third:>10.0}");
            without.push(none);
            ratios[0].push(second / none);
            ratios[1].push(third / none);
        }
        let [second, third] = ratios.map(median);
        let none = median(without);
        println!(
            "{none:.0} Mbit/s; of that {:?} {second:.3}, {:?} {third:.3}",
            ways[1], ways[2]
        );
        [none, second, third]
    }

    /// Of a new transfer.
    fn goodput_mbit_per_s(&self, way: Way) -> f64 {
        let gateway = way.gateway();
        let transfer = Transfer::start(&self.client);
        std::thread::sleep(SETTLING);
        let (bytes, begin) = (transfer.bytes(), Instant::now());
        std::thread::sleep(MEASURING);
        let passed = transfer.bytes() - bytes;
        let rate = passed as f64 * 8e-6 / begin.elapsed().as_secs_f64();
        if let Some(gateway) = gateway {
            let counters = gateway.counters();
            assert_eq!(counters.connections, 1, "{counters:?}");
            assert_eq!(counters.governed > 0, way != Way::Others, "{counters:?}");
        }
        rate
    }

    fn time_per_packet(&self) {
        // SAFETY: a plain call; the descriptor is nobody else's.
        let statistics = unsafe {
            let descriptor = raw::bpf_enable_stats(raw::BPF_STATS_RUN_TIME);
            assert!(descriptor >= 0, "no run statistics: {descriptor}");
            OwnedFd::from_raw_fd(descriptor)
        };
        let gateway = gateway(&everything(), false);
        let _transfer = Transfer::start(&self.client);
        std::thread::sleep(SETTLING + MEASURING);
        let numbers = gateway.program_numbers().expect("the programs are loaded");
        for info in ProgInfoIter::default().filter(|info| numbers.contains(&info.id)) {
            let each_ns = info.run_time_ns as f64 / info.run_cnt.max(1) as f64;
            let name = info.name.to_string_lossy();
            println!(
                "{name:<14} {:>9} packets {each_ns:>6.0} ns each",
                info.run_cnt
            );
        }
        let counters = gateway.counters();
        let rewritten = counters.rewritten as f64 / counters.windows.max(1) as f64;
        println!("{:.0} % of windows were made smaller", rewritten * 100.0);
        drop(statistics);
    }
}

fn gateway(rule: &Rule, is_observing: bool) -> Gateway {
    let options = Options {
        interfaces: vec![Interface::of("lan0").expect("it was made")],
        policy: "ebb".parse().expect("a policy"),
        is_observing,
        hook: None,
        connections: 65_536,
        is_patient: false,
    };
    let gateway = Gateway::start(&options, std::slice::from_ref(rule));
    gateway.expect("the gateway begins")
}

/// Sends to whoever connects, from the first processor.
fn serve(server: &Namespace, pace: Arc<AtomicU32>) {
    let listening = server.run_in(|| TcpListener::bind("0.0.0.0:9000"));
    let listener = listening.expect("the port is free");
    std::thread::spawn(move || {
        stay_on_cpu(0);
        let block = vec![7; BLOCK_BYTES];
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            set_pace(&stream, pace.load(Ordering::Relaxed));
            // Until the client has gone.
            while stream.write_all(&block).is_ok() {}
        }
    });
}

/// A client that receives; it stops when this is dropped.
struct Transfer {
    bytes: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Transfer {
    fn start(client: &Namespace) -> Self {
        let bytes = Arc::new(AtomicU64::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let connecting = client.run_in(|| TcpStream::connect("198.51.100.7:9000"));
        let mut stream = connecting.expect("somebody serves");
        let thread = std::thread::spawn({
            let (bytes, is_over) = (Arc::clone(&bytes), Arc::clone(&is_over));
            move || {
                stay_on_cpu(1);
                let mut block = vec![0; BLOCK_BYTES];
                while !is_over.load(Ordering::Relaxed) {
                    let count = stream.read(&mut block).expect("the server sends");
                    bytes.fetch_add(count as u64, Ordering::Relaxed);
                }
            }
        });
        Self {
            bytes,
            is_over,
            thread: Some(thread),
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

fn set_pace(stream: &TcpStream, bytes_per_s: u32) {
    // SAFETY: the socket is open; the value is of the size that is told, and lives through the call.
    let set = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const bytes_per_s).cast(),
            size_of_val(&bytes_per_s) as _,
        )
    };
    assert_eq!(set, 0, "a socket can be paced");
}
