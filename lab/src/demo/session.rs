// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The demo's course: three parts on one link, and the download alone on two more like it.

use super::{
    Call, Download, Error, Nginx, Outcome, Page, Part, PartKind, Reader, Share, download,
    write_page,
};
use crate::emulator::{
    CLIENT_IPV4, EmulatorReport, Path, PathSpec, QueueSeries, SERVER_IPV4, Testbed,
};
use ebb_link::{Class, LinkSpec, Nanos, QueueLimit, Rate};
use std::net::SocketAddr;
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
/// Where the person hears the call.
const EAR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(CLIENT_IPV4), 4000);

/// More than a part can carry, and without a block on the disk.
const FILE_BYTES: u64 = 8 << 30;

/// How often the caller hears how things stand.
const STATUS_INTERVAL: Duration = Duration::from_millis(200);

/// How the demo runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Length of each part.
    pub part: Duration,
    /// What stands before `curl` to make it yield: `ebb run … --`.
    pub yielding: Vec<String>,
    /// How that makes it yield, for readers: the backend and the policy.
    pub method: String,
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
    /// The download's rate since the last status, in bits per second.
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
    let folder = folder.path();
    // Three links of one kind: the download alone is measured while part one runs.
    let testbed = Testbed::start(vec![home_link(); 3])?;
    let (home, alone_plain, alone_ebb) = (testbed.path(0), testbed.path(1), testbed.path(2));
    home.set_class(FILE.port(), Class::LessThanBestEffort);
    let _servers = serve(&testbed, folder)?;

    let start = Instant::now();
    let alone_plain = download(options, alone_plain, PartKind::Plain, start)?;
    let alone_ebb = download(options, alone_ebb, PartKind::Ebb, start)?;
    let quiet = part(options, home, PartKind::Quiet, &mut tell)?;
    let until_s = options.part.as_secs_f64();
    let alone_plain_bits_per_s = download::mean_bits_per_s(&alone_plain.end()?, until_s);
    let alone_ebb_bits_per_s = download::mean_bits_per_s(&alone_ebb.end()?, until_s);

    let plain = part(options, home, PartKind::Plain, &mut tell)?;
    let ebb = part(options, home, PartKind::Ebb, &mut tell)?;
    let epoch = testbed.epoch_instant();
    let emulator = testbed.stop()?;
    let series = &emulator.paths[0].forward.series;
    let with_shares = |(start, part): (Instant, Part)| Part {
        shares: shares(series, (start - epoch).as_secs_f64(), part.duration_s),
        ..part
    };
    let outcome = Outcome {
        parts: [quiet, plain, ebb].map(with_shares).into(),
        method: options.method.clone(),
        alone_plain_bits_per_s,
        alone_ebb_bits_per_s,
    };
    Ok((outcome, emulator))
}

/// What people look at beside the download, at home; the download alone on the others.
fn serve(testbed: &Testbed, folder: &std::path::Path) -> Result<[Nginx; 3], Error> {
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

fn write_files(www: &std::path::Path) -> Result<(), Error> {
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

fn download(
    options: &Options,
    path: &Path,
    kind: PartKind,
    start: Instant,
) -> Result<Download, Error> {
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
    let prefix = if kind == PartKind::Ebb {
        options.yielding.as_slice()
    } else {
        &[]
    };
    let command: Vec<String> = prefix
        .iter()
        .cloned()
        .chain(curl.map(str::to_owned))
        .collect();
    Download::start(path.client(), &command, start)
}

fn part(
    options: &Options,
    home: &Path,
    kind: PartKind,
    tell: &mut impl FnMut(Status),
) -> Result<(Instant, Part), Error> {
    let start = Instant::now();
    let call = Call::start(home.server(), home.client(), EAR, start)?;
    let download = match kind {
        PartKind::Quiet => None,
        _ => Some(download(options, home, kind, start)?),
    };
    let reader = Reader {
        namespace: home.client().clone(),
        server: PAGES,
    };
    let (sender, seen) = channel();
    let duration = options.part;
    let reading = std::thread::spawn(move || read(&reader, start, duration, sender));
    let pages = follow(&seen, &call, download.as_ref(), kind, start, tell);

    // The person is through: first the download ends, then the call, which empties the queue.
    let read = reading.join().map_err(|_| panicked("the reader"))?;
    let download = download.map(Download::end).transpose()?;
    read?;
    let call = call.end()?;
    let duration_s = duration.as_secs_f64();
    Ok((
        start,
        Part {
            kind,
            duration_s,
            pages,
            call,
            shares: Vec::new(),
            download,
        },
    ))
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
    download: Option<&Download>,
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
                let now = (Instant::now(), download.map_or(0, Download::total_bytes));
                let bits = (now.1 - last.1) as f64 * 8.0;
                let rate = bits / (now.0 - last.0).as_secs_f64();
                last = now;
                tell(Status {
                    kind,
                    elapsed_s: start.elapsed().as_secs_f64(),
                    pages: pages.len(),
                    last_page_s: pages.last().map(|page| page.load_s),
                    call_ms: call.last_delay_ms(),
                    download_bits_per_s: download.map(|_| rate),
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
