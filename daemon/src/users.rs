// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What ordinary users have held: what is their own yields by the kernel backend, because they say
//! so. They ask at a socket of theirs; whatever they say is judged by who they are.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ebb_keeper::kernel::claims::Claims;
use ebb_keeper::kernel::rules::Classifier;
use ebb_keeper::protocol::{Desk, Reply, Room, ServiceReply, ServiceRequest};
use ebb_keeper::{Cgroup, Held, Wait, describe, ebbd};

use crate::error::{Error, Result};
use crate::groups::Groups;
use crate::settings::UserSettings;
use anchors::Anchors;
use hold::{Hold, Need, On};
use look::Look;
use requests::{Asking, is_same};
use saved::Saved;

mod anchors;
mod beginning;
mod hold;
mod look;
mod named;
mod no;
mod overlap;
mod own;
mod requests;
mod saved;
mod taking;

/// Connections of all users at once.
const MOST_VISITORS: usize = 512;
/// Whether what is held is needed is looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where users ask, and what is held for them.
#[derive(Debug)]
pub(crate) struct Users {
    desk: Desk<ServiceRequest, ServiceReply>,
    socket: PathBuf,
    /// Or why it cannot be.
    keeping: Result<Keeping, String>,
}

/// What is held for users.
#[derive(Debug)]
pub(crate) struct Keeping {
    below: Cgroup,
    settings: UserSettings,
    claims: Claims,
    anchors: Anchors,
    /// By what they are asked for.
    holds: BTreeMap<String, Hold>,
    look: Look,
    saved: Saved,
    looked: Instant,
    /// Somebody's connections were not walked over when that had to be.
    is_walk_due: bool,
}

/// What the service has beside it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) classifier: &'a Classifier,
    pub(crate) groups: &'a Groups,
    /// Where records are of what root holds by hand.
    pub(crate) records: &'a Path,
}

impl Users {
    /// Begins to listen; none: there is no place to.
    ///
    /// *Errors:* the place cannot be used. What the kernel cannot do users are told when they ask.
    pub(crate) fn open(
        below: &Cgroup,
        settings: UserSettings,
        around: &Surroundings<'_>,
    ) -> Result<Option<Self>> {
        let Some(socket) = ebbd::socket() else {
            return Ok(None);
        };
        let keeping = Keeping::new(below, settings.clone(), around);
        let mut keeping = keeping.map_err(|error| describe(&error));
        if let Ok(keeping) = &mut keeping {
            keeping.take_up(around);
        }
        let failed = |source| Error::file(&socket, source);
        if socket == Path::new(ebbd::SOCKET)
            && let Some(directory) = socket.parent()
        {
            // systemd has made it for root alone, as it makes all.
            fs::create_dir_all(directory).map_err(failed)?;
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).map_err(failed)?;
        }
        let desk = Desk::open(&socket, room(&settings)).map_err(failed)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).map_err(failed)?;
        Ok(Some(Self {
            desk,
            socket,
            keeping,
        }))
    }

    /// Goes on with other settings: what a user may not have any more is let go.
    pub(crate) fn set(&mut self, settings: UserSettings) {
        self.desk.set_room(room(&settings));
        if let Ok(keeping) = &mut self.keeping {
            keeping.set(settings);
        }
    }

    /// Does what is due; answers when something is due again.
    pub(crate) fn do_due(&mut self, around: &Surroundings<'_>) -> Instant {
        match &mut self.keeping {
            Ok(keeping) => keeping.do_due(around),
            Err(_) => Instant::now() + LOOK_EVERY,
        }
    }

    /// Waits for whatever is to be done here.
    pub(crate) fn add_to<'a>(&'a self, wait: &mut Wait<'a>) {
        self.desk.add_to(wait);
        let holds = self
            .keeping
            .iter()
            .flat_map(|keeping| keeping.holds.values());
        for hold in holds {
            match &hold.on {
                On::Command(Some(starter)) => drop(wait.readable(&starter.handle)),
                On::Socket(socket) => drop(wait.readable(socket.process())),
                On::Sockets(sockets) => drop(wait.readable(sockets.process())),
                _ => {}
            }
        }
    }

    /// Answers what users ask, and lets go what nobody attends to any more.
    pub(crate) fn attend(&mut self, around: &Surroundings<'_>) {
        if let Ok(keeping) = &mut self.keeping {
            keeping.let_go_what_is_abandoned();
        }
        while let Some(asked) = self.desk.next_request() {
            let (reply, is_new) = match (&mut self.keeping, self.desk.connection(&asked)) {
                (Ok(keeping), Some(connection)) => {
                    let asker = asked.asker;
                    let asking = Asking { asker, connection };
                    let before = keeping.holds.len();
                    let reply = keeping.answer(&asked.request, asking, around);
                    (reply, keeping.holds.len() > before)
                }
                // Nothing is held.
                (Err(_), _) if matches!(asked.request, ServiceRequest::LetGo { .. }) => {
                    (ServiceReply::Answer(Reply::Done), false)
                }
                (Err(why), _) => (ServiceReply::Refused { cause: why.clone() }, false),
                (Ok(_), None) => continue,
            };
            // Who waits no longer knows of nothing that is held, and could not let it go.
            if !self.desk.answer(&asked, &reply)
                && let ServiceReply::Held(held) = &reply
                && is_new
                && let Ok(keeping) = &mut self.keeping
            {
                keeping.remove(&held.id, false);
            }
        }
    }

    /// Writes down what the next service is to take up again.
    pub(crate) fn save(&mut self) {
        if let Ok(keeping) = &mut self.keeping {
            keeping.save(true);
        }
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        if let Ok(keeping) = &mut self.keeping {
            keeping.end();
        }
        let _ = fs::remove_file(&self.socket);
    }
}

fn room(settings: &UserSettings) -> Room {
    Room {
        visitors: MOST_VISITORS,
        of_one_user: settings.connections,
        per_second: Some(settings.requests_per_s),
    }
}

impl Keeping {
    fn new(below: &Cgroup, settings: UserSettings, around: &Surroundings<'_>) -> Result<Self> {
        let mut claims = Claims::load(around.classifier)?;
        let (saved, _) = Saved::open(around.records);
        Ok(Self {
            below: below.clone(),
            settings,
            anchors: Anchors::new(below, &mut claims)?,
            claims,
            holds: BTreeMap::new(),
            look: Look::default(),
            saved,
            looked: Instant::now(),
            is_walk_due: false,
        })
    }

    fn set(&mut self, settings: UserSettings) {
        self.settings = settings;
        let mut ended = Vec::new();
        for hold in self.holds.values_mut().filter(|hold| hold.is_in_force()) {
            if let Some(why) = self.settings.refusal(hold.user, &hold.groups) {
                hold.end(&mut self.claims, false);
                hold.ended = Some(why);
                ended.push(hold.id.clone());
            }
        }
        self.forget(&ended);
    }

    /// Forgets what has ended, but for commands that somebody attends to: who does is to hear of it.
    fn forget(&mut self, ended: &[String]) {
        for id in ended {
            let attended = |hold: &Hold| matches!(hold.on, On::Command(Some(_)));
            if self.holds.get(id).is_some_and(|hold| !attended(hold)) {
                self.holds.remove(id);
            }
        }
    }

    fn do_due(&mut self, around: &Surroundings<'_>) -> Instant {
        let now = Instant::now();
        let mut due = self.looked + LOOK_EVERY;
        if now >= due {
            self.looked = now;
            due = now + LOOK_EVERY;
            self.let_go_what_is_lost();
            self.let_go_what_is_over();
            self.free_what_is_closed(around);
        }
        for hold in self.holds.values_mut().filter(|hold| hold.is_in_force()) {
            match hold.held.work() {
                Ok(again) => due = due.min(again),
                Err(error) => tracing::warn!("{}: {}", hold.id, describe(&error)),
            }
            let number = hold.claim.as_ref().map_or(0, |claim| claim.number());
            if let Some(watch) = &mut hold.watch {
                let look = &mut self.look;
                watch.look(|| look.at(around.classifier, number));
                due = due.min(watch.due());
            }
        }
        self.save(false);
        due.min(self.saved.due().max(now + Duration::from_millis(1)))
    }

    fn let_go_what_is_abandoned(&mut self) {
        let abandoned = self.needing(Need::Abandoned);
        for id in &abandoned {
            // Killed, for it would have said so: nothing may stay throttled on its account.
            self.remove(id, false);
        }
        if !abandoned.is_empty() {
            self.save(true);
        }
    }

    fn let_go_what_is_over(&mut self) {
        for id in self.needing(Need::Over) {
            self.remove(&id, true);
        }
    }

    /// What somebody else has taken off the cgroup acts on nobody any more.
    fn let_go_what_is_lost(&mut self) {
        let mut ended = Vec::new();
        for lost in self.anchors.take_lost(&mut self.claims) {
            for hold in self.holds.values_mut().filter(|hold| hold.is_in_force()) {
                if is_same(hold.held.policies(), &lost) {
                    hold.end(&mut self.claims, false);
                    let why = "the programs of ebbd were taken off its cgroup";
                    hold.ended = Some(why.to_owned());
                    ended.push(hold.id.clone());
                }
            }
        }
        self.forget(&ended);
    }

    fn needing(&self, need: Need) -> Vec<String> {
        let holds = self.holds.values();
        let found = holds.filter(|hold| hold.need(&self.claims) == need);
        found.map(|hold| hold.id.clone()).collect()
    }

    fn remove(&mut self, id: &str, is_empty: bool) {
        if let Some(mut hold) = self.holds.remove(id) {
            hold.end(&mut self.claims, is_empty);
            self.look.forget();
        }
    }

    fn save(&mut self, at_once: bool) {
        let (claims, holds) = (&self.claims, &self.holds);
        let written = self.saved.write(at_once, || {
            let has_any = holds.values().any(Hold::is_in_force);
            let mut members = if has_any {
                claims.members()
            } else {
                BTreeMap::new()
            };
            let holds = holds.values().filter_map(|hold| {
                let number = hold.claim.as_ref()?.number();
                Some(hold.saved(members.remove(&number).unwrap_or_default()))
            });
            holds.collect()
        });
        if let Err(error) = written {
            tracing::warn!("{}", describe(&error));
        }
    }

    fn end(&mut self) {
        for hold in self.holds.values_mut() {
            // All was let go at once.
            hold.end(&mut self.claims, true);
        }
        self.holds.clear();
    }
}
