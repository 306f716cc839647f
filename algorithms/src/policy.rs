// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A law with its parameters, as people write it: `name` or `name:key=value,…`.

use crate::policy_error::PolicyError;
use crate::registry::{LawInfo, ParamInfo, Side, counter_laws, law, laws, own_laws};
use std::fmt;
use std::str::FromStr;

/// A law and a value for each of its parameters.
#[derive(Clone)]
pub struct Policy {
    law: &'static LawInfo,
    values: Vec<u32>,
}

impl Policy {
    /// A law with the defaults of all its parameters.
    pub fn with_defaults(law: &'static LawInfo) -> Self {
        Self {
            law,
            values: law.params.iter().map(|param| param.default).collect(),
        }
    }

    /// Reads a policy for this end of a connection.
    ///
    /// *Errors:* those of reading a policy, and [`PolicyError::WrongSide`].
    pub fn for_side(side: Side, text: &str) -> Result<Self, PolicyError> {
        let policy = Self::parse(text, || names_for(side))?;
        let law = policy.law();
        if law.side() == side {
            return Ok(policy);
        }
        Err(PolicyError::WrongSide {
            name: law.name,
            is: law.side(),
            side,
            known: names_for(side),
        })
    }

    /// Reads a policy of the receiving end; errors as [`Self::for_side`].
    pub fn receiver(text: &str) -> Result<Self, PolicyError> {
        Self::for_side(Side::Receiver, text)
    }

    /// Reads a policy of the sending end; errors as [`Self::for_side`].
    pub fn sender(text: &str) -> Result<Self, PolicyError> {
        Self::for_side(Side::Sender, text)
    }

    /// The law.
    pub fn law(&self) -> &'static LawInfo {
        self.law
    }

    /// A value for each parameter, in the order of [`LawInfo::params`].
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// The same law with another value of one parameter.
    ///
    /// *Errors:* [`PolicyError::UnknownParameter`], [`PolicyError::BadValue`].
    pub fn with(mut self, key: &str, value: u32) -> Result<Self, PolicyError> {
        let (index, value) = parse_pair(self.law, &format!("{key}={value}"))?;
        self.values[index] = value;
        Ok(self)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::with_defaults(&laws()[0])
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Self::parse(text, || {
            let [down, up] = [Side::Receiver, Side::Sender].map(names_for);
            format!("for downloads {down}; for uploads {up}")
        })
    }
}

impl Policy {
    fn parse(text: &str, known: impl Fn() -> String) -> Result<Self, PolicyError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let law = law(name).ok_or_else(|| PolicyError::UnknownLaw {
            name: name.to_owned(),
            nearest: nearest(
                name,
                laws()
                    .iter()
                    .chain(counter_laws())
                    .chain(own_laws())
                    .map(|law| law.name),
            ),
            known: known(),
        })?;
        let mut policy = Self::with_defaults(law);
        let mut is_set = vec![false; law.params.len()];
        for part in settings.split(',').filter(|part| !part.is_empty()) {
            let (index, value) = parse_pair(law, part)?;
            if std::mem::replace(&mut is_set[index], true) {
                return Err(PolicyError::SetTwice {
                    law: law.name,
                    key: law.params[index].name,
                });
            }
            policy.values[index] = value;
        }
        Ok(policy)
    }
}

/// The shortest text that parses to the same policy.
impl fmt::Display for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.law.name)?;
        let mut separator = ':';
        for (param, value) in self.law.params.iter().zip(&self.values) {
            if *value != param.default {
                write!(formatter, "{separator}{}={value}", param.name)?;
                separator = ',';
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Policy({self})")
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        self.law.number == other.law.number && self.values == other.values
    }
}

/// The laws for this end of a connection, and what they have to see of it.
fn names_for(side: Side) -> String {
    let names = |laws: &mut dyn Iterator<Item = &'static LawInfo>| {
        let names = laws.filter(|law| law.side() == side);
        names.map(|law| law.name).collect::<Vec<_>>().join(", ")
    };
    format!(
        "{} (by every packet), {} (by counters alone)",
        names(&mut laws().iter().chain(own_laws())),
        names(&mut counter_laws().iter())
    )
}

fn parse_pair(law: &'static LawInfo, part: &str) -> Result<(usize, u32), PolicyError> {
    let (key, value) = part.split_once('=').ok_or_else(|| PolicyError::NotAPair {
        part: part.to_owned(),
    })?;
    let index = law
        .params
        .iter()
        .position(|param| param.name == key)
        .ok_or_else(|| PolicyError::UnknownParameter {
            law: law.name,
            key: key.to_owned(),
            nearest: nearest(key, law.params.iter().map(|param| param.name)),
        })?;
    let param = &law.params[index];
    let number = value
        .parse()
        .ok()
        .filter(|number| (param.min..=param.max).contains(number));
    number
        .map(|number| (index, number))
        .ok_or_else(|| bad_value(law, param, value))
}

fn bad_value(law: &LawInfo, param: &ParamInfo, value: &str) -> PolicyError {
    PolicyError::BadValue {
        law: law.name,
        key: param.name,
        value: value.to_owned(),
        min: param.min,
        max: param.max,
        unit: param.unit,
    }
}

/// The name most alike, if any is alike enough to have been meant.
pub fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::levenshtein(text, name), name))
        .filter(|(distance, name)| distance * 2 <= name.len().max(text.len()))
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::laws_of;

    #[test]
    fn a_name_alone_has_all_defaults() {
        let policy: Policy = "ebb".parse().unwrap();
        let defaults: Vec<u32> = policy
            .law()
            .params
            .iter()
            .map(|param| param.default)
            .collect();
        assert_eq!(policy.values(), defaults);
        assert_eq!(policy.to_string(), "ebb");
    }

    #[test]
    fn settings_are_taken_and_printed_back() {
        let policy: Policy = "ebb:target_us=7000,high_us=20000".parse().unwrap();
        assert_eq!(policy.to_string(), "ebb:target_us=7000,high_us=20000");
        assert_eq!(policy.to_string().parse::<Policy>().unwrap(), policy);
    }

    #[test]
    fn a_law_of_the_other_end_is_refused_with_those_of_this_end() {
        let error = Policy::receiver("reno").unwrap_err().to_string();
        assert!(
            error.contains("reno is a sender law, and a receiver law is needed"),
            "{error}"
        );
        assert!(error.contains("vulture"), "{error}");
        assert!(Policy::sender("reno").is_ok());
    }

    #[test]
    fn the_laws_that_are_offered_are_those_for_the_direction_with_what_they_see() {
        let offered = |error: PolicyError| {
            let text = error.to_string();
            text.split_once("there are: ").unwrap().1.to_owned()
        };
        let by_packets: Vec<&str> = laws_of(Side::Receiver).map(|law| law.name).collect();
        assert!(
            by_packets.starts_with(&["ebb", "vulture"]),
            "{by_packets:?}"
        );
        let down = format!(
            "{} (by every packet), sampled (by counters alone)",
            by_packets.join(", ")
        );
        assert_eq!(offered(Policy::receiver("nosuch").unwrap_err()), down);
        assert_eq!(offered(Policy::receiver("ledbat").unwrap_err()), down);
        let up = offered(Policy::sender("sampled").unwrap_err());
        assert!(up.starts_with("reno, "), "{up}");
        assert!(
            up.ends_with(" (by every packet), paced (by counters alone)"),
            "{up}"
        );
        assert_eq!(offered(Policy::sender("nosuch").unwrap_err()), up);
        let all = offered("nosuch".parse::<Policy>().unwrap_err());
        assert_eq!(all, format!("for downloads {down}; for uploads {up}"));
        let near = Policy::receiver("sampeld").unwrap_err().to_string();
        assert!(near.contains("did you mean 'sampled'?"), "{near}");
    }

    #[test]
    fn a_misspelt_law_is_answered_with_the_nearest_name() {
        let error = "vultur".parse::<Policy>().unwrap_err();
        assert!(
            error.to_string().contains("did you mean 'vulture'?"),
            "{error}"
        );
    }

    #[test]
    fn what_was_meant_is_found_by_the_fewest_changes_if_these_are_few() {
        let typos = [
            ("eb", Some("ebb")),
            ("bbe", Some("bbr")),
            ("rledbta", Some("rledbat")),
            ("ledbat--", Some("ledbat")),
            ("tcplp", Some("tcp-lp")),
            ("tcp-lp-enc", Some("tcp-lp-ecn")),
            ("ren\u{f6}", Some("reno")),
            ("r\u{e9}n\u{f6}", Some("reno")),
            ("reno++", Some("reno+")),
            ("pace", Some("paced")),
            ("ebb ", Some("ebb")),
            ("base_window", Some("base_window_us")),
            ("calm", Some("calm_us")),
            ("hold", None),
            ("LEDBAT", None),
            ("x", None),
            ("", None),
        ];
        let names = laws().iter().chain(counter_laws()).map(|law| law.name);
        let params = laws()[0].params.iter().map(|param| param.name);
        let known: Vec<&str> = names.chain(params).collect();
        for (typo, meant) in typos {
            assert_eq!(nearest(typo, known.iter().copied()), meant, "{typo:?}");
        }
    }

    #[test]
    fn a_misspelt_parameter_is_answered_with_the_nearest_name() {
        let error = "ebb:taget_us=7000".parse::<Policy>().unwrap_err();
        assert!(
            error.to_string().contains("did you mean 'target_us'?"),
            "{error}"
        );
    }

    #[test]
    fn values_out_of_bounds_are_answered_with_the_bounds() {
        for value in ["0", "-3", "5ms", "99999999999"] {
            let error = format!("ebb:target_us={value}")
                .parse::<Policy>()
                .unwrap_err();
            assert!(
                error.to_string().contains("from 1000 to 1000000 (us)"),
                "{error}"
            );
        }
    }

    #[test]
    fn one_parameter_is_changed_within_its_bounds() {
        let policy: Policy = "ebb:high_us=20000".parse().unwrap();
        let changed = policy.clone().with("target_us", 7_000).unwrap();
        assert_eq!(changed.to_string(), "ebb:target_us=7000,high_us=20000");
        assert!(policy.clone().with("target_us", 0).is_err());
        assert!(policy.with("taget_us", 7_000).is_err());
    }

    #[test]
    fn a_parameter_cannot_be_set_twice() {
        let error = "ebb:low_us=3000,low_us=4000".parse::<Policy>().unwrap_err();
        assert_eq!(error.to_string(), "ebb:low_us is set twice");
    }
}
