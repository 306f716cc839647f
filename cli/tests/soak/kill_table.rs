// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came of the kills, as docs/soak.md has it.

use std::fmt::Write as _;
use std::time::Duration;

use crate::clamp::Way;
use crate::kills::Killed;
use crate::point::{Backend, Phase};
use crate::report::quantile;

/// The points by what they disturbed.
pub fn of_kills(all: &[Killed]) -> String {
    let mut table = "| backend | killed in | points | under way | limited at the kill: down, up | \
                     free after, s: median | 99 % | most | failed |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for backend in [Backend::Kernel, Backend::User] {
        for phase in Phase::ALL {
            let are_meant = |it: &&Killed| it.point.backend == backend && it.point.phase == phase;
            let chosen: Vec<&Killed> = all.iter().filter(are_meant).collect();
            let head = format!("{} | {phase:?}", backend.name()).to_lowercase();
            row(&mut table, &head, &chosen);
        }
        let are_meant = |it: &&Killed| it.point.backend == backend;
        let chosen: Vec<&Killed> = all.iter().filter(are_meant).collect();
        row(
            &mut table,
            &format!("{} | **all**", backend.name()),
            &chosen,
        );
    }
    table
}

fn row(table: &mut String, head: &str, chosen: &[&Killed]) {
    if chosen.is_empty() {
        return;
    }
    let freed = || chosen.iter().flat_map(|it| &it.freed);
    let limited = |way| freed().filter(|it| it.way == way && it.was_limited).count();
    let mut after: Vec<Duration> = freed().filter_map(|it| it.after).collect();
    after.sort_unstable();
    let seconds = |share| match quantile(&after, share) {
        Some(time) => format!("{:.2}", time.as_secs_f64()),
        None => "–".to_owned(),
    };
    let _ = writeln!(
        table,
        "| {head} | {} | {} | {}, {} | {} | {} | {} | {} |",
        chosen.len(),
        chosen.iter().filter(|it| it.is_under_way).count(),
        limited(Way::Down),
        limited(Way::Up),
        seconds(0.5),
        seconds(0.99),
        seconds(1.0),
        chosen.iter().filter(|it| !it.problems.is_empty()).count(),
    );
}
