// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What laws there are, and what can be set on each.

use crate::native::{
    NativeParam, NativeReceiverLaw, NativeSenderLaw, native_receiver_laws, native_sender_laws,
};
use std::ffi::{CStr, c_char};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// A law and its parameters.
#[derive(Debug)]
pub struct LawInfo {
    /// The name by which policies call it.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Its number in the kernel programs' interface.
    pub number: u32,
    /// Size of its state for one connection.
    pub state_bytes: usize,
    /// Its parameters, in the order in which their values travel.
    pub params: Vec<ParamInfo>,
    pub(crate) native: Native,
}

/// Which window a law sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The advertised window, at the receiving end.
    Receiver,
    /// The congestion window, at the sending end.
    Sender,
}

impl std::fmt::Display for Side {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Receiver => "receiver",
            Self::Sender => "sender",
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Native {
    Receiver(&'static NativeReceiverLaw),
    Sender(&'static NativeSenderLaw),
}

impl LawInfo {
    /// At which end of a connection the law acts.
    pub fn side(&self) -> Side {
        match self.native {
            Native::Receiver(_) => Side::Receiver,
            Native::Sender(_) => Side::Sender,
        }
    }

    /// The law sets the window during recovery, too, and its own pace (as BBR does).
    pub fn has_full_control(&self) -> bool {
        matches!(self.native, Native::Sender(native) if native.has_full_control != 0)
    }

    /// The law does with what a host counts of a connection; the others have to see every packet.
    pub fn is_for_counters(&self) -> bool {
        let sees_counters = match self.native {
            Native::Receiver(native) => native.sees_counters,
            Native::Sender(native) => native.sees_counters,
        };
        sees_counters != 0
    }

    /// The law reads congestion marks: its connections negotiate ECN.
    pub fn needs_ecn(&self) -> bool {
        matches!(self.native, Native::Sender(native) if native.needs_ecn != 0)
    }
}

/// One parameter of a law. All are 32-bit unsigned integers.
#[derive(Debug)]
pub struct ParamInfo {
    /// The key in a policy.
    pub name: &'static str,
    /// Its unit, such as `us`, `segments`, or `choice` for numbered alternatives.
    pub unit: &'static str,
    /// Where the default comes from: a key of `SOURCES.md` and a section.
    pub source: &'static str,
    /// What it does.
    pub what: &'static str,
    /// The value if none is given.
    pub default: u32,
    /// Least value allowed.
    pub min: u32,
    /// Greatest value allowed.
    pub max: u32,
}

/// The laws that see every packet, those of the receiving end first; the first one is the default.
pub fn laws() -> &'static [LawInfo] {
    all_laws().split_at(first_counter_law()).0
}

/// The laws that do with counters: of the receiving end, then of the sending end.
pub fn counter_laws() -> &'static [LawInfo] {
    all_laws().split_at(first_counter_law()).1
}

fn first_counter_law() -> usize {
    all_laws().partition_point(|law| !law.is_for_counters())
}

fn all_laws() -> &'static [LawInfo] {
    static LAWS: OnceLock<Vec<LawInfo>> = OnceLock::new();
    LAWS.get_or_init(|| {
        let receivers = native_receiver_laws().iter().map(describe);
        let senders = native_sender_laws().iter().map(describe_sender);
        let mut laws: Vec<_> = receivers.chain(senders).collect();
        laws.sort_by_key(LawInfo::is_for_counters);
        laws
    })
}

/// The laws that act at this end of a connection.
pub fn laws_of(side: Side) -> impl Iterator<Item = &'static LawInfo> {
    laws().iter().filter(move |law| law.side() == side)
}

/// The law of a name, of Ebb or one's own.
pub fn law(name: &str) -> Option<&'static LawInfo> {
    let known = all_laws().iter().find(|law| law.name == name);
    known.or_else(|| own_laws().into_iter().find(|law| law.name == name))
}

/// The law of a number, of Ebb or one's own.
pub fn law_of_number(number: u32) -> Option<&'static LawInfo> {
    let known = all_laws().iter().find(|law| law.number == number);
    known.or_else(|| own_laws().into_iter().find(|law| law.number == number))
}

/// A law of one's own, and the bytes of the file that it is from.
type Own = (&'static LawInfo, &'static [u8]);

/// Laws of one's own that were loaded.
static OWN: RwLock<Vec<Own>> = RwLock::new(Vec::new());

/// Laws of one's own that were loaded, in that order.
pub fn own_laws() -> Vec<&'static LawInfo> {
    own().iter().map(|(law, _)| *law).collect()
}

/// The bytes of the files that laws of one's own are from: what they do depends on these.
pub fn own_law_files() -> Vec<&'static [u8]> {
    own().iter().map(|(_, file)| *file).collect()
}

/// Those of the file that this law is from; none if it is one of Ebb's.
pub fn own_law_file(law: &LawInfo) -> Option<&'static [u8]> {
    let own = own();
    let it = own.iter().find(|(known, _)| known.name == law.name)?;
    Some(it.1)
}

/// Takes a law in, in place of older ones of this name and this number.
#[cfg(feature = "own")]
pub(crate) fn add_own(law: &'static LawInfo, file: &'static [u8]) {
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    own.retain(|(known, _)| known.name != law.name && known.number != law.number);
    own.push((law, file));
}

/// A list is whole whoever panicked while he had it.
fn own() -> RwLockReadGuard<'static, Vec<Own>> {
    OWN.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn describe(native: &'static NativeReceiverLaw) -> LawInfo {
    LawInfo {
        name: text(native.name),
        summary: text(native.summary),
        number: native.number,
        state_bytes: native.state_bytes as usize,
        params: describe_params(native.params, native.param_count),
        native: Native::Receiver(native),
    }
}

/// As `describe`: the two structs of native.h have these fields alike, and hooks of their own.
pub(crate) fn describe_sender(native: &'static NativeSenderLaw) -> LawInfo {
    LawInfo {
        name: text(native.name),
        summary: text(native.summary),
        number: native.number,
        state_bytes: native.state_bytes as usize,
        params: describe_params(native.params, native.param_count),
        native: Native::Sender(native),
    }
}

fn describe_params(first: *const NativeParam, count: u32) -> Vec<ParamInfo> {
    // SAFETY: native.c gives the length of its own list.
    let params = unsafe { std::slice::from_raw_parts(first, count as usize) };
    params.iter().map(describe_param).collect()
}

fn describe_param(native: &NativeParam) -> ParamInfo {
    ParamInfo {
        name: text(native.name),
        unit: text(native.unit),
        source: text(native.source),
        what: text(native.what),
        default: native.default_value,
        min: native.min,
        max: native.max,
    }
}

fn text(pointer: *const c_char) -> &'static str {
    // SAFETY: native.c and own_law.c only hand out string literals, which are never unloaded.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().unwrap_or("(not UTF-8)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_lie_within_their_bounds() {
        for law in laws() {
            for param in &law.params {
                assert!(param.min <= param.default, "{}:{}", law.name, param.name);
                assert!(param.default <= param.max, "{}:{}", law.name, param.name);
            }
        }
    }

    #[test]
    fn names_and_numbers_are_unique() {
        for (index, law) in laws().iter().enumerate() {
            for other in &laws()[index + 1..] {
                assert_ne!(law.name, other.name);
                assert_ne!(law.number, other.number);
            }
        }
    }
}
