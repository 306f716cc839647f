// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How connections are to yield, both ways.

use std::fmt;
use std::str::FromStr;

use ebb_algorithms::{Policy, PolicyError, Side};
use ebb_link::Rate;

use crate::backend::Backend;
use crate::deadline::Deadline;
use crate::error::{Error, Result};

/// The word for [`UploadPolicy::Untouched`].
const UNTOUCHED: &str = "none";

/// The policies of both directions, as a backend is to have them.
#[derive(Debug, Clone, PartialEq)]
pub struct Policies {
    /// For what arrives.
    pub download: Policy,
    /// For what is sent; none: it is not touched.
    pub upload: Option<Policy>,
    /// What is sent is not marked as Lower Effort.
    pub keeps_code_point: bool,
    /// What all connections have together at the least, each way.
    pub minimum: Option<Rate>,
    /// Until when how much is to be transferred.
    pub deadline: Option<Deadline>,
    /// Whether somebody asked for just that upload policy: then nothing is attached without it.
    pub needs_upload: bool,
}

/// What somebody asked for; a backend has laws of its own for the rest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    /// For what arrives.
    pub download: Option<Policy>,
    /// For what is sent.
    pub upload: Option<UploadPolicy>,
    /// What is sent is not to be marked as Lower Effort.
    pub keeps_code_point: bool,
    /// What all connections are to have together at the least, each way.
    pub minimum: Option<Rate>,
    /// Until when how much is to be transferred.
    pub deadline: Option<Deadline>,
}

/// What is to become of what is sent: the choice of `--upload-policy`.
#[derive(Debug, Clone, PartialEq)]
pub enum UploadPolicy {
    /// What is sent is left alone.
    Untouched,
    /// What is sent yields by a sender law.
    Law(Policy),
}

/// What all connections are to have together at the least, each way: the choice of `--minimum`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Minimum(pub Option<Rate>);

impl Policies {
    /// What is wanted, and the backend's own laws for the rest.
    ///
    /// *Errors:* a law sees packets, which the user backend does not.
    pub fn new(wanted: &Wanted, backend: Backend) -> Result<Self> {
        let upload = match &wanted.upload {
            Some(chosen) => chosen.policy().cloned(),
            None => Some(default_of(backend, Side::Sender)),
        };
        let download = match &wanted.download {
            Some(chosen) => chosen.clone(),
            None => default_of(backend, Side::Receiver),
        };
        if backend == Backend::User {
            std::iter::once(&download)
                .chain(&upload)
                .try_for_each(check_for_user_backend)?;
        }
        Ok(Self {
            download,
            upload,
            keeps_code_point: wanted.keeps_code_point,
            minimum: wanted.minimum,
            deadline: wanted.deadline,
            needs_upload: wanted.upload.is_some(),
        })
    }
}

/// A rate as backends have it. *Units:* bytes per second; 0: none.
pub(crate) fn floor_bytes_per_s(minimum: Option<Rate>) -> u64 {
    minimum.map_or(0, |rate| rate.bits_per_s() / 8)
}

fn default_of(backend: Backend, side: Side) -> Policy {
    match backend {
        Backend::Kernel | Backend::Gateway => Policy::default_of(side),
        Backend::User => Policy::default_by_counters(side),
    }
}

/// Says why the user backend cannot have a policy.
pub fn check_for_user_backend(policy: &Policy) -> Result<()> {
    if policy.law().is_for_counters() {
        return Ok(());
    }
    let law = policy.law().name;
    Err(Error::NotForUserBackend { law })
}

impl UploadPolicy {
    /// The policy, if there is to be one.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            Self::Untouched => None,
            Self::Law(policy) => Some(policy),
        }
    }
}

impl Default for UploadPolicy {
    fn default() -> Self {
        Self::Law(Policy::default_of(Side::Sender))
    }
}

impl FromStr for UploadPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        match text {
            UNTOUCHED => Ok(Self::Untouched),
            text => Policy::sender(text).map(Self::Law),
        }
    }
}

impl fmt::Display for UploadPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched => formatter.write_str(UNTOUCHED),
            Self::Law(policy) => policy.fmt(formatter),
        }
    }
}

impl FromStr for Minimum {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == UNTOUCHED {
            return Ok(Self(None));
        }
        let rate = text.parse().map_err(|_| Error::NoMinimum {
            text: text.to_owned(),
        })?;
        Ok(Self(Some(rate)))
    }
}

impl fmt::Display for Minimum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => formatter.write_str(UNTOUCHED),
            Some(rate) => rate.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_has_laws_of_its_own_where_nothing_is_wanted() {
        let kernel = Policies::new(&Wanted::default(), Backend::Kernel).unwrap();
        assert_eq!(kernel.download, Policy::default());
        assert_eq!(kernel.upload, Some(Policy::default_of(Side::Sender)));
        let user = Policies::new(&Wanted::default(), Backend::User).unwrap();
        let names = [&user.download, user.upload.as_ref().unwrap()].map(|it| it.law().name);
        assert_eq!(names, ["sampled", "paced"]);
        assert!(!kernel.needs_upload && !user.needs_upload);
    }

    #[test]
    fn what_is_wanted_is_taken_and_a_law_that_sees_packets_is_refused_to_the_user_backend() {
        let wanted = Wanted {
            download: Some(Policy::receiver("vulture").unwrap()),
            upload: Some(UploadPolicy::Untouched),
            keeps_code_point: true,
            minimum: "2mbit".parse::<Minimum>().unwrap().0,
            deadline: None,
        };
        let kernel = Policies::new(&wanted, Backend::Kernel).unwrap();
        assert_eq!(kernel.download.law().name, "vulture");
        assert_eq!(kernel.upload, None);
        assert!(kernel.keeps_code_point && kernel.needs_upload);
        assert_eq!(floor_bytes_per_s(kernel.minimum), 250_000);
        assert_eq!("none".parse::<Minimum>().unwrap(), Minimum(None));
        let error = "2Mbps".parse::<Minimum>().unwrap_err().to_string();
        assert!(
            error.contains("2Mbps") && error.contains("2mbit"),
            "{error}"
        );
        let error = Policies::new(&wanted, Backend::User).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("'vulture' judges every packet"), "{text}");
        assert!(text.contains("sampled and paced"), "{text}");
    }
}
