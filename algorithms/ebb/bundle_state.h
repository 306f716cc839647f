/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the connections of one policy have in common under the ebb law, and what each of them keeps
 * of it. See bundle.h.
 */
#ifndef EBB_EBB_BUNDLE_STATE_H
#define EBB_EBB_BUNDLE_STATE_H

#include "ebb/state.h"

/* [EBB §bundle] A bundle that was silent for so long begins anew with the next connection. */
#define EBB_EBB_BUNDLE_SILENT_US 5000000u
/* [EBB §bundle] Connections are counted over so many of the longest round trip ... */
#define EBB_EBB_COUNT_RTTS 2u
/* [EBB §bundle] ... and this part more than a turn of all takes, where they take turns, ... */
#define EBB_EBB_COUNT_TURNS_X4 5u
/* [EBB §bundle] ... so long at the most. */
#define EBB_EBB_COUNT_MOST_US 3500000u
/* [EBB §bundle] Linux' least clamp, and the time after which a sender uses less than a segment. */
#define EBB_EBB_LEAST_BYTES 1152u
#define EBB_EBB_TIMER_US 448000u
/* [EBB §bundle] A sender whose window was below a segment may wait for its timer for so long ... */
#define EBB_EBB_STALL_US 500000u
/* [EBB §bundle] ... and is watched for so long. */
#define EBB_EBB_STALLED_US 1000000u
/* [EBB §bundle] One connection leads for so many round trips after YIELD at the most. */
#define EBB_EBB_LED_ROUNDS 16u
/* [EBB §bundle] What connections wait for their turn at the most, but for a round trip. */
#define EBB_EBB_TURN_MOST_US 2000000u
/* [EBB §bundle] Turns are given out over a round trip, and so much faster. */
#define EBB_EBB_TURNS_PACE_X4 5u
/* [EBB §bundle] A turn that is not used expires after one to two of so many round trips and this. */
#define EBB_EBB_EXPIRE_US 100000u
/* [EBB §bundle] Who has one segment more is the next one after so many counts. */
#define EBB_EBB_RANK_COUNTS 2u
/* [EBB §bundle] The shortest and the longest time after which one that waits asks again. */
#define EBB_EBB_WAIT_LEAST_US 1000u
#define EBB_EBB_WAIT_MOST_US 100000u
/* [EBB §bundle] A delay of the bundle's is believed by newcomers for so long. */
#define EBB_EBB_QUEUE_KNOWN_US 1000000u
/* [EBB §bundle] What was believed so is looked at again after so many round trips, so many times. */
#define EBB_EBB_ABOVE_ROUNDS 8u
#define EBB_EBB_ABOVE_LOOKS 4u
/* [EBB §domain] Bounds that keep products within 64 bits. */
#define EBB_EBB_TURN_MOST_SEGMENTS (1u << 20)

/*
 * What the law judges by and decides, for all connections of the bundle: L(type, name). All other
 * fields of the law's state are a connection's own: its clock, base, round-trip time and holes.
 */
#define EBB_EBB_COMMON(L)              \
	L(u32, rwnd_bytes)             \
	L(u64, capacity_bytes_per_s)   \
	L(u64, last_empty_us)          \
	L(u32, longest_queue_us)       \
	L(u32, saturation_bytes)       \
	L(u64, round_since_us)         \
	L(u32, round_bytes)            \
	L(u32, round_queue_us)         \
	L(u32, round_rwnd_bytes)       \
	L(u32, last_round_bytes)       \
	L(u32, last_rwnd_bytes)        \
	L(u32, growth_bytes)           \
	L(u32, growth_left_bytes)      \
	L(u64, blind_until_us)         \
	L(u64, yield_since_us)         \
	L(u64, hold_until_us)          \
	L(u32, hold_us)                \
	L(u32, clear_rounds)           \
	L(u32, restore_bytes)          \
	L(u32, segment_us)             \
	L(u64, virtual_queue_bytes)    \
	L(u32, arrival_count)          \
	L(u32, arrival_since_us)       \
	L(u32, late_at_us)             \
	L(u32, run_arrivals)           \
	L(u32, run_gap_us)             \
	L(u32, received_bytes)         \
	L(u32, round_excess_us)        \
	L(u64, round_rate_bytes_per_s) \
	L(u32, round_rtt_us)           \
	L(u32, look_segments)          \
	L(u64, look_since_us)          \
	L(u32, look_excess_us)         \
	L(u32, full_us)                \
	L(u64, calm_since_us)          \
	L(u32, calm_least_us)          \
	L(u32, calm_most_us)           \
	L(u32, calm_rounds)            \
	L(u32, pace_us_x16)            \
	L(u32, wide_gaps)              \
	L(u32, wide_times)             \
	L(u32, close_gaps)             \
	L(u32, odd_gaps)               \
	L(u32, oddness)                \
	L(u32, doubts)                 \
	L(u32, sure_gaps)              \
	L(u32, even_gaps)              \
	L(u32, even_us_x16)            \
	L(u32, test_bytes)             \
	L(u32, test_rounds)            \
	L(u32, tester)                 \
	L(u8, is_unseen)               \
	L(u8, is_testing)              \
	L(u8, is_round_open)           \
	L(u8, is_blind)                \
	L(u8, is_draining)             \
	L(u8, is_yielding)             \
	L(u8, has_yielded)             \
	L(u8, is_starting)             \
	L(u8, is_reclaiming)           \
	L(u8, is_steady)               \
	L(u8, has_met)                 \
	L(u8, has_jumped)              \
	L(u8, vain_yields)             \
	L(u8, retreats)                \
	L(u8, hides_gaps)              \
	L(u8, vain_combs)

#define EBB_EBB_COMMON_FIELD(type, name) type name;

struct ebb_ebb_bundle {
	EBB_EBB_COMMON(EBB_EBB_COMMON_FIELD)
	struct ebb_ebb_arrival arrivals[EBB_EBB_ARRIVALS];

	u32 joined;         /* connections that there have been */
	u32 last_number;    /* whose segment was taken last: its state is the bundle's */
	u64 heard_us;       /* when that was */
	u64 virtual_at_us;  /* virtual_queue_at_us, on our clock as the bottleneck has it */
	u64 blind_since_us; /* when the cut was made */
	u32 round;          /* how many round trips there were */
	u32 queue_us;       /* least q of the last one */
	u32 most_us;        /* most q of this round trip, and of the last one */
	u32 last_most_us;

	/* Counted over some round trips: who is there, and uses what it is given. */
	u32 count;
	u32 count_us; /* how long the count takes at least */
	u64 count_since_us;
	u32 count_rtt_us; /* the longest round trip, queue counted, of this count and the last */
	u32 rtt_us;
	u32 counted; /* connections so far, and in the last count */
	u32 members;
	u32 counted_eager; /* that use what they are given */
	u32 eager;
	u32 counted_modest_bytes; /* what the others use in a round trip */
	u32 modest_bytes;

	/* Turns, where there are fewer segments than connections. */
	u64 turn_x1024;      /* turns that were given */
	u64 last_turn_x1024; /* the last one that was promised */
	u64 used_x1024;      /* those whose segment has come */
	u64 expire_x1024;    /* those given until then: expire before long */
	u64 expire_at_us;
	u8 has_turns; /* turns are taken now */

	u64 turn_at_us;

	/* Where a host cannot close windows: senders that wait for their timers. */
	u64 stalled_until_us; /* some may until then */
	u64 led_us;           /* when the leader was heard last */
	u64 led_since_us;     /* the YIELD that it leads through */
	u32 leader;           /* who has what there is meanwhile */
	u32 least_number;     /* whose q is the least of this round trip, and of the last one */
	u32 last_least_number;
	u32 wake;  /* how often all had a segment again */
	u32 awake; /* connections that were heard since the last time */
};

#endif /* EBB_EBB_BUNDLE_STATE_H */
