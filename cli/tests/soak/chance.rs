// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much of what came of the transfers is chance: single ones that stand out, and how far the
//! quotient that is judged would be elsewhere with others like these.

use std::fmt::Write;

use rand::seq::IndexedRandom;

use crate::batches::Triple;
use crate::settings::Settings;
use crate::transfer_table::quotient;

/// A transfer stands out that took so many times as long as each of the two others, ...
const FAR: f64 = 2.0;
/// ... and so much longer: what is less a busy machine does, too.
const FAR_S: f64 = 0.2;
/// So often others are drawn from the same ones.
const DRAWS: usize = 1_000;
/// Of them so many are within the bounds that are told.
const WITHIN: f64 = 0.95;
/// No transfer has this number: chance for the draws.
const NUMBER: u64 = u64::MAX;

/// Of the three of a number any may be the unlucky one: if chance is all there is, those by Ebb
/// stand out as often as either twin.
pub fn of_single_ones(all: &[Triple]) -> String {
    let stands_out = |one: f64, others: [f64; 2]| {
        let longest = others[0].max(others[1]);
        one > longest * FAR && one > longest + FAR_S
    };
    let ebb: Vec<&Triple> = all
        .iter()
        .filter(|it| stands_out(it.ebb_s, [it.plain_s, it.again_s]))
        .collect();
    let count = |one: fn(&Triple) -> (f64, [f64; 2])| {
        let them = all.iter().map(one);
        them.filter(|(one, others)| stands_out(*one, *others))
            .count()
    };
    let plain = count(|it| (it.plain_s, [it.ebb_s, it.again_s]));
    let again = count(|it| (it.again_s, [it.ebb_s, it.plain_s]));
    let mut told = format!(
        "far slower than both others: {} by Ebb, {plain} first twins, {again} second ones\n",
        ebb.len()
    );
    for it in ebb {
        let _ = writeln!(
            told,
            "  {}: {:.2} s, twins {:.2} and {:.2} s; {:?} backend, {:?}, {:?}, {} bytes {}",
            it.transfer.number,
            it.ebb_s,
            it.plain_s,
            it.again_s,
            it.backend,
            it.harm,
            it.transfer.manner,
            it.transfer.bytes,
            if it.transfer.is_upload { "up" } else { "down" },
        );
    }
    told
}

/// The quotient that is judged, and that of one twin by the other, each with its bounds.
pub fn of_quotient(settings: &Settings, all: &[Triple]) -> String {
    let mut chance = settings.chance(NUMBER);
    let mut drawn = [Vec::new(), Vec::new()];
    for _ in 0..DRAWS {
        let others = (0..all.len()).filter_map(|_| all.choose(&mut chance));
        let others: Vec<&Triple> = others.collect();
        drawn[0].push(quotient(&others, Triple::slowness));
        drawn[1].push(quotient(&others, Triple::slowness_of_again));
    }
    let all: Vec<&Triple> = all.iter().collect();
    let [ebb, twin] = [Triple::slowness, Triple::slowness_of_again].map(|it| quotient(&all, it));
    let [of_ebb, of_twin] = drawn.map(|mut values| {
        values.sort_by(f64::total_cmp);
        let outside = (1.0 - WITHIN) / 2.0 * DRAWS as f64;
        let outside = outside as usize;
        format!(
            "{:.2} to {:.2}",
            values[outside],
            values[DRAWS - 1 - outside]
        )
    });
    format!(
        "slowness of 99 % by that of the first twins: {ebb:.3} ({of_ebb} with others like these); \
         of the second twins {twin:.3} ({of_twin})"
    )
}
