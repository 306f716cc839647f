// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The live picture: draws, waits for a key or for the next look.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ebb_keeper::protocol::Request;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::chosen::{self, Chosen, Line};
use super::sample::{Look, Sampler};
use super::screen::{self, Message, View};
use crate::output;

/// Lines that a page is.
const PAGE: isize = 20;

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
                let look = self.sampler.look()?;
                self.take(look);
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
        self.view.message = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            // An interrupt, or the end of what is typed. Others are no commands: Ctrl-L is not l.
            return matches!(key.code, KeyCode::Char('c' | 'd'));
        }
        if self.view.input.is_some() {
            self.type_policy(key.code);
            return false;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-PAGE),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::Home => self.step(isize::MIN),
            KeyCode::End => self.step(isize::MAX),
            KeyCode::Tab => {
                self.view.scope = self.view.scope.next();
                let what = chosen::words(&self.look, &self.view);
                self.view.message = Some(Message::new("keys act on ", what));
            }
            KeyCode::Char('p') => self.view.is_paused = !self.view.is_paused,
            KeyCode::Char(' ') => {
                self.act(|live, chosen| {
                    let what = chosen::toggle(&live.sampler, &live.look, chosen)?;
                    Ok(what.to_owned())
                });
            }
            KeyCode::Char('l') => self.begin_to_type(),
            KeyCode::Char('d') => self.detach(),
            _ => {}
        }
        false
    }

    fn step(&mut self, by: isize) {
        chosen::step(&self.look, &mut self.view, by);
    }

    /// Whatever of it is chosen, it is the unit that is detached.
    fn detach(&mut self) {
        self.view.chosen = self.view.chosen.as_ref().map(Line::unit);
        let is_done = self.act(|live, chosen| {
            let (Chosen::Unit(record) | Chosen::Process(record, _) | Chosen::Flow(record, _)) =
                chosen;
            live.sampler.ask(record, &Request::Detach)?;
            Ok("is detached".to_owned())
        });
        if is_done {
            // Its keeper may take a moment to go.
            self.view.chosen = None;
        }
    }

    fn begin_to_type(&mut self) {
        let chosen = chosen::of(&self.look, &self.view);
        match chosen.map(chosen::policy_of).transpose() {
            Ok(policy) => self.view.input = policy,
            Err(error) => {
                self.view.message = Some(Message::new("", output::describe(&error)));
            }
        }
    }

    fn type_policy(&mut self, key: KeyCode) {
        let Some(input) = &mut self.view.input else {
            return;
        };
        match key {
            KeyCode::Char(character) => input.push(character),
            KeyCode::Backspace => {
                input.pop();
            }
            KeyCode::Esc => self.view.input = None,
            KeyCode::Enter => {
                let text = self.view.input.take().unwrap_or_default();
                self.act(|live, chosen| {
                    chosen::set_policy(&live.sampler, chosen, text.trim())?;
                    Ok(format!("yields by {}", text.trim()))
                });
            }
            _ => {}
        }
    }

    fn take(&mut self, look: Look) {
        chosen::follow(&mut self.view, &self.look, &look);
        self.look = look;
    }

    /// Does it to what is chosen, and says what came of it; answers whether it is done.
    fn act(&mut self, action: impl Fn(&Self, Chosen<'_>) -> Result<String>) -> bool {
        let Some(chosen) = chosen::of(&self.look, &self.view) else {
            let said = match self.view.chosen {
                Some(_) => "it does not answer for the moment: nothing was done",
                None => "nothing is chosen: up and down choose",
            };
            self.view.message = Some(Message::new("", said));
            return false;
        };
        let what = chosen::words(&self.look, &self.view);
        let outcome = action(self, chosen);
        // The next key is to act on what is so by then.
        if let Ok(look) = self.sampler.look() {
            self.take(look);
        }
        let is_done = outcome.is_ok();
        self.view.message = match outcome {
            Ok(done) => Some(Message::new(what, format!(" {done}"))),
            // That it has ended says more.
            Err(_) if self.view.message.is_some() => return false,
            Err(error) => Some(Message::new(
                what,
                format!(": {}", output::describe(&error)),
            )),
        };
        is_done
    }
}
