// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Twenty busy links at once, as the figures use them: are their times still right?
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use ebb_lab::LabError;
use ebb_lab::emulator::{Path, PathSpec, SERVER_IPV4, Testbed};
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};

use crate::judge;

const PATHS: usize = 20;
const RUN: Duration = Duration::from_secs(6);
/// What CUBIC must at least get of each link, start included.
const GOAL_RATIO: f64 = 0.9;

pub fn run() -> Result<bool, LabError> {
    let rate = Rate::from_mbit_per_s(10);
    let link = LinkSpec::drop_tail(rate, Nanos::from_millis(50), QueueLimit::Packets(86));
    let mut spec = PathSpec::new(link.clone(), link);
    spec.congestion_control = Some("cubic".into());
    let testbed = Testbed::start(vec![spec; PATHS])?;
    let end = Instant::now() + RUN;
    std::thread::scope(|scope| {
        let transfers = testbed
            .paths()
            .iter()
            .map(|path| scope.spawn(move || transfer(path, end)));
        let transfers: Vec<_> = transfers.collect();
        transfers
            .into_iter()
            .try_for_each(|transfer| transfer.join().expect("no panic"))
    })?;
    let report = testbed.stop()?;
    let bytes = |path: &ebb_lab::emulator::PathReport| {
        path.forward.statistics.total().delivered_bytes as f64
    };
    let least = report.paths.iter().map(bytes).fold(f64::INFINITY, f64::min);
    let ratio = least * 8.0 / RUN.as_secs_f64() / rate.bits_per_s() as f64;
    let cpu_share =
        report.cpu_time.as_secs_f64() / report.stopped.since(report.epoch).as_secs_f64();
    println!("paths        {}", report.summary());
    let figure = format!(
        "{PATHS} links of 10 Mbit/s, the least used {ratio:.3} (goal {GOAL_RATIO}), undisturbed: \
         {}, with {:.0} % of one core",
        !report.is_disturbed(),
        cpu_share * 100.0
    );
    Ok(judge(
        "paths",
        &figure,
        ratio >= GOAL_RATIO && !report.is_disturbed(),
    ))
}

/// Sends from the server to the client until the end.
fn transfer(path: &Path, end: Instant) -> Result<(), LabError> {
    let listener = path
        .server()
        .run_in(|| TcpListener::bind((SERVER_IPV4, 0)))?;
    let listener = listener.expect("the address is the namespace's own");
    let address = listener.local_addr().expect("a listener has an address");
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        stream.set_write_timeout(Some(RUN))?;
        let bytes = vec![0; 64 << 10];
        while Instant::now() < end {
            stream.write_all(&bytes)?;
        }
        std::io::Result::Ok(())
    });
    let receive = || {
        let mut stream = TcpStream::connect(address)?;
        let mut bytes = vec![0; 64 << 10];
        while Instant::now() < end && stream.read(&mut bytes)? > 0 {}
        std::io::Result::Ok(())
    };
    path.client()
        .run_in(receive)?
        .expect("the download goes on");
    // The receiver has hung up: that the last bytes were not taken is no failure.
    let _ = sender.join().expect("the sender does not panic");
    Ok(())
}
