// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sender laws for everybody: any program may select them with TCP_CONGESTION.

use crate::error::Result;
use crate::layout::Config;
use crate::programs::{LoadOptions, Programs, Purpose};
use crate::{congestion, features, registrations};
use ebb_algorithms::Policy;

/// Sender laws that are loaded; dropped, they cannot be selected any more. Connections that
/// have selected one keep it until they end: it works without Ebb.
pub struct LoadedLaws {
    names: Vec<String>,
    _programs: Vec<Programs>,
}

impl LoadedLaws {
    /// Loads laws with their parameters, each under its [`crate::congestion_name`].
    ///
    /// *Errors*: [`crate::Error::NameTaken`] if another Ebb has loaded one;
    /// [`crate::Error::OtherEnd`] for a law of the receiving end;
    /// [`crate::Error::NotPermitted`], [`crate::Error::MissingFeature`] and
    /// [`crate::Error::Load`] if the kernel cannot do it.
    pub fn load(policies: &[Policy]) -> Result<Self> {
        registrations::sweep();
        let mut loaded = Self {
            names: Vec::new(),
            _programs: Vec::new(),
        };
        for policy in policies {
            let law = policy.law();
            if law.side() != ebb_algorithms::Side::Sender {
                return Err(crate::Error::OtherEnd {
                    law: law.name,
                    side: ebb_algorithms::Side::Sender,
                });
            }
            features::require(law)?;
            let name = congestion::congestion_name(law);
            let options = LoadOptions {
                rules: None,
                config: Config::default(),
                purpose: Purpose::Law(law),
                predecessor: None,
            };
            let programs = Programs::load_for_everybody(&options, policy, &name)?;
            loaded._programs.push(programs);
            loaded.names.push(name);
        }
        Ok(loaded)
    }

    /// The names that TCP_CONGESTION takes, in the order of the policies.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl std::fmt::Debug for LoadedLaws {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "LoadedLaws({})", self.names.join(", "))
    }
}
