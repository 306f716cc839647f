/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the law `vulture` remembers of a connection, and the bounds of its window.
 *
 * Source: [VULTURE §0.3]. Differences: vulture.h (9).
 */
#ifndef EBB_VULTURE_STATE_H
#define EBB_VULTURE_STATE_H

#include "vulture/cwnd.h"
#include "vulture/piv.h"
#include "vulture/round.h"

/* [READING §additions] Bound of the window. */
#define EBB_VULTURE_MAX_WINDOW_BYTES 0x3fffffffu
/* [RFC9293 §3.7.1] A segment's payload where nobody says. */
#define EBB_VULTURE_USUAL_MSS_BYTES 536u

struct ebb_vulture_state {
	u32 rwnd_bytes;   /* the answer */
	u32 thresh_bytes; /* rwndThresh */
	u32 target_bytes; /* where double or halve stops */
	u32 mss_bytes;
	u32 highest_seq;               /* end of the data seen */
	u32 loss_seq;                  /* the same when a loss halved last */
	u32 round_bytes;               /* payload in this round trip */
	u8 policy;                     /* EBB_VULTURE_FIX ... */
	u8 is_pausing;                 /* until a segment reflects the policy */
	u8 pauses_left;                /* further round trips of this pause */
	u8 is_acting;                  /* not observing: the window is applied */
	u8 has_round;                  /* round is set */
	u8 has_increased;              /* within the round trip since increased */
	u8 has_halved;                 /* within the round trip since halved */
	u8 is_recovering;              /* data before loss_seq is missing still */
	struct ebb_vulture_mark round; /* start of the round trip, or of the pause */
	struct ebb_vulture_mark increased;
	struct ebb_vulture_mark halved;
	struct ebb_vulture_pairs pairs;
	struct ebb_vulture_estimate estimate;
};

EBB_INLINE void ebb_vulture_set_window(struct ebb_vulture_state *state, u64 bytes,
				       const struct ebb_vulture_params *params)
{
	u64 floor_bytes = (u64)state->mss_bytes * params->min_window_mss;

	state->rwnd_bytes = (u32)ebb_clamp(bytes, floor_bytes, EBB_VULTURE_MAX_WINDOW_BYTES);
}

EBB_INLINE void ebb_vulture_set_mss(struct ebb_vulture_state *state, u32 mss_bytes)
{
	if (mss_bytes)
		state->mss_bytes = ebb_bound_mss_bytes(mss_bytes);
	else if (!state->mss_bytes)
		state->mss_bytes = EBB_VULTURE_USUAL_MSS_BYTES;
}

#endif /* EBB_VULTURE_STATE_H */
