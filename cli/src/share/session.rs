// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sharing while it goes on: control periods, signals, programs that end.

use std::fmt::Write as _;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ebb_keeper::flow_view::FlowView;
use ebb_keeper::registry::{Record, Registration, Request, Runtime, Target as Attached};
use ebb_keeper::signals::{self, Arrived, Signals};
use ebb_sharing::{Controller, Preferences, Settings, Stage, Target};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use serde_json::Value;

use super::file::{Program, SharingFile};
use super::member::Member;
use crate::output::{self, complain};

/// Commands may take so long to end when they are asked to.
const END_PATIENCE: Duration = Duration::from_secs(3);

/// Programs that share, until they have ended.
pub struct Session {
    path: PathBuf,
    file: SharingFile,
    /// By place in the file; none: it has ended.
    members: Vec<Option<Member>>,
    controller: Controller,
    signals: Signals,
    began: Instant,
    last: Instant,
    is_watched: bool,
    /// Gone when all were let go.
    registration: Option<Registration>,
}

impl Session {
    /// Puts the law on all programs and starts those that are commands.
    ///
    /// *Errors:* one of them cannot be; nothing is held then.
    pub fn begin(path: PathBuf, file: SharingFile, is_watched: bool) -> Result<Self> {
        let signals = Signals::receive()?;
        let mut members = Vec::with_capacity(file.programs.len());
        for (number, program) in (0..).zip(&file.programs) {
            match Member::prepare(program, number, &file.policy, &signals) {
                Ok(member) => members.push(Some(member)),
                Err(error) => {
                    members.iter().flatten().for_each(Member::terminate);
                    return Err(error);
                }
            }
        }
        let registration = match register(&path, &file, &members) {
            Ok(registration) => Some(registration),
            Err(error) => {
                members.iter().flatten().for_each(Member::terminate);
                return Err(error);
            }
        };
        let now = Instant::now();
        Ok(Self {
            registration,
            controller: Controller::new(Settings::default(), wanted(&file.programs)),
            members,
            path,
            file,
            signals,
            began: now,
            last: now,
            is_watched,
        })
    }

    /// Shares until all programs have ended, or a signal says so; answers the exit status.
    ///
    /// *Errors:* the kernel does not do what it did before.
    pub fn run(mut self) -> Result<u8> {
        loop {
            let left = (self.last + self.file.period).saturating_duration_since(Instant::now());
            let mut descriptors = vec![self.signals.as_fd()];
            descriptors.extend(self.registration.as_ref().map(AsFd::as_fd));
            signals::wait_readable(&descriptors, Some(left))?;
            self.answer();
            while let Some(arrived) = self.signals.next()? {
                if let Some(status) = self.obey(arrived)? {
                    self.end(arrived)?;
                    return Ok(status);
                }
            }
            self.reap();
            self.forget_ended();
            if self.members.iter().all(Option::is_none) {
                return Ok(0);
            }
            if self.last.elapsed() >= self.file.period {
                self.control()?;
            }
        }
    }

    /// Does what `ebb status`, `top` and `detach` ask for.
    fn answer(&mut self) {
        let Some(mut registration) = self.registration.take() else {
            return;
        };
        let mut is_over = false;
        let (path, members) = (&self.path, &mut self.members);
        registration.answer(|registration, request| match request {
            Request::Flows => {
                let flows = members.iter().flatten().map(Member::flows);
                let flows: Vec<FlowView> = flows.collect::<Result<Vec<_>>>()?.concat();
                Ok(serde_json::to_value(flows)?)
            }
            Request::Detach => {
                is_over = true;
                members.iter_mut().flatten().try_for_each(Member::release)?;
                registration.withdraw();
                Ok(Value::Null)
            }
            _ => bail!(
                "how programs share is written in {}: change it there, then 'kill -HUP {}'; \
                 'ebb detach' lets all of them go",
                path.display(),
                std::process::id()
            ),
        });
        // Nobody is to find what is not held any more.
        if !is_over {
            self.registration = Some(registration);
        }
    }

    fn control(&mut self) -> Result<()> {
        let now = Instant::now();
        let period_s = (now - self.last).as_secs_f64().max(1e-3);
        self.last = now;
        // They were let go: only commands are waited for.
        if self.registration.is_none() {
            return Ok(());
        }
        let measure = |member: &mut Option<Member>| match member {
            Some(member) => member.measure(period_s),
            None => Ok(None),
        };
        let arrived = self.members.iter_mut().map(measure);
        let arrived = arrived.collect::<Result<Vec<_>>>()?;
        let now_ns = u64::try_from((now - self.began).as_nanos())?;
        self.controller.control(now_ns, &arrived)?;
        for (place, member) in self.members.iter_mut().enumerate() {
            if let Some(member) = member {
                member.hold(self.controller.target(place))?;
            }
        }
        match self.is_watched {
            true => output::print(&self.line()),
            false => Ok(()),
        }
    }

    /// What each received, of what it is held at.
    fn line(&self) -> String {
        let mut line = format!("{:>6.0} s", self.began.elapsed().as_secs_f64());
        let members = self.members.iter().enumerate();
        for (place, member) in members.filter_map(|(place, it)| Some((place, it.as_ref()?))) {
            let received = self.controller.received_bits_per_s(place) as f64 / 1e6;
            let _ = match member.target {
                Target::Free => write!(line, "  {} {received:.2} of all", member.name),
                Target::At(target) => {
                    let target = target as f64 / 1e6;
                    write!(line, "  {} {received:.2} of {target:.2}", member.name)
                }
            };
        }
        let doing = match self.controller.stage().0 {
            Stage::Releasing => "all free",
            Stage::Holding => "holding",
            Stage::Relaxing => "trying more",
            Stage::Probing(_) => "trying more for one",
            Stage::Constraining => "trying less",
        };
        line + &format!("  Mbit/s, {doing}\n")
    }

    /// *Returns:* the exit status if it is to end.
    fn obey(&mut self, arrived: Arrived) -> Result<Option<u8>> {
        match arrived.signal {
            // From the kernel: the terminal has gone.
            Signal::SIGHUP if !arrived.is_from_kernel => self.read_again(),
            Signal::SIGHUP | Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTERM => {
                return Ok(Some(128 + u8::try_from(arrived.signal as i32)?));
            }
            Signal::SIGTSTP => signals::stop_like(arrived.signal)?,
            _ => {}
        }
        Ok(None)
    }

    /// Takes other wishes from the file; what is wrong there changes nothing.
    fn read_again(&mut self) {
        let who = |file: &SharingFile| -> Vec<_> {
            let programs = file.programs.iter();
            let own = programs.map(|program| (program.name.clone(), program.who.clone()));
            own.collect()
        };
        match SharingFile::read(&self.path) {
            Err(error) => complain(&format!("{}; going on as before", output::describe(&error))),
            Ok(file) if who(&file) != who(&self.file) => complain(&format!(
                "{}: other programs than at the start; only weight, minimum and priority can \
                 change, going on as before",
                self.path.display()
            )),
            Ok(file) => match self.controller.set_wanted(wanted(&file.programs)) {
                Ok(()) => {
                    self.file.programs = file.programs;
                    self.tell();
                }
                Err(error) => complain(&error.to_string()),
            },
        }
    }

    /// Lets `ebb status` know of other wishes.
    fn tell(&mut self) {
        let target = target_of(&self.path, &self.file, &self.members);
        if let Some(registration) = &mut self.registration
            && let Err(error) = target.and_then(|target| registration.set_target(target))
        {
            tracing::warn!("{error:#}");
        }
    }

    fn reap(&mut self) {
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            let Some(pid) = status.pid() else { return };
            let members = self.members.iter_mut().flatten();
            let name = members
                .filter_map(|member| member.note_end(pid).then_some(&member.name))
                .next();
            match (name, status) {
                (Some(name), WaitStatus::Exited(_, code)) if code != 0 => {
                    complain(&format!("{name}: the command ended with status {code}"));
                }
                (Some(name), WaitStatus::Signaled(_, signal, _)) => {
                    complain(&format!("{name}: the command was ended by {signal}"));
                }
                _ => {}
            }
        }
    }

    fn forget_ended(&mut self) {
        let mut has_changed = false;
        for member in &mut self.members {
            if let Some(reason) = member.as_ref().and_then(Member::end) {
                tracing::info!("{reason}");
                *member = None;
                has_changed = true;
            }
        }
        if has_changed {
            self.tell();
        }
    }

    /// Lets go of everything; commands end with us.
    fn end(mut self, arrived: Arrived) -> Result<()> {
        // Keys at the terminal have reached them already.
        if !arrived.is_from_kernel {
            self.members.iter().flatten().for_each(Member::terminate);
        }
        let asked = Instant::now();
        while asked.elapsed() < END_PATIENCE && self.members.iter().flatten().any(Member::has_child)
        {
            signals::wait_readable(&[self.signals.as_fd()], Some(Duration::from_millis(50)))?;
            while self.signals.next()?.is_some() {}
            self.reap();
        }
        Ok(())
    }
}

fn register(path: &Path, file: &SharingFile, members: &[Option<Member>]) -> Result<Registration> {
    let target = target_of(path, file, members)?;
    let id = format!("share-{}", std::process::id());
    let record = Record::new(target, id, &file.policy.to_string(), None);
    Runtime::open()?.register(record)
}

fn target_of(path: &Path, file: &SharingFile, members: &[Option<Member>]) -> Result<Attached> {
    let programs = file.programs.iter().zip(members);
    let programs =
        programs.filter_map(|(program, member)| Some(member.as_ref()?.sharer(&program.wanted)));
    Ok(Attached::Share {
        file: path
            .canonicalize()
            .with_context(|| path.display().to_string())?,
        programs: programs.collect(),
    })
}

fn wanted(programs: &[Program]) -> Vec<Preferences> {
    programs.iter().map(|program| program.wanted).collect()
}
