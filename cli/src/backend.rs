// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The choice of `--backend`, and what `auto` means: in one place for all commands.

use anyhow::{Result, anyhow, ensure};
use clap::ValueEnum;
use ebb_keeper::Backend;

use crate::output;

/// How a policy reaches connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// The kernel backend as root, and where the service ebbd holds it for you; else the user backend
    #[default]
    Auto,
    /// eBPF programs in the kernel; needs root, or the service ebbd
    Kernel,
    /// From outside, by the sockets of one's own processes; needs no privilege
    User,
}

impl BackendChoice {
    /// Attempts it by the backend that was chosen. By itself that is the kernel backend, and where
    /// that cannot be used the user backend; an error of it that `is_final` has nothing to do with
    /// the backend.
    pub fn attempt<T>(
        self,
        is_final: impl Fn(&anyhow::Error) -> bool,
        mut attempt: impl FnMut(Backend) -> Result<T>,
    ) -> Result<T> {
        match self {
            Self::Kernel => return attempt(Backend::Kernel),
            Self::User => return attempt(Backend::User),
            Self::Auto => {}
        }
        let kernel = match attempt(Backend::Kernel) {
            Err(error) if !is_final(&error) => output::describe(&error),
            done => return done,
        };
        tracing::info!("the kernel backend cannot be used: {kernel}");
        attempt(Backend::User).map_err(|error| {
            let user = output::describe(&error);
            match user == kernel {
                true => error,
                false => anyhow!("{kernel}; nor can the user backend be used: {user}"),
            }
        })
    }
}

/// Says what to do before the first system call fails for want of it.
pub fn require_root(command: &str) -> Result<()> {
    ensure!(
        nix::unistd::geteuid().is_root(),
        "'ebb {command}' needs root: put 'sudo' in front"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    /// What came of it, and which backends were attempted.
    fn attempted(
        choice: BackendChoice,
        problem: impl Fn(Backend) -> Option<&'static str>,
    ) -> (Result<Backend, String>, Vec<Backend>) {
        let mut order = Vec::new();
        let is_final = |error: &anyhow::Error| error.to_string() == "final";
        let done = choice.attempt(is_final, |backend| {
            order.push(backend);
            match problem(backend) {
                Some(problem) => bail!(problem),
                None => Ok(backend),
            }
        });
        (done.map_err(|error| error.to_string()), order)
    }

    #[test]
    fn by_itself_it_is_the_kernel_backend() {
        use BackendChoice::{Auto, Kernel, User};
        for (choice, backend) in [
            (Auto, Backend::Kernel),
            (Kernel, Backend::Kernel),
            (User, Backend::User),
        ] {
            let expected = (Ok(backend), vec![backend]);
            assert_eq!(attempted(choice, |_| None), expected);
        }
    }

    #[test]
    fn the_user_backend_serves_where_the_kernel_backend_cannot() {
        let no_kernel = |backend| (backend == Backend::Kernel).then_some("old");
        let (done, order) = attempted(BackendChoice::Auto, no_kernel);
        assert_eq!((done, order.len()), (Ok(Backend::User), 2));
        let (done, order) = attempted(BackendChoice::Kernel, no_kernel);
        assert_eq!((done, order.len()), (Err("old".to_owned()), 1));
        let (done, order) = attempted(BackendChoice::Auto, |_| Some("final"));
        assert_eq!((done, order.len()), (Err("final".to_owned()), 1));
    }

    #[test]
    fn what_both_backends_say_is_said_once() {
        let (done, _) = attempted(BackendChoice::Auto, |_| Some("nobody there"));
        assert_eq!(done, Err("nobody there".to_owned()));
        let each = |backend| match backend {
            Backend::Kernel => Some("old"),
            Backend::User | Backend::Gateway => Some("closed"),
        };
        let (done, _) = attempted(BackendChoice::Auto, each);
        let expected = "old; nor can the user backend be used: closed";
        assert_eq!(done, Err(expected.to_owned()));
    }
}
