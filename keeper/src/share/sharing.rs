// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What programs that share are held at, one control period after the other.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ebb_sharing::{Controller, Preferences, Settings, Stage, Target};
use nix::sys::signal::SigSet;
use nix::unistd::Pid;

use super::arrangement::{Arrangement, Program};
use super::member::Member;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::flow::FlowView;
use crate::held::{Change, Held, InForce};
use crate::registry::Attached;
use crate::summary::Summary;

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

/// Programs that share.
pub(super) struct Sharing {
    file: PathBuf,
    arrangement: Arrangement,
    /// By place in the arrangement; none: it has ended.
    members: Vec<Option<Member>>,
    controller: Controller,
    began: Instant,
    last: Instant,
    /// Not told yet.
    report: Option<Report>,
    /// All were let go.
    is_released: bool,
}

impl Sharing {
    /// Puts the law on all programs and starts those that are commands, with this signal mask.
    ///
    /// *Errors:* one of them cannot be; nothing is held then.
    pub(super) fn begin(file: PathBuf, arrangement: Arrangement, mask: SigSet) -> Result<Self> {
        let now = Instant::now();
        let mut sharing = Self {
            file,
            members: Vec::with_capacity(arrangement.programs.len()),
            controller: Controller::new(Settings::default(), wanted(&arrangement.programs)),
            arrangement,
            began: now,
            last: now,
            report: None,
            is_released: false,
        };
        for (number, program) in (0..).zip(&sharing.arrangement.programs) {
            match Member::prepare(program, number, &sharing.arrangement.policy, mask) {
                Ok(member) => sharing.members.push(Some(member)),
                Err(error) => {
                    sharing.terminate();
                    return Err(error);
                }
            }
        }
        sharing.last = Instant::now();
        Ok(sharing)
    }

    /// Takes other wishes from an arrangement with the same programs.
    ///
    /// *Errors:* they are other ones, and nothing has changed.
    pub(super) fn set_arrangement(&mut self, arrangement: Arrangement) -> Result<()> {
        let who = |arrangement: &Arrangement| -> Vec<_> {
            let programs = arrangement.programs.iter();
            let own = programs.map(|program| (program.name.clone(), program.who.clone()));
            own.collect()
        };
        if who(&arrangement) != who(&self.arrangement) {
            let file = self.file.clone();
            return Err(Error::OtherPrograms { file });
        }
        self.controller.set_wanted(wanted(&arrangement.programs))?;
        self.arrangement.programs = arrangement.programs;
        Ok(())
    }

    /// As it is listed.
    ///
    /// *Errors:* the arrangement's file has gone.
    pub(super) fn attached(&self) -> Result<Attached> {
        let programs = self.arrangement.programs.iter().zip(&self.members);
        let programs =
            programs.filter_map(|(program, member)| Some(member.as_ref()?.sharer(&program.wanted)));
        let file = self.file.canonicalize();
        Ok(Attached::Share {
            file: file.map_err(|source| Error::file(&self.file, source))?,
            programs: programs.collect(),
        })
    }

    /// What was received in the last control period, once.
    pub(super) fn take_report(&mut self) -> Option<Report> {
        self.report.take()
    }

    /// Notes that a child of ours has ended; answers the name of the program that it was.
    pub(super) fn note_end(&mut self, pid: Pid) -> Option<String> {
        let mut members = self.members.iter_mut().flatten();
        members.find_map(|member| member.note_end(pid).then(|| member.name.clone()))
    }

    /// Lets go of those of whom nothing is left; answers whether there were any.
    pub(super) fn forget_ended(&mut self) -> bool {
        let mut has_changed = false;
        for member in &mut self.members {
            if let Some(reason) = member.as_ref().and_then(Member::end) {
                tracing::info!("{reason}");
                *member = None;
                has_changed = true;
            }
        }
        has_changed
    }

    /// Whether nobody is left.
    pub(super) fn is_over(&self) -> bool {
        self.members.iter().all(Option::is_none)
    }

    /// Asks the commands to end.
    pub(super) fn terminate(&self) {
        self.members.iter().flatten().for_each(Member::terminate);
    }

    /// Whether a command runs.
    pub(super) fn has_children(&self) -> bool {
        self.members.iter().flatten().any(Member::has_child)
    }

    fn control(&mut self) -> Result<()> {
        let now = Instant::now();
        let period_s = (now - self.last).as_secs_f64().max(1e-3);
        self.last = now;
        let measure = |member: &mut Option<Member>| match member {
            Some(member) => member.measure(period_s),
            None => Ok(None),
        };
        let arrived = self.members.iter_mut().map(measure);
        let arrived = arrived.collect::<Result<Vec<_>>>()?;
        let now_ns = u64::try_from((now - self.began).as_nanos()).unwrap_or(u64::MAX);
        self.controller.control(now_ns, &arrived)?;
        for (place, member) in self.members.iter_mut().enumerate() {
            if let Some(member) = member {
                member.hold(self.controller.target(place))?;
            }
        }
        self.report = Some(self.report());
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
}

impl Held for Sharing {
    fn backend(&self) -> Backend {
        Backend::Kernel
    }

    fn in_force(&self) -> InForce {
        InForce {
            policy: self.arrangement.policy.to_string(),
            ..InForce::default()
        }
    }

    fn is_held(&self) -> bool {
        !self.is_released
    }

    fn is_needed(&mut self) -> bool {
        !self.is_over()
    }

    fn work(&mut self) -> Result<Instant> {
        let period = self.arrangement.period;
        if self.is_released {
            // Only commands are waited for.
            return Ok(Instant::now() + period);
        }
        if self.last.elapsed() >= period {
            self.control()?;
        }
        Ok(self.last + period)
    }

    fn change(&mut self, _: &Change) -> Result<()> {
        Err(Error::Fixed {
            how: format!(
                "how programs share is written in {}: change it there, then 'kill -HUP {}'; \
                 'ebb detach' lets all of them go",
                self.file.display(),
                std::process::id()
            ),
        })
    }

    fn flows(&mut self) -> Result<Vec<FlowView>> {
        let flows = self.members.iter().flatten().map(Member::flows);
        Ok(flows.collect::<Result<Vec<_>>>()?.concat())
    }

    fn summary(&mut self) -> Summary {
        let mut summary = Summary {
            policy: self.arrangement.policy.to_string(),
            ..Summary::default()
        };
        for member in self.members.iter().flatten() {
            member.add_to(&mut summary);
        }
        summary
    }

    fn release(&mut self) -> Result<()> {
        self.is_released = true;
        let members = self.members.iter_mut().flatten();
        let released: Vec<_> = members.map(Member::release).collect();
        released.into_iter().collect()
    }
}

fn wanted(programs: &[Program]) -> Vec<Preferences> {
    programs.iter().map(|program| program.wanted).collect()
}
