// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The laws for C, for whoever has a transport of its own. cbindgen makes `include/ebb_laws.h` of
//! this and of the contracts in `ebb-algorithms`: the comments are for the readers of that.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::NonNull;

use ebb_algorithms::{
    Ack, Policy, ReceiverFlow, Segment, SenderAck, SenderEvent, SenderFlow, SenderStart,
    SenderWindow, Side, Start,
};

use super::{Wrong, answer};
use crate::error::Error;

/// The law sets the window while a loss is repaired, too, and its own pace.
pub const EBB_SENDER_FULL_CONTROL: u32 = 1;
/// The law reads congestion marks: its connections have to negotiate ECN.
pub const EBB_SENDER_NEEDS_ECN: u32 = 2;

/// One connection, or path, under a law of the sending end.
pub struct ebb_sender {
    flow: SenderFlow,
}

/// One connection, or path, under a law of the receiving end.
pub struct ebb_receiver {
    flow: ReceiverFlow,
}

/// Puts a connection under a law of the sending end. There is no clock and no thread in it: the
/// host tells it what happens, and asks. One connection is for one thread at a time.
///
/// @param policy "name:key=value,…", as `ebb policies` lists them
/// @param start what the law is told first
/// @param sender where it is put; ebb_sender_free() ends it
/// @return 0, or a number of enum ebb_error: EBB_BAD_POLICY, EBB_BAD_ARGUMENT
///
/// # Safety
/// All are valid, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_sender_new(
    policy: *const c_char,
    start: *const SenderStart,
    sender: *mut *mut ebb_sender,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's.
        let (policy, start, sender) =
            unsafe { (read(Side::Sender, policy)?, given(start)?, place(sender)?) };
        let flow = SenderFlow::new(policy, start);
        // SAFETY: the caller's; nothing is read of what may not be initialised.
        unsafe { sender.write(Box::into_raw(Box::new(ebb_sender { flow }))) };
        Ok(())
    })
}

/// Ends it.
///
/// @param sender of ebb_sender_new(), or NULL
///
/// # Safety
/// It is of `ebb_sender_new` and is not used any more, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_sender_free(sender: *mut ebb_sender) {
    if !sender.is_null() {
        // SAFETY: the caller's.
        drop(unsafe { Box::from_raw(sender) });
    }
}

/// What the law wants of its host.
///
/// @param sender of ebb_sender_new()
/// @return 0, or EBB_SENDER_FULL_CONTROL and EBB_SENDER_NEEDS_ECN, added up
///
/// # Safety
/// It is of `ebb_sender_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_sender_flags(sender: *const ebb_sender) -> u32 {
    // SAFETY: the caller's.
    let law = unsafe { &*sender }.flow.policy().law();
    let flag = |is_so, flag| if is_so { flag } else { 0 };
    flag(law.has_full_control(), EBB_SENDER_FULL_CONTROL)
        + flag(law.needs_ecn(), EBB_SENDER_NEEDS_ECN)
}

/// Tells the law of an acknowledgement that acknowledges or SACKs something.
///
/// @param sender of ebb_sender_new()
/// @param ack what it says
///
/// # Safety
/// Both are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_sender_on_ack(sender: *mut ebb_sender, ack: *const SenderAck) {
    // SAFETY: the caller's.
    unsafe { (*sender).flow.on_ack(&*ack) };
}

/// Tells the law that the host begins to repair a loss, or to answer a congestion mark: once a round
/// trip at the most.
///
/// @param sender of ebb_sender_new()
/// @param event what the host knows then
///
/// # Safety
/// Both are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_sender_on_loss(sender: *mut ebb_sender, event: *const SenderEvent) {
    // SAFETY: the caller's.
    unsafe { (*sender).flow.on_loss(&*event) };
}

/// Tells the law that the retransmission timer has expired; of QUIC, that congestion is persistent.
///
/// @param sender of ebb_sender_new()
/// @param event what the host knows then
///
/// # Safety
/// Both are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_sender_on_timeout(sender: *mut ebb_sender, event: *const SenderEvent) {
    // SAFETY: the caller's.
    unsafe { (*sender).flow.on_timeout(&*event) };
}

/// Tells the law that the last loss or time-out turned out to have been none.
///
/// @param sender of ebb_sender_new()
/// @param event what the host knows then
///
/// # Safety
/// Both are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_sender_on_undo(sender: *mut ebb_sender, event: *const SenderEvent) {
    // SAFETY: the caller's.
    unsafe { (*sender).flow.on_undo(&*event) };
}

/// Tells the law that the host is about to send after an idle time.
///
/// @param sender of ebb_sender_new()
/// @param event what the host knows then
///
/// # Safety
/// Both are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_sender_on_idle(sender: *mut ebb_sender, event: *const SenderEvent) {
    // SAFETY: the caller's.
    unsafe { (*sender).flow.on_idle(&*event) };
}

/// Asks the law what it wants now; the host obeys after each call of the others. While it repairs a
/// loss it leads its window to the threshold instead, and after a time-out it starts from one
/// segment, but for laws of full control.
///
/// @param sender of ebb_sender_new()
/// @param window is filled in
///
/// # Safety
/// Both are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_sender_ask(sender: *const ebb_sender, window: *mut SenderWindow) {
    // SAFETY: the caller's.
    unsafe { window.write((*sender).flow.window()) };
}

/// Puts a connection under a law of the receiving end. There is no clock and no thread in it: the
/// host tells it what happens, and asks. One connection is for one thread at a time.
///
/// @param policy "name:key=value,…", as `ebb policies` lists them
/// @param start what the law is told first
/// @param receiver where it is put; ebb_receiver_free() ends it
/// @return 0, or a number of enum ebb_error: EBB_BAD_POLICY, EBB_BAD_ARGUMENT
///
/// # Safety
/// All are valid, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_receiver_new(
    policy: *const c_char,
    start: *const Start,
    receiver: *mut *mut ebb_receiver,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's.
        let (policy, start, receiver) = unsafe {
            (
                read(Side::Receiver, policy)?,
                given(start)?,
                place(receiver)?,
            )
        };
        let flow = ReceiverFlow::new(policy, start);
        // SAFETY: the caller's; nothing is read of what may not be initialised.
        unsafe { receiver.write(Box::into_raw(Box::new(ebb_receiver { flow }))) };
        Ok(())
    })
}

/// Ends it.
///
/// @param receiver of ebb_receiver_new(), or NULL
///
/// # Safety
/// It is of `ebb_receiver_new` and is not used any more, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_receiver_free(receiver: *mut ebb_receiver) {
    if !receiver.is_null() {
        // SAFETY: the caller's.
        drop(unsafe { Box::from_raw(receiver) });
    }
}

/// Tells the law of a segment with data that arrives.
///
/// @param receiver of ebb_receiver_new()
/// @param segment what it brings
///
/// # Safety
/// Both are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_receiver_on_segment(
    receiver: *mut ebb_receiver,
    segment: *const Segment,
) {
    // SAFETY: the caller's.
    unsafe { (*receiver).flow.on_segment(&*segment) };
}

/// Tells the law of a segment that is about to leave with a window.
///
/// @param receiver of ebb_receiver_new()
/// @param ack what it says
///
/// # Safety
/// Both are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_receiver_on_ack(receiver: *mut ebb_receiver, ack: *const Ack) {
    // SAFETY: the caller's.
    unsafe { (*receiver).flow.on_ack(&*ack) };
}

/// Asks the law how much may be advertised. The host takes nothing back that it has advertised.
///
/// @param receiver of ebb_receiver_new()
/// @return the largest window, in bytes
///
/// # Safety
/// It is of `ebb_receiver_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_receiver_window_bytes(receiver: *const ebb_receiver) -> u32 {
    // SAFETY: the caller's.
    unsafe { (*receiver).flow.window_bytes() }
}

/// Asks the law how long each acknowledgement is to be held back.
///
/// @param receiver of ebb_receiver_new()
/// @return the time in us; 0 for most laws
///
/// # Safety
/// It is of `ebb_receiver_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ebb_receiver_ack_delay_us(receiver: *const ebb_receiver) -> u32 {
    // SAFETY: the caller's.
    unsafe { (*receiver).flow.ack_delay_us() }
}

/// # Safety
/// The text is valid, or NULL.
unsafe fn read(side: Side, policy: *const c_char) -> Result<Policy, Wrong> {
    if policy.is_null() {
        return Err(Wrong::Argument("policy is NULL"));
    }
    // SAFETY: the caller's.
    let text = unsafe { CStr::from_ptr(policy) }.to_string_lossy();
    Ok(Policy::for_side(side, &text).map_err(Error::from)?)
}

/// # Safety
/// What the law is told is valid, or NULL.
unsafe fn given<'a, T>(start: *const T) -> Result<&'a T, Wrong> {
    // SAFETY: the caller's.
    unsafe { start.as_ref() }.ok_or(Wrong::Argument("start is NULL"))
}

fn place<T>(law: *mut *mut T) -> Result<NonNull<*mut T>, Wrong> {
    NonNull::new(law).ok_or(Wrong::Argument("there is nowhere to put it"))
}
