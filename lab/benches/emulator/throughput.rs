// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real TCP through an emulated link of 1 Gbit/s.
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use ebb_lab::LabError;
use ebb_lab::emulator::{Path, PathSpec, SERVER_IPV4, Testbed};
use ebb_link::{Class, LinkSpec, Nanos, QueueLimit, Rate};

use crate::judge;

const RUN: Duration = Duration::from_secs(6);
/// Slow start is not what is measured.
const SKIPPED: Duration = Duration::from_secs(2);
const GOAL_BITS_PER_S: f64 = 1e9;
/// The share of the goal that counts as reached: bins have edges.
const GOAL_RATIO: f64 = 0.99;

pub fn run() -> Result<bool, LabError> {
    let (rate, delay) = (Rate::from_mbit_per_s(1_000), Nanos::from_millis(5));
    let forward = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(2_000));
    let mut spec = PathSpec::new(forward, LinkSpec::delay_only(delay));
    spec.congestion_control = Some("cubic".into());
    let testbed = Testbed::start(vec![spec])?;
    transfer(testbed.path(0))?;
    let report = testbed.stop()?;
    let series = &report.paths[0].forward.series;
    let from = report.epoch + SKIPPED.into();
    let until = report.epoch + RUN.into();
    let bin = series.between(Class::BestEffort, from, until);
    let seconds = (RUN - SKIPPED).as_secs_f64();
    let ratio = bin.sent_bytes as f64 * 8.0 / seconds / GOAL_BITS_PER_S;
    let cpu_share =
        report.cpu_time.as_secs_f64() / report.stopped.since(report.epoch).as_secs_f64();
    println!("throughput   {}", report.summary());
    let figure = format!(
        "{:.0} Mbit/s in {:.0} packets/s of {} bytes, {ratio:.3} of 1 Gbit/s (goal \
         {GOAL_RATIO}), with {:.0} % of one core",
        ratio * GOAL_BITS_PER_S / 1e6,
        bin.waiting.count as f64 / seconds,
        bin.sent_bytes / bin.waiting.count.max(1),
        cpu_share * 100.0,
    );
    Ok(judge("throughput", &figure, ratio >= GOAL_RATIO))
}

/// Sends from the server to the client as fast as TCP does.
fn transfer(path: &Path) -> Result<(), LabError> {
    let listener = path
        .server()
        .run_in(|| TcpListener::bind((SERVER_IPV4, 0)))?;
    let listener = listener.expect("the address is the namespace's own");
    let address = listener.local_addr().expect("a listener has an address");
    let end = Instant::now() + RUN;
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        let bytes = vec![0; 256 << 10];
        while Instant::now() < end {
            stream.write_all(&bytes)?;
        }
        std::io::Result::Ok(())
    });
    let receive = || {
        let mut stream = TcpStream::connect(address)?;
        let mut bytes = vec![0; 256 << 10];
        while stream.read(&mut bytes)? > 0 {}
        std::io::Result::Ok(())
    };
    path.client()
        .run_in(receive)?
        .expect("the download ends well");
    sender
        .join()
        .expect("the sender does not panic")
        .expect("the upload ends well");
    Ok(())
}
