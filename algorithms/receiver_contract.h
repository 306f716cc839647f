/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a receiver law is told and what it answers: the contract between the laws
 * and their hosts, whoever these are.
 *
 * A host calls, in the order of the wire:
 *   ebb_<law>_init(state, start, params)        once, before anything else
 *   ebb_<law>_on_segment(state, segment, params) for each arriving data segment
 *   ebb_<law>_on_ack(state, ack, params)         before each outgoing segment, or every
 *                                                50 us where these come faster;
 *                                                for laws of EBB_ON_ACK_LAWS
 * and applies state->rwnd_bytes as the upper bound of the advertised window before
 * each outgoing segment (and after init). A law answers the window that it wants; the host
 * (TCP itself) never moves the window's right edge back. Laws of EBB_ACK_DELAY_LAWS
 * (receiver_laws.h) also answer state->ack_delay_us: a host that can holds each acknowledgement
 * back for so long and stamps it when it leaves, and says so in can_delay_acks. With a host
 * that cannot, such a law does with the window alone.
 *
 * Laws of EBB_BUNDLE_LAWS also take all connections of a policy for one. For these a host keeps
 * a struct ebb_<law>_bundle, which starts as zero bytes, and calls
 * ebb_<law>_bundle_{init,on_segment,on_ack}(bundle, state, ...) for each of the connections, never
 * two at a time. Then the answer may be less than a segment: a host that says so in can_park closes
 * the window where it is 0, asks by on_ack after state->member.wait_us, and tells the sender when
 * it is not 0 any more. Another host grants as little as it can.
 *
 * A law keeps everything in its state, which starts as zero bytes; it reads no
 * clock, allocates nothing, cannot fail: it clamps. Parameters may change between
 * any two calls.
 */
#ifndef EBB_RECEIVER_CONTRACT_H
#define EBB_RECEIVER_CONTRACT_H

#include "math.h"
#include "params.h"
#include "units.h"

/* Less payload is no segment of a bulk transfer. */
#define EBB_LEAST_MSS_BYTES 64u

/* The law's answer when it wants no limit: larger than any TCP window (2^30). */
#define EBB_NO_LIMIT_BYTES 0x7fffffffu

struct ebb_start {
	u64 now_us;         /* receiver's monotonic clock */
	u32 mss_bytes;      /* the sender's segment payload, best knowledge */
	u32 rcv_nxt;        /* next byte expected */
	u32 has_timestamps; /* RFC 7323 timestamps are in use on the connection */
	u32 tsval;          /* the last timestamp heard, of the handshake, if so */
};

struct ebb_segment {
	u64 now_us;         /* arrival, receiver's monotonic clock */
	u32 seq;            /* first payload byte */
	u32 payload_bytes;  /* of the whole aggregate */
	u32 segments;       /* wire segments in the aggregate (GRO): at least 1 */
	u32 tsval;          /* sender's clock in its own ticks, if has_timestamps */
	u32 tsecr;          /* our clock, in our ticks, as echoed, if has_timestamps */
	u32 local_ts;       /* our timestamp clock at arrival, in our ticks; it advances
			     * whenever now_us is a multiple of local_tick_us */
	u32 local_tick_us;  /* length of our tick: 1000 on Linux, or 1 */
	u32 rcv_nxt;        /* next byte expected, before this segment */
	u32 right_edge_seq; /* first byte beyond the window advertised last */
	u32 mss_bytes;      /* largest payload of one segment of this sender */
	u32 kernel_rtt_us;  /* the host's own receiver-side RTT estimate; 0: none yet */
	u8 has_timestamps;  /* this segment carries the option */
	u8 is_ce;           /* ECN: congestion experienced on any segment of it */
	u8 is_observing;    /* the window is not applied: learn, do not act */
	u8 can_delay_acks;  /* the host delays acknowledgements by ack_delay_us */
};

struct ebb_ack {
	u64 now_us;         /* receiver's monotonic clock */
	u32 ack_seq;        /* rcv_nxt: what this segment acknowledges */
	u32 local_ts;       /* our timestamp clock: the TSval that it will carry */
	u32 local_tick_us;  /* length of our tick */
	u32 right_edge_seq; /* first byte beyond the window advertised last */
	u32 mss_bytes;      /* as in ebb_segment */
	u8 has_timestamps;
	u8 is_observing;
	u8 can_park; /* the host closes the window when the answer is 0, and asks again */
	u8 reserved;
};

/* What the packet interval variations of a round trip amount to. */
struct ebb_variations {
	s64 sum_jiffies;
	u32 all;
	u32 positive;
};

/* ---- what most laws share ---- */

/* Whatever the host takes for the segment size. */
EBB_INLINE u32 ebb_bound_mss_bytes(u32 mss_bytes)
{
	return (u32)ebb_clamp(mss_bytes, EBB_LEAST_MSS_BYTES, EBB_MOST_MSS_BYTES);
}

/* [EBB §clock] A host that takes window back had advertised so many times what it does now. */
#define EBB_TAKEN_BACK_WINDOWS 8u
/* [RFC7323 §2.3] The largest window. */
#define EBB_LARGEST_ADVERTISED_BYTES (1u << 30)

/*
 * Follows the end of the data that has come. Beyond the window that was advertised there is none:
 * the segment lies, and would make all that comes after it look as if it came again.
 */
EBB_INLINE u32 ebb_highest_seq(u32 highest_seq, const struct ebb_segment *segment)
{
	u32 end_seq = segment->seq + segment->payload_bytes;
	u64 window_bytes = segment->right_edge_seq - segment->rcv_nxt;

	window_bytes = ebb_min(window_bytes * EBB_TAKEN_BACK_WINDOWS, EBB_LARGEST_ADVERTISED_BYTES);
	if (ebb_before32(segment->rcv_nxt + (u32)window_bytes, end_seq))
		return highest_seq;
	return ebb_before32(highest_seq, end_seq) ? end_seq : highest_seq;
}

#endif /* EBB_RECEIVER_CONTRACT_H */
