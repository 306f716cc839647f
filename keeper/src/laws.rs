// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sender laws that any program can select as its congestion control, while a process keeps them.

use std::time::{Duration, Instant};

use ebb_algorithms::Policy;
use ebb_kernel::LoadedLaws;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::flow::FlowView;
use crate::held::{Change, Held, InForce};
use crate::keeper::{fork_off, live};
use crate::post::Post;
use crate::registry::Attached;
use crate::summary::Summary;

pub use ebb_kernel::congestion_name;

/// Names the record: there is one of them on a machine.
pub const ID: &str = "laws";

/// Nothing is ever due.
const FAR: Duration = Duration::from_secs(3_600);

/// Loaded laws.
struct HeldLaws {
    /// None once they were unloaded.
    loaded: Option<LoadedLaws>,
    policies: String,
}

/// Forks a process off that keeps the laws selectable; returns when they are. Call it while there
/// is a single thread.
///
/// *Errors:* [`Error::CannotKeep`]: they cannot be loaded; [`Error::KeeperDied`].
pub fn load(policies: &[Policy]) -> Result<()> {
    fork_off(|line| live(line, || begin(policies))).map(drop)
}

fn begin(policies: &[Policy]) -> Result<Post<HeldLaws>> {
    let loaded = LoadedLaws::load(policies)?;
    let names = loaded.names().to_vec();
    let texts: Vec<String> = policies.iter().map(Policy::to_string).collect();
    let mut post = Post::new(Box::new(HeldLaws {
        loaded: Some(loaded),
        policies: texts.join(" "),
    }));
    post.register(Attached::Laws { names }, ID.to_owned())?;
    Ok(post)
}

impl Held for HeldLaws {
    fn backend(&self) -> Backend {
        Backend::Kernel
    }

    fn in_force(&self) -> InForce {
        InForce {
            policy: self.policies.clone(),
            ..InForce::default()
        }
    }

    fn is_held(&self) -> bool {
        self.loaded.is_some()
    }

    fn is_needed(&mut self) -> bool {
        true
    }

    fn work(&mut self) -> Result<Instant> {
        Ok(Instant::now() + FAR)
    }

    fn change(&mut self, _: &Change) -> Result<()> {
        Err(Error::Fixed {
            how: "these are loaded with their parameters: ebb laws unload, then load".to_owned(),
        })
    }

    /// Whoever selects one is not known.
    fn flows(&mut self) -> Result<Vec<FlowView>> {
        Ok(Vec::new())
    }

    fn summary(&mut self) -> Summary {
        Summary {
            policy: self.policies.clone(),
            ..Summary::default()
        }
    }

    fn release(&mut self) -> Result<()> {
        self.loaded = None;
        Ok(())
    }
}
