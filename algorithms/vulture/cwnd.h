/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Vulture's estimate of the sender's congestion window: how many bytes came per round
 * trip, told by which acknowledgement each segment echoes.
 *
 * Source: [VULTURE §0.3.5], algorithm 6. Differences are listed in vulture.h (6 to 8).
 */
#ifndef EBB_VULTURE_CWND_H
#define EBB_VULTURE_CWND_H

#include "math.h"

/* [VULTURE §0.3.5] ackQue: 64 groups of one jiffy are a round trip of 256 ms. */
#define EBB_VULTURE_ACKS 64u
#define EBB_VULTURE_ACK_MASK (EBB_VULTURE_ACKS - 1)
/* [READING §additions] Groups that one segment may take from the queue; the next goes on. */
#define EBB_VULTURE_ACK_STEPS 8
/* [READING §additions] Bounds the sums: larger than any TCP window. */
#define EBB_VULTURE_MAX_ESTIMATE_BYTES 0x3fffffffu

/* Acknowledgements whose timestamps cannot, or need not, be told apart. */
struct ebb_vulture_ack_group {
	u32 first_ts; /* our timestamp clock */
	u32 last_ts;
	u32 bytes; /* acknowledged by them, less what they have triggered */
};

struct ebb_vulture_estimate {
	u32 bytes; /* cwndEstimate */
	u32 last_ack_seq;
	u16 head;
	u16 count;
	u8 has_ack;
	u8 reserved[3];
	struct ebb_vulture_ack_group groups[EBB_VULTURE_ACKS];
};

EBB_INLINE void ebb_vulture_estimate_add(struct ebb_vulture_estimate *estimate, u32 bytes)
{
	estimate->bytes =
		(u32)ebb_min((u64)estimate->bytes + bytes, EBB_VULTURE_MAX_ESTIMATE_BYTES);
}

EBB_INLINE void ebb_vulture_estimate_pop(struct ebb_vulture_estimate *estimate)
{
	estimate->head = (estimate->head + 1u) & EBB_VULTURE_ACK_MASK;
	estimate->count--;
}

/* Counts a segment that echoes tsecr. */
EBB_INLINE void ebb_vulture_estimate_on_segment(struct ebb_vulture_estimate *estimate, u32 tsecr,
						u32 payload_bytes)
{
	struct ebb_vulture_ack_group *group;
	int step;

	for (step = 0; step < EBB_VULTURE_ACK_STEPS; step++) {
		group = &estimate->groups[estimate->head & EBB_VULTURE_ACK_MASK];
		if (!estimate->count || ebb_before32(tsecr, group->first_ts)) {
			ebb_vulture_estimate_add(estimate, payload_bytes);
			return;
		}
		if (!ebb_before32(group->last_ts, tsecr)) {
			if (payload_bytes < group->bytes) {
				group->bytes -= payload_bytes;
				return;
			}
			ebb_vulture_estimate_add(estimate, payload_bytes - group->bytes);
			ebb_vulture_estimate_pop(estimate);
			return;
		}
		estimate->bytes = (u32)ebb_sub_floor(estimate->bytes, group->bytes);
		ebb_vulture_estimate_pop(estimate);
	}
	ebb_vulture_estimate_add(estimate, payload_bytes);
}

/* Counts an acknowledgement that goes out; returns the bytes that it acknowledges. */
EBB_INLINE u32 ebb_vulture_estimate_on_ack(struct ebb_vulture_estimate *estimate, u32 ack_seq,
					   u32 local_ts, u32 merge_ticks)
{
	struct ebb_vulture_ack_group *tail;
	u32 acked_bytes = ack_seq - estimate->last_ack_seq;
	u8 is_mergeable;

	if (!estimate->has_ack || ebb_before32(ack_seq, estimate->last_ack_seq))
		acked_bytes = 0;
	else if (acked_bytes > EBB_VULTURE_MAX_ESTIMATE_BYTES)
		acked_bytes = EBB_VULTURE_MAX_ESTIMATE_BYTES;
	estimate->last_ack_seq = ack_seq;
	estimate->has_ack = 1;
	if (!acked_bytes)
		return 0;
	tail = &estimate->groups[(estimate->head + estimate->count - 1u) & EBB_VULTURE_ACK_MASK];
	is_mergeable = estimate->count &&
		       (local_ts - tail->first_ts < merge_ticks || local_ts == tail->last_ts);
	if (is_mergeable || estimate->count >= EBB_VULTURE_ACKS) {
		tail->last_ts = local_ts;
		tail->bytes = (u32)ebb_min((u64)tail->bytes + acked_bytes,
					   EBB_VULTURE_MAX_ESTIMATE_BYTES);
		return acked_bytes;
	}
	tail = &estimate->groups[(estimate->head + estimate->count) & EBB_VULTURE_ACK_MASK];
	tail->first_ts = local_ts;
	tail->last_ts = local_ts;
	tail->bytes = acked_bytes;
	estimate->count++;
	return acked_bytes;
}

#endif /* EBB_VULTURE_CWND_H */
