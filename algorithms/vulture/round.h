/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Vulture's round trips: a mark is a moment, and a segment that echoes a later
 * acknowledgement tells that a round trip has passed since.
 *
 * Source: [VULTURE §0.3.2], [VULTURE §0.3.3]. Differences: vulture.h (10 and 12).
 */
#ifndef EBB_VULTURE_ROUND_H
#define EBB_VULTURE_ROUND_H

#include "math.h"
#include "vulture/params.h"

/* [READING §additions] A round trip that takes longer is taken for over. */
#define EBB_VULTURE_ROUND_LIMIT_US 10000000u
/* [RFC6298 §2] Round-trip time of a host that has no estimate yet. */
#define EBB_VULTURE_UNKNOWN_RTT_US 1000000u

/* A moment of which the first segment can be recognised that was sent knowing of it. */
struct ebb_vulture_mark {
	u64 at_us;    /* receiver's clock */
	u32 local_ts; /* our timestamp clock */
	u32 edge_seq; /* right edge of the window then */
};

EBB_INLINE void ebb_vulture_mark_set(struct ebb_vulture_mark *mark,
				     const struct ebb_segment *segment)
{
	mark->at_us = segment->now_us;
	mark->local_ts = segment->local_ts;
	mark->edge_seq = segment->right_edge_seq;
}

/* Was this segment sent by somebody who had an acknowledgement from after the mark? */
EBB_INLINE u8 ebb_vulture_mark_is_passed(const struct ebb_vulture_mark *mark,
					 const struct ebb_segment *segment,
					 const struct ebb_vulture_params *params)
{
	u64 elapsed_us = ebb_sub_floor(segment->now_us, mark->at_us);
	u64 rtt_us = segment->kernel_rtt_us ? segment->kernel_rtt_us : EBB_VULTURE_UNKNOWN_RTT_US;

	if (elapsed_us > EBB_VULTURE_ROUND_LIMIT_US)
		return 1;
	if (!segment->has_timestamps)
		return elapsed_us >= rtt_us;
	if (params->echo_is_later)
		return ebb_before32(mark->local_ts, segment->tsecr);
	return !ebb_before32(segment->tsecr, mark->local_ts);
}

#endif /* EBB_VULTURE_ROUND_H */
