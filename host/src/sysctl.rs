// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of the kernel (sysctl).

use std::fs;

/// A setting by its name, such as `kernel.osrelease`, without the line's end; none where this
/// kernel has none of that name.
pub fn sysctl(name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_read_by_its_name() {
        let release = sysctl("kernel.osrelease").unwrap();
        assert!(release.starts_with(|letter: char| letter.is_ascii_digit()));
        assert!(!release.ends_with('\n'));
        assert_eq!(sysctl("kernel.no_such_setting"), None);
    }
}
