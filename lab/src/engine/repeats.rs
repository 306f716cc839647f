// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which runs are carried out at the same time, and which of them again.

/// How runs are carried out that a machine may disturb.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeats {
    /// At the same time, at the most.
    pub(super) parallel: usize,
    /// How often a run that was disturbed is repeated, at the most.
    pub(super) retries: u32,
}

impl Repeats {
    /// Has `wave` carry out `count` runs, those at these places together, and hands each over as
    /// soon as it is to be believed, or is repeated no more.
    ///
    /// Only those that were disturbed are repeated: half as many at the same time as before, and in
    /// the end each by itself, so that nothing of ours is left that could disturb it.
    ///
    /// *Errors:* the first of `wave`. What was handed over before stays.
    pub(super) fn carry_out<R, E>(
        self,
        count: usize,
        mut wave: impl FnMut(&[usize]) -> Result<Vec<R>, E>,
        is_disturbed: impl Fn(&R) -> bool,
        mut done: impl FnMut(usize, R),
    ) -> Result<(), E> {
        let mut waiting: Vec<usize> = (0..count).collect();
        for attempt in 0..=self.retries {
            let mut again = Vec::new();
            for places in waiting.chunks(self.width(attempt)) {
                for (place, run) in places.iter().zip(wave(places)?) {
                    match is_disturbed(&run) && attempt < self.retries {
                        true => again.push(*place),
                        false => done(*place, run),
                    }
                }
            }
            waiting = again;
        }
        Ok(())
    }

    fn width(self, attempt: u32) -> usize {
        let halved = self.parallel.checked_shr(attempt).unwrap_or(0).max(1);
        match attempt == self.retries && attempt > 0 {
            true => 1,
            false => halved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that disturbs these places this often, whatever runs beside them.
    fn waves(disturbed: &[(usize, u32)], retries: u32) -> (Vec<Vec<usize>>, Vec<(usize, bool)>) {
        let mut left = disturbed.to_vec();
        let (mut waves, mut done) = (Vec::new(), Vec::new());
        let repeats = Repeats {
            parallel: 4,
            retries,
        };
        let wave = |places: &[usize]| {
            waves.push(places.to_vec());
            let mut is_disturbed = |place: &usize| {
                let mut left = left.iter_mut();
                let times = left.find(|(of, times)| of == place && *times > 0);
                times.map(|(_, times)| *times -= 1).is_some()
            };
            Ok::<_, ()>(places.iter().map(&mut is_disturbed).collect())
        };
        let is_disturbed = |run: &bool| *run;
        let told = |place, run| done.push((place, run));
        repeats.carry_out(6, wave, is_disturbed, told).unwrap();
        (waves, done)
    }

    #[test]
    fn only_what_was_disturbed_is_run_again() {
        let (waves, done) = waves(&[(1, 1), (5, 1)], 2);
        assert_eq!(waves, [vec![0, 1, 2, 3], vec![4, 5], vec![1, 5]]);
        let places: Vec<usize> = done.iter().map(|(place, _)| *place).collect();
        assert_eq!(
            places,
            [0, 2, 3, 4, 1, 5],
            "each once, and as soon as it is known"
        );
        assert!(done.iter().all(|(_, is_disturbed)| !is_disturbed));
    }

    #[test]
    fn what_is_disturbed_again_is_run_alone_in_the_end() {
        let (waves, done) = waves(&[(0, 2), (2, 2), (3, 9)], 2);
        assert_eq!(waves[2..], [vec![0, 2], vec![3], vec![0], vec![2], vec![3]]);
        assert_eq!(
            done.last(),
            Some(&(3, true)),
            "it stays disturbed, and is told so"
        );
        assert_eq!(done.len(), 6);
    }

    #[test]
    fn without_repeats_all_run_together() {
        let (waves, done) = waves(&[(0, 1)], 0);
        assert_eq!(waves, [vec![0, 1, 2, 3], vec![4, 5]]);
        assert_eq!(done[0], (0, true));
    }
}
