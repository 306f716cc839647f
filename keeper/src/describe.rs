// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An error for people.

use std::error::Error;

/// The error and its causes, without what a cause repeats of the sentence before it.
pub fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use std::io;

    #[test]
    fn a_cause_that_is_in_the_sentence_already_is_not_repeated() {
        let cause = io::Error::from_raw_os_error(2);
        let error = anyhow::Error::from(cause).context("x: No such file or directory (os error 2)");
        assert_eq!(
            describe(error.as_ref()),
            "x: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn causes_follow_from_the_outermost_inwards() {
        let error = Err::<(), _>(io::Error::from_raw_os_error(2))
            .context("a")
            .context("b");
        assert_eq!(
            describe(error.unwrap_err().as_ref()),
            "b: a: No such file or directory (os error 2)"
        );
    }
}
