/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ebb law's parameters, constants and state for one connection. See ebb.h.
 */
#ifndef EBB_EBB_STATE_H
#define EBB_EBB_STATE_H

#include "moves_state.h"
#include "timestamps.h"

/* The parameters of all who judge so; thresholds are each law's own. */
#define EBB_EBB_LIST(P, default_low_us, default_target_us, default_high_us, default_probe) \
	P(low_us, default_low_us, 500, 1000000, "us", "[EBB §thresholds]",                 \
	  "queueing delay below which the window grows freely")                            \
	P(target_us, default_target_us, 1000, 1000000, "us", "[EBB §thresholds]",          \
	  "queueing delay above which the window shrinks")                                 \
	P(high_us, default_high_us, 1000, 1000000, "us", "[EBB §thresholds]",              \
	  "delay not explained by our own bursts above which others want the link")        \
	P(span_us, 20000, 1000, 1000000, "us", "[EBB §yield]",                             \
	  "excess over the target at which a graded cut would empty the window")           \
	P(start_segments, 10, 1, 64, "segments", "[RFC6928 §2]", "first window")           \
	P(hold_max_us, 1000000, 0, 10000000, "us", "[EBB §yield]",                         \
	  "longest wait before probing again after yields in quick succession")            \
	P(probe_segments, default_probe, 1, 64, "segments", "[EBB §yield]",                \
	  "window while yielding, for the first 0.3 s; half of it to 4 s, then 1")         \
	P(empty_within_us, 10000000, 1000000, 600000000, "us", "[EBB §base]",              \
	  "drain once if the queue was not seen empty for so long")                        \
	P(shrink_divisor, 16, 2, 1000, "1", "[EBB §fairness]",                             \
	  "least part of the window that a queue above the target takes")                  \
	P(plateau_rounds, 2, 1, 1000, "round trips", "[EBB §thresholds]",                  \
	  "for how long a segment of growth is stretched below saturation")                \
	P(base_window_us, 30000000, 1000000, 3600000000u, "us", "[EBB §base]",             \
	  "the least delay is forgotten after one to two of these (ten times in YIELD)")   \
	P(calm_us, 20000000, 1000000, 3600000000u, "us", "[EBB §route]",                   \
	  "a delay that stays the same for so long in YIELD is a longer route")
#define EBB_EBB_PARAMS(P) EBB_EBB_LIST(P, 3000, 5000, 10000, 2)

struct ebb_ebb_params {
	EBB_EBB_PARAMS(EBB_PARAM_FIELD)
};

/* [EBB §detection] A look at the queue takes so many segments and this part of an RTT. */
#define EBB_EBB_LOOK_SEGMENTS 8u
#define EBB_EBB_LOOK_DIVISOR 4u
/* [EBB §loss] A hole that is open for this part of an RTT is old. */
#define EBB_EBB_HOLE_DIVISOR 4u
/* [EBB §clock] Two delays agree if they differ by so much: a tick of each side. */
#define EBB_EBB_AGREE_US 2000u
/* [EBB §capacity] Arrivals in each of so many trains for the capacity. The first flight of ten has
 * them. */
#define EBB_EBB_TRAIN 5u
#define EBB_EBB_TRAINS 2u
#define EBB_EBB_TRAINS_ARRIVALS (EBB_EBB_TRAINS * EBB_EBB_TRAIN)
/* [EBB §capacity] A gap longer or shorter than the mean by this factor is another pace. */
#define EBB_EBB_PACES 8u
/* [EBB §In numbers] Weight of the mean gap when another one comes in. */
#define EBB_EBB_GAP_X8 7u
/* [EBB §capacity] So many arrivals without a steady run: there will be none. */
#define EBB_EBB_UNSTEADY_ARRIVALS 64u
/* [EBB §In numbers] Arrivals that show that the link is ours, and at which part of C. */
#define EBB_EBB_LONG_TRAIN 12u
#define EBB_EBB_FAST_X100 85u
/* [EBB §In numbers] The link is ours if the excess is above the target by less than this. */
#define EBB_EBB_ALONE_US 3000u
/* [EBB §capacity] Arrivals remembered: a power of 2, and more than the longest train. */
#define EBB_EBB_ARRIVALS 16u
/* [EBB §capacity] Arrivals closer than this count as one (GRO, interrupt batches). */
#define EBB_EBB_ARRIVAL_GAP_US 250u
/* [EBB §thresholds] Thresholds in times of a segment, or ticks; the low one is one of them. */
#define EBB_EBB_TARGET_GRAINS_X2 3u
/* [EBB §short queues] Weight of D, the queue that is full, when another hole is seen. */
#define EBB_EBB_FULL_X4 3u
/* [EBB §short queues] The high threshold is this part of D at the most, or this if it is more. */
#define EBB_EBB_FULL_PART_X10 3u
#define EBB_EBB_SHORT_US 4000u
/* [EBB §short queues] The others are such parts of that. */
#define EBB_EBB_SHORT_TARGET_X10 6u
#define EBB_EBB_SHORT_LOW_X10 4u
/* [EBB §short queues] Others are near for so long after a yield, where D is within these. */
#define EBB_EBB_NEAR_FOR_US 10000000u
#define EBB_EBB_NEAR_LEAST_US 4500u
#define EBB_EBB_NEAR_MOST_US 30000u
/* [EBB §short queues] The thresholds then. */
#define EBB_EBB_NEAR_LOW_US 1000u
#define EBB_EBB_NEAR_TARGET_US 2000u
#define EBB_EBB_NEAR_HIGH_US 3000u
#define EBB_EBB_NEAR_GRAINS_X2 5u
/* [EBB §yield] The link was ours if a round trip carried this part of the BDP. */
#define EBB_EBB_HAD_LINK_X10 7u
/* [EBB §In numbers] A yield within so many RTT of the last is the same. */
#define EBB_EBB_RECENT_RTTS 6u
/* [EBB §slower] After so many yields for nobody, so many retreats come before the next one. */
#define EBB_EBB_VAIN_YIELDS 4u
#define EBB_EBB_VAIN_RETREATS 3u
/* [EBB §yield] The first wait before probing again. */
#define EBB_EBB_HOLD_RTTS 3u
/* [EBB §In numbers] Blindness after a cut ends so many RTT, and some ms, later at the latest. */
#define EBB_EBB_BLIND_RTTS 4u
/* [EBB §yield] While yielding the window falls to a half and to one segment then. */
#define EBB_EBB_PROBE_HALF_AFTER_US 300000u
#define EBB_EBB_PROBE_ONE_AFTER_US 4000000u
/* [EBB §fairness] Remembered saturation must not undo that flows converge: near is below W / 8. */
#define EBB_EBB_FAR_DIVISOR 8u
/* [EBB §bundle] Their steps together are this part of W at the most. */
#define EBB_EBB_STEPS_DIVISOR 64u
/* [EBB §yield] They grow faster after YIELD, until the first queue. */
#define EBB_EBB_RECLAIM_DIVISOR 8u
/* [EBB §thresholds] Half-way to where the link was full, by so many W at the most. */
#define EBB_EBB_RECALL_DIVISOR 2u
#define EBB_EBB_RECALL_WINDOWS 2u
/* [EBB §In numbers] The jump is for W below this part of the BDP, by so many W at the most. */
#define EBB_EBB_JUMP_BELOW_X10 9u
#define EBB_EBB_JUMP_WINDOWS 2u
/* [EBB §In numbers] What stands for the BDP while C is not known. */
#define EBB_EBB_UNKNOWN_BDP_WINDOWS 2u
/* [EBB §thresholds] The square root of 2: growth beyond saturation is by 1, 1.4, 2, 2.8 ... */
#define EBB_EBB_ROOT_OF_2_X128 181u
/* [EBB §base] Queueing delays below this count as an empty queue. */
#define EBB_EBB_EMPTY_US 1000u
/* [EBB §base] A window below this part of the BDP is drained to a segment. */
#define EBB_EBB_SMALL_DIVISOR 2u
/* [EBB §route] Delays are the same within so many segments' time ... */
#define EBB_EBB_CALM_SEGMENTS 8u
/* [EBB §route] ... and within this beyond a tick, over so many round trips at least. */
#define EBB_EBB_CALM_LEAST_US 500u
#define EBB_EBB_CALM_ROUNDS 16u
/* [EBB §route] A round trip that takes so many usual ones and this lost a segment. */
#define EBB_EBB_CALM_LATE_ROUNDS 2u
#define EBB_EBB_CALM_LATE_US 100000u
/* [EBB §domain] A bound on bytes that keeps products within 64 bits. */
#define EBB_EBB_MAX_VIRTUAL_QUEUE_BYTES (1ull << 31)
/* [RFC7323 §2.2] The window of a handshake's segments is not scaled: at most this. */
#define EBB_EBB_UNSCALED_WINDOW_BYTES 65535u
/* [EBB §Taking over] A grant of more than so many windows of ours is older than the law. */
#define EBB_EBB_OLDER_WINDOWS 2u
/* [EBB §Taking over] Waiting for that grant to be used up does not end by time. */
#define EBB_EBB_NEVER_US 0xffffffffffffffffull

/* [EBB §fair queues] A gap is a segment's time if that is so long, else of so many as take this. */
#define EBB_EBB_GAP_LEAST_US 600u
#define EBB_EBB_GAP_US 3000u
/* [EBB §fair queues] A gap may be off by this part of itself without others, and this. */
#define EBB_EBB_BLUR_DIVISOR 16u
#define EBB_EBB_BLUR_US 60u
/* [EBB §bundle] What came on other connections meanwhile may have taken this part more or less. */
#define EBB_EBB_OURS_DIVISOR 64u
/* [EBB §fair queues] Weight of a segment's time by close gaps when another one comes, and how much
 * longer than at C it may be. */
#define EBB_EBB_PACE_X16 15u
#define EBB_EBB_PACE_SLOWER_X16 2u
/* [EBB §In numbers] A gap that is longer by more than this is a silence of the sender. */
#define EBB_EBB_MOST_TIMES 12u
/* [EBB §In numbers] Two segments that follow each other within their time and this part of it. */
#define EBB_EBB_PAIR_DIVISOR 4u
/* [EBB §fair queues] So many gaps with others' segments mean that these have a queue. */
#define EBB_EBB_COMB_GAPS 16u
#define EBB_EBB_COMB_LONG_GAPS 8u
#define EBB_EBB_COMB_ODD_GAPS 1u
/* [EBB §fair queues] Where gaps hide others it takes so many times as many, and once more as many for
 * each comb in vain. */
#define EBB_EBB_COMB_HIDING_TIMES 2u
#define EBB_EBB_VAIN_COMBS 3u
/* [EBB §bundle] Of many connections this part of them is enough. */
#define EBB_EBB_COMB_OF_MANY_DIVISOR 2u
/* [EBB §In numbers] Oddness grows with an odd gap, sinks with an even one, and has a bound; from
 * there on, and in a test from there on, gaps tell nothing. */
#define EBB_EBB_ODD_STEP 4u
#define EBB_EBB_EVEN_STEP 2u
#define EBB_EBB_ODD_MOST 64u
#define EBB_EBB_ODD_TEST 32u
#define EBB_EBB_ODD_COMB 8u
/* [EBB §fair queues] The gaps of a test's train, how many of them tell of others, and for how long
 * it is waited for. */
#define EBB_EBB_TEST_GAPS 10u
#define EBB_EBB_TEST_LONG_GAPS 6u
#define EBB_EBB_TEST_WIDE_GAPS 2u
#define EBB_EBB_TEST_ROUNDS 5u
/* [EBB §fair queues] The longest time between tests, up to twice that: by a hash of the sequence
 * number (Fibonacci's), of which so many bits are left out, so that flows of ours do not test at
 * once. */
#define EBB_EBB_UNSEEN_HOLD_US 500000u
#define EBB_EBB_SPREAD 2654435761u
#define EBB_EBB_SPREAD_SHIFT 25u
/* [EBB §In numbers] A test without close gaps is so many doubts of C, or one if it had a pair; with
 * so many C is what it shows. */
#define EBB_EBB_DOUBT_STEP 8u
#define EBB_EBB_DOUBTS 96u
/* [EBB §fair queues] So many close gaps make C sure, until it is faster by this part. */
#define EBB_EBB_SURE_GAPS 32u
#define EBB_EBB_SURE_DIVISOR 8u
/* [EBB §fair queues] So many other gaps alike, within this part of their mean, are the link's. */
#define EBB_EBB_EVEN_GAPS 32u
#define EBB_EBB_EVEN_DIVISOR 16u

struct ebb_ebb_arrival {
	u32 at_us;          /* arrival time, low 32 bits */
	u32 sent_us;        /* when it would have come without a queue, low 32 bits */
	u32 received_bytes; /* everything received up to and with it, low 32 bits */
};

/* What a connection knows of the bundle that it is one of; zero while it is none's. See bundle.h. */
struct ebb_ebb_member {
	u64 turn_x1024;    /* its turn, if it waits for one */
	u32 number;        /* who it is; 0: none's yet */
	u32 count;         /* the count in which it was heard last */
	u32 given_bytes;   /* its window when that began */
	u32 used_bytes;    /* what it brought in a round trip of the one before */
	u32 bytes;         /* what it brought in that */
	u32 waiting_bytes; /* a segment of each connection */
	u32 stalled_bytes; /* the same while senders may wait for their timers, else 0 */
	u32 part_bytes;    /* its window, where it is not the bundle's; else 0 */
	u32 most_queue_us; /* the bundle's longest queue lately; 0 for a single connection */
	u32 wait_us;       /* asks again after so long: the window is closed until then */
	u32 wake;          /* of the bundle's, when it was heard last with a segment for all */
	u32 lowered_us;    /* by so much its base is lower for what others knew of a queue */
	u32 round;         /* the bundle's in which it was heard last */
	u32 least_us;      /* its least q in that */
	u32 above_us;      /* by so much that was above all others' at the least */
	u32 above_rounds;  /* over so many round trips */
	u8 is_modest;      /* does not use what it is given */
	u8 is_waiting;     /* for its turn */
	u8 has_turn;       /* may send a segment */
	u8 is_promised;    /* that is not an older window */
	u8 is_with;        /* the segment under way is judged with the others' */
	u8 is_fresh;       /* no delay was known before it */
	u8 can_park;       /* the host can close a window and open it again */
};

struct ebb_ebb_state {
	EBB_MOVES_MEMBERS

	struct ebb_clock clock;

	/* What the path looks like. */
	u32 least_rtt_us[2]; /* RTT that two agree on, of this base window and the last */
	u32 lowest_rtt_us;   /* the least of this one */
	u32 second_us;       /* the second least delay of this one, and RTT */
	u32 second_rtt_us;
	u32 segment_us;          /* time that a segment takes at C */
	u64 virtual_queue_bytes; /* own segments queued if we were alone */
	u64 virtual_queue_at_us; /* sender's clock when that was brought up to date */
	u32 excess_us;           /* e: the part of q that our bursts do not explain */

	/* The last arrivals, for trains: C is the rate of the fastest. */
	struct ebb_ebb_arrival arrivals[EBB_EBB_ARRIVALS];
	u32 arrival_count;
	u32 arrival_since_us; /* when the last one began, low 32 bits */
	u32 late_at_us;       /* when a segment came last that was late, low 32 bits */
	u32 run_arrivals;     /* that came at about the same pace, the last among them */
	u32 run_gap_us;       /* mean time from one of these to the next */
	u32 received_bytes;

	/* The round trip under way ends with a segment that echoes a later timestamp than this;
	 * without timestamps, with one beyond its right edge. */
	u32 round_local_ts;
	u32 round_excess_us;        /* greatest e */
	u32 round_rtt_us;           /* least round-trip time */
	u64 round_rate_bytes_per_s; /* fastest long train */

	/* The look at the queue under way. */
	u64 look_since_us;
	u32 look_segments;
	u32 look_excess_us; /* least e */

	u64 hole_since_us; /* when the hole at hole_seq was seen first; 0: none */
	u32 hole_seq;
	u32 hole_queue_us; /* queue then */
	u32 low_us;        /* thresholds for the segment under way */
	u32 target_us;
	u32 high_us;
	u32 full_us; /* D: what that was at holes that stayed open, on average; 0: none */

	/* Whether the delay in YIELD has been the same, and what it was taken for before. */
	u64 calm_since_us;
	u32 calm_least_us; /* shortest and longest round trip since then */
	u32 calm_most_us;
	u32 calm_rounds;   /* round trips since then; 0: none */
	u32 trial_base_us; /* base before a longer route was tried; EBB_MOVES_NO_DELAY: none is */
	u32 trial_rtt_us;

	/* Gaps between segments that waited in one queue: the one under way, and those that came. */
	u32 gap_since_us; /* arrival times, low 32 bits: its start, and the last segment */
	u32 gap_last_us;
	u32 gap_bytes;
	u32 gap_received_bytes; /* by all connections, when it began */
	u32 gap_seq;            /* where the next segment begins */
	u32 gap_tsval;
	u32 pace_us_x16; /* time of a segment by close gaps, on average */
	u32 wide_gaps;   /* with room for segments of others */
	u32 wide_times;  /* how many times as long as without, all of them */
	u32 close_gaps;  /* one segment right behind the other */
	u32 odd_gaps;    /* neither */
	u32 oddness;     /* how many gaps are odd on this path, lately */
	u32 doubts;      /* of C: no test had close gaps */
	u32 sure_gaps;   /* close ones at this C, up to as many as make it sure */
	u32 even_gaps;   /* others that are alike, in a row */
	u32 even_us_x16; /* time of a segment by these, on average */

	/* A test in YIELD whether others are there whom no queue shows: its train. */
	u32 test_seq;
	u32 test_bytes;
	u32 test_rounds;
	u32 tester; /* the number of the connection that it is on */

	u8 is_unseen;  /* we yield to others who have a queue of their own */
	u8 is_testing; /* a train was asked for, to see whether they are still there */
	u8 has_pair;   /* two segments came one right behind the other */

	u8 is_begun;    /* a segment has arrived */
	u8 is_steady;   /* a steady run of arrivals was seen */
	u8 is_near;     /* others that we yielded to may still be there */
	u8 has_lost;    /* the hole stayed open: its queue is part of full_us */
	u8 is_awaiting; /* blind until a window older than the law is used up */
	u8 has_met;     /* others, in the last yield */
	u8 has_jumped;  /* since then */
	u8 vain_yields; /* in a row: nobody was met, and the link was ours at once */
	u8 retreats;    /* in a row, where there would have been yields */
	u8 hides_gaps;  /* a gap was that of two segments, and may hide one between them */
	u8 vain_combs;  /* of such gaps, in a row: no test found others between our segments */

	struct ebb_ebb_member member;
};

#endif /* EBB_EBB_STATE_H */
