// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sharing while it goes on: control periods, signals, programs that end.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::flow_view::FlowView;
use crate::protocol::{Reply, Request};
use crate::registry::{Record, Registration, Registry, Target as Attached};
use crate::signals::{self, Arrived, Signals};
use crate::wait::Wait;
use anyhow::{Context, Result, bail};
use ebb_sharing::{Controller, Preferences, Settings, Stage, Target};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::member::Member;
use super::plan::{Plan, Program};

/// Commands may take so long to end when they are asked to.
const END_PATIENCE: Duration = Duration::from_secs(3);

/// Programs that share, until they have ended.
pub struct Session {
    path: PathBuf,
    plan: Plan,
    /// By place in the file; none: it has ended.
    members: Vec<Option<Member>>,
    controller: Controller,
    signals: Signals,
    began: Instant,
    last: Instant,
    /// Gone when all were let go.
    registration: Option<Registration>,
    /// Not told yet.
    events: VecDeque<Event>,
}

/// What happens while programs share.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A control period has passed.
    Period(Report),
    /// Somebody asks for other wishes: [`Session::set_plan`].
    ReadAgain,
    /// A command has ended with a status that is not 0.
    CommandFailed {
        /// Its name in the plan.
        name: String,
        /// The status.
        status: i32,
    },
    /// A command was ended by a signal.
    CommandKilled {
        /// Its name in the plan.
        name: String,
        /// The signal.
        signal: Signal,
    },
    /// All programs have ended, or a signal ended them.
    Over {
        /// The exit status that says so.
        status: u8,
    },
}

/// What programs received in a control period.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Since the beginning.
    pub elapsed: Duration,
    /// Those that have not ended: name, what it received, what it is held at. *Units:* bit/s.
    pub programs: Vec<(String, u64, Target)>,
    /// What the search does.
    pub stage: Stage,
}

impl Session {
    /// Puts the law on all programs and starts those that are commands.
    ///
    /// *Errors:* one of them cannot be; nothing is held then.
    pub fn begin(path: PathBuf, plan: Plan) -> Result<Self> {
        let signals = Signals::receive()?;
        let mut members = Vec::with_capacity(plan.programs.len());
        for (number, program) in (0..).zip(&plan.programs) {
            match Member::prepare(program, number, &plan.policy, &signals) {
                Ok(member) => members.push(Some(member)),
                Err(error) => {
                    members.iter().flatten().for_each(Member::terminate);
                    return Err(error);
                }
            }
        }
        let registration = match register(&path, &plan, &members) {
            Ok(registration) => Some(registration),
            Err(error) => {
                members.iter().flatten().for_each(Member::terminate);
                return Err(error);
            }
        };
        let now = Instant::now();
        Ok(Self {
            registration,
            controller: Controller::new(Settings::default(), wanted(&plan.programs)),
            members,
            path,
            plan,
            signals,
            began: now,
            last: now,
            events: VecDeque::new(),
        })
    }

    /// Shares until something happens. Nothing happens after [`Event::Over`].
    ///
    /// *Errors:* the kernel does not do what it did before.
    pub fn next_event(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            self.work()?;
        }
    }

    fn work(&mut self) -> Result<()> {
        let left = (self.last + self.plan.period).saturating_duration_since(Instant::now());
        let mut wait = Wait::new();
        wait.readable(&self.signals).until(Instant::now() + left);
        if let Some(registration) = &self.registration {
            registration.add_to(&mut wait);
        }
        wait.wait()?;
        self.answer();
        while let Some(arrived) = self.signals.next()? {
            if let Some(status) = self.obey(arrived)? {
                self.end(arrived)?;
                self.events.push_back(Event::Over { status });
                return Ok(());
            }
        }
        self.reap();
        self.forget_ended();
        if self.members.iter().all(Option::is_none) {
            self.events.push_back(Event::Over { status: 0 });
        } else if self.last.elapsed() >= self.plan.period {
            self.control()?;
        }
        Ok(())
    }

    /// Does what `ebb status`, `top` and `detach` ask for.
    fn answer(&mut self) {
        let Some(mut registration) = self.registration.take() else {
            return;
        };
        let mut is_over = false;
        let (path, members) = (&self.path, &mut self.members);
        registration.answer_all(|registration, request| match request {
            Request::Flows => {
                let flows = members.iter().flatten().map(Member::flows);
                let flows: Vec<FlowView> = flows.collect::<Result<Vec<_>>>()?.concat();
                Ok(Reply::Flows(flows))
            }
            Request::Detach => {
                is_over = true;
                members.iter_mut().flatten().try_for_each(Member::release)?;
                registration.withdraw();
                Ok(Reply::Done)
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
        let report = self.report();
        self.events.push_back(Event::Period(report));
        Ok(())
    }

    fn report(&self) -> Report {
        let members = self.members.iter().enumerate();
        let members = members.filter_map(|(place, it)| Some((place, it.as_ref()?)));
        let received = |place| self.controller.received_bits_per_s(place);
        Report {
            elapsed: self.began.elapsed(),
            programs: members
                .map(|(place, member)| (member.name.clone(), received(place), member.target))
                .collect(),
            stage: self.controller.stage().0,
        }
    }

    /// *Returns:* the exit status if it is to end.
    fn obey(&mut self, arrived: Arrived) -> Result<Option<u8>> {
        match arrived.signal {
            // From the kernel: the terminal has gone.
            Signal::SIGHUP if !arrived.is_from_kernel => self.events.push_back(Event::ReadAgain),
            Signal::SIGHUP | Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTERM => {
                return Ok(Some(128 + u8::try_from(arrived.signal as i32)?));
            }
            Signal::SIGTSTP => signals::stop_like(arrived.signal)?,
            _ => {}
        }
        Ok(None)
    }

    /// Takes other wishes from a plan with the same programs.
    ///
    /// *Errors:* they are other ones, and nothing has changed.
    pub fn set_plan(&mut self, plan: Plan) -> Result<()> {
        let who = |plan: &Plan| -> Vec<_> {
            let programs = plan.programs.iter();
            let own = programs.map(|program| (program.name.clone(), program.who.clone()));
            own.collect()
        };
        if who(&plan) != who(&self.plan) {
            bail!(
                "{}: other programs than at the start; only weight, minimum and priority can \
                 change",
                self.path.display()
            );
        }
        self.controller.set_wanted(wanted(&plan.programs))?;
        self.plan.programs = plan.programs;
        self.tell();
        Ok(())
    }

    /// Lets `ebb status` know of other wishes.
    fn tell(&mut self) {
        let target = target_of(&self.path, &self.plan, &self.members);
        if let Some(registration) = &mut self.registration
            && let Err(error) = target.and_then(|target| Ok(registration.set_target(target)?))
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
                (Some(name), WaitStatus::Exited(_, status)) if status != 0 => {
                    let name = name.clone();
                    let event = Event::CommandFailed { name, status };
                    self.events.push_back(event);
                }
                (Some(name), WaitStatus::Signaled(_, signal, _)) => {
                    let name = name.clone();
                    let event = Event::CommandKilled { name, signal };
                    self.events.push_back(event);
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
    fn end(&mut self, arrived: Arrived) -> Result<()> {
        // Keys at the terminal have reached them already.
        if !arrived.is_from_kernel {
            self.members.iter().flatten().for_each(Member::terminate);
        }
        let asked = Instant::now();
        while asked.elapsed() < END_PATIENCE && self.members.iter().flatten().any(Member::has_child)
        {
            let soon = Instant::now() + Duration::from_millis(50);
            Wait::new().readable(&self.signals).until(soon).wait()?;
            while self.signals.next()?.is_some() {}
            self.reap();
        }
        Ok(())
    }
}

fn register(path: &Path, plan: &Plan, members: &[Option<Member>]) -> Result<Registration> {
    let target = target_of(path, plan, members)?;
    let id = format!("share-{}", std::process::id());
    let record = Record::new(target, id, &plan.policy.to_string(), None);
    Ok(Registry::open()?.register(record)?)
}

fn target_of(path: &Path, plan: &Plan, members: &[Option<Member>]) -> Result<Attached> {
    let programs = plan.programs.iter().zip(members);
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
