// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page of the service, in a real browser.

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ebb_kernel::{requires, requires_root, until};
use nix::sys::signal::Signal;
use support::serving::{BYTES, Scene};

const PAGE: &str = "127.0.0.1:9752";
const SETTINGS: &str = "[page]\nlisten = \"127.0.0.1:9752\"\n";
const RULE: &str = "[[rule]]\nname = \"one\"\nunit = \"one@*\"\n";
/// A browser that hangs is stopped; one on a busy machine takes its time.
const BROWSES_WITHIN: Duration = Duration::from_secs(180);
/// The narrowest telephone.
const NARROW_PX: u32 = 360;

/// A browser, with a profile of its own.
struct Browser {
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Browser {
    fn find() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let files = std::env::split_paths(&path);
        let mut files = files.flat_map(|folder| names.map(|name| folder.join(name)));
        Some(Self {
            program: files.find(|file| file.is_file())?,
            folder: tempfile::tempdir().unwrap(),
        })
    }

    /// What a page consists of once it has run for a while.
    fn dom(&self, url: &str) -> String {
        let printed = self.folder.path().join("printed");
        let profile = self.folder.path().join("profile");
        let mut child = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--hide-scrollbars", "--disable-dev-shm-usage"])
            .args(["--allow-file-access-from-files", "--dump-dom"])
            .args(["--virtual-time-budget=5000"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(url)
            .stdout(File::create(&printed).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + BROWSES_WITHIN;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                let _ = child.kill();
                panic!("the browser did not end with {url}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        String::from_utf8_lossy(&fs::read(&printed).unwrap()).into_owned()
    }

    /// How wide a page is in a frame that is narrow: windows cannot be.
    fn width_px(&self, dom: &str) -> u32 {
        let style = include_str!("../../daemon/src/page/page.css");
        let (head, body) = dom.split_once("</head>").unwrap();
        assert!(head.contains("page.css"));
        let head = "<!doctype html><html><head><meta name=\"viewport\" \
                    content=\"width=device-width\">";
        let still = format!("{head}<style>{style}</style></head>{body}");
        let (still_file, frame_file) = (self.file("still.html"), self.file("frame.html"));
        fs::write(&still_file, still).unwrap();
        let script = "onload = () => {\
                      const page = document.querySelector('iframe').contentDocument;\
                      for (const part of page.querySelectorAll('details')) part.open = true;\
                      document.title = 'width=' + page.documentElement.scrollWidth + ';'; }";
        let frame = format!(
            "<!doctype html><head><title></title></head><iframe src=\"file://{}\" \
             width={NARROW_PX} height=800 style=\"border:0\"></iframe><script>{script}</script>",
            still_file.display()
        );
        fs::write(&frame_file, frame).unwrap();
        let dom = self.dom(&format!("file://{}", frame_file.display()));
        let (_, width) = dom.split_once("<title>width=").unwrap();
        width.split(';').next().unwrap().parse().unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn page_of(records: &Path) -> (String, String) {
    let url = fs::read_to_string(records.join("page.url")).unwrap();
    let (_, token) = url.trim().split_once('#').unwrap();
    (url.trim().to_owned(), token.to_owned())
}

fn switch(token: &str, is_off: bool) {
    let body = format!("{{\"rule\": \"one\", \"off\": {is_off}}}");
    let mut stream = TcpStream::connect(PAGE).unwrap();
    let request = format!(
        "POST /switch HTTP/1.1\r\nHost: {PAGE}\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    assert!(heard.starts_with("HTTP/1.1 200 "), "{heard}");
}

#[test]
fn the_page_shows_what_yields_in_a_real_browser_and_switches_rules() {
    let name = "the_page_shows_what_yields_in_a_real_browser_and_switches_rules";
    let browser = Browser::find();
    let is_there = || requires(name, "chromium", "chromium", browser.is_some());
    if !requires_root(name) || !is_there() {
        return;
    }
    let browser = browser.unwrap();
    let scene = Scene::new("w");
    scene.write("a.toml", RULE);
    fs::create_dir(scene.rules.path().join("settings")).unwrap();
    scene.write("settings/ebbd.toml", SETTINGS);
    // So that there is a past.
    scene.serve().end(Signal::SIGTERM);
    let _service = scene.serve();
    let _client = scene.connect_from("one@1.service");
    scene.until_carried("one", &[BYTES as u64]);

    let [(_, records)] = scene.ebb.environment();
    let (url, token) = page_of(&records);
    let dom = browser.dom(&url);
    for part in [
        "1 rule, ",
        "<h2>one</h2>",
        ">Switch off</button>",
        "by ebb, sending by ebb-sender",
        "Connections: 1",
        "from 10.78.0.2:7000: 0.1 MB",
        "24 hours ago",
        "Everything else on this machine",
    ] {
        assert!(dom.contains(part), "{part}: {dom}");
    }
    let width_px = browser.width_px(&dom);
    assert!(width_px <= NARROW_PX, "{width_px}");

    switch(&token, true);
    let listed = || scene.ebb.says(["rules", "--rules", &scene.folder()]);
    until("it is off", || listed().contains("one (off)"));
    let off = browser.dom(&url);
    assert!(off.contains("switched off: it takes what it gets"), "{off}");
    assert!(off.contains(">Switch on</button>"), "{off}");
    switch(&token, false);
    until("it is on", || listed().contains("one (on)"));

    // Without the token it shows nothing but what to do.
    let other = Browser::find().unwrap();
    let nothing = other.dom(&format!("http://{PAGE}/"));
    assert!(nothing.contains("sudo cat /run/ebb/page.url"), "{nothing}");
    assert!(!nothing.contains("<h2>one</h2>"), "{nothing}");
}
