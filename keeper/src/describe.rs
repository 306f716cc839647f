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
    use crate::Error as OurError;
    use std::io;
    use std::path::Path;

    #[test]
    fn a_cause_that_is_in_the_sentence_already_is_not_repeated() {
        let cause = io::Error::from_raw_os_error(2);
        let error = OurError::OnlyRootBecomes {
            name: "x".to_owned(),
            cause,
        };
        let text = describe(&OurError::no_answer(OurError::Refused {
            cause: "the keeper".to_owned(),
        }));
        assert_eq!(text, "the keeper does not answer");
        let text = describe(&error);
        assert_eq!(text.matches("No such file").count(), 1, "{text}");
    }

    #[test]
    fn causes_follow_from_the_outermost_inwards() {
        let error = OurError::file(Path::new("/a"), io::Error::from_raw_os_error(2));
        assert_eq!(
            describe(&OurError::no_answer(error)),
            "the keeper does not answer: /a: No such file or directory (os error 2)"
        );
    }
}
