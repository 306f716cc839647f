// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a service tells of itself.

use ebb_keeper::{Change, Held};
use ebb_scenario::Problem;
use sd_notify::NotifyState;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::read::read;
use crate::settings::Settings;
use crate::snapshot::Switched;
use crate::watching::Sight;

use super::Service;

impl Service {
    /// Switches what is to be switched, and looks what came of the rules, if it is time to.
    pub(super) fn watch(&mut self) {
        for (switched, is_off) in self.watching.switches() {
            let name = match switched {
                Switched::Gateway(name) => {
                    self.gateways.switch(&name, is_off);
                    continue;
                }
                Switched::Rule(name) => name,
            };
            // One that has gone meanwhile needs no switch.
            if let Some(kept) = self.kept.iter_mut().find(|kept| kept.rule.name == name)
                && let Err(source) = kept.post.held().change(&Change::Observing(is_off))
            {
                let failed = kept.failed(source);
                self.events.push_back(Event::Failed(failed));
            }
        }
        if self.watching.is_due() {
            let kept = self.kept.iter();
            let kept = kept.map(|kept| (&kept.rule, kept.post.as_held()));
            self.watching.look(&mut Sight {
                book: self.groups.book(),
                kept: kept.collect(),
                bits: &self.bits,
                classifier: &self.classifier,
                by_hand: self.groups.kinds_by_hand(),
                gateways: &mut self.gateways,
            });
        }
    }

    pub(super) fn write_history(&mut self) {
        if let Err(error) = self.watching.begin_history() {
            self.events.push_back(Event::Failed(error));
        }
    }

    pub(super) fn serve(&mut self, settings: Settings) {
        if let Err(error) = self.watching.serve(settings) {
            self.events.push_back(Event::Failed(error));
        }
    }

    /// Goes over to the rules and settings as they are now, if all is right in them.
    pub(super) fn read_again(&mut self) -> Result<()> {
        let found = read(&self.folders)?;
        if !found.problems.is_empty() {
            return Err(Error::Problems(found.problems));
        }
        self.apply(found.book, found.gateways)?;
        self.serve_users(&found.settings);
        self.serve(found.settings);
        Ok(())
    }

    pub(super) fn say_ready(&mut self, problems: Vec<Problem>) {
        self.events.extend(self.gateways.take_events());
        let rules = self.kept.len() + self.gateways.rule_count();
        let plural = if rules == 1 { "" } else { "s" };
        let wrong = match problems.len() {
            0 => String::new(),
            _ => "; files with mistakes were left out, see 'ebb rules check'".to_owned(),
        };
        let status = format!("{rules} rule{plural} in force{wrong}");
        self.notifier
            .say(&[NotifyState::Ready, NotifyState::Status(&status)]);
        self.events.push_back(Event::Ready { rules, problems });
    }
}
