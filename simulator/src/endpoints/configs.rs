// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configurations that flows have in common: what a thousand flows read stays in the cache
//! only if it is there once.

use std::sync::Arc;

use ebb_scenario::{Flow, TcpOptions};

use crate::Error;
use crate::tcp::TcpConfig;

/// So many are compared with a new one.
const MOST_COMPARED: usize = 32;

/// The configurations of the flows so far.
#[derive(Default)]
pub(crate) struct Configs(Vec<Known>);

struct Known {
    options: TcpOptions,
    sender: String,
    receiver: Option<String>,
    config: Arc<TcpConfig>,
}

impl Configs {
    /// The configuration of a flow's end that is under this receiver policy.
    ///
    /// *Errors:* [`Error::Tcp`] if the flow's policies or options cannot be used.
    pub(super) fn find(
        &mut self,
        flow: &Flow,
        receiver: Option<&str>,
    ) -> Result<Arc<TcpConfig>, Error> {
        let latest = self.0.iter().rev().take(MOST_COMPARED);
        for known in latest {
            if known.options == flow.tcp
                && known.sender == flow.sender
                && known.receiver.as_deref() == receiver
            {
                return Ok(Arc::clone(&known.config));
            }
        }
        let config = TcpConfig::new(flow.tcp, &flow.sender, receiver);
        let config = config.map_err(|source| Error::Tcp {
            flow: flow.name.clone(),
            source,
        })?;
        self.0.push(Known {
            options: flow.tcp,
            sender: flow.sender.clone(),
            receiver: receiver.map(str::to_owned),
            config: Arc::clone(&config),
        });
        Ok(config)
    }
}
