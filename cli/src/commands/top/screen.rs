// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a look is drawn: attachments above, their connections below, readable without colour.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table, Widget};

use crate::flow_view::Direction;
use crate::output;

use super::chosen::{self, Scope};
use super::sample::{Look, SeenFlow};

const KEYS: &str =
    "up/down  tab: flow, process, unit  space: free/hold  l law  d detach  p pause  q";
/// From here on there is room for windows and laws.
const WIDE: u16 = 110;
/// Of a look that goes into a file or a pipe.
const TEXT_WIDTH: u16 = 120;

/// What the picture shows beside the look.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// The line that keys act on: attachments first, then connections.
    pub chosen: usize,
    /// What keys act on where a connection is chosen.
    pub scope: Scope,
    /// The policy that is being typed.
    pub input: Option<String>,
    /// The picture stands still.
    pub is_paused: bool,
    /// What came of the last key.
    pub message: String,
}

/// Draws a look.
pub fn draw(look: &Look, view: &View, area: Rect, buffer: &mut Buffer) {
    let attachments = u16::try_from(look.attachments.len()).unwrap_or(u16::MAX);
    let [title, list, _, flows, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(attachments.clamp(1, (area.height / 3).max(1))),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    Paragraph::new(headline(look, view)).render(title, buffer);
    draw_attachments(look, view, list, buffer);
    draw_flows(look, view, flows, buffer);
    let foot_text = match (&view.input, view.message.as_str()) {
        (Some(input), _) => format!("policy for {}: {input}_", chosen::words(look, view)),
        (None, "") => KEYS.to_owned(),
        (None, message) => message.to_owned(),
    };
    Paragraph::new(foot_text).render(foot, buffer);
}

/// One look as lines of text.
pub fn text(look: &Look) -> String {
    let lines = 5 + look.attachments.len() + look.flows.len();
    let mut area = Rect::new(0, 0, TEXT_WIDTH, u16::try_from(lines).unwrap_or(u16::MAX));
    // The list may have a third of the height.
    area.height = area
        .height
        .max(3 * u16::try_from(look.attachments.len()).unwrap_or(1));
    let mut buffer = Buffer::empty(area);
    let view = View {
        message: " ".to_owned(),
        chosen: usize::MAX,
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
    let (attachments, flows) = (look.attachments.len() as u64, look.flows.len() as u64);
    let mut text = format!(
        "ebb top: {attachments} attachment{}, {flows} connection{}, down {}/s, up {}/s",
        output::plural(attachments),
        output::plural(flows),
        bits(rate(Direction::Down)),
        bits(rate(Direction::Up)),
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
    let lines = look.attachments.iter().map(|record| {
        let mark = mark(chosen::is_in_scope(look, view, &record.id, None));
        let free = if record.is_observing { "[free] " } else { "" };
        let is_silent = look
            .silent
            .iter()
            .any(|text| text.starts_with(&record.to_string()));
        let silent = if is_silent { "[no answer] " } else { "" };
        let download = law_of(&record.policy);
        let upload = record.upload_policy.as_deref().map_or("none", law_of);
        Line::raw(format!(
            "{mark} {free}{silent}down {download}, up {upload}: {}",
            record
        ))
    });
    let chosen = view.chosen.min(look.attachments.len() - 1);
    let first = (chosen + 1).saturating_sub(usize::from(area.height));
    Paragraph::new(lines.skip(first).collect::<Vec<_>>()).render(area, buffer);
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
    let is_wide = area.width >= WIDE;
    let columns = Column::ALL
        .into_iter()
        .filter(|column| is_wide || column.is_always_there());
    let columns: Vec<Column> = columns.collect();
    let head = Row::new(columns.iter().map(|column| column.head()))
        .style(Style::new().add_modifier(Modifier::REVERSED));
    let at = view.chosen.checked_sub(look.attachments.len());
    // The chosen one is always in sight, below the head.
    let first = match at {
        Some(at) if at < look.flows.len() => (at + 2).saturating_sub(usize::from(area.height)),
        _ => 0,
    };
    let rows = look.flows.iter().skip(first).map(|flow| {
        let style = match flow.view.is_acting {
            true => Style::new(),
            false => Style::new().add_modifier(Modifier::DIM),
        };
        let mark = mark(chosen::is_in_scope(
            look,
            view,
            &flow.attachment,
            Some(flow),
        ));
        let cells = columns.iter().map(|column| match column {
            Column::Program => format!("{mark}{}", column.of(flow)),
            column => column.of(flow),
        });
        Row::new(cells).style(style)
    });
    let widths = columns.iter().map(|column| column.width());
    Widget::render(Table::new(rows, widths).header(head), area, buffer);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Program,
    Way,
    Peer,
    Rate,
    Window,
    RoundTrip,
    Queue,
    Mode,
    Law,
    Why,
}

impl Column {
    const ALL: [Self; 10] = [
        Self::Program,
        Self::Way,
        Self::Peer,
        Self::Rate,
        Self::Window,
        Self::RoundTrip,
        Self::Queue,
        Self::Mode,
        Self::Law,
        Self::Why,
    ];

    fn is_always_there(self) -> bool {
        !matches!(self, Self::Window | Self::Law)
    }

    fn head(self) -> &'static str {
        match self {
            Self::Program => " PROGRAM",
            Self::Way => "WAY",
            Self::Peer => "PEER",
            Self::Rate => "BIT/S",
            Self::Window => "LIMIT",
            Self::RoundTrip => "RTT",
            Self::Queue => "QUEUE",
            Self::Mode => "MODE",
            Self::Law => "LAW",
            Self::Why => "HELD BACK",
        }
    }

    fn width(self) -> Constraint {
        match self {
            Self::Program => Constraint::Fill(4),
            Self::Peer => Constraint::Fill(5),
            Self::Way => Constraint::Length(4),
            Self::Rate => Constraint::Length(6),
            Self::Window => Constraint::Length(8),
            Self::RoundTrip | Self::Queue => Constraint::Length(5),
            Self::Mode => Constraint::Length(5),
            Self::Law => Constraint::Length(10),
            Self::Why => Constraint::Length(17),
        }
    }

    fn of(self, flow: &SeenFlow) -> String {
        let view = &flow.view;
        match self {
            Self::Program => flow.program.clone().unwrap_or_else(|| "-".to_owned()),
            Self::Way => match view.direction {
                Direction::Down => "down".to_owned(),
                Direction::Up => "up".to_owned(),
            },
            Self::Peer => view.peer.to_string(),
            Self::Rate => bits(flow.rate_bit_per_s),
            Self::Window => match view.pace_bytes_per_s {
                Some(pace) => format!("{}/s", bits(pace as f64 * 8.0)),
                None => bytes(view.window_bytes),
            },
            Self::RoundTrip => milliseconds(view.rtt_us),
            Self::Queue => milliseconds(view.queue_us),
            Self::Mode => view.mode.clone(),
            Self::Law => view.law.clone(),
            Self::Why => view.reason.clone(),
        }
    }
}

fn milliseconds(us: Option<u32>) -> String {
    us.map_or_else(
        || "-".to_owned(),
        |us| format!("{:.1}", f64::from(us) / 1e3),
    )
}

/// Three digits at the least, and the letter of their unit.
fn bits(value: f64) -> String {
    scaled(value, 1000.0, ["", "k", "M", "G", "T"])
}

fn bytes(value: u32) -> String {
    scaled(f64::from(value), 1024.0, ["B", "KiB", "MiB", "GiB", "TiB"])
}

fn scaled(value: f64, step: f64, units: [&str; 5]) -> String {
    let mut value = value;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = match value {
        _ if unit == 0 => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}{}", units[unit])
}

#[cfg(test)]
mod tests;
