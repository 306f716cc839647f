// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A gateway on a home's router, as a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Error, ends_with_its_parent};
use crate::namespace::NamespaceHandle;

/// At work; dropped, it lets everything go.
#[derive(Debug)]
pub(super) struct Gateway(Child);

impl Gateway {
    /// Starts these words on the router, with a file of these rules behind them, and waits until
    /// they say that they act.
    ///
    /// *Errors:* they end, with what they said last.
    pub(super) fn start(
        router: &NamespaceHandle,
        words: &[String],
        rules: &str,
        folder: &Path,
    ) -> Result<Self, Error> {
        let file = folder.join("home.toml");
        std::fs::write(&file, rules).map_err(Error::io(file.display()))?;
        let mut child = ends_with_its_parent(router.command(&words[0]))
            .args(&words[1..])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Error::start(&words[0], error))?;
        let mut said = BufReader::new(child.stderr.take().expect("stderr was asked for"));
        let gateway = Self(child);
        let mut line = String::new();
        // What cannot be read says nothing.
        let _ = said.read_line(&mut line);
        if !line.contains("yields") {
            let _ = said.read_to_string(&mut line);
            let words_of_it = line.trim().lines().last().unwrap_or("without a word");
            return Err(Error::Failed {
                program: words.join(" "),
                problem: format!("ended: {words_of_it}"),
            });
        }
        // It goes on saying things to somebody who listens.
        std::thread::spawn(move || drop(said.read_to_string(&mut line)));
        Ok(gateway)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Already ended is as good as asked to.
        let _ = kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}
