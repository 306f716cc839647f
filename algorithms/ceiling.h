/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ceiling: the rate that all connections of a policy have together at the most, whatever their
 * law answers. It is how several policies share what is left over.
 *
 * Source: [WEIGHTS] docs/weights.md. Domain: as floor.h.
 *
 * It goes by what a struct ebb_floor counts: hosts that have a ceiling tell ebb_floor_hear of it,
 * and set no window above what ebb_ceiling_window_bytes answers, but for a floor.
 */
#ifndef EBB_CEILING_H
#define EBB_CEILING_H

#include "floor.h"

/* [WEIGHTS §ceiling] Parts are rounded to the nearest segment. */
#define EBB_CEILING_HALF 2u

/*
 * What a connection has of the ceiling: its part of what comes in a round trip, in whole segments,
 * one at the least. While its round trip is not known there is no limit.
 */
EBB_INLINE u32 ebb_ceiling_window_bytes(const struct ebb_floor *f, const struct ebb_floor_member *m,
					u64 rate)
{
	u64 among = ebb_max(ebb_max(f->members, f->counted), 1);
	u64 mss_bytes = ebb_max(m->mss_bytes, 1), all_bytes, segments;

	if (!rate || rate >= EBB_FLOOR_UNBOUND || !m->rtt_us)
		return EBB_FLOOR_NO_LIMIT_BYTES;
	all_bytes = rate * ebb_min(m->rtt_us, EBB_FLOOR_MOST_RTT_US) / EBB_US_PER_S;
	all_bytes = ebb_min(all_bytes, EBB_FLOOR_MOST_BYTES);
	segments = ebb_div(all_bytes + mss_bytes * among / EBB_CEILING_HALF, mss_bytes * among, 0);
	return (u32)ebb_min(ebb_max(segments, 1) * mss_bytes, EBB_FLOOR_NO_LIMIT_BYTES);
}

#endif /* EBB_CEILING_H */
