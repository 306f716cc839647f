// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the programs count.

use crate::layout::ebb_counters;
use crate::sys;
use std::io;
use std::ops::AddAssign;
use std::os::fd::BorrowedFd;

/// [`Counters`], from what each of them means.
macro_rules! counters {
    ($($(#[$meaning:meta])* $count:ident,)*) => {
        /// What the programs counted since they were attached.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$meaning])* pub $count: u64,)*
        }

        impl Counters {
            /// Adds the counts of one processor.
            pub(crate) fn add(&mut self, of_one: &ebb_counters) {
                // By name: one that is new in the programs is not forgotten here.
                let ebb_counters { $($count),* } = of_one;
                $(self.$count += $count;)*
            }
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$count += other.$count;)*
            }
        }
    };
}

counters! {
    /// Data packets seen, as the kernel's GRO made them.
    aggregates,
    /// Wire segments in them.
    segments,
    /// Payload in them.
    payload_bytes,
    /// Times that the law was asked for the window: before each outgoing segment, but not
    /// within 50 microseconds.
    acks,
    /// Windows set.
    clamps,
    /// Connections taken over at their handshake.
    adopted_new,
    /// Connections taken over that existed before.
    adopted_established,
    /// Connections let go before their end.
    released,
    /// Of those: because the owner did not renew its lease in time.
    lapsed,
    /// Connections left alone because both ends are on this machine.
    skipped_loopback,
    /// Connections left alone because they are part of a multipath one.
    skipped_mptcp,
    /// Connections of other processes than the chosen ones.
    skipped_unmarked,
    /// Connections for which the kernel had no memory.
    skipped_no_memory,
    /// Packets whose headers could not be read.
    skipped_malformed,
    /// Trace records lost because the buffer was full.
    trace_lost,
    /// UDP sockets that sent or received anything, which no law controls; those of QUIC and uTP
    /// are among them.
    udp_sockets,
    /// UDP sockets that speak QUIC, by port 443.
    quic_sockets,
    /// UDP sockets that speak uTP, by the first packet of a connection.
    utp_sockets,
    /// Payload that arrived over UDP.
    udp_received_bytes,
    /// Payload that was sent over UDP.
    udp_sent_bytes,
    /// Payload that the peers of connections under a receiver law have acknowledged.
    sent_bytes,
    /// Connections left alone because they existed before, and this kernel calls no program for
    /// them.
    skipped_established,
    /// Packets that TCP does not take for the connection's: outside of its window, with a timestamp
    /// of the past, or damaged.
    skipped_unacceptable,
}

impl Counters {
    /// The sum of what was counted under a key, on all processors.
    pub(crate) fn read(map: BorrowedFd<'_>, key: u32) -> io::Result<Self> {
        let mut values = of_all_processors()?;
        sys::lookup(map, &key.to_ne_bytes(), &mut values)?;
        let mut sum = Self::default();
        for value in values.chunks_exact(size_of::<ebb_counters>()) {
            // SAFETY: the chunk has the struct's size; any bytes are valid integers.
            sum.add(&unsafe { value.as_ptr().cast::<ebb_counters>().read_unaligned() });
        }
        Ok(sum)
    }

    /// Begins anew.
    pub(crate) fn clear(map: BorrowedFd<'_>, key: u32) -> io::Result<()> {
        sys::update(map, &key.to_ne_bytes(), &of_all_processors()?)
    }
}

/// Room for the counts of every processor, which are 0.
fn of_all_processors() -> io::Result<Vec<u8>> {
    let count = libbpf_rs::num_possible_cpus().map_err(io::Error::other)?;
    Ok(vec![0u8; size_of::<ebb_counters>() * count])
}
