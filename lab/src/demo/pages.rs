// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of several objects, and a person who reads one after the other with curl.

use super::{Error, ends_with_its_parent};
use crate::namespace::NamespaceHandle;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A page's objects beside its HTML: name and size in bytes.
const OBJECTS: [(&str, usize); 8] = [
    ("style.css", 38_000),
    ("script.js", 62_000),
    ("hero.webp", 84_000),
    ("photo-1.webp", 41_000),
    ("photo-2.webp", 33_000),
    ("photo-3.webp", 24_000),
    ("logo.webp", 6_000),
    ("icons.webp", 9_000),
];
const HTML_BYTES: usize = 23_000;

/// Bytes of one page with all its objects, without HTTP's own.
pub const PAGE_BYTES: u64 = {
    let mut sum = HTML_BYTES;
    let mut index = 0;
    while index < OBJECTS.len() {
        sum += OBJECTS[index].1;
        index += 1;
    }
    sum as u64
};

/// Files of one page: the HTML and what it names.
pub const PAGE_OBJECTS: usize = 1 + OBJECTS.len();

/// From click to click, if pages load faster than that.
pub const PAGE_INTERVAL: Duration = Duration::from_secs(2);

/// A page gives up after this long.
const PAGE_LIMIT_S: u32 = 30;

/// One page load as the person saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    /// Click, in seconds since the part began.
    pub start_s: f64,
    /// From the click to the last byte of the last object.
    pub load_s: f64,
}

/// Writes the page's files into `www/page`; the content does not compress.
///
/// *Errors:* a file cannot be written.
pub fn write_page(www: &Path) -> Result<(), Error> {
    let folder = www.join("page");
    std::fs::create_dir_all(&folder).map_err(Error::io(folder.display()))?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for (name, size) in OBJECTS.into_iter().chain([("index.html", HTML_BYTES)]) {
        let mut content = vec![0; size];
        random.fill_bytes(&mut content);
        let path = folder.join(name);
        std::fs::write(&path, content).map_err(Error::io(path.display()))?;
    }
    Ok(())
}

/// A person who opens a page every [`PAGE_INTERVAL`], or as soon as the last one is there.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Where the person sits.
    pub namespace: NamespaceHandle,
    /// The server.
    pub server: SocketAddr,
}

impl Reader {
    /// Opens pages from `start` on, the last before `start + duration`, and tells each to `seen`.
    ///
    /// Blocks until the last page is there.
    ///
    /// *Errors:* curl cannot be started or fails.
    pub fn read(
        &self,
        start: Instant,
        duration: Duration,
        mut seen: impl FnMut(Page),
    ) -> Result<(), Error> {
        let mut click = start;
        while click < start + duration {
            std::thread::sleep(click.saturating_duration_since(Instant::now()));
            let clicked = Instant::now();
            self.load()?;
            seen(Page {
                start_s: (clicked - start).as_secs_f64(),
                load_s: clicked.elapsed().as_secs_f64(),
            });
            click = (click + PAGE_INTERVAL).max(Instant::now());
        }
        Ok(())
    }

    /// Loads the page once: the HTML, then all that it names over six connections, as browsers do.
    fn load(&self) -> Result<(), Error> {
        let mut html = self.curl();
        html.arg(self.url("index.html")).args(["-o", "/dev/null"]);
        finish(html)?;
        let mut objects = self.curl();
        objects.args(["--parallel", "--parallel-immediate", "--parallel-max", "6"]);
        for (name, _) in OBJECTS {
            objects.arg(self.url(name)).args(["-o", "/dev/null"]);
        }
        finish(objects)
    }

    fn url(&self, name: &str) -> String {
        format!("http://{}/page/{name}", self.server)
    }

    fn curl(&self) -> Command {
        let mut command = ends_with_its_parent(self.namespace.command("curl"));
        command.args([
            "--silent",
            "--show-error",
            "--fail",
            "--noproxy",
            "*",
            "--max-time",
        ]);
        command.arg(PAGE_LIMIT_S.to_string());
        command
    }
}

fn finish(mut command: Command) -> Result<(), Error> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::start("curl", error))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Failed {
        program: "curl".into(),
        problem: format!("a page did not load: {words}"),
    })
}
