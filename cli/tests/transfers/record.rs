// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transfer with the time of each arrival.

use crate::transfers::program;
use ebb_lab::namespace::NamespaceHandle;
use std::io::Read;
use std::process::{ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// Whatever takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// What a program wrote to its standard output, and when.
pub struct Recording {
    /// From start to end.
    pub took_s: f64,
    content: Vec<u8>,
    /// Seconds since the start, one for each read.
    arrivals_s: Vec<f64>,
    /// Why the program failed.
    problem: Option<String>,
}

impl Recording {
    /// The longest time between two arrivals.
    pub fn longest_gap_s(&self) -> f64 {
        self.arrivals_s
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .fold(0.0, f64::max)
    }

    /// Whether the program succeeded and this is what it wrote.
    pub fn check(&self, wanted: &[u8]) -> Result<(), String> {
        match &self.problem {
            Some(problem) => Err(problem.clone()),
            None if self.content == wanted => Ok(()),
            None => Err(format!(
                "{} bytes arrived, not the {} that were sent",
                self.content.len(),
                wanted.len()
            )),
        }
    }
}

/// Runs a program to its end.
pub fn record(namespace: &NamespaceHandle, words: &[String]) -> Recording {
    let start = Instant::now();
    let mut child = program(namespace, words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{words:?}: {error}"));
    let (stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = std::thread::spawn(move || read(stdout, start));
    let mut problem = None;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LIMIT && problem.is_none() {
            problem = Some(format!("not through after {LIMIT:?}"));
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let took_s = start.elapsed().as_secs_f64();
    let (content, arrivals_s) = reader.join().unwrap();
    let mut complaint = String::new();
    stderr.read_to_string(&mut complaint).unwrap();
    if !status.success() {
        problem.get_or_insert(format!("{status}: {}", complaint.trim()));
    }
    Recording {
        took_s,
        content,
        arrivals_s,
        problem,
    }
}

fn read(mut stdout: ChildStdout, start: Instant) -> (Vec<u8>, Vec<f64>) {
    let (mut content, mut arrivals_s) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = stdout.read(&mut buffer) {
        content.extend_from_slice(&buffer[..length]);
        arrivals_s.push(start.elapsed().as_secs_f64());
    }
    (content, arrivals_s)
}
