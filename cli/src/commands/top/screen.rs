// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a look is drawn: attachments above, their connections below, readable without colour.

mod columns;

use std::collections::HashSet;

use ebb_keeper::registry::Record;
use ebb_keeper::{Backend, Direction};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table, Widget};

use crate::output;

use super::chosen::{self, Scope};
use super::sample::Look;
use columns::{Columns, bits_per_second};

const KEYS: &str =
    "up/down  tab: flow, process, unit  space: free/hold  l law  d detach  p pause  q";
/// What a message is about may be shortened to this.
const LEAST_ABOUT: usize = 24;
/// Of a look that goes into a file or a pipe.
const TEXT_WIDTH: u16 = 120;

/// What the picture shows beside the look.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// The line that keys act on.
    pub chosen: Option<chosen::Line>,
    /// What keys act on where a connection is chosen.
    pub scope: Scope,
    /// The policy that is being typed.
    pub input: Option<String>,
    /// The picture stands still.
    pub is_paused: bool,
    /// What came of the last key.
    pub message: Option<Message>,
}

/// Something said of something.
#[derive(Debug, Clone)]
pub struct Message {
    about: String,
    said: String,
}

impl Message {
    /// What is said follows as it is on what it is about.
    pub fn new(about: impl Into<String>, said: impl Into<String>) -> Self {
        let (about, said) = (about.into(), said.into());
        Self { about, said }
    }
}

/// Draws a look.
pub fn draw(look: &Look, view: &View, area: Rect, buffer: &mut Buffer) {
    let attachments = u16::try_from(attachment_lines(look, usize::MAX)).unwrap_or(u16::MAX);
    let foot_lines = foot_lines(look, view, usize::from(area.width));
    let foot_height = u16::try_from(foot_lines.len()).unwrap_or(u16::MAX);
    let [title, list, _, flows, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(attachments.clamp(1, (area.height / 3).max(1))),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(foot_height.clamp(1, (area.height / 2).max(1))),
    ])
    .areas(area);
    Paragraph::new(headline(look, view)).render(title, buffer);
    draw_attachments(look, view, list, buffer);
    draw_flows(look, view, flows, buffer);
    let foot_lines = foot_lines.into_iter().map(Line::raw);
    Paragraph::new(foot_lines.collect::<Vec<_>>()).render(foot, buffer);
}

/// What is said is never cut; what it is about is, where it would take more lines.
fn foot_lines(look: &Look, view: &View, width: usize) -> Vec<String> {
    let (about, said) = match (&view.input, &view.message) {
        (Some(input), _) => {
            let about = format!("policy for {}", chosen::words(look, view));
            (about, format!(": {input}_"))
        }
        (None, Some(message)) => (message.about.clone(), message.said.clone()),
        (None, None) => (String::new(), KEYS.to_owned()),
    };
    let room = width.saturating_sub(said.chars().count());
    let about = columns::shorten(&about, None, room.max(LEAST_ABOUT));
    wrapped(&(about + &said), width)
}

/// Lines of so many characters, between words where that can be.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let is_fitting = |line: &str| {
            let length = line.chars().count() + word.trim_end().chars().count();
            line.is_empty() || length <= width
        };
        if lines.last().is_some_and(|line| !is_fitting(line)) {
            lines.push(String::new());
        }
        for character in word.chars() {
            if lines
                .last()
                .is_some_and(|line| line.chars().count() >= width)
                && character != ' '
            {
                lines.push(String::new());
            }
            lines
                .last_mut()
                .expect("it never gets empty")
                .push(character);
        }
    }
    lines
}

/// One look as lines of text.
pub fn text(look: &Look) -> String {
    let attachments = attachment_lines(look, usize::MAX);
    let lines = 5 + attachments + look.flows.len();
    let mut area = Rect::new(0, 0, TEXT_WIDTH, u16::try_from(lines).unwrap_or(u16::MAX));
    // The list may have a third of the height.
    area.height = area.height.max(3 * u16::try_from(attachments).unwrap_or(1));
    let mut buffer = Buffer::empty(area);
    let view = View {
        message: Some(Message::new("", "")),
        ..View::default()
    };
    draw(look, &view, area, &mut buffer);
    let mut text = lines_of(&buffer).join("\n");
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// What stands in a buffer, without colours and without blanks at the ends of lines.
fn lines_of(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    let cells: Vec<&str> = buffer.content.iter().map(|cell| cell.symbol()).collect();
    cells
        .chunks(width)
        .map(|line| line.concat().trim_end().to_owned())
        .collect()
}

fn headline(look: &Look, view: &View) -> Line<'static> {
    let rate = |direction| {
        let own = look
            .flows
            .iter()
            .filter(|flow| flow.view.direction == direction);
        // The sum of nothing is -0.
        own.map(|flow| flow.rate_bit_per_s).sum::<f64>() + 0.0
    };
    // Both ways of one count once.
    let cookies: HashSet<u64> = look.flows.iter().map(|flow| flow.view.cookie).collect();
    let (attachments, connections) = (look.attachments.len() as u64, cookies.len() as u64);
    let mut text = format!(
        "ebb top: {attachments} attachment{}, {connections} connection{}, down {}, up {}",
        output::plural(attachments),
        output::plural(connections),
        bits_per_second(rate(Direction::Down)),
        bits_per_second(rate(Direction::Up)),
    );
    if view.is_paused {
        text += " (paused)";
    }
    Line::styled(text, Style::new().add_modifier(Modifier::BOLD))
}

fn draw_attachments(look: &Look, view: &View, area: Rect, buffer: &mut Buffer) {
    if look.attachments.is_empty() {
        let hint = "nothing is attached: 'ebb run -- CMD' or 'ebb attach' makes something yield";
        Paragraph::new(hint).render(area, buffer);
        return;
    }
    let chosen = chosen::of(look, view);
    let lines = look.attachments.iter().flat_map(|record| {
        let mark = mark(chosen::is_in_scope(chosen, view, &record.id, None));
        let head = format!("{mark} {}", attachment(look, record));
        let lines = std::iter::once(head).chain(floors(record));
        lines.map(Line::raw).collect::<Vec<_>>()
    });
    let unit = view.chosen.as_ref().map(chosen::Line::unit);
    let at = unit.and_then(|unit| chosen::position(look, &unit));
    let until = attachment_lines(look, at.unwrap_or(0) + 1);
    let first = until.saturating_sub(usize::from(area.height));
    Paragraph::new(lines.skip(first).collect::<Vec<_>>()).render(area, buffer);
}

fn attachment(look: &Look, record: &Record) -> String {
    let free = if record.is_observing { "[free] " } else { "" };
    let silent = if look.is_silent(record) {
        "[no answer] "
    } else {
        ""
    };
    let download = law_of(&record.policy);
    let upload = match (record.backend, &record.upload_policy) {
        // One law for both ways.
        (Backend::Gateway, _) => download,
        (_, Some(policy)) => law_of(policy),
        (_, None) => "none",
    };
    format!("{free}{silent}down {download}, up {upload}: {record}")
}

/// What it has beside other rules and at the least, and how it stands with its deadline, below it.
fn floors(record: &Record) -> impl Iterator<Item = String> {
    let minimum = record.minimum.as_ref();
    let minimum = minimum.map(|minimum| format!("{minimum} at the least, each way"));
    let deadline = record.deadline.as_ref().map(ToString::to_string);
    let weight = record.attached.weight();
    let weight = weight.map(|weight| format!("weight {weight} beside other rules"));
    let lines = weight.into_iter().chain(minimum).chain(deadline);
    lines.map(|line| format!("    {line}"))
}

/// How many lines the first attachments take.
fn attachment_lines(look: &Look, count: usize) -> usize {
    let first = look.attachments.iter().take(count);
    first.map(|record| 1 + floors(record).count()).sum()
}

/// Without its parameters.
fn law_of(policy: &str) -> &str {
    policy.split(':').next().unwrap_or(policy)
}

/// What keys act on is told without colour.
fn mark(is_chosen: bool) -> char {
    if is_chosen { '>' } else { ' ' }
}

fn draw_flows(look: &Look, view: &View, area: Rect, buffer: &mut Buffer) {
    let columns = Columns::in_width(area.width, &look.flows);
    let head = Row::new(columns.heads()).style(Style::new().add_modifier(Modifier::REVERSED));
    let line = view.chosen.as_ref();
    let at = line.and_then(|line| chosen::position(look, line));
    // The chosen one is always in sight, below the head.
    let first = match at.and_then(|at| at.checked_sub(look.attachments.len())) {
        Some(at) => (at + 2).saturating_sub(usize::from(area.height)),
        None => 0,
    };
    let chosen = chosen::of(look, view);
    let in_sight = look.flows.iter().skip(first).take(area.height.into());
    let rows = in_sight.map(|flow| {
        let style = match flow.view.is_acting {
            true => Style::new(),
            false => Style::new().add_modifier(Modifier::DIM),
        };
        let mark = mark(chosen::is_in_scope(
            chosen,
            view,
            &flow.attachment,
            Some(flow),
        ));
        Row::new(columns.cells(mark, flow)).style(style)
    });
    let widths = columns.widths();
    Widget::render(Table::new(rows, widths).header(head), area, buffer);
}

#[cfg(test)]
mod tests;
