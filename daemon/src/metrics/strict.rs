// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A reader of OpenMetrics 1.0 that takes nothing for granted: what the standard demands of a text,
//! of what is used here, is demanded.

use std::collections::{BTreeMap, BTreeSet};

/// The samples of a text, by name and labels as they stand there.
pub type Samples = BTreeMap<String, f64>;

#[derive(Default)]
struct Family {
    name: String,
    kind: Option<String>,
    unit: Option<String>,
    has_help: bool,
    samples: Vec<Sample>,
}

/// Of one histogram of a family: how many are below each bound, their sum, and how many there are.
#[derive(Default)]
struct Series {
    buckets: Vec<(f64, f64)>,
    sum: Option<f64>,
    count: Option<f64>,
}

struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

/// Reads a text.
///
/// # Panics
/// If anything is not as the standard has it; says the line.
pub fn read(text: &str) -> Samples {
    assert!(text.ends_with("\n# EOF\n"), "no end: {text}");
    let mut families: Vec<Family> = Vec::new();
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap().split('\n').collect();
    for line in &lines[..lines.len() - 1] {
        assert!(!line.is_empty() && *line != "# EOF", "{text}");
        match line.strip_prefix("# ") {
            Some(about) => read_about(about, &mut families),
            None => {
                let sample = read_sample(line);
                let family = families.last_mut().expect("a sample before any family");
                family.samples.push(sample);
            }
        }
    }
    let names: BTreeSet<&str> = families.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), families.len(), "a family is in two pieces");
    let mut samples = Samples::new();
    for family in &families {
        family.check();
        for sample in &family.samples {
            let key = format!("{}{:?}", sample.name, sample.labels);
            let labels: Vec<String> = sample
                .labels
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let readable = format!("{}{{{}}}", sample.name, labels.join(","));
            let before = samples.insert(readable, sample.value);
            assert!(before.is_none(), "twice: {key}");
        }
    }
    samples
}

fn read_about(about: &str, families: &mut Vec<Family>) {
    let mut words = about.splitn(3, ' ');
    let (what, name) = (words.next().unwrap(), words.next().expect(about));
    let value = words.next().expect(about).to_owned();
    assert!(is_name(name), "{about}");
    if families.last().is_none_or(|family| family.name != name) {
        families.push(Family {
            name: name.to_owned(),
            ..Family::default()
        });
    }
    let family = families.last_mut().unwrap();
    assert!(family.samples.is_empty(), "after its samples: {about}");
    match what {
        "HELP" => assert!(!std::mem::replace(&mut family.has_help, true), "{about}"),
        "TYPE" => assert_eq!(family.kind.replace(value), None, "{about}"),
        "UNIT" => assert_eq!(family.unit.replace(value), None, "{about}"),
        _ => panic!("{about}"),
    }
}

fn read_sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).expect(line);
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        (labels, rest) = read_labels(inner, line);
    }
    let value = rest.strip_prefix(' ').expect(line);
    assert!(!value.contains(' '), "a timestamp: {line}");
    let value: f64 = value.parse().expect(line);
    assert!(value.is_finite(), "{line}");
    Sample {
        name: name.to_owned(),
        labels,
        value,
    }
}

fn read_labels<'a>(mut rest: &'a str, line: &str) -> (Vec<(String, String)>, &'a str) {
    let mut labels: Vec<(String, String)> = Vec::new();
    while !rest.starts_with('}') {
        let (name, value) = rest.split_once("=\"").expect(line);
        assert!(is_name(name) && !name.contains(':'), "{line}");
        assert!(labels.iter().all(|(other, _)| other != name), "{line}");
        let mut text = String::new();
        let mut signs = value.char_indices();
        let end = loop {
            match signs.next().expect(line) {
                (end, '"') => break end,
                (_, '\\') => text.push(match signs.next().expect(line).1 {
                    'n' => '\n',
                    sign @ ('\\' | '"') => sign,
                    _ => panic!("{line}"),
                }),
                (_, sign) => text.push(sign),
            }
        };
        labels.push((name.to_owned(), text));
        rest = &value[end + 1..];
        if let Some(next) = rest.strip_prefix(',') {
            assert!(!next.starts_with('}'), "{line}");
            rest = next;
        } else {
            assert!(rest.starts_with('}'), "{line}");
        }
    }
    (labels, &rest[1..])
}

fn is_name(name: &str) -> bool {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == ':';
    !name.is_empty() && name.chars().all(is_plain) && !name.starts_with(|it: char| it.is_numeric())
}

impl Family {
    fn check(&self) {
        let name = &self.name;
        assert!(self.has_help, "{name} has no help");
        let kind = self.kind.as_deref().expect(name);
        if let Some(unit) = &self.unit {
            assert!(name.ends_with(&format!("_{unit}")), "{name}: {unit}");
        }
        assert!(
            !name.ends_with("_total") && !name.ends_with("_info"),
            "{name}"
        );
        for sample in &self.samples {
            let suffix = sample.name.strip_prefix(name).expect(name);
            let value = sample.value;
            match (kind, suffix) {
                ("counter", "_total") => assert!(value >= 0.0, "{name}"),
                ("gauge", "") => {}
                ("info", "_info") => assert_eq!(value, 1.0, "{name}"),
                ("histogram", "_sum" | "_count" | "_bucket") => assert!(value >= 0.0, "{name}"),
                _ => panic!("{} in a {kind}", sample.name),
            }
        }
        if kind == "histogram" {
            self.check_histograms();
        }
    }

    fn check_histograms(&self) {
        let mut series: BTreeMap<String, Series> = BTreeMap::new();
        for sample in &self.samples {
            let others = sample.labels.iter().filter(|(name, _)| name != "le");
            let key = format!("{:?}", others.collect::<Vec<_>>());
            let Series {
                buckets,
                sum,
                count,
            } = series.entry(key).or_default();
            let bound = sample.labels.iter().find(|(name, _)| name == "le");
            match (bound, sample.name.ends_with("_sum")) {
                (Some((_, bound)), _) => {
                    let bound = match bound.as_str() {
                        "+Inf" => f64::INFINITY,
                        bound => bound.parse().unwrap(),
                    };
                    buckets.push((bound, sample.value));
                }
                (None, true) => assert_eq!(sum.replace(sample.value), None),
                (None, false) => assert_eq!(count.replace(sample.value), None),
            }
        }
        for (key, it) in series {
            let Series {
                buckets,
                sum,
                count,
            } = it;
            let pairs = buckets.windows(2);
            let grows = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
            assert!(pairs.into_iter().all(grows), "{key}: {buckets:?}");
            let (bound, last) = *buckets.last().expect("no bucket");
            assert_eq!((bound, Some(last)), (f64::INFINITY, count), "{key}");
            assert!(sum.is_some(), "{key}");
        }
    }
}
