// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values as people write them in the file.
use ebb_link::{LinkError, Nanos, Probability, QueueLimit, Rate};
use toml::de::DeValue;

use super::section::with_article;
use crate::Draw;

/// What can be read from a value of the file. An error says what is wrong with the value
/// and what would be right; place and key are added by the caller.
pub trait FromValue: Sized {
    /// Reads the value. *Errors:* what is wrong with it and what would be right.
    fn from_value(value: &DeValue<'_>) -> Result<Self, String>;
}

/// A size of data. *Units:* bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromValue for String {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| not_a("text in quotes is needed", value))
    }
}

impl FromValue for bool {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        value
            .as_bool()
            .ok_or_else(|| not_a("true or false is needed", value))
    }
}

impl FromValue for u64 {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let integer = value
            .as_integer()
            .ok_or_else(|| not_a("a whole number is needed", value))?;
        u64::from_str_radix(integer.as_str(), integer.radix())
            .map_err(|_| format!("{integer} is out of range; it can be 0 or more"))
    }
}

impl FromValue for f64 {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let text = match value {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            other => return Err(not_a("a number is needed", other)),
        };
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("`{text}` is no number"))
    }
}

impl FromValue for Nanos {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        const EXAMPLE: &str = "write it like \"50ms\", \"1.5s\" or \"200us\"";
        match value {
            DeValue::String(text) => text.parse().map_err(problem_of),
            DeValue::Integer(number) if number.as_str() == "0" => Ok(Self::ZERO),
            DeValue::Integer(_) | DeValue::Float(_) => {
                Err(format!("the unit is missing; {EXAMPLE}"))
            }
            other => Err(not_a("a time is needed", other) + "; " + EXAMPLE),
        }
    }
}

impl FromValue for Rate {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        const EXAMPLE: &str = "write it like \"10mbit\" or \"500kbit\" (bits per second)";
        match value {
            DeValue::String(text) => text.parse().map_err(problem_of),
            DeValue::Integer(_) | DeValue::Float(_) => {
                Err(format!("the unit is missing; {EXAMPLE}"))
            }
            other => Err(not_a("a rate is needed", other) + "; " + EXAMPLE),
        }
    }
}

impl FromValue for QueueLimit {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::String(text) => text.parse().map_err(problem_of),
            DeValue::Integer(number) => number.to_string().parse().map_err(problem_of),
            other => Err(not_a("a queue size is needed", other)
                + "; write it like 86 (packets) or \"128kb\""),
        }
    }
}

impl FromValue for Probability {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::String(text) => text.parse().map_err(problem_of),
            DeValue::Integer(number) => number.to_string().parse().map_err(problem_of),
            DeValue::Float(number) => number.as_str().parse().map_err(problem_of),
            other => Err(not_a("a share is needed", other) + "; write it like \"2%\" or 0.02"),
        }
    }
}

impl FromValue for Size {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::String(text) => size(text).map(Self),
            DeValue::Integer(number) => size(&format!("{number}b")).map(Self),
            other => Err(not_a("a size is needed", other) + "; " + SIZE_EXAMPLE),
        }
    }
}

impl FromValue for Vec<String> {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        list(value, "a list of names is needed, like [\"a\", \"b\"]")
    }
}

/// One time or several.
impl FromValue for Vec<Nanos> {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        if value.is_array() {
            return list(value, "");
        }
        Nanos::from_value(value).map(|time| vec![time])
    }
}

fn list<T: FromValue>(value: &DeValue<'_>, needed: &str) -> Result<Vec<T>, String> {
    let items = value.as_array().ok_or_else(|| not_a(needed, value))?;
    items
        .iter()
        .map(|item| T::from_value(item.get_ref()))
        .collect()
}

/// A time, or what it is drawn from, in nanoseconds.
pub(super) struct TimeDraw(pub Draw);

impl FromValue for TimeDraw {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let time = |text: &str| text.parse::<Nanos>().map(|time| time.0).map_err(problem_of);
        match value.as_str() {
            Some(text) => draw(text, time, "1s").map(Self),
            None => Nanos::from_value(value).map(|time| Self(Draw::Constant(time.0))),
        }
    }
}

/// A size, or what it is drawn from, in bytes.
pub(super) struct SizeDraw(pub Draw);

impl FromValue for SizeDraw {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        match value.as_str() {
            Some(text) => draw(text, size, "12kB").map(Self),
            None => Size::from_value(value).map(|size| Self(Draw::Constant(size.0))),
        }
    }
}

/// Reads `1s`, `exponential:mean=1s` or `pareto:mean=12kB,shape=1.2,max=1MB`.
fn draw(
    text: &str,
    read: impl Fn(&str) -> Result<u64, String>,
    example: &str,
) -> Result<Draw, String> {
    let usage = |what: String| {
        format!(
            "{what}; write \"{example}\", \"exponential:mean={example}\" or \
             \"pareto:mean={example},shape=1.2\", if need be with \",max=…\""
        )
    };
    let Some((name, settings)) = text.split_once(':') else {
        return read(text).map(Draw::Constant);
    };
    let (mut mean, mut shape, mut max) = (None, None, None);
    for setting in settings.split(',') {
        match setting.split_once('=') {
            Some(("mean", value)) => mean = Some(read(value)?),
            Some(("max", value)) if name == "pareto" => max = Some(read(value)?),
            Some(("shape", value)) if name == "pareto" => shape = value.parse().ok(),
            _ => return Err(usage(format!("`{setting}` is not understood"))),
        }
    }
    let mean = mean.ok_or_else(|| usage("the mean is missing".into()))?;
    match (name, shape) {
        ("exponential", _) => Ok(Draw::Exponential { mean }),
        ("pareto", Some(shape)) if shape > 1.0 && f64::is_finite(shape) => {
            Ok(Draw::Pareto { mean, shape, max })
        }
        ("pareto", _) => Err(usage("`shape` must be a number above 1".into())),
        _ => Err(usage(format!("`{name}` is not a distribution"))),
    }
}

const SIZE_EXAMPLE: &str = "write it like \"5MB\", \"300kB\", \"64KiB\" or 1500 (bytes)";

/// Reads a size of data, in bytes. *Errors:* what would be right.
pub fn size(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(QueueLimit::Bytes(bytes)) => Ok(bytes),
        Ok(QueueLimit::Packets(_)) => Err(format!("the unit is missing; {SIZE_EXAMPLE}")),
        Err(_) => Err(format!("`{text}` is no size; {SIZE_EXAMPLE}")),
    }
}

fn problem_of(error: LinkError) -> String {
    match error {
        LinkError::Value {
            input,
            problem,
            example,
            ..
        } => {
            format!("`{input}`: {problem}; write it like {example}")
        }
        other => other.to_string(),
    }
}

fn not_a(needed: &str, value: &DeValue<'_>) -> String {
    format!("{needed}, not {}", with_article(value.type_str()))
}
