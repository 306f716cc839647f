// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An error for people.

/// The error and its causes, without what a cause repeats of the sentence before it.
pub fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
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
            describe(&error),
            "x: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn causes_follow_from_the_outermost_inwards() {
        let error = Err::<(), _>(io::Error::from_raw_os_error(2))
            .context("a")
            .context("b");
        assert_eq!(
            describe(&error.unwrap_err()),
            "b: a: No such file or directory (os error 2)"
        );
    }
}
