// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_algorithms::Policy;

use crate::SharingError;

/// What a flow is to be held at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// At nothing: as TCP goes.
    Free,
    /// At this rate of payload. *Units:* bit/s.
    At(u64),
}

const KEY: &str = "target_kbit_per_s";

impl Target {
    /// The policy that holds a flow at the target, in whole kbit/s within the bounds of the
    /// law; none where it is free. `base` has the other parameters.
    ///
    /// *Errors:* [`SharingError::NotRate`] if `base` is of another law.
    pub fn policy(self, base: &Policy) -> Result<Option<Policy>, SharingError> {
        let law = base.law();
        let bounds = law.params.iter().find(|param| param.name == KEY);
        let Some(bounds) = bounds.filter(|_| law.name == "rate") else {
            return Err(SharingError::NotRate {
                policy: base.to_string(),
            });
        };
        let Self::At(bits_per_s) = self else {
            return Ok(None);
        };
        let kbit_per_s = u32::try_from(bits_per_s.saturating_add(500) / 1_000);
        let kbit_per_s = kbit_per_s
            .unwrap_or(bounds.max)
            .clamp(bounds.min, bounds.max);
        Ok(base.clone().with(KEY, kbit_per_s).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(target: Target, base: &str) -> Option<String> {
        let policy = target.policy(&base.parse().unwrap()).unwrap();
        policy.map(|policy| policy.to_string())
    }

    #[test]
    fn is_set_through_the_law_rate_in_whole_kbit() {
        let base = "rate:slack_x1024=51";
        let expected = "rate:target_kbit_per_s=167,slack_x1024=51";
        assert_eq!(policy(Target::At(166_667), base), Some(expected.to_owned()));
        assert_eq!(policy(Target::Free, base), None);
    }

    #[test]
    fn keeps_within_what_the_law_can_do() {
        let least = "rate:target_kbit_per_s=1".to_owned();
        assert_eq!(policy(Target::At(0), "rate"), Some(least));
        let greatest = "rate:target_kbit_per_s=34000000".to_owned();
        assert_eq!(policy(Target::At(u64::MAX), "rate"), Some(greatest));
    }

    #[test]
    fn is_not_for_other_laws() {
        let base: Policy = "vulture".parse().unwrap();
        let error = Target::At(1_000).policy(&base).unwrap_err().to_string();
        assert!(error.starts_with("vulture: flows that share are held by the law 'rate'"));
    }
}
