// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The live picture: draws, waits for a key or for the next look.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::output;

use super::sample::{Look, Sampler};
use super::screen::{self, View};

/// Whether there is somebody to look and to press keys.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

/// Shows looks until a key, or the count, ends it. The terminal is as before afterwards.
pub fn run(sampler: Sampler, interval: Duration, count: Option<u64>) -> Result<()> {
    let mut live = Live {
        sampler,
        interval,
        left: count,
        look: Look::default(),
        view: View::default(),
    };
    let mut terminal = ratatui::try_init().context("the terminal")?;
    let outcome = live.show(&mut terminal);
    ratatui::restore();
    outcome
}

struct Live {
    sampler: Sampler,
    interval: Duration,
    left: Option<u64>,
    look: Look,
    view: View,
}

impl Live {
    fn show(&mut self, terminal: &mut DefaultTerminal) -> Result<()> {
        loop {
            if !self.view.is_paused {
                self.look = self.sampler.look()?;
                self.choose(0);
            }
            let next = Instant::now() + self.interval;
            loop {
                let (look, view) = (&self.look, &self.view);
                terminal
                    .draw(|frame| screen::draw(look, view, frame.area(), frame.buffer_mut()))?;
                let wait = next.saturating_duration_since(Instant::now());
                if wait.is_zero() || !event::poll(wait)? {
                    break;
                }
                if let Event::Key(key) = event::read()?
                    && key.kind == KeyEventKind::Press
                    && self.is_end(key)
                {
                    return Ok(());
                }
            }
            if let Some(left) = &mut self.left {
                *left -= 1;
                if *left == 0 {
                    return Ok(());
                }
            }
        }
    }

    /// Does what a key asks for; answers whether that is the end.
    fn is_end(&mut self, key: KeyEvent) -> bool {
        self.view.message.clear();
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return true,
            KeyCode::Up | KeyCode::Char('k') => self.choose(-1),
            KeyCode::Down | KeyCode::Char('j') => self.choose(1),
            KeyCode::Char('p') => self.view.is_paused = !self.view.is_paused,
            KeyCode::Char(' ') => self.act(|sampler, record| {
                sampler.switch(record)?;
                Ok(match record.is_observing {
                    true => "is held back again",
                    false => "is free: it takes what it gets",
                })
            }),
            KeyCode::Char('d') => self.act(|sampler, record| {
                sampler.detach(record)?;
                Ok("is detached")
            }),
            _ => {}
        }
        false
    }

    fn choose(&mut self, step: isize) {
        let last = self.look.attachments.len().saturating_sub(1);
        self.view.chosen = self.view.chosen.saturating_add_signed(step).min(last);
    }

    fn act(&mut self, action: impl Fn(&Sampler, &crate::runtime::Record) -> Result<&'static str>) {
        let Some(record) = self.look.attachments.get_mut(self.view.chosen) else {
            return;
        };
        self.view.message = match action(&self.sampler, record) {
            Ok(what) => {
                record.is_observing = !record.is_observing;
                format!("{} {what}", record.target)
            }
            Err(error) => format!("{}: {}", record.target, output::describe(&error)),
        };
    }
}
