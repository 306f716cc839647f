/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sampled law's parameters, constants and state for one connection. See sampled.h.
 */
#ifndef EBB_SAMPLED_STATE_H
#define EBB_SAMPLED_STATE_H

#include "moves_state.h"

/* The list of sampled and of paced, which tells delays less exactly. */
#define EBB_SAMPLED_PARAMS(P) EBB_SAMPLED_LIST(P, 3000, 6000, 2)

#define EBB_SAMPLED_LIST(P, low, target, probe)                                     \
	P(look_us, 5000, 1000, 1000000, "us", "[SAMPLED §looks]",                   \
	  "least time from one look at the host's numbers to the next")             \
	P(low_us, low, 500, 1000000, "us", "[SAMPLED §thresholds]",                 \
	  "queueing delay below which the window grows freely")                     \
	P(target_us, target, 1000, 1000000, "us", "[SAMPLED §thresholds]",          \
	  "queueing delay above which the window shrinks")                          \
	P(high_us, 10000, 1000, 1000000, "us", "[SAMPLED §thresholds]",             \
	  "delay not explained by our own growth above which others want the link") \
	P(span_us, 20000, 1000, 1000000, "us", "[EBB §yield]",                      \
	  "excess over the target at which a graded cut would empty the window")    \
	P(start_segments, 10, 1, 64, "segments", "[RFC6928 §2]", "first window")    \
	P(probe_segments, probe, 1, 64, "segments", "[EBB §yield]",                 \
	  "window while yielding, for the first 4 s; half of it then")              \
	P(hold_max_us, 2000000, 0, 10000000, "us", "[EBB §yield]",                  \
	  "longest wait before probing again after yields in quick succession")     \
	P(empty_within_us, 10000000, 1000000, 600000000, "us", "[EBB §base]",       \
	  "drain once if the queue was not seen empty for so long")                 \
	P(base_window_us, 30000000, 1000000, 3600000000u, "us", "[EBB §base]",      \
	  "the least RTT is forgotten after one to two of these (ten times while yielding)")

struct ebb_sampled_params {
	EBB_SAMPLED_PARAMS(EBB_PARAM_FIELD)
};

/* [SAMPLED §capacity] The rate is taken over so many looks, of so many remembered. */
#define EBB_SAMPLED_RATE_LOOKS 4u
#define EBB_SAMPLED_LOOKS 8u
/* [SAMPLED §standstills] Who had the link is told by the last of them, which bring this part. */
#define EBB_SAMPLED_OWN_LOOKS 3u
#define EBB_SAMPLED_HAS_LINK_X16 15u
/* [SAMPLED §echoes] The host's estimate rises by this part with each echo; after so many of them
 * it tells what is. */
#define EBB_SAMPLED_ECHO_DIVISOR 8u
#define EBB_SAMPLED_SETTLED_ECHOES 12u
/* [SAMPLED §thresholds] Thresholds in times of a segment. */
#define EBB_SAMPLED_LOW_GRAINS_X2 3u
#define EBB_SAMPLED_TARGET_GRAINS 2u
/* [SAMPLED §rounds] A round trip in which nobody gets to its right edge ends by time: its own, and
 * this part of it more. Shorter ones than 1 ms cannot be told. */
#define EBB_SAMPLED_LATE_DIVISOR 2u
#define EBB_SAMPLED_LEAST_ROUND_US 1000u
/* [SAMPLED §rounds] Without timestamps a round trip is known to so many looks. */
#define EBB_SAMPLED_BLUR_LOOKS 2u
/* [SAMPLED §rounds] Blindness after a cut ends so many RTT, and some ms, later at the latest. */
#define EBB_SAMPLED_BLIND_RTTS 2u
/* [SAMPLED §rounds] Our window has filled the path if it was this part of the BDP. */
#define EBB_SAMPLED_FILLED_X16 15u
/* [SAMPLED §yield] The link was ours if a round trip carried this part of the BDP. */
#define EBB_SAMPLED_HAD_LINK_X10 8u
/* [SAMPLED §yield] The first wait before probing again. */
#define EBB_SAMPLED_HOLD_RTTS 2u
/* [EBB §yield] While yielding the window falls to a half then. */
#define EBB_SAMPLED_PROBE_HALF_AFTER_US 4000000u
/* [SAMPLED §growth] Growth towards saturation: this part of what is missing, and of what is
 * missing just out of YIELD. */
#define EBB_SAMPLED_RECALL_X4 2u
#define EBB_SAMPLED_RECLAIM_X4 3u
/* [SAMPLED §pace] Growth, as a part of the window, where no more than the pace can be seen; and
 * in the first slow start. */
#define EBB_SAMPLED_PACED_DIVISOR 8u
#define EBB_SAMPLED_PACED_START_DIVISOR 2u
/* [SAMPLED §pace] An overshoot is drained from this part of the BDP; its queue is ours for so many
 * RTT, and so many times what the window has grown by explains a queue. */
#define EBB_SAMPLED_PACED_FULL_X32 31u
#define EBB_SAMPLED_PACED_OWN_RTTS 4u
#define EBB_SAMPLED_PACED_GROWN 3u
/* [EBB §fairness] Least part of the window that a queue above the target takes: ebb's. */
#define EBB_SAMPLED_SHRINK_DIVISOR 16u
/* [SAMPLED §pairs] Thresholds of who is paced, in segments' times, are this part of sampled's. */
#define EBB_SAMPLED_PACED_GRAIN_DIVISOR 2u
/* [SAMPLED §thresholds] Queueing delays below this count as an empty queue. */
#define EBB_SAMPLED_EMPTY_US 1500u
/* [EBB §domain] A bound on segments in a look. */
#define EBB_SAMPLED_MAX_SEGMENTS (1u << 30)

struct ebb_sampled_look {
	u32 at_us;          /* low 32 bits */
	u32 received_bytes; /* everything up to then, low 32 bits */
};

struct ebb_sampled_state {
	EBB_MOVES_MEMBERS

	/* What has come since the last look. */
	u64 look_at_us;
	u32 look_bytes;
	u32 look_segments;
	u32 received_bytes;
	u32 look_count;
	struct ebb_sampled_look looks[EBB_SAMPLED_LOOKS];

	/* What the path looks like. */
	u64 fastest_bytes_per_s; /* never less than C, and C but for standstills */
	u32 estimate_us;         /* the host's estimate at the last look; 0: none yet */
	u32 last_queue_us;       /* q at the look before */

	u64 own_until_us; /* paced: the queue up to then is that of our own overshoot */

	u8 has_hole; /* a segment came out of order since the last look */
	u8 has_looked;
	u8 is_mean; /* the host's estimate is a mean: it falls as slowly as it rises */
	u8 reserved[5];
};

#endif /* EBB_SAMPLED_STATE_H */
