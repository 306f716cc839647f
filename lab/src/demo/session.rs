// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The demo's course: three parts on one link, and the download alone on two more like it.

use super::place::Place;
use super::{
    Call, Download, Error, Nginx, Outcome, Page, Part, PartKind, Reader, Received, Share, download,
    write_page,
};
use crate::emulator::{CLIENT_IPV4, EmulatorReport, PathSpec, QueueSeries, SERVER_IPV4, Testbed};
use crate::namespace::NamespaceHandle;
use ebb_link::{Class, LinkSpec, Nanos, QueueLimit, Rate};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Rate of the emulated home link, both ways.
pub const RATE: Rate = Rate::from_mbit_per_s(10);
/// Delay of the emulated home link, each way.
pub const ONE_WAY_DELAY: Nanos = Nanos::from_millis(50);
/// Places in the queue, in packets.
pub const QUEUE_PKTS: u64 = 86;

/// Where the person's pages are.
const PAGES: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(SERVER_IPV4), 8080);
/// Where the large file is.
const FILE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(SERVER_IPV4), 8081);
/// Where the call is heard; a router hands it on.
pub(super) const EAR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(CLIENT_IPV4), 4000);

/// More than a part can carry, and without a block on the disk.
const FILE_BYTES: u64 = 8 << 30;

/// How often the caller hears how things stand.
const STATUS_INTERVAL: Duration = Duration::from_millis(200);

/// How the demo runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Length of each part.
    pub part: Duration,
    /// What makes downloads yield.
    pub yielding: Yielding,
    /// How that makes them yield, for readers: the backend and the policy.
    pub method: String,
}

/// What makes downloads yield.
#[derive(Clone, Debug)]
pub enum Yielding {
    /// Words before `curl`, on the person's own machine: `ebb run … --`.
    Command(Vec<String>),
    /// A gateway on the router of a home, whose devices download, read and call.
    Gateway {
        /// How it is started, but for the file of its rules.
        words: Vec<String>,
        /// What stands in the file: it has to be for [`super::BACKGROUND_DEVICES`].
        rules: String,
    },
}

/// How things stand, told a few times a second.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// The part that runs.
    pub kind: PartKind,
    /// Seconds since it began.
    pub elapsed_s: f64,
    /// Pages loaded in it so far.
    pub pages: usize,
    /// The last page's load time in seconds.
    pub last_page_s: Option<f64>,
    /// Delay of the call's last datagram in milliseconds.
    pub call_ms: f64,
    /// The downloads' rate since the last status, in bits per second.
    pub download_bits_per_s: Option<f64>,
}

/// Runs the demo; answers what was measured, and what the emulator says of itself.
///
/// The server's files are in a temporary folder that goes with it.
///
/// *Errors:* the links cannot be set up, a program is missing or fails, with its own words.
pub fn run(
    options: &Options,
    mut tell: impl FnMut(Status),
) -> Result<(Outcome, EmulatorReport), Error> {
    let folder = tempfile::tempdir().map_err(Error::io("a temporary folder"))?;
    // Three links of one kind: the downloads alone are measured while part one runs.
    let testbed = Testbed::start(vec![home_link(); 3])?;
    testbed.set_class(0, FILE.port(), Class::LessThanBestEffort);
    let measured = measure(options, &testbed, folder.path(), &mut tell)?;
    let epoch = testbed.epoch_instant();
    let emulator = testbed.stop()?;
    let series = &emulator.paths[0].forward.series;
    let with_shares = |(start, part): (Instant, Part)| Part {
        shares: shares(series, (start - epoch).as_secs_f64(), part.duration_s),
        ..part
    };
    let outcome = Outcome {
        parts: measured.parts.map(with_shares).into(),
        method: options.method.clone(),
        alone_plain_bits_per_s: measured.alone_plain_bits_per_s,
        alone_ebb_bits_per_s: measured.alone_ebb_bits_per_s,
    };
    Ok((outcome, emulator))
}

/// The parts, each with its begin, and the downloads alone.
struct Measured {
    parts: [(Instant, Part); 3],
    alone_plain_bits_per_s: f64,
    alone_ebb_bits_per_s: f64,
}

fn measure(
    options: &Options,
    testbed: &Testbed,
    folder: &Path,
    tell: &mut impl FnMut(Status),
) -> Result<Measured, Error> {
    let _servers = serve(testbed, folder)?;
    let place = |path| Place::behind(testbed.path(path), &options.yielding);
    let (home, alone_plain, alone_ebb) = (place(0)?, place(1)?, place(2)?);
    let scene = Scene {
        options,
        speaker: testbed.path(0).server(),
        place: &home,
    };

    let start = Instant::now();
    let gateway = alone_ebb.gateway(&options.yielding, folder)?;
    let alone_plain = downloads(options, &alone_plain, PartKind::Plain, start)?;
    let alone_ebb = downloads(options, &alone_ebb, PartKind::Ebb, start)?;
    let quiet = part(&scene, PartKind::Quiet, tell)?;
    let (alone_plain, alone_ebb) = (end(alone_plain)?, end(alone_ebb)?);
    drop(gateway);

    let plain = part(&scene, PartKind::Plain, tell)?;
    let gateway = home.gateway(&options.yielding, folder)?;
    let ebb = part(&scene, PartKind::Ebb, tell)?;
    drop(gateway);
    let until_s = options.part.as_secs_f64();
    Ok(Measured {
        parts: [quiet, plain, ebb],
        alone_plain_bits_per_s: download::mean_bits_per_s(&alone_plain, until_s),
        alone_ebb_bits_per_s: download::mean_bits_per_s(&alone_ebb, until_s),
    })
}

/// What people look at beside the download, at home; the download alone on the others.
fn serve(testbed: &Testbed, folder: &Path) -> Result<[Nginx; 3], Error> {
    write_files(&folder.join("www"))?;
    let server = |path: usize| testbed.path(path).server();
    Ok([
        Nginx::start(server(0), &[PAGES, FILE], folder, "home")?,
        Nginx::start(server(1), &[FILE], folder, "alone-plain")?,
        Nginx::start(server(2), &[FILE], folder, "alone-ebb")?,
    ])
}

fn home_link() -> PathSpec {
    let link = LinkSpec::drop_tail(RATE, ONE_WAY_DELAY, QueueLimit::Packets(QUEUE_PKTS));
    let congestion_control = Some("cubic".into());
    PathSpec {
        congestion_control,
        ..PathSpec::new(link.clone(), link)
    }
}

fn write_files(www: &Path) -> Result<(), Error> {
    write_page(www)?;
    let file = www.join("file");
    std::fs::File::create(&file)
        .and_then(|created| created.set_len(FILE_BYTES))
        .map_err(Error::io(file.display()))
}

/// Who used the link from `start_s` after the emulator's epoch.
fn shares(series: &QueueSeries, start_s: f64, duration_s: f64) -> Vec<Share> {
    let bin_s = series.bin.as_secs_f64();
    let rate = |class, index: usize| {
        let bytes = series
            .class(class)
            .get(index)
            .map_or(0, |bin| bin.sent_bytes);
        bytes as f64 * 8.0 / bin_s
    };
    let (first, last) = (start_s / bin_s, (start_s + duration_s) / bin_s);
    let share = |index: usize| Share {
        from_s: index as f64 * bin_s - start_s,
        until_s: (index + 1) as f64 * bin_s - start_s,
        person_bits_per_s: rate(Class::BestEffort, index),
        download_bits_per_s: rate(Class::LessThanBestEffort, index),
    };
    (first as usize..last.ceil() as usize).map(share).collect()
}

/// The plain or yielding downloads of a place.
fn downloads(
    options: &Options,
    place: &Place,
    kind: PartKind,
    start: Instant,
) -> Result<Vec<Download>, Error> {
    let url = format!("http://{FILE}/file");
    let curl = [
        "curl",
        "--silent",
        "--show-error",
        "--fail",
        "--noproxy",
        "*",
        &url,
    ];
    let prefix = match &options.yielding {
        Yielding::Command(words) if kind == PartKind::Ebb => words.as_slice(),
        _ => &[],
    };
    let command = prefix.iter().cloned().chain(curl.map(str::to_owned));
    let command: Vec<String> = command.collect();
    let downloaders = place.downloaders.iter();
    downloaders
        .map(|device| Download::start(device, &command, start))
        .collect()
}

/// Ends downloads; what arrived of all of them.
fn end(downloads: Vec<Download>) -> Result<Vec<Received>, Error> {
    let ended: Result<_, _> = downloads.into_iter().map(Download::end).collect();
    Ok(download::together(ended?))
}

/// What all parts have in common.
struct Scene<'a> {
    options: &'a Options,
    /// Who calls.
    speaker: &'a NamespaceHandle,
    place: &'a Place,
}

fn part(
    scene: &Scene,
    kind: PartKind,
    tell: &mut impl FnMut(Status),
) -> Result<(Instant, Part), Error> {
    let start = Instant::now();
    let call = Call::start(scene.speaker, &scene.place.ear, EAR, start)?;
    let downloads = match kind {
        PartKind::Quiet => Vec::new(),
        _ => downloads(scene.options, scene.place, kind, start)?,
    };
    let reader = Reader {
        namespace: scene.place.reader.clone(),
        server: PAGES,
    };
    let (sender, seen) = channel();
    let duration = scene.options.part;
    let reading = std::thread::spawn(move || read(&reader, start, duration, sender));
    let pages = follow(&seen, &call, &downloads, kind, start, tell);

    // The person is through: first downloads end, then the call, which empties the queue.
    let read = reading.join().map_err(|_| panicked("the reader"))?;
    let download = match kind {
        PartKind::Quiet => None,
        _ => Some(end(downloads)?),
    };
    read?;
    let call = call.end()?;
    let duration_s = duration.as_secs_f64();
    let part = Part {
        kind,
        duration_s,
        pages,
        call,
        shares: Vec::new(),
        download,
    };
    Ok((start, part))
}

/// The person reads; the channel ends with the part, however fast its last page.
fn read(
    reader: &Reader,
    start: Instant,
    duration: Duration,
    sender: Sender<Page>,
) -> Result<(), Error> {
    // Whoever follows outlives this thread: nothing is lost.
    let read = reader.read(start, duration, |page| {
        let _ = sender.send(page);
    });
    std::thread::sleep((start + duration).saturating_duration_since(Instant::now()));
    read
}

/// Collects pages until the reader is through, and tells how things stand meanwhile.
fn follow(
    seen: &Receiver<Page>,
    call: &Call,
    downloads: &[Download],
    kind: PartKind,
    start: Instant,
    tell: &mut impl FnMut(Status),
) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    let mut last = (start, 0);
    loop {
        let next_status = last.0 + STATUS_INTERVAL;
        match seen.recv_timeout(next_status.saturating_duration_since(Instant::now())) {
            Ok(page) => pages.push(page),
            Err(RecvTimeoutError::Disconnected) => return pages,
            Err(RecvTimeoutError::Timeout) => {
                let total_bytes = downloads.iter().map(Download::total_bytes).sum::<u64>();
                let now = (Instant::now(), total_bytes);
                let bits = (now.1 - last.1) as f64 * 8.0;
                let rate = bits / (now.0 - last.0).as_secs_f64();
                last = now;
                tell(Status {
                    kind,
                    elapsed_s: start.elapsed().as_secs_f64(),
                    pages: pages.len(),
                    last_page_s: pages.last().map(|page| page.load_s),
                    call_ms: call.last_delay_ms(),
                    download_bits_per_s: (!downloads.is_empty()).then_some(rate),
                });
            }
        }
    }
}

fn panicked(who: &str) -> Error {
    Error::Failed {
        program: who.into(),
        problem: "panicked".into(),
    }
}
