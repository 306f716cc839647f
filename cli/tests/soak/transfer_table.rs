// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came of the transfers, as docs/soak.md has it.

use std::ops::Range;

use crate::batches::Triple;
use crate::point::Backend;
use crate::report::quantile;
use crate::transfer::{Harm, Manner};

/// The transfers by backend and way, by what the path did, by how the ends behaved, by size.
pub fn of_transfers(all: &[Triple]) -> String {
    let mut table = "| which | transfers | wrong | beside its twin: median | 99 % | \
                     twins beside each other: 99 % | slowness, 99 %: Ebb | plain | their quotient |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut add = |name: &str, is_meant: &dyn Fn(&Triple) -> bool| {
        let chosen: Vec<&Triple> = all.iter().filter(|it| is_meant(it)).collect();
        if !chosen.is_empty() {
            table += &transfers_row(name, &chosen);
        }
    };
    for backend in [Backend::Kernel, Backend::User] {
        for (way, is_upload) in [("down", false), ("up", true)] {
            let name = format!("{}, {way}", backend.name());
            add(&name, &|it| {
                it.backend == backend && it.transfer.is_upload == is_upload
            });
        }
    }
    for harm in Harm::ALL {
        add(&format!("{harm:?}").to_lowercase(), &|it| it.harm == harm);
    }
    for manner in Manner::ALL {
        add(&format!("{manner:?}").to_lowercase(), &|it| {
            it.transfer.manner == manner
        });
    }
    for (name, bytes) in SIZES {
        add(name, &|it| bytes.contains(&it.transfer.bytes));
    }
    add("**all**", &|_| true);
    table
}

/// Groups of sizes.
const SIZES: [(&str, Range<usize>); 4] = [
    ("below 10 kB", 0..10_000),
    ("10 kB to 100 kB", 10_000..100_000),
    ("100 kB to 1 MB", 100_000..1_000_000),
    ("from 1 MB on", 1_000_000..usize::MAX),
];

fn transfers_row(name: &str, chosen: &[&Triple]) -> String {
    let sorted = |value: fn(&Triple) -> f64| {
        let mut values: Vec<f64> = chosen.iter().map(|it| value(it)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let at = |values: &[f64], share| quantile(values, share).unwrap();
    let beside = sorted(|it| it.ebb_s / it.plain_s);
    let twins = sorted(|it| it.again_s / it.plain_s);
    let ebb = slowest(chosen, Triple::slowness);
    let plain = slowest(chosen, Triple::slowness_of_plain);
    format!(
        "| {name} | {} | {} | {:.3} | {:.2} | {:.2} | {ebb:.2} | {plain:.2} | {:.3} |\n",
        chosen.len(),
        chosen.iter().filter(|it| !it.problems.is_empty()).count(),
        at(&beside, 0.5),
        at(&beside, 0.99),
        at(&twins, 0.99),
        ebb / plain,
    )
}

/// What 99 % are not slower than.
fn slowest(chosen: &[&Triple], slowness: fn(&Triple) -> f64) -> f64 {
    let mut values: Vec<f64> = chosen.iter().map(|it| slowness(it)).collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.99).unwrap_or(f64::NAN)
}

/// The slowness of 99 % by that of the first twins.
pub fn quotient(chosen: &[&Triple], slowness: fn(&Triple) -> f64) -> f64 {
    slowest(chosen, slowness) / slowest(chosen, Triple::slowness_of_plain)
}
