// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of which there is at least one.

use std::num::NonZeroUsize;

/// Reads such a number, for the parser of the command line.
pub fn parse(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| "this has to be a whole number from 1 on".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_such_number_is_told_what_would_be_right() {
        assert_eq!(parse("8").map(NonZeroUsize::get), Ok(8));
        for text in ["0", "", "-1", "many", "1.5"] {
            assert!(parse(text).unwrap_err().contains("from 1 on"), "{text}");
        }
    }
}
