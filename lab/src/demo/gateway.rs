// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A gateway on a home's router, as a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Error, ends_with_its_parent};

/// At work; dropped, it lets everything go.
#[derive(Debug)]
pub struct Gateway {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Gateway {
    /// Starts `ebb gateway --lan …` with a file of these rules, in this folder, behind its words,
    /// and waits until it says that it acts. It ends with the thread that starts it, too.
    ///
    /// *Errors:* it ends, with what it said last.
    pub fn start(mut command: Command, rules: &str, folder: &Path) -> Result<Self, Error> {
        let file = folder.join("home.toml");
        std::fs::write(&file, rules).map_err(Error::io(file.display()))?;
        command.arg(&file);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut command = ends_with_its_parent(command);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Error::start(&program, error))?;
        let mut said = BufReader::new(child.stderr.take().expect("stderr was asked for"));
        let gateway = Self {
            child,
            said: Arc::default(),
        };
        let mut line = String::new();
        // What cannot be read says nothing.
        let _ = said.read_line(&mut line);
        if !line.contains("yields") {
            let _ = said.read_to_string(&mut line);
            let words_of_it = line.trim().lines().last().unwrap_or("without a word");
            return Err(Error::Failed {
                program: format!("{command:?}"),
                problem: format!("ended: {words_of_it}"),
            });
        }
        // It goes on saying things to somebody who listens.
        let heard = gateway.said.clone();
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        Ok(gateway)
    }

    /// What it has said since then, by lines.
    pub fn has_said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.clone()
    }

    /// Asks it to read its file again, by SIGHUP.
    ///
    /// *Errors:* the system's.
    pub fn read_again(&self) -> std::io::Result<()> {
        Ok(kill(self.pid(), Signal::SIGHUP)?)
    }

    /// Waits until it has ended by itself.
    ///
    /// *Errors:* the system's.
    pub fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Asks it to end, by SIGTERM, and waits until it has.
    ///
    /// *Errors:* the system's.
    pub fn end(mut self) -> std::io::Result<ExitStatus> {
        kill(self.pid(), Signal::SIGTERM)?;
        self.child.wait()
    }

    /// Kills it, so that nobody lets anything go but the kernel.
    ///
    /// *Errors:* the system's.
    pub fn kill(mut self) -> std::io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Already ended is as good as asked to.
            let _ = kill(self.pid(), Signal::SIGTERM);
            let _ = self.child.wait();
        }
    }
}
