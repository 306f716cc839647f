// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How sockets are to yield.

use ebb_algorithms::{Policy, Side};
use ebb_link::Rate;
use ebb_sockets::Terms;

use crate::error::{Error, Result};
use crate::service::Order;

/// The word for a direction that is left alone, and for no minimum.
const UNTOUCHED: &str = "none";

/// How sockets are to yield: by which law each way, and what they have at the least.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    download: Option<Policy>,
    upload: Option<Policy>,
    keeps_code_point: bool,
    minimum: Option<Rate>,
}

impl Options {
    /// Both ways, by the usual laws.
    pub fn new() -> Self {
        Self {
            download: Some(Policy::default_by_counters(Side::Receiver)),
            upload: Some(Policy::default_by_counters(Side::Sender)),
            keeps_code_point: false,
            minimum: None,
        }
    }

    /// Another policy for what arrives, `name:key=value,…`; `none`: it is left alone.
    ///
    /// *Errors:* it cannot be read, or is not for this.
    pub fn download(mut self, policy: &str) -> Result<Self> {
        self.download = read(Side::Receiver, policy)?;
        Ok(self)
    }

    /// Another policy for what is sent, `name:key=value,…`; `none`: it is left alone.
    ///
    /// *Errors:* it cannot be read, or is not for this.
    pub fn upload(mut self, policy: &str) -> Result<Self> {
        self.upload = read(Side::Sender, policy)?;
        Ok(self)
    }

    /// A rate that it has at the least each way, whatever the laws say, as far as the path carries
    /// it: `2mbit`; `none`: that of the laws. A socket that is given by itself has it for itself,
    /// all that are given together ([`background_all`](crate::background_all)) have it together.
    ///
    /// *Errors:* it is no rate.
    pub fn minimum(mut self, rate: &str) -> Result<Self> {
        self.minimum = match rate {
            UNTOUCHED => None,
            rate => Some(
                rate.parse()
                    .map_err(|_| Error::BadMinimum(rate.to_owned()))?,
            ),
        };
        Ok(self)
    }

    /// Does not mark what is sent as Lower Effort (RFC 8622). It is settled once for each socket,
    /// when it comes into the background.
    pub fn keep_code_point(mut self) -> Self {
        self.keeps_code_point = true;
        self
    }

    /// What the service is to do; none: it is not asked, for a law was chosen, or one way is left
    /// alone. (Of downloads alone under the kernel backend the governor sees nothing, and both would
    /// act.)
    pub(crate) fn order(&self) -> Option<Order> {
        let usual = Self::new();
        let are_usual = (&self.download, &self.upload) == (&usual.download, &usual.upload);
        are_usual.then_some(Order {
            keeps_code_point: self.keeps_code_point,
            minimum: self.minimum,
        })
    }

    /// *Errors:* nothing is to yield.
    pub(crate) fn terms(&self) -> Result<Terms> {
        if self.download.is_none() && self.upload.is_none() {
            return Err(Error::NothingYields);
        }
        Ok(Terms {
            download: self.download.clone(),
            upload: self.upload.clone(),
            keeps_code_point: self.keeps_code_point,
            minimum_bytes_per_s: self.minimum.map_or(0, |rate| rate.bits_per_s() / 8),
        })
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

fn read(side: Side, text: &str) -> Result<Option<Policy>> {
    if text == UNTOUCHED {
        return Ok(None);
    }
    let policy = Policy::for_side(side, text)?;
    match policy.law().is_for_counters() {
        true => Ok(Some(policy)),
        false => Err(Error::NotBySockets(policy.law().name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_yield_unless_one_is_left_alone() {
        let terms = Options::new().terms().unwrap();
        assert_eq!(terms.download.unwrap().law().name, "sampled");
        assert_eq!(terms.upload.unwrap().law().name, "paced");
        let down = Options::new().upload("none").unwrap();
        assert!(down.terms().unwrap().upload.is_none());
        let nothing = down.download("none").unwrap().terms();
        assert_eq!(nothing.unwrap_err().code(), 6);
    }

    #[test]
    fn a_minimum_is_a_rate_or_none() {
        let minimum = |options: Options| options.terms().unwrap().minimum_bytes_per_s;
        let some = Options::new().minimum("2mbit").unwrap();
        assert_eq!(minimum(some.clone()), 250_000);
        assert_eq!(minimum(some.minimum("none").unwrap()), 0);
        let error = Options::new().minimum("2Mbps").unwrap_err();
        let text = error.to_string();
        assert_eq!(error.code(), 10);
        assert!(text.contains("2Mbps") && text.contains("2mbit"), "{text}");
    }

    #[test]
    fn what_cannot_be_a_policy_here_is_told_with_what_can() {
        let told = |options: Result<Options>| {
            let error = options.unwrap_err();
            (error.code(), error.to_string())
        };
        let (code, text) = told(Options::new().download("paced"));
        assert!(code == 4 && text.contains("sampled"), "{text}");
        let (code, text) = told(Options::new().upload("paced:target_us=1"));
        assert!(code == 4 && text.contains("1000"), "{text}");
        let (code, text) = told(Options::new().download("vulture"));
        assert!(code == 5 && text.contains("sampled"), "{text}");
    }
}
