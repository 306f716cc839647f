// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::iter::Sum;

use crate::{Cell, Comparison, Engine, Verdict};

/// How many cells have each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Green ones.
    pub green: usize,
    /// Yellow ones.
    pub yellow: usize,
    /// Red ones.
    pub red: usize,
    /// Those that are not judged.
    pub shortened: usize,
    /// Those that are judged and do not count.
    pub shown: usize,
}

impl Counts {
    /// All that were held against the paper.
    pub fn judged(&self) -> usize {
        self.green + self.yellow + self.red
    }

    /// Of each engine that has any: how many comparisons, and their verdicts. What a kernel
    /// gives is not mixed with what the simulator does.
    pub fn by_engine<'c>(
        comparisons: impl Iterator<Item = &'c Comparison> + Clone,
    ) -> Vec<(Engine, usize, Self)> {
        let of_engine = |engine| {
            let own = comparisons.clone().filter(|it| it.engine == engine);
            (
                engine,
                own.clone().count(),
                own.map(Comparison::counts).sum(),
            )
        };
        let all = [Engine::Sim, Engine::Lab, Engine::Analytic].map(of_engine);
        all.into_iter().filter(|(_, count, _)| *count > 0).collect()
    }
}

impl FromIterator<Verdict> for Counts {
    fn from_iter<I: IntoIterator<Item = Verdict>>(verdicts: I) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Green => &mut counts.green,
                Verdict::Yellow => &mut counts.yellow,
                Verdict::Red => &mut counts.red,
                Verdict::Shortened => &mut counts.shortened,
            } += 1;
        }
        counts
    }
}

impl<'c> FromIterator<&'c Cell> for Counts {
    fn from_iter<I: IntoIterator<Item = &'c Cell>>(cells: I) -> Self {
        let (mut verdicts, mut shown) = (Vec::new(), 0);
        for cell in cells {
            match cell.counts() || cell.verdict == Verdict::Shortened {
                true => verdicts.push(cell.verdict),
                false => shown += 1,
            }
        }
        let counts: Self = verdicts.into_iter().collect();
        Self { shown, ..counts }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            green: sum.green + one.green,
            yellow: sum.yellow + one.yellow,
            red: sum.red + one.red,
            shortened: sum.shortened + one.shortened,
            shown: sum.shown + one.shown,
        })
    }
}
