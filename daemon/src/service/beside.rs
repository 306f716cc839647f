// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a service holds for users beside its rules.

use super::Service;
use crate::event::Event;
use crate::settings::Settings;
use crate::users::{Surroundings, Users};

impl Service {
    /// What users have held beside the rules.
    pub(super) fn attend_users<T>(
        &mut self,
        attend: fn(&mut Users, &Surroundings<'_>) -> T,
    ) -> Option<T> {
        let mut users = self.users.take()?;
        let attended = attend(&mut users, &self.surroundings());
        self.users = Some(users);
        Some(attended)
    }

    /// Goes over to these settings; at first, begins to listen.
    pub(super) fn serve_users(&mut self, settings: &Settings) {
        if let Some(users) = &mut self.users {
            return users.set(settings.users.clone());
        }
        match Users::open(&self.below, settings.users.clone(), &self.surroundings()) {
            Ok(users) => self.users = users,
            Err(error) => self.events.push_back(Event::Failed(error)),
        }
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            classifier: &self.classifier,
            groups: &self.groups,
            records: &self.records,
        }
    }
}
