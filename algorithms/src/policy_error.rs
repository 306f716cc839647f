// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::registry::Side;

/// Why a policy was not understood; each says what would be right.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PolicyError {
    /// No law has this name.
    #[error("no law is called '{name}'{}; there are: {known}", suggestion(.nearest))]
    UnknownLaw {
        /// The name as given.
        name: String,
        /// The law that was probably meant.
        nearest: Option<&'static str>,
        /// All names, by what they are for.
        known: String,
    },
    /// The law acts at the other end of a connection.
    #[error("{name} is a {} law, and a {side} law is needed here; there are: {known}", .is)]
    WrongSide {
        /// The law.
        name: &'static str,
        /// Where it acts.
        is: Side,
        /// Where a law is needed.
        side: Side,
        /// The names of the laws that act there, by what they have to see.
        known: String,
    },
    /// The law has no such parameter.
    #[error("law '{law}' has no parameter '{key}'{}; see 'ebb policies {law}'", suggestion(.nearest))]
    UnknownParameter {
        /// The law.
        law: &'static str,
        /// The key as given.
        key: String,
        /// The parameter that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A part between commas is not of the form `key=value`.
    #[error("'{part}' is not of the form key=value")]
    NotAPair {
        /// The part as given.
        part: String,
    },
    /// The value is not a number within the parameter's bounds.
    #[error("{law}:{key}={value}: must be a whole number from {min} to {max} ({unit})")]
    BadValue {
        /// The law.
        law: &'static str,
        /// The parameter.
        key: &'static str,
        /// The value as given.
        value: String,
        /// Least value allowed.
        min: u32,
        /// Greatest value allowed.
        max: u32,
        /// Unit of the value.
        unit: &'static str,
    },
    /// A parameter is set twice.
    #[error("{law}:{key} is set twice")]
    SetTwice {
        /// The law.
        law: &'static str,
        /// The parameter.
        key: &'static str,
    },
}

fn suggestion(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"))
}
