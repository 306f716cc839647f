// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who is where behind a home link: everybody on one machine, or on devices behind a router.

use std::net::Ipv4Addr;
use std::path::Path as FilePath;

use super::gateway::Gateway;
use super::session::EAR;
use super::{Error, Yielding};
use crate::emulator::Path;
use crate::home::{Home, device_ipv4};
use crate::namespace::NamespaceHandle;

/// The devices of a home, by their numbers.
const LAPTOP: u8 = 0;
const PHONE: u8 = 1;
const CONSOLE: u8 = 2;
const TELEVISION: u8 = 3;
const DEVICE_COUNT: u8 = 4;

/// The devices of a home whose downloads are to yield.
pub const BACKGROUND_DEVICES: [Ipv4Addr; 2] = [device_ipv4(CONSOLE), device_ipv4(TELEVISION)];

/// Who is where on one path.
pub(super) struct Place {
    /// Where the pages are read.
    pub(super) reader: NamespaceHandle,
    /// Where the call is heard.
    pub(super) ear: NamespaceHandle,
    /// Where something is downloaded, each.
    pub(super) downloaders: Vec<NamespaceHandle>,
    home: Option<Home>,
}

impl Place {
    /// Behind this path: what yields by a gateway takes a home with a router.
    pub(super) fn behind(path: &Path, yielding: &Yielding) -> Result<Self, Error> {
        let home = match yielding {
            Yielding::Command(_) => None,
            Yielding::Gateway { .. } => Some(Home::behind(path, DEVICE_COUNT)?),
        };
        let Some(home) = home else {
            let machine = path.client();
            return Ok(Self {
                reader: machine.clone(),
                ear: machine.clone(),
                downloaders: vec![machine.clone()],
                home: None,
            });
        };
        home.forward_udp(EAR.port(), PHONE)?;
        let device = |number: u8| home.devices()[usize::from(number)].clone();
        Ok(Self {
            reader: device(LAPTOP),
            ear: device(PHONE),
            downloaders: [CONSOLE, TELEVISION].map(device).into(),
            home: Some(home),
        })
    }

    /// The gateway that makes downloads yield here, if that is what does; its files are in this
    /// folder.
    pub(super) fn gateway(
        &self,
        yielding: &Yielding,
        folder: &FilePath,
    ) -> Result<Option<Gateway>, Error> {
        match (&self.home, yielding) {
            (Some(home), Yielding::Gateway { words, rules }) => {
                let mut command = home.router().command(&words[0]);
                command.args(&words[1..]);
                Gateway::start(command, rules, folder).map(Some)
            }
            _ => Ok(None),
        }
    }
}
