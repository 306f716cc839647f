// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A real browser, told what to do over its pipe for remote debugging, which shows one page.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::unistd::pipe;
use serde_json::{Value, json};

/// A browser that hangs is given up; one on a busy machine takes its time.
const ANSWERS_WITHIN: Duration = Duration::from_secs(120);
/// Where the browser reads from, and writes to.
const PIPE: [i32; 2] = [3, 4];

/// A browser with a profile of its own; it ends when dropped.
pub struct Browser {
    child: Child,
    to: File,
    said: Receiver<Value>,
    session: Option<Value>,
    asked: u64,
    _profile: tempfile::TempDir,
}

/// Where one is on this machine.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let files = std::env::split_paths(&path);
    let mut files = files.flat_map(|folder| names.map(|name| folder.join(name)));
    files.find(|file| file.is_file())
}

impl Browser {
    pub fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (theirs, to) = pipe().unwrap();
        let (from, theirs_too) = pipe().unwrap();
        let mut command = Command::new(program);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--hide-scrollbars", "--disable-dev-shm-usage"])
            .arg("--remote-debugging-pipe")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        give(&mut command, [theirs, theirs_too]);
        let mut browser = Self {
            child: command.spawn().unwrap(),
            to: to.into(),
            said: listen(from),
            session: None,
            asked: 0,
            _profile: profile,
        };
        drop(command);
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.ask("Target.attachToTarget", target);
        browser.session = Some(attached["sessionId"].clone());
        browser
    }

    /// Opens a page; what it consists of is still to come.
    pub fn open(&mut self, url: &str) {
        // One that differs in what follows # alone would not be loaded again.
        self.ask("Page.navigate", json!({"url": "about:blank"}));
        self.ask("Page.navigate", json!({"url": url}));
    }

    /// As wide as this, in the light or in the dark.
    pub fn look(&mut self, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!({"name": "prefers-color-scheme", "value": scheme});
        self.ask("Emulation.setEmulatedMedia", json!({"features": [scheme]}));
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let expression = json!({"expression": expression, "returnByValue": true});
        self.ask("Runtime.evaluate", expression)["result"]["value"].take()
    }

    /// All that can be read in the page, of what is closed as well.
    pub fn text(&mut self) -> String {
        let text = self.value("document.body.textContent");
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Puts a finger on the first button of this name, and takes it away after so long.
    pub fn press(&mut self, name: &str, held: Duration) {
        let find = format!(
            "(() => {{
                const all = [...document.querySelectorAll('button')];
                const button = all.find((it) => it.textContent === '{name}');
                button.scrollIntoView();
                const place = button.getBoundingClientRect();
                return [place.x + place.width / 2, place.y + place.height / 2];
            }})()"
        );
        let place = self.value(&find);
        let mut act = |kind: &str| {
            let what = json!({"type": kind, "x": place[0], "y": place[1], "button": "left",
                "clickCount": 1});
            self.ask("Input.dispatchMouseEvent", what);
        };
        act("mousePressed");
        std::thread::sleep(held);
        act("mouseReleased");
    }

    /// A picture of the whole page.
    pub fn picture(&mut self, file: &Path) {
        let whole = json!({"captureBeyondViewport": true});
        let picture = self.ask("Page.captureScreenshot", whole);
        let mut decode = Command::new("base64");
        decode.arg("--decode").stdin(Stdio::piped());
        let mut decode = decode.stdout(File::create(file).unwrap()).spawn().unwrap();
        let text = picture["data"].as_str().unwrap();
        decode
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        assert!(decode.wait().unwrap().success());
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone();
        }
        self.to
            .write_all(format!("{message}\0").as_bytes())
            .unwrap();
        let deadline = Instant::now() + ANSWERS_WITHIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut said = self.said.recv_timeout(left).expect("the browser answers");
            if said["id"] == self.asked {
                assert_eq!(said["error"], Value::Null, "{method}");
                return said["result"].take();
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its other processes end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Has a command begin with these as its pipe.
fn give(command: &mut Command, ends: [OwnedFd; 2]) {
    let place = move || {
        // First out of the way of where they are to be.
        let out_of_the_way = |end: &OwnedFd| {
            // SAFETY: plain numbers.
            unsafe { libc::fcntl(end.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 10) }
        };
        let moved = [out_of_the_way(&ends[0]), out_of_the_way(&ends[1])];
        for (from, to) in moved.into_iter().zip(PIPE) {
            // SAFETY: plain numbers; whatever was open there is closed.
            if unsafe { libc::dup2(from, to) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: it makes system calls alone.
    unsafe { command.pre_exec(place) };
}

/// Messages end with a byte of zero.
fn listen(from: OwnedFd) -> Receiver<Value> {
    let (sender, said) = channel();
    std::thread::spawn(move || {
        let messages = BufReader::new(File::from(from)).split(0);
        for message in messages.map_while(Result::ok) {
            let message = serde_json::from_slice(&message).unwrap();
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    said
}
