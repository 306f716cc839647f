// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What tests of all crates share: they wait for what will be so, and the one place where a test is
//! skipped that needs what not every machine has.

use std::io::Write;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// How long something may take that has to come. Only tests that fail wait so long.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Names what must not be missing, by keys with commas between them: `EBB_REQUIRE=root,systemd`.
const REQUIRED: &str = "EBB_REQUIRE";

/// Whether something is there that a test needs; if not, says on standard error that the test is
/// skipped. The key is one word, and what it stands for completes "the test needs …".
///
/// # Panics
/// If it is missing and `EBB_REQUIRE` names it: a test that must run does not pass by not running.
pub fn requires(test_name: &str, key: &str, what: &str, is_there: bool) -> bool {
    if !is_there {
        let required = std::env::var(REQUIRED).unwrap_or_default();
        assert!(
            !is_named(&required, key),
            "{test_name} needs {what}, which is missing: {REQUIRED} names {key}"
        );
        // Not by eprintln: the test harness would keep it for failures.
        let _ = writeln!(std::io::stderr(), "skipped: {test_name} needs {what}");
    }
    is_there
}

/// Whether this is root, key `root`; if not, the test is skipped.
///
/// # Panics
/// As [`requires`].
///
/// ```
/// # fn the_test() {
/// if !ebb_host::testing::requires_root("the_test") {
///     return;
/// }
/// # }
/// ```
pub fn requires_root(test_name: &str) -> bool {
    // SAFETY: takes nothing, cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    requires(test_name, "root", "root", is_root)
}

/// Waits until it is so.
///
/// # Panics
/// If it is not so within 20 seconds; says what was waited for.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Whoever this thread starts inherits it: whatever else the machine does shall disturb a benchmark
/// little. Without the privilege nothing changes.
pub fn prefer_to_other_work() {
    // SAFETY: plain numbers; 0 is this thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) };
}

/// This thread, and what it starts from now on, runs there, if there is such a processor: a scheduler
/// that moves the ends about changes goodput by more than what is to be measured.
pub fn stay_on_cpu(number: usize) {
    let mut set = CpuSet::new();
    // Where there is none the thread goes anywhere.
    let _ = set
        .set(number)
        .and_then(|()| sched_setaffinity(Pid::this(), &set));
}

fn is_named(required: &str, key: &str) -> bool {
    required.split(',').any(|named| named.trim() == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Not a test by itself: needs what no machine has, if it is told to.
    #[test]
    fn needs_a_unicorn() {
        if std::env::var_os("EBB_TEST_UNICORN").is_some() {
            assert!(!requires("needs_a_unicorn", "unicorn", "a unicorn", false));
        }
    }

    fn run(required: &str) -> (bool, String) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["needs_a_unicorn", "--test-threads=1"]);
        command.env("EBB_TEST_UNICORN", "1").env(REQUIRED, required);
        let output = command.output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        (output.status.success(), told)
    }

    #[test]
    fn what_is_required_is_not_skipped_but_fails() {
        for required in ["", "root,systemd", "unicorns"] {
            let (passes, told) = run(required);
            let skipped = "skipped: needs_a_unicorn needs a unicorn\n";
            assert!(passes && told.contains(skipped), "{told}");
        }
        for required in ["unicorn", "root, unicorn"] {
            let (passes, told) = run(required);
            assert!(
                !passes && told.contains("EBB_REQUIRE names unicorn"),
                "{told}"
            );
        }
    }
}
