// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What keys act on: a connection, its process, or the whole unit that is attached.

use anyhow::{Result, bail};
use ebb_algorithms::{Policy, Side};
use ebb_keeper::protocol::{Part, Request, Switch};
use ebb_keeper::registry::Record;
use ebb_keeper::{Backend, Direction, UploadPolicy};

use super::sample::{Look, Sampler, SeenFlow};
use super::screen::{Message, View};

/// How much of what a connection belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// It alone.
    #[default]
    Flow,
    /// All of its process.
    Process,
    /// All of the attachment.
    Unit,
}

impl Scope {
    /// The next wider one, or the narrowest again.
    pub fn next(self) -> Self {
        match self {
            Self::Flow => Self::Process,
            Self::Process => Self::Unit,
            Self::Unit => Self::Flow,
        }
    }
}

/// A line of the picture, wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// An attachment's, by its record.
    Unit(String),
    /// A connection's, one way.
    Flow(String, u64, Direction),
}

/// What is chosen.
#[derive(Debug, Clone, Copy)]
pub enum Chosen<'a> {
    /// A whole attachment.
    Unit(&'a Record),
    /// A process of one.
    Process(&'a Record, u32),
    /// A connection of one, one way.
    Flow(&'a Record, &'a SeenFlow),
}

impl Line {
    fn of_flow(flow: &SeenFlow) -> Self {
        let view = &flow.view;
        Self::Flow(flow.attachment.clone(), view.cookie, view.direction)
    }

    fn is_of_flow(&self, flow: &SeenFlow) -> bool {
        let view = &flow.view;
        matches!(self, Self::Flow(id, cookie, direction)
            if *cookie == view.cookie && *direction == view.direction && *id == flow.attachment)
    }

    fn attachment(&self) -> &str {
        let (Self::Unit(id) | Self::Flow(id, ..)) = self;
        id
    }

    /// The line of the attachment that it belongs to.
    pub fn unit(&self) -> Self {
        Self::Unit(self.attachment().to_owned())
    }
}

/// All lines, from above: attachments, then connections.
pub fn lines(look: &Look) -> impl Iterator<Item = Line> {
    let units = look.attachments.iter();
    let units = units.map(|record| Line::Unit(record.id.clone()));
    units.chain(look.flows.iter().map(Line::of_flow))
}

/// Where a line stands, from above.
pub fn position(look: &Look, line: &Line) -> Option<usize> {
    match line {
        Line::Unit(id) => look.attachments.iter().position(|record| record.id == *id),
        Line::Flow(..) => {
            let at = look.flows.iter().position(|flow| line.is_of_flow(flow));
            at.map(|at| look.attachments.len() + at)
        }
    }
}

/// What keys act on now; none: nothing is chosen, or nothing is known of it for the moment.
pub fn of<'a>(look: &'a Look, view: &View) -> Option<Chosen<'a>> {
    let line = view.chosen.as_ref()?;
    let mut records = look.attachments.iter();
    let record = records.find(|record| record.id == line.attachment())?;
    if matches!(line, Line::Unit(_)) {
        return Some(Chosen::Unit(record));
    }
    let flow = flow_of(look, line)?;
    Some(match (view.scope, flow.pid) {
        (Scope::Unit, _) => Chosen::Unit(record),
        (Scope::Process, Some(pid)) => Chosen::Process(record, pid),
        (Scope::Process | Scope::Flow, _) => Chosen::Flow(record, flow),
    })
}

fn flow_of<'a>(look: &'a Look, line: &Line) -> Option<&'a SeenFlow> {
    let mut flows = look.flows.iter();
    flows.find(|flow| line.is_of_flow(flow))
}

/// Chooses a line further down or up; the first one where none is chosen.
pub fn step(look: &Look, view: &mut View, by: isize) {
    let at = view.chosen.as_ref();
    let at = at.and_then(|line| position(look, line).or_else(|| position(look, &line.unit())));
    let last = (look.attachments.len() + look.flows.len()).saturating_sub(1);
    let next = at.map_or(0, |at| at.saturating_add_signed(by).min(last));
    view.chosen = lines(look).nth(next);
}

/// Goes on in another look, which has the lines in another order.
///
/// What keys act on stays the same, wherever it stands. Where it has ended its unit is chosen, if that is still there,
/// and what was typed for it is for nobody else.
pub fn follow(view: &mut View, before: &Look, after: &Look) {
    let Some(line) = view.chosen.clone() else {
        if before.attachments.is_empty() {
            view.chosen = lines(after).next();
        }
        return;
    };
    let is_silent = |record: &Record| record.id == line.attachment() && after.is_silent(record);
    if position(after, &line).is_some() || after.attachments.iter().any(is_silent) {
        return;
    }
    let ended = words(before, view);
    let said = match of(before, view) {
        Some(Chosen::Process(..)) => " has no connection left",
        _ => " has ended",
    };
    if let Some(same) = same_process(view, before, after) {
        view.chosen = Some(same);
        return;
    }
    let unit = line.unit();
    view.chosen = position(after, &unit).map(|_| unit);
    if view.chosen.is_some() && view.scope == Scope::Unit {
        return;
    }
    view.input = None;
    view.message = Some(Message::new(ended, said));
}

/// Another connection of the chosen process.
fn same_process(view: &View, before: &Look, after: &Look) -> Option<Line> {
    let Some(Chosen::Process(record, pid)) = of(before, view) else {
        return None;
    };
    let is_same = |flow: &&SeenFlow| flow.attachment == record.id && flow.pid == Some(pid);
    after.flows.iter().find(is_same).map(Line::of_flow)
}

/// Whether keys that act on what is chosen act on a connection, or on a whole attachment where none
/// is named.
pub fn is_in_scope(
    chosen: Option<Chosen<'_>>,
    view: &View,
    attachment: &str,
    flow: Option<&SeenFlow>,
) -> bool {
    match (chosen, flow) {
        (None, _) => false,
        (Some(Chosen::Unit(record)), None) => record.id == attachment,
        // The line of an attachment stands for what is below it.
        (Some(Chosen::Unit(record)), Some(_)) => {
            record.id == attachment && matches!(view.chosen, Some(Line::Flow(..)))
        }
        (Some(_), None) => false,
        (Some(Chosen::Process(record, pid)), Some(flow)) => {
            record.id == attachment && flow.pid == Some(pid)
        }
        (Some(Chosen::Flow(_, chosen)), Some(flow)) => std::ptr::eq(chosen, flow),
    }
}

/// What is chosen, in words.
pub fn words(look: &Look, view: &View) -> String {
    match of(look, view) {
        None if view.chosen.is_some() => "what does not answer".to_owned(),
        None => "nothing".to_owned(),
        Some(Chosen::Unit(record)) => record.to_string(),
        Some(Chosen::Process(_, pid)) => format!("process {pid}"),
        Some(Chosen::Flow(_, flow)) => flow.view.peer.to_string(),
    }
}

/// Sets what is chosen free, or holds it back again; answers what came of it.
pub fn toggle(sampler: &Sampler, look: &Look, chosen: Chosen<'_>) -> Result<&'static str> {
    let is_free = match chosen {
        Chosen::Unit(record) => !record.is_observing,
        Chosen::Process(record, pid) => look
            .flows
            .iter()
            .filter(|flow| flow.attachment == record.id && flow.pid == Some(pid))
            .any(|flow| flow.view.is_acting),
        Chosen::Flow(_, flow) => flow.view.is_acting,
    };
    let to = if is_free { Switch::Free } else { Switch::Held };
    match chosen {
        Chosen::Unit(record) => sampler.ask(record, &Request::SetObserving(is_free))?,
        Chosen::Process(record, _) | Chosen::Flow(record, _) => {
            let whose = part(chosen);
            sampler.ask(record, &Request::Switch { whose, to })?;
        }
    }
    Ok(match is_free {
        true => "is free: it takes what it gets",
        false => "is held back again",
    })
}

/// Has what is chosen yield by another policy; `none` ends that for what a unit sends.
pub fn set_policy(sampler: &Sampler, chosen: Chosen<'_>, text: &str) -> Result<()> {
    match (chosen, text.parse()?) {
        (Chosen::Unit(record), UploadOrDownload::None) => {
            let request = Request::SetUploadPolicy(UploadPolicy::Untouched.to_string());
            sampler.ask(record, &request)
        }
        (_, UploadOrDownload::None) => {
            bail!("'none' is for all that is sent: tab chooses the unit")
        }
        (Chosen::Unit(record), UploadOrDownload::Law(policy)) => {
            let request = match policy.law().side() {
                Side::Receiver => Request::SetPolicy(policy.to_string()),
                Side::Sender => Request::SetUploadPolicy(policy.to_string()),
            };
            sampler.ask(record, &request)
        }
        (Chosen::Process(record, _) | Chosen::Flow(record, _), UploadOrDownload::Law(policy)) => {
            let whose = part(chosen);
            let to = Switch::Policy(policy.to_string());
            sampler.ask(record, &Request::Switch { whose, to })
        }
    }
}

/// What is typed at first: what is there.
///
/// Errors: only a whole unit can have another policy.
pub fn policy_of(chosen: Chosen<'_>) -> Result<String> {
    if let Chosen::Process(record, _) | Chosen::Flow(record, _) = chosen
        && record.backend == Backend::Kernel
    {
        bail!("with the kernel backend a policy is the unit's: press tab");
    }
    Ok(match chosen {
        Chosen::Unit(record) | Chosen::Process(record, _) => record.policy.clone(),
        Chosen::Flow(record, flow) => match flow.view.direction {
            Direction::Down => record.policy.clone(),
            Direction::Up => record.upload_policy.clone().unwrap_or_default(),
        },
    })
}

fn part(chosen: Chosen<'_>) -> Part {
    match chosen {
        Chosen::Flow(_, flow) => Part::Connection {
            cookie: flow.view.cookie,
            direction: flow.view.direction,
        },
        Chosen::Process(_, pid) => Part::Process { pid },
        // Units have requests of their own.
        Chosen::Unit(record) => Part::Process {
            pid: record.keeper_pid,
        },
    }
}

enum UploadOrDownload {
    Law(Policy),
    None,
}

impl std::str::FromStr for UploadOrDownload {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        if text
            .parse::<UploadPolicy>()
            .is_ok_and(|it| it == UploadPolicy::Untouched)
        {
            return Ok(Self::None);
        }
        Ok(Self::Law(text.parse()?))
    }
}
