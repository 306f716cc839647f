// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes a child of its own yield, by this crate alone: `yielding_child kernel|user CMD ARG…`.
//!
//! While CMD runs, `ebb status`, `top` and `detach` know of it. With the user backend this process
//! is the guardian, which lifts all limits should its child, the governor, be killed.

use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use ebb_keeper::{Backend, Error, Guardian, Policies, Post, Wait, Wanted, Whose};
use ebb_keeper::{Result, describe, guarded, hold};

/// How soon it is noticed that the child has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [backend, program, arguments @ ..] = &arguments[..] else {
        eprintln!("usage: yielding_child kernel|user CMD ARG…");
        return ExitCode::from(2);
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let backend = backend.to_string_lossy().parse();
    let done = backend.and_then(|backend| match backend {
        Backend::Kernel => run(command, backend, None),
        Backend::Gateway => Err(Error::ByInterface),
        Backend::User => guarded(|guardian| tell(run(command, backend, Some(guardian))).into()),
    });
    ExitCode::from(tell(done))
}

fn tell(done: Result<u8>) -> u8 {
    done.unwrap_or_else(|error| {
        eprintln!("yielding_child: {}", describe(&error));
        1
    })
}

fn run(mut command: Command, backend: Backend, guardian: Option<Guardian>) -> Result<u8> {
    let policies = Policies::new(&Wanted::default(), backend)?;
    let Ok(mut child) = command.spawn() else {
        return Ok(127);
    };
    let whose = Whose::Process(child.id());
    let mut post = Post::new(hold(backend, &whose, &policies, guardian)?);
    post.register(whose.attached(), whose.id())?;
    while matches!(child.try_wait(), Ok(None)) {
        let mut wait = Wait::new();
        wait.until(Instant::now() + LOOK_EVERY);
        post.work(wait)?;
    }
    let bytes = post.summary().received_bytes;
    eprintln!("{bytes} bytes arrived, by the {backend} backend");
    let ended = child.wait();
    Ok(u8::from(!ended.is_ok_and(|status| status.success())))
}
