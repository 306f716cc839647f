// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names with `*` and `?`: as regular expressions over the paths of cgroups, and by themselves.

use wildmatch::WildMatch;

/// Whether a text matches a glob: `*` stands for any letters, `?` for one.
pub fn matches(glob: &str, text: &str) -> bool {
    WildMatch::new(glob).matches(text)
}

/// The paths of all cgroups of this name.
pub fn named(glob: &str) -> String {
    format!("(/.*)?/{}", as_regex(glob))
}

/// The paths that a glob of a whole path matches; `**` also stands for `/`.
pub fn path(glob: &str) -> String {
    let parts: Vec<String> = glob
        .trim_end_matches('/')
        .split("**")
        .map(as_regex)
        .collect();
    parts.join(".*")
}

/// Both stars and question marks stay within a name.
pub fn as_regex(glob: &str) -> String {
    let mut regex = String::new();
    for sign in glob.chars() {
        match sign {
            '*' => regex += "[^/]*",
            '?' => regex += "[^/]",
            sign if sign.is_ascii() && !sign.is_ascii_alphanumeric() => {
                regex.push('\\');
                regex.push(sign);
            }
            // Byte by byte: what is not ASCII is several of them.
            sign if sign.is_ascii() => regex.push(sign),
            sign => {
                let mut bytes = [0; 4];
                for byte in sign.encode_utf8(&mut bytes).bytes() {
                    regex += &format!("(?-u:\\x{byte:02x})");
                }
            }
        }
    }
    regex
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_keeper::kernel::PathRules;

    #[test]
    fn stars_and_question_marks_match_as_in_a_shell() {
        for (glob, text, expected) in [
            ("web*", "web-1", true),
            ("*web", "my-web", true),
            ("w?b", "web", true),
            ("w?b", "wb", false),
            ("*a*b", "xxaybzb", true),
            ("*a*b", "xxaybz", false),
            ("", "", true),
            ("*", "", true),
            ("a", "ab", false),
            ("\u{fc}?", "\u{fc}\u{e4}", true),
        ] {
            assert_eq!(matches(glob, text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn names_match_at_any_depth_and_paths_from_the_root() {
        let rules = PathRules::build(&[
            (named("apt*.service"), 1),
            (path("/kubepods*/besteffort/**"), 2),
            (path("/a.b/"), 4),
            (named("\u{fc}ber.slice"), 8),
        ])
        .unwrap();
        for (path, expected) in [
            ("/system.slice/apt-daily.service", 1),
            ("/x/apt.service", 1),
            ("/x/apt.service/inner", 0),
            ("/aptx.serviceother", 0),
            ("/kubepods.slice/besteffort/pod1/c", 2),
            ("/kubepods.slice/x/besteffort/pod1", 0),
            ("/a.b", 4),
            ("/aXb", 0),
            ("/\u{fc}ber.slice", 8),
        ] {
            assert_eq!(rules.rules_of(path), expected, "{path}");
        }
    }
}
