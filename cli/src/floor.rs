// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a policy's connections are to have at the least: `--minimum`, `--deadline`, `--size`.

use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use ebb_keeper::protocol::{Due, Request};
use ebb_keeper::{By, DataSize, Deadline, Minimum, Wanted, unix_time};

/// How little it may be.
#[derive(Debug, Args)]
pub struct FloorOptions {
    /// What all its connections have together at the least while the path carries it, each way: a
    /// rate, as 2mbit or 500kbit; `none`: nothing
    #[arg(long, value_name = "RATE")]
    minimum: Option<Minimum>,

    /// Until when --size is to be transferred: a time of day, the next one, as 06:00; a date, as
    /// "2026-11-26 06:00"; from now on, as 3h or 1h30m. It yields as ever while it is on time, and
    /// takes what it needs, up to a fair share, when it is not. `none` ends it
    #[arg(long, value_name = "WHEN")]
    deadline: Option<Until>,

    /// How much is to be transferred until --deadline, both ways together, as 40GB
    #[arg(long, value_name = "SIZE", requires = "deadline")]
    size: Option<DataSize>,
}

/// What `--deadline` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Until(Option<By>);

impl FromStr for Until {
    type Err = ebb_keeper::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self(None)),
            text => text.parse().map(|by| Self(Some(by))),
        }
    }
}

impl FloorOptions {
    /// What is wanted beside laws.
    ///
    /// Errors: a deadline without a size, or the other way round; it has passed.
    pub fn add_to(&self, wanted: Wanted) -> Result<Wanted> {
        Ok(Wanted {
            minimum: self.minimum.and_then(|minimum| minimum.0),
            deadline: self.deadline()?.flatten(),
            ..wanted
        })
    }

    /// What a keeper is to be asked for; nothing that was not named.
    ///
    /// Errors: as above.
    pub fn requests(&self) -> Result<Vec<Request>> {
        let minimum = self.minimum.as_ref().map(Minimum::to_string);
        let deadline = self.deadline()?.map(|deadline| deadline.map(Due::of));
        let minimum = minimum.map(Request::SetMinimum).into_iter();
        Ok(minimum.chain(deadline.map(Request::SetDeadline)).collect())
    }

    /// The deadline that is named, from now on; none in it ends one.
    fn deadline(&self) -> Result<Option<Option<Deadline>>> {
        let Some(Until(by)) = self.deadline else {
            return Ok(None);
        };
        let (by, size) = match (by, self.size) {
            (None, None) => return Ok(Some(None)),
            (None, Some(_)) => bail!("--deadline none needs no --size"),
            (Some(_), None) => bail!(
                "how much is to be transferred until --deadline? Add --size, as 40GB; where that \
                 is not known, --minimum 2mbit is a rate"
            ),
            (Some(by), Some(size)) => (by, size),
        };
        let now_unix_s = unix_time().as_secs();
        let by_unix_s = by.from(now_unix_s);
        if by_unix_s <= now_unix_s {
            bail!("--deadline {by} has passed");
        }
        let by = By::At(by_unix_s);
        let DataSize(size_bytes) = size;
        Ok(Some(Some(Deadline { by, size_bytes })))
    }
}
