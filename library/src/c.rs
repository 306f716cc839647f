// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The face for C, from which cbindgen makes `include/ebb.h`: its comments are for the readers of
//! that.

mod laws;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::os::fd::BorrowedFd;

use crate::error::{Error, Result};
use crate::options::Options;
use crate::state::{Flow, HeldBack, Standing, State};

/// How sockets are to yield. Zeroes, or no options at all: both ways, by the usual laws.
#[repr(C)]
pub struct ebb_options {
    /// The policy for what arrives, "name:key=value,…", as `ebb policies` lists them; "none": it
    /// is left alone; NULL: the usual one.
    pub download: *const c_char,
    /// The same for what is sent.
    pub upload: *const c_char,
    /// Not 0: what is sent is not marked as Lower Effort (RFC 8622). It is settled once for each
    /// socket, when it comes into the background.
    pub keep_code_point: u32,
    /// Zero.
    pub reserved: [u32; 1],
    /// A rate that they have at the least each way, whatever the laws say, as "2mbit", as far as
    /// the path carries it; NULL or "none": that of the laws. A socket that is given by itself has
    /// it for itself, all that are given together have it together. An older library, which knows
    /// no minimum, answers EBB_BAD_ARGUMENT.
    pub minimum: *const c_char,
    /// Zeroes.
    pub reserved_too: [u32; 2],
}

/// What is added takes of what was reserved.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<ebb_options>() == 40);

/// What went wrong. A number is never used for anything else.
#[repr(C)]
pub enum ebb_error {
    /// Nothing did.
    EBB_OK = 0,
    /// It is no open socket.
    EBB_NOT_A_SOCKET = 1,
    /// It is a socket, but not of TCP.
    EBB_NOT_TCP = 2,
    /// It waits for connections.
    EBB_LISTENS = 3,
    /// A policy cannot be read, or is for the other way.
    EBB_BAD_POLICY = 4,
    /// A law judges every packet, which only the kernel backend sees.
    EBB_NOT_BY_SOCKETS = 5,
    /// The options let nothing yield.
    EBB_NOTHING_YIELDS = 6,
    /// There is no thread to be had.
    EBB_NO_THREAD = 7,
    /// The system refused something that always works.
    EBB_SYSTEM = 8,
    /// A pointer is NULL, or what is reserved is not 0.
    EBB_BAD_ARGUMENT = 9,
    /// A minimum is no rate.
    EBB_BAD_MINIMUM = 10,
}

/// Where a socket is.
#[repr(C)]
pub enum ebb_standing {
    /// In the foreground.
    EBB_FOREGROUND = 0,
    /// In the background; it yields once it is connected.
    EBB_NOT_CONNECTED = 1,
    /// In the background, but left alone: both ends are on this machine, or nothing can move on
    /// it any more.
    EBB_LEFT_ALONE = 2,
    /// In the background, but another Ebb governs it. What ebbd holds for this user it tells of: its
    /// flows are filled in. So is one that was taken to the foreground until ebbd has let it go.
    EBB_OF_ANOTHER = 3,
    /// In the background: it yields.
    EBB_BACKGROUND = 4,
}

/// Whether a direction is held back, and why.
#[repr(C)]
pub enum ebb_held_back {
    /// It is not: it grows, or nothing limits it.
    EBB_NOT_HELD_BACK = 0,
    /// The queue is as long as it may be.
    EBB_QUEUE_AT_TARGET = 1,
    /// Others want the link.
    EBB_OTHERS_WANT_IT = 2,
    /// For a moment, to see the path without its queue.
    EBB_SEEING_THE_PATH = 3,
    /// What was granted before is to be used up first.
    EBB_OLD_WINDOW_LEFT = 4,
}

/// One direction of a connection.
#[repr(C)]
#[derive(Default)]
pub struct ebb_flow {
    /// The law's name; "": this direction does not yield.
    pub law: [c_char; 16],
    /// Payload since it is in the background.
    pub payload_bytes: u64,
    /// Sending: the bound on the pace; 0: none.
    pub pace_bytes_per_s: u64,
    /// The bound on the window that is advertised; sending, on what is in flight.
    pub window_bytes: u32,
    /// Round trip; UINT32_MAX: not known.
    pub rtt_us: u32,
    /// Queueing delay; UINT32_MAX: not known.
    pub queue_us: u32,
    /// Whether it is held back, and why: one of enum ebb_held_back.
    pub held_back: u32,
}

/// What is seen of a socket, as of the last look at it.
#[repr(C)]
#[derive(Default)]
pub struct ebb_state {
    /// Where it is: one of enum ebb_standing.
    pub standing: u32,
    /// Zero.
    pub reserved: u32,
    /// What arrives.
    pub download: ebb_flow,
    /// What is sent.
    pub upload: ebb_flow,
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Puts a TCP socket into the background; it may be connected later. Whatever number it gets by
/// dup(2), it stays there until it is closed or taken to the foreground.
///
/// @param fd the socket
/// @param options how it is to yield; NULL: both ways, by the usual laws
/// @return 0, or a number of enum ebb_error
///
/// # Safety
/// The options and their texts are valid, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_background(fd: c_int, options: *const ebb_options) -> c_int {
    answer(|| {
        // SAFETY: the caller's.
        let options = unsafe { read(options) }?;
        crate::background_with(&socket(fd)?, &options)?;
        Ok(())
    })
}

/// Puts all TCP sockets that this process has and will have into the background, but for those
/// that are taken to the foreground later. Those that were put there one by one keep their
/// options.
///
/// @param options how they are to yield; NULL: both ways, by the usual laws
/// @return 0, or a number of enum ebb_error
///
/// # Safety
/// The options and their texts are valid, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_background_all(options: *const ebb_options) -> c_int {
    answer(|| {
        // SAFETY: the caller's.
        let options = unsafe { read(options) }?;
        crate::background_all(&options)?;
        Ok(())
    })
}

/// Takes a socket to the foreground. When this returns its limits are lifted, and what the program
/// itself had set is back; of one that ebbd holds they are lifted some milliseconds later, and
/// ebb_state says so. One that is there already stays there.
///
/// @param fd the socket
/// @return 0, or a number of enum ebb_error
#[unsafe(no_mangle)]
pub extern "C" fn ebb_foreground(fd: c_int) -> c_int {
    answer(|| Ok(crate::foreground(&socket(fd)?)?))
}

/// Takes all sockets to the foreground, as ebb_foreground does, also those that were put into the
/// background one by one.
#[unsafe(no_mangle)]
pub extern "C" fn ebb_foreground_all() {
    crate::foreground_all();
}

/// Tells what is seen of a socket, as of the last look at it. Of one that ebbd governs that tells,
/// which is waited for: up to a fifth of a second where it does not answer, and not again for two.
///
/// @param fd the socket
/// @param state is filled in
/// @return 0, or a number of enum ebb_error
///
/// # Safety
/// The state is valid to write to, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_state(fd: c_int, state: *mut ebb_state) -> c_int {
    answer(|| {
        let seen = crate::state(&socket(fd)?)?;
        if state.is_null() {
            return Err(Wrong::Argument("state is NULL"));
        }
        // SAFETY: the caller's; nothing is read of what may not be initialised.
        unsafe { state.write(ebb_state::from(seen)) };
        Ok(())
    })
}

/// Tells what went wrong in this thread's last call that failed, in a sentence that says what
/// would be right.
///
/// @return a text that is valid until this thread's next call that fails; "" if none did
#[unsafe(no_mangle)]
pub extern "C" fn ebb_last_error() -> *const c_char {
    // A thread that is ending has none.
    let last = LAST.try_with(|text| text.borrow().as_ptr());
    last.unwrap_or(c"".as_ptr())
}

/// Puts a number of enum ebb_held_back into words.
///
/// @param held_back the number
/// @return a text that is always valid
#[unsafe(no_mangle)]
pub extern "C" fn ebb_held_back_text(held_back: u32) -> *const c_char {
    let text = match held_back {
        0 => c"not held back",
        1 => c"queue at target",
        2 => c"others want it",
        3 => c"seeing the path",
        4 => c"old window left",
        _ => c"unknown",
    };
    text.as_ptr()
}

/// What can be wrong with a call from C.
enum Wrong {
    Call(Error),
    Argument(&'static str),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

/// Keeps the text for `ebb_last_error`.
fn answer(act: impl FnOnce() -> std::result::Result<(), Wrong>) -> c_int {
    let (number, text) = match act() {
        Ok(()) => return ebb_error::EBB_OK as c_int,
        Err(Wrong::Call(error)) => (error.code(), error.to_string()),
        Err(Wrong::Argument(text)) => (ebb_error::EBB_BAD_ARGUMENT as c_int, text.to_owned()),
    };
    // No text of ours has a zero byte, but a policy may have any.
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // A thread that is ending keeps none: a panic would end the process.
    let _ = LAST.try_with(|last| last.replace(text));
    number
}

fn socket(fd: c_int) -> Result<BorrowedFd<'static>> {
    if fd < 0 {
        let error = std::io::Error::from_raw_os_error(libc::EBADF);
        return Err(Error::NotASocket(error));
    }
    // SAFETY: it is used during the call only, and what is not open is answered with an error.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// # Safety
/// The options and their texts are valid, or NULL.
unsafe fn read(options: *const ebb_options) -> std::result::Result<Options, Wrong> {
    let mut read = Options::new();
    // SAFETY: the caller's.
    let Some(options) = (unsafe { options.as_ref() }) else {
        return Ok(read);
    };
    if options.reserved != [0] || options.reserved_too != [0; 2] {
        return Err(Wrong::Argument("what is reserved in the options is not 0"));
    }
    // SAFETY: the caller's.
    let text = |text: *const c_char| match text.is_null() {
        true => None,
        // SAFETY: the caller's.
        false => Some(unsafe { CStr::from_ptr(text) }.to_string_lossy()),
    };
    if let Some(policy) = text(options.download) {
        read = read.download(&policy)?;
    }
    if let Some(policy) = text(options.upload) {
        read = read.upload(&policy)?;
    }
    if let Some(rate) = text(options.minimum) {
        read = read.minimum(&rate)?;
    }
    Ok(match options.keep_code_point {
        0 => read,
        _ => read.keep_code_point(),
    })
}

impl From<State> for ebb_state {
    fn from(state: State) -> Self {
        let standing = match state.standing {
            Standing::Foreground => ebb_standing::EBB_FOREGROUND,
            Standing::NotConnected => ebb_standing::EBB_NOT_CONNECTED,
            Standing::LeftAlone => ebb_standing::EBB_LEFT_ALONE,
            Standing::OfAnother => ebb_standing::EBB_OF_ANOTHER,
            Standing::Background => ebb_standing::EBB_BACKGROUND,
        };
        Self {
            standing: standing as u32,
            reserved: 0,
            download: state.download.map(ebb_flow::from).unwrap_or_default(),
            upload: state.upload.map(ebb_flow::from).unwrap_or_default(),
        }
    }
}

impl From<Flow> for ebb_flow {
    fn from(flow: Flow) -> Self {
        let held_back = match flow.held_back {
            HeldBack::No => ebb_held_back::EBB_NOT_HELD_BACK,
            HeldBack::QueueAtTarget => ebb_held_back::EBB_QUEUE_AT_TARGET,
            HeldBack::OthersWantIt => ebb_held_back::EBB_OTHERS_WANT_IT,
            HeldBack::SeeingThePath => ebb_held_back::EBB_SEEING_THE_PATH,
            HeldBack::OldWindowLeft => ebb_held_back::EBB_OLD_WINDOW_LEFT,
        };
        let mut law = [0; 16];
        // The last byte stays 0.
        for (to, from) in law[..15].iter_mut().zip(flow.law.bytes()) {
            *to = from as c_char;
        }
        Self {
            law,
            payload_bytes: flow.payload_bytes,
            pace_bytes_per_s: flow.pace_bytes_per_s.unwrap_or(0),
            window_bytes: flow.window_bytes,
            rtt_us: flow.rtt_us.unwrap_or(u32::MAX),
            queue_us: flow.queue_us.unwrap_or(u32::MAX),
            held_back: held_back as u32,
        }
    }
}
