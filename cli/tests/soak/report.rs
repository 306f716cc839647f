// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables, as docs/soak.md has them.

use std::path::PathBuf;

/// Writes a table where `scripts/soak` finds it, and to standard error.
pub fn publish(name: &str, table: &str) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("soak");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), table).unwrap();
    eprintln!("{table}");
}

/// The least of the sorted values that is not less than this share of them.
pub fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}
