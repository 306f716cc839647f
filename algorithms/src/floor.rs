// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rates that all connections of a policy have together at the least, and at the most, as
//! `floor.h` and `ceiling.h` have them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::sender_contract::{SenderAck, SenderEvent, SenderWindow};

/// A rate that is no limit, from here on. *Units:* bytes per second.
pub const FLOOR_UNBOUND_BYTES_PER_S: u64 = 1 << 36;

/// The floor of one policy, and its ceiling; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Floor {
    common: Arc<Common>,
}

#[derive(Debug, Default)]
struct Common {
    bytes_per_s: AtomicU64,
    ceiling_bytes_per_s: AtomicU64,
    state: Mutex<NativeFloor>,
}

impl Floor {
    /// A floor at this rate; 0: none.
    pub fn new(bytes_per_s: u64) -> Self {
        let floor = Self::default();
        floor.set_bytes_per_s(bytes_per_s);
        floor
    }

    /// Changes the rate, for all calls from now on.
    pub fn set_bytes_per_s(&self, bytes_per_s: u64) {
        let rate = &self.common.bytes_per_s;
        rate.store(bytes_per_s, Ordering::Relaxed);
    }

    /// The rate; 0: none.
    pub fn bytes_per_s(&self) -> u64 {
        self.common.bytes_per_s.load(Ordering::Relaxed)
    }

    /// Changes the rate that they have together at the most, for all calls from now on; 0: any.
    pub fn set_ceiling_bytes_per_s(&self, bytes_per_s: u64) {
        let rate = &self.common.ceiling_bytes_per_s;
        rate.store(bytes_per_s, Ordering::Relaxed);
    }

    fn ceiling_bytes_per_s(&self) -> u64 {
        self.common.ceiling_bytes_per_s.load(Ordering::Relaxed)
    }

    /// With both rates, the floor's first.
    fn with<T>(&self, call: impl FnOnce(*mut NativeFloor, [u64; 2]) -> T) -> T {
        let state = &self.common.state;
        // Whatever panicked, C never leaves its state half-way.
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let rates = [self.bytes_per_s(), self.ceiling_bytes_per_s()];
        call(&raw mut *state, rates)
    }
}

/// A connection that receives, or whose host has a congestion control beside.
#[derive(Clone, Debug)]
pub struct FloorMember {
    all: Floor,
    member: NativeFloorMember,
    /// What it has of the floor, and of the ceiling.
    window_bytes: [u32; 2],
}

impl FloorMember {
    /// One of the connections of a floor.
    pub fn new(all: &Floor) -> Self {
        Self {
            all: all.clone(),
            member: NativeFloorMember::default(),
            window_bytes: [0, u32::MAX],
        }
    }

    /// Something has come, in segments of this size. *Units:* us and bytes; `rtt_us` is the round
    /// trip now, with the queue, or 0.
    pub fn hear(&mut self, now_us: u64, bytes: u32, rtt_us: u32, mss_bytes: u32) {
        if self.all.bytes_per_s() == 0 && self.all.ceiling_bytes_per_s() == 0 {
            return;
        }
        let news = FloorNews {
            now_us,
            bytes,
            rtt_us,
            mss_bytes,
            reserved: 0,
        };
        let (member, news) = (&raw mut self.member, &raw const news);
        self.all.with(|all, [floor, ceiling]| {
            // SAFETY: plain structs that C has alike.
            unsafe { ebb_native_floor_hear(all, member, news, floor, ceiling) }
        });
    }

    /// Reckons its window, beside the law's.
    pub fn reckon(&mut self, law_bytes: u32) {
        let member = &raw mut self.member;
        self.window_bytes = self.all.with(|all, [floor, ceiling]| {
            // SAFETY: as in `hear`.
            let most_bytes = unsafe { ebb_native_ceiling_window_bytes(all, member, ceiling) };
            let law_bytes = law_bytes.min(most_bytes);
            // SAFETY: as in `hear`.
            let least = unsafe { ebb_native_floor_window_bytes(all, member, floor, law_bytes) };
            [least, most_bytes]
        });
    }

    /// What no window is to be less than; 0: whatever the law says.
    pub fn window_bytes(&self) -> u32 {
        self.window_bytes[0]
    }

    /// The law's window between what it has of floor and ceiling.
    pub fn bound(&self, law_bytes: u32) -> u32 {
        let [least_bytes, most_bytes] = self.window_bytes;
        law_bytes.min(most_bytes).max(least_bytes)
    }

    /// Whether it is a segment at the least.
    pub(crate) fn has_segment(&self) -> bool {
        self.window_bytes() > 0 && self.window_bytes() >= self.member.mss_bytes
    }
}

/// A connection that sends.
#[derive(Clone, Debug)]
pub(crate) struct SenderFloor {
    all: Floor,
    /// As 64-bit words, so that the C struct is aligned.
    words: Box<[u64]>,
}

/// Beside an acknowledgement, what a law is told of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FloorEvent {
    Loss,
    Timeout,
    Undo,
    Idle,
}

impl SenderFloor {
    pub(crate) fn new(all: &Floor, law: &SenderWindow) -> Self {
        // SAFETY: takes nothing.
        let bytes = unsafe { ebb_native_sender_floor_bytes() } as usize;
        let mut floor = Self {
            all: all.clone(),
            words: vec![0; bytes.div_ceil(8)].into_boxed_slice(),
        };
        floor.on_event(FloorEvent::Undo, &SenderEvent::default(), law);
        floor
    }

    pub(crate) fn on_ack(&mut self, ack: &SenderAck, law: &SenderWindow) {
        let own: *mut c_void = self.words.as_mut_ptr().cast();
        // SAFETY: `own` is as large as C wants it; the rest are plain structs that C has alike.
        let tell = |all, rates: [u64; 2]| unsafe {
            ebb_native_sender_floor_on_ack(all, own, ack, law, rates.as_ptr());
        };
        self.all.with(tell);
    }

    pub(crate) fn on_event(&mut self, kind: FloorEvent, event: &SenderEvent, law: &SenderWindow) {
        let own = self.words.as_mut_ptr().cast();
        // SAFETY: as in `on_ack`.
        unsafe { ebb_native_sender_floor_on_event(own, kind as u32, event, law) };
    }

    /// The law's answer, or what it has of the floor.
    pub(crate) fn window(&self) -> SenderWindow {
        // SAFETY: as in `on_ack`; what is answered lies in `words`.
        unsafe { *ebb_native_sender_floor_answer(self.words.as_ptr().cast()) }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FloorNews {
    pub now_us: u64,
    pub bytes: u32,
    pub rtt_us: u32,
    pub mss_bytes: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Debug, Default)]
pub(crate) struct NativeFloor {
    pub credit_us: u64,
    pub credit_bytes: u64,
    pub count_since_us: u64,
    pub count: u32,
    pub count_rtt_us: u32,
    pub last_rtt_us: u32,
    pub counted: u32,
    pub members: u32,
    pub has_turns: u8,
    pub reserved: [u8; 3],
}

#[repr(C)]
#[derive(Clone, Debug, Default)]
pub(crate) struct NativeFloorMember {
    pub count: u32,
    pub rank: u32,
    pub rtt_us: u32,
    pub bytes: u32,
    pub told_bytes: u32,
    pub had_bytes: u32,
    pub mss_bytes: u32,
    pub is_modest: u8,
    pub reserved: [u8; 3],
}

unsafe extern "C" {
    fn ebb_native_floor_hear(
        all: *mut NativeFloor,
        member: *mut NativeFloorMember,
        news: *const FloorNews,
        rate: u64,
        ceiling: u64,
    );
    fn ebb_native_ceiling_window_bytes(
        all: *const NativeFloor,
        member: *const NativeFloorMember,
        rate: u64,
    ) -> u32;
    fn ebb_native_floor_window_bytes(
        all: *mut NativeFloor,
        member: *mut NativeFloorMember,
        rate: u64,
        law_bytes: u32,
    ) -> u32;
    fn ebb_native_sender_floor_bytes() -> u32;
    fn ebb_native_sender_floor_on_ack(
        all: *mut NativeFloor,
        floor: *mut c_void,
        ack: *const SenderAck,
        law: *const SenderWindow,
        rates: *const u64,
    );
    fn ebb_native_sender_floor_on_event(
        floor: *mut c_void,
        kind: u32,
        event: *const SenderEvent,
        law: *const SenderWindow,
    );
    fn ebb_native_sender_floor_answer(floor: *const c_void) -> *const SenderWindow;
}
