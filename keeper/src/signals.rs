// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals as events: blocked, read from a descriptor, and passed on where they are not yet.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{self, SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpid, getsid};

use crate::error::{Result, Trying};

/// Signals that are passed on to the command.
const PASSED_ON: [Signal; 9] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];

/// Receives signals while it lives; afterwards they act again as they did before.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    original: SigSet,
}

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Which one.
    pub signal: Signal,
    /// Who sent it, where a process did and it can be seen from here.
    pub sender: Option<Pid>,
    /// The kernel itself sent it, as it does for keys pressed at the terminal.
    pub is_from_kernel: bool,
}

impl Signals {
    /// Blocks the signals and opens the descriptor that they are read from.
    ///
    /// A signal that is ignored (as under `nohup`) stays ignored and never arrives here.
    pub fn receive() -> Result<Self> {
        let mut set = SigSet::from_iter(PASSED_ON);
        set.add(Signal::SIGCHLD);
        let mut original = SigSet::empty();
        signal::sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), Some(&mut original))
            .trying("signals cannot be blocked")?;
        let descriptor = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .trying("signalfd")?;
        Ok(Self {
            descriptor,
            original,
        })
    }

    /// The mask as it was before: what a command has to start with.
    pub fn original_mask(&self) -> SigSet {
        self.original
    }

    /// The next signal that has arrived, if one has.
    pub fn next(&self) -> Result<Option<Arrived>> {
        loop {
            let Some(info) = self.descriptor.read_signal().trying("signalfd")? else {
                return Ok(None);
            };
            let number = i32::try_from(info.ssi_signo).unwrap_or(0);
            let Ok(signal) = Signal::try_from(number) else {
                continue;
            };
            let pid = i32::try_from(info.ssi_pid).unwrap_or(0);
            return Ok(Some(Arrived {
                signal,
                sender: (info.ssi_code <= 0 && pid > 0).then(|| Pid::from_raw(pid)),
                is_from_kernel: info.ssi_code > 0,
            }));
        }
    }
}

impl Signals {
    /// Whether one of those that have arrived tells a keeper to end.
    pub(crate) fn say_that_it_is_over(&self) -> Result<bool> {
        use Signal::{SIGHUP, SIGINT, SIGTERM};
        let mut is_over = false;
        while let Some(arrived) = self.next()? {
            is_over |= matches!(arrived.signal, SIGHUP | SIGINT | SIGTERM);
        }
        Ok(is_over)
    }
}

/// What a signal tells who serves until he is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToServer {
    /// Read the file again.
    ReadAgain,
    /// End with this status.
    End { status: u8 },
    /// Nothing.
    Nothing,
}

impl Drop for Signals {
    fn drop(&mut self) {
        // It was accepted as a mask before, so it is one.
        let _ = signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.original), None);
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Arrived {
    /// What it tells who serves until he is ended.
    pub(crate) fn tells_server(self) -> ToServer {
        use Signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        match self.signal {
            // From the kernel: the terminal has gone.
            SIGHUP if !self.is_from_kernel => ToServer::ReadAgain,
            SIGHUP | SIGINT | SIGQUIT | SIGTERM => ToServer::End {
                status: (128 + self.signal as i32).to_le_bytes()[0],
            },
            _ => ToServer::Nothing,
        }
    }

    /// Whether the command has not had it already, given whether the command itself sent it.
    ///
    /// Keys at the terminal reach the whole foreground process group, the command included;
    /// only a hang-up goes to the leader of the session alone. What the command sends to its
    /// group (an editor that suspends itself does) must not come back to it.
    pub fn is_to_be_passed_on(&self, is_sent_by_command: impl FnOnce(Pid) -> bool) -> bool {
        if self.signal == Signal::SIGCHLD {
            return false;
        }
        if self.is_from_kernel {
            return self.signal == Signal::SIGHUP && getsid(None) == Ok(getpid());
        }
        !self.sender.is_some_and(is_sent_by_command)
    }
}

/// Stops this process by `signal` as its default action does; returns when it goes on.
///
/// In an orphaned process group, which nobody could continue, the kernel ignores it.
pub fn stop_like(signal: Signal) -> Result<()> {
    let mut set = SigSet::empty();
    set.add(signal);
    // Sent to the process while blocked, it is one with the one that the terminal may have
    // sent already: stopping twice would take two `fg`.
    signal::kill(getpid(), signal).trying("kill")?;
    let mut before = SigSet::empty();
    signal::sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&set), Some(&mut before))
        .trying("sigprocmask")?;
    signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None).trying("sigprocmask")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(signal: Signal, sender: Option<i32>) -> Arrived {
        let sender = sender.map(Pid::from_raw);
        Arrived {
            signal,
            sender,
            is_from_kernel: sender.is_none(),
        }
    }

    #[test]
    fn keys_at_the_terminal_are_not_passed_on_a_second_time() {
        for signal in [
            Signal::SIGINT,
            Signal::SIGQUIT,
            Signal::SIGTSTP,
            Signal::SIGWINCH,
        ] {
            assert!(
                !arrived(signal, None).is_to_be_passed_on(|_| false),
                "{signal}"
            );
        }
    }

    #[test]
    fn what_another_process_sends_is_passed_on() {
        assert!(arrived(Signal::SIGTERM, Some(7)).is_to_be_passed_on(|_| false));
    }

    #[test]
    fn what_the_command_sends_to_its_group_does_not_come_back_to_it() {
        let signal = arrived(Signal::SIGTSTP, Some(7));
        assert!(!signal.is_to_be_passed_on(|pid| pid == Pid::from_raw(7)));
    }

    #[test]
    fn the_end_of_a_child_is_no_signal_for_the_command() {
        assert!(!arrived(Signal::SIGCHLD, Some(7)).is_to_be_passed_on(|_| false));
    }
}
