// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One socket in the background: it gets the bandwidth that nobody else wants, both ways, and all
//! of it when nobody does.
//!
//! [`background`] puts a TCP socket there, [`foreground`] takes it back; [`state`] tells
//! what is seen of it. [`background_all`] is for all sockets that the process has and will have.
//! All may be called from any thread, and none needs a privilege. A thread of the library's own
//! looks at the sockets and sleeps while nothing moves.
//!
//! A socket is known by its cookie, which no other has: one that was closed is forgotten, whoever
//! gets its number. A forked child governs nothing until it asks for it. `docs/library.md` has the
//! whole.
//!
//! ```
//! use std::net::{TcpListener, TcpStream};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let listener = TcpListener::bind("127.0.0.1:0")?;
//! # let address = listener.local_addr()?;
//! let download = TcpStream::connect(address)?;
//! ebb::background(&download)?;
//! // … and as soon as somebody waits for it:
//! ebb::foreground(&download)?;
//!
//! // Only what is sent, by a law with a parameter of its own:
//! let options = ebb::Options::new().download("none")?.upload("paced:target_us=12000")?;
//! ebb::background_with(&download, &options)?;
//! println!("{:?}", ebb::state(&download)?.standing);
//! # Ok(())
//! # }
//! ```

// The names are C's.
#[allow(non_camel_case_types)]
mod c;
mod error;
mod options;
mod served;
mod service;
mod state;
mod worker;

use std::os::fd::AsFd;

use ebb_sockets::inode_of_socket;

/// The page's code is tested with this crate's.
#[cfg(doctest)]
#[doc = include_str!("../../docs/library.md")]
pub struct Page;

pub use error::{Error, Result};
pub use options::Options;
pub use state::{Flow, HeldBack, Standing, State};

/// Puts a TCP socket into the background, both ways; it may be connected later. Whatever number
/// it gets by `dup`, it stays there until it is closed or taken to the [`foreground`].
///
/// *Errors:* it is no TCP socket, or waits for connections; there is no thread to be had.
pub fn background(socket: &impl AsFd) -> Result<()> {
    background_with(socket, &Options::new())
}

/// As [`background`], by other laws or one way; for one that is there already, from now on.
///
/// *Errors:* those of [`background`]; the options let nothing yield.
pub fn background_with(socket: &impl AsFd, options: &Options) -> Result<()> {
    let terms = options.terms()?;
    let _one_by_one = worker::calls();
    worker::change(|governor| governor.give(socket.as_fd(), terms))??;
    match options.order() {
        Some(order) => served::wish(socket.as_fd(), order),
        None => served::let_go(socket.as_fd()),
    }
    Ok(())
}

/// Takes a socket to the foreground. When this returns its limits are lifted, and what the program
/// itself had set is back; of one that the service holds they are lifted some milliseconds later,
/// and [`state`] says so. One that is there already stays there.
///
/// *Errors:* it is no socket.
pub fn foreground(socket: &impl AsFd) -> Result<()> {
    let _one_by_one = worker::calls();
    match worker::ask(|governor| governor.take_back(socket.as_fd())) {
        Some(answer) => answer.map(drop)?,
        None => inode_of_socket(socket.as_fd()).map(drop)?,
    }
    served::let_go(socket.as_fd());
    Ok(())
}

/// Puts all TCP sockets that this process has and will have into the background, but for those
/// that are taken to the [`foreground`] later. Those that were put there one by one keep their
/// options.
///
/// *Errors:* the options let nothing yield; there is no thread to be had.
pub fn background_all(options: &Options) -> Result<()> {
    let terms = options.terms()?;
    let _one_by_one = worker::calls();
    worker::change(|governor| governor.give_all(Some(terms)))?;
    served::wish_all(options.order());
    Ok(())
}

/// Takes all sockets to the foreground, as [`foreground`] does, also those that were put into the
/// background one by one.
pub fn foreground_all() {
    let _one_by_one = worker::calls();
    worker::ask(|governor| governor.take_all_back());
    served::let_all_go();
}

/// What is seen of a socket, as of the last look at it. Of one that the service governs that tells,
/// which is waited for: up to a fifth of a second where it does not answer, and not again for two.
///
/// *Errors:* it is no socket.
pub fn state(socket: &impl AsFd) -> Result<State> {
    let standing = match worker::ask(|governor| governor.standing(socket.as_fd())) {
        Some(answer) => answer?,
        None => inode_of_socket(socket.as_fd()).map(|_| ebb_sockets::Standing::NotGiven)?,
    };
    let mut state = State::from(standing);
    match state.standing {
        Standing::OfAnother => [state.download, state.upload] = served::seen(socket.as_fd()),
        Standing::Foreground if served::is_leaving(socket.as_fd()) => {
            state.standing = Standing::OfAnother;
        }
        _ => {}
    }
    Ok(state)
}
