// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mirrors of the structs in `receiver_contract.h`; see there for the meaning of each field.

/// What a law is told when it takes over a connection.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Start {
    /// Receiver's monotonic clock.
    pub now_us: u64,
    /// The sender's segment payload, best knowledge.
    pub mss_bytes: u32,
    /// Next byte expected.
    pub rcv_nxt: u32,
    /// Nonzero if RFC 7323 timestamps are in use.
    pub has_timestamps: u32,
    /// The last timestamp heard, of the handshake, if so.
    pub tsval: u32,
}

/// One arriving data segment, or an aggregate of several.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segment {
    /// Arrival on the receiver's monotonic clock.
    pub now_us: u64,
    /// First payload byte.
    pub seq: u32,
    /// Payload of the whole aggregate.
    pub payload_bytes: u32,
    /// Wire segments in the aggregate: at least 1.
    pub segments: u32,
    /// The sender's clock in its own ticks.
    pub tsval: u32,
    /// Our clock in our ticks, as echoed.
    pub tsecr: u32,
    /// Our timestamp clock at arrival.
    pub local_ts: u32,
    /// Length of our tick.
    pub local_tick_us: u32,
    /// Next byte expected, before this segment.
    pub rcv_nxt: u32,
    /// First byte beyond the window advertised last.
    pub right_edge_seq: u32,
    /// Largest payload of one segment of this sender; 0 if unknown.
    pub mss_bytes: u32,
    /// The host's own receiver-side estimate of the RTT; 0: none yet.
    pub kernel_rtt_us: u32,
    /// Nonzero if this segment carries timestamps.
    pub has_timestamps: u8,
    /// Nonzero if a router marked congestion (ECN CE).
    pub is_ce: u8,
    /// Nonzero while the window is not applied.
    pub is_observing: u8,
    /// Nonzero if the host delays acknowledgements by [`crate::ReceiverFlow::ack_delay_us`].
    pub can_delay_acks: u8,
}

/// An outgoing segment, about to carry a window.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ack {
    /// Receiver's monotonic clock.
    pub now_us: u64,
    /// What this segment acknowledges.
    pub ack_seq: u32,
    /// The timestamp that it will carry.
    pub local_ts: u32,
    /// Length of our tick.
    pub local_tick_us: u32,
    /// First byte beyond the window advertised last.
    pub right_edge_seq: u32,
    /// Largest payload of one segment of this sender; 0 if unknown.
    pub mss_bytes: u32,
    /// Nonzero if timestamps are in use.
    pub has_timestamps: u8,
    /// Nonzero while the window is not applied.
    pub is_observing: u8,
    /// Nonzero if the host closes the window when the answer is 0, and asks again.
    pub can_park: u8,
    /// Zero.
    pub reserved: u8,
}

macro_rules! as_bytes {
    ($($name:ident),*) => {$(
        impl $name {
            /// The struct's bytes as C sees them: little-endian on all supported hosts.
            pub fn as_bytes(&self) -> &[u8] {
                // SAFETY: repr(C) without padding (layout.rs asserts it), plain integers.
                unsafe {
                    std::slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>())
                }
            }

            /// Reads the struct from bytes written by [`Self::as_bytes`].
            ///
            /// # Panics
            /// If the slice has another length than the struct.
            pub fn from_bytes(bytes: &[u8]) -> Self {
                assert_eq!(bytes.len(), size_of::<Self>());
                // SAFETY: the length was checked; every bit pattern is a valid integer.
                unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
            }
        }
    )*};
}
pub(crate) use as_bytes;
as_bytes!(Start, Segment, Ack);
