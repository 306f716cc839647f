// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb gateway` on a real router: clients behind a bridge, masquerade by nftables for IPv4, routes
//! for IPv6, and the emulated home link between the router and the server. Nothing of Ebb runs on
//! the clients.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ebb_kernel::until;
use ebb_lab::emulator::{SERVER_IPV4, SERVER_IPV6};
use ebb_lab::judging::{self, Attempt};
use ebb_link::{LinkSpec, Nanos, Probability, QueueLimit, Rate};
use held::{EMPTY_MS, FULL_MS, Look, START, Way};
use home::Home;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use support::{Ebb, stderr};

mod beside_kernel;
mod held;
mod home;
mod life;
mod others;
mod paths;
mod programs;
mod queues;
mod service;
#[path = "../support/mod.rs"]
mod support;
#[path = "../transfers/mod.rs"]
mod transfers;
mod watched;

/// The home link, without headers.
const LINK_MBIT_PER_S: f64 = 9.6;
/// Ports of the server: what is background, what is not, and what takes.
const BACKGROUND: u16 = 9000;
const OTHERS: u16 = 9001;
const TAKES: u16 = 9002;
const OTHERS_TAKE: u16 = 9003;

fn mean(seconds: &[f64], from: usize, to: usize) -> f64 {
    let part = &seconds[from.min(seconds.len())..to.min(seconds.len())];
    part.iter().sum::<f64>() / part.len().max(1) as f64
}

fn can_run(name: &str) -> bool {
    ebb_kernel::requires_root(name) && transfers::has_installed(name, &["nft", "python3"])
}

/// Two ends of one kind, and what makes one of them background.
struct Case {
    host: String,
    rules: &'static str,
    background: u16,
    others: u16,
}

/// The background one is alone for 8 s, beside the other one for 14 s, and alone again for 14 s.
///
/// If its one segment was lost in the others' queue, its sender takes six of these to grow again:
/// what a law allows it does not use.
fn beside_another(case: &Case) -> Attempt {
    let home = Home::start(2);
    let ebb = Ebb::new();
    let gateway = home.gateway(&ebb, &[], case.rules);
    let [ours, theirs] = &home.devices[..] else {
        unreachable!()
    };
    let ours = ours.transfer(&case.host, case.background, 36);
    std::thread::sleep(Duration::from_secs(8));
    let theirs = theirs.transfer(&case.host, case.others, 14).seconds();
    let status = ebb.says(["status", "--flows"]);
    let ours = ours.seconds();
    assert_eq!(gateway.end().unwrap().code(), Some(128 + 15));
    assert!(status.contains("gateway of lan by"), "{status}");
    assert!(status.contains(&case.background.to_string()), "{status}");
    let most = f64::INFINITY;
    let figures = [
        ("alone", mean(&ours, 3, 8), 0.93 * LINK_MBIT_PER_S, most),
        ("beside", mean(&ours, 14, 21), 0.0, 0.05 * LINK_MBIT_PER_S),
        ("again", mean(&ours, 30, 36), 0.93 * LINK_MBIT_PER_S, most),
        (
            "the other",
            mean(&theirs, 6, 14),
            0.95 * LINK_MBIT_PER_S,
            most,
        ),
    ];
    for (what, mbit, ..) in figures {
        eprintln!("{} {}: {what} {mbit:.2} Mbit/s", case.host, case.background);
    }
    eprintln!("{} {}: {ours:.1?}", case.host, case.background);
    let wrong = figures
        .iter()
        .filter(|(_, mbit, least, most)| mbit < least || mbit > most)
        .map(|(what, mbit, least, most)| format!("{what}: {mbit:.2} of {least:.2} to {most:.2}"));
    Attempt::over(&home.stop(), wrong.collect())
}

/// Both at once: each has a link of its own.
fn at_once<T: Sync>(cases: &[T], measure: impl Fn(&T) -> Attempt + Sync) -> Attempt {
    let attempts = std::thread::scope(|scope| {
        let running: Vec<_> = cases
            .iter()
            .map(|case| scope.spawn(|| measure(case)))
            .collect();
        let joined = running.into_iter().map(|running| running.join().unwrap());
        joined.collect::<Vec<_>>()
    });
    attempts
        .into_iter()
        .fold(Attempt::default(), |all, one| Attempt {
            wrong: [all.wrong, one.wrong].concat(),
            disturbed: all.disturbed.or(one.disturbed),
        })
}

#[test]
fn what_is_background_yields_to_the_next_room_and_has_the_link_alone() {
    let name = "what_is_background_yields_to_the_next_room_and_has_the_link_alone";
    if !can_run(name) {
        return;
    }
    let cases = [
        // Through masquerade; what the other one does is excepted by an address of its own.
        Case {
            host: SERVER_IPV4.to_string(),
            rules: "[[rule]]\nclient = \"192.168.7.11\"\nyields = false\n\
                    [[rule]]\nname = \"console\"\nclient = \"192.168.7.0/24\"\n",
            background: BACKGROUND,
            others: OTHERS,
        },
        Case {
            host: SERVER_IPV6.to_string(),
            rules: "[[rule]]\nclient = \"fd07::/64\"\nport = 9002\n",
            background: TAKES,
            others: OTHERS_TAKE,
        },
    ];
    judging::judge(name, || at_once(&cases, beside_another));
}

const WITHIN: Duration = Duration::from_secs(5);

/// Kills the gateway in the middle of a download, which is held by these programs.
fn killed(by: &&str) -> Attempt {
    let home = Home::start(1);
    let ebb = Ebb::new();
    let rules = "[[rule]]\nname = \"large\"\nbulk = \"300kB\"\n";
    let gateway = home.gateway(&ebb, &["--attach-by", by], rules);
    let download = home.devices[0].transfer(&SERVER_IPV4.to_string(), BACKGROUND, 20);
    std::thread::sleep(START);
    let held = Look::begin();
    gateway.kill().unwrap();
    std::thread::sleep(WITHIN);
    let free = Look::begin();
    download.seconds();
    let epoch = home.testbed().epoch_instant();
    let report = home.stop();
    let (held_ms, free_ms) = (
        held.waiting_ms(epoch, &report, Way::Download),
        free.waiting_ms(epoch, &report, Way::Download),
    );
    eprintln!("{by}: queue {held_ms:.1} ms while held, {free_ms:.1} ms after the kill");
    let mut wrong = Vec::new();
    if held_ms > EMPTY_MS {
        wrong.push(format!("{by}: queue {held_ms:.1} ms under the gateway"));
    }
    if free_ms < FULL_MS {
        wrong.push(format!("{by}: queue {free_ms:.1} ms after it was killed"));
    }
    Attempt::over(&report, wrong)
}

#[test]
fn a_killed_gateway_holds_nobody_back_and_another_one_can_begin() {
    let name = "a_killed_gateway_holds_nobody_back_and_another_one_can_begin";
    if !can_run(name) {
        return;
    }
    judging::judge(name, || at_once(&["tcx", "clsact"], killed));
    let home = Home::start(1);
    let ebb = Ebb::new();
    for by in ["clsact", "clsact", "tcx"] {
        let rules = "[[rule]]\neverything = true\n";
        let gateway = home.gateway(&ebb, &["--attach-by", by], rules);
        let file = home.folder.path().join("home.toml");
        let mut second = ebb.command(["gateway", "--lan", "lan"]);
        home.path().client().move_child(&mut second);
        let second = second.arg(&file).output().unwrap();
        let said = stderr(&second);
        assert!(said.contains("gateway of lan already"), "{said}");
        gateway.kill().unwrap();
    }
}

/// All that is new at a time is told, and not the last of it.
#[test]
fn each_network_namespace_that_goes_is_told_of() {
    if !can_run("each_network_namespace_that_goes_is_told_of") {
        return;
    }
    let home = Home::start(3);
    let ebb = Ebb::new();
    let folder = home.folder.path();
    let boxes = ["one", "two", "three"].map(|it| folder.join(it));
    let mut rules = String::new();
    for (device, place) in home.devices.iter().zip(&boxes) {
        std::os::unix::fs::symlink(device.namespace().path(), place).unwrap();
        rules += &format!("[[rule]]\nnetns = \"{}\"\n", place.display());
    }
    let gateway = home.gateway(&ebb, &[], &rules);
    for place in &boxes {
        std::fs::remove_file(place).unwrap();
    }
    until("each is told of", || {
        let said = gateway.has_said();
        let is_told = |place: &&PathBuf| {
            said.contains(&format!("network namespace {}: No such", place.display()))
        };
        boxes.iter().filter(is_told).count() == boxes.len()
    });
    gateway.kill().unwrap();
}

/// Transfers of all devices together; `EBB_GATEWAY_TRANSFERS` can say more.
const TRANSFERS: u32 = 60;
const TRANSFER_BYTES: u32 = 200_000;
/// A gateway lives for so long, and for so long there is none.
const LIVES_MS: Range<u64> = 100..2200;
const PAUSES_MS: Range<u64> = 0..400;
const SEED: u64 = 17;

#[test]
fn no_byte_is_wrong_with_losses_reordering_and_gateways_that_are_killed() {
    let name = "no_byte_is_wrong_with_losses_reordering_and_gateways_that_are_killed";
    if !can_run(name) {
        return;
    }
    let (rate, delay) = (Rate::from_mbit_per_s(50), Nanos::from_millis(10));
    let mut link = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(100));
    (link.loss, link.reorder) = (share(0.005), share(0.02));
    link.reorder_delay = Nanos::from_millis(8);
    let home = Home::start_on(link, 3);
    // One device with all options of TCP, and two without one of them.
    for (device, option) in [(1, "net.ipv4.tcp_sack"), (2, "net.ipv4.tcp_timestamps")] {
        let device = home.devices[device].namespace();
        device.set_sysctls(&[(option, "0")]).unwrap();
    }
    let transfers = std::env::var("EBB_GATEWAY_TRANSFERS").ok();
    let transfers = transfers.map_or(TRANSFERS, |text| text.parse().unwrap());
    let each = transfers.div_ceil(6);
    let (v4, v6) = (SERVER_IPV4.to_string(), SERVER_IPV6.to_string());
    let ebb = Ebb::new();
    let is_over = AtomicBool::new(false);
    let (wrong, kills) = std::thread::scope(|scope| {
        let fetching: Vec<_> = home
            .devices
            .iter()
            .flat_map(|device| [(device, &v4), (device, &v6)])
            .map(|(device, host)| {
                scope.spawn(move || device.fetches(host, BACKGROUND, TRANSFER_BYTES, each))
            })
            .collect();
        let killing = scope.spawn(|| kill_at_random(&home, &ebb, &is_over));
        let wrong: u32 = fetching.into_iter().map(|it| it.join().unwrap()).sum();
        is_over.store(true, Ordering::Relaxed);
        (wrong, killing.join().unwrap())
    });
    eprintln!(
        "{} transfers, {kills} gateways killed, {wrong} wrong",
        each * 6
    );
    assert_eq!(wrong, 0);
    assert!(kills > 1, "{kills} gateways were killed");
}

/// Starts gateways and kills them, at random; answers how many.
fn kill_at_random(home: &Home, ebb: &Ebb, is_over: &AtomicBool) -> u32 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut kills = 0;
    while !is_over.load(Ordering::Relaxed) {
        let by = ["tcx", "clsact"][random.random_range(0..2)];
        let rules = "[[rule]]\neverything = true\n";
        let gateway = home.gateway(ebb, &["--attach-by", by], rules);
        std::thread::sleep(Duration::from_millis(random.random_range(LIVES_MS)));
        gateway.kill().unwrap();
        std::thread::sleep(Duration::from_millis(random.random_range(PAUSES_MS)));
        kills += 1;
    }
    kills
}

fn share(share: f64) -> Probability {
    Probability::new(share).unwrap()
}
