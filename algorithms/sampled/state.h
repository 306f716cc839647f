/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sampled law's parameters, constants and state for one connection, and what it makes
 * of a look at the host's numbers. See sampled.h.
 */
#ifndef EBB_SAMPLED_STATE_H
#define EBB_SAMPLED_STATE_H

#include "receiver_contract.h"
#include "moves.h"

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
/* [SAMPLED §standstills] Who had the link is told by the last of them. */
#define EBB_SAMPLED_OWN_LOOKS 3u
/* [SAMPLED §echoes] The host's estimate rises by 1/8 with each echo: weights of what was. */
#define EBB_SAMPLED_SETTLED_ECHOES 12u
/* [EBB §yield] While yielding the window falls to a half then. */
#define EBB_SAMPLED_PROBE_HALF_AFTER_US 4000000u
/* [SAMPLED §pace] Growth, as a part of the window, where no more than the pace can be seen. */
#define EBB_SAMPLED_PACED_DIVISOR 8u
/* [EBB §fairness] Least part of the window that a queue above the target takes: ebb's. */
#define EBB_SAMPLED_SHRINK_DIVISOR 16u
/* [SAMPLED §pairs] Thresholds of who is paced, in segments' times, are this part of sampled's. */
#define EBB_SAMPLED_PACED_GRAIN_DIVISOR 2u
/* [EBB §base] Queueing delays below this count as an empty queue. */
#define EBB_SAMPLED_EMPTY_US 1500u

struct ebb_sampled_look {
	u32 at_us;          /* low 32 bits */
	u32 received_bytes; /* everything up to then, low 32 bits */
};

struct ebb_sampled_state {
	u32 rwnd_bytes; /* the answer: W */
	u32 mss_bytes;

	/* What has come since the last look. */
	u64 look_at_us;
	u32 look_bytes;
	u32 look_segments;
	u32 received_bytes;
	u32 look_count;
	struct ebb_sampled_look looks[EBB_SAMPLED_LOOKS];

	/* What the path looks like. */
	u64 capacity_bytes_per_s; /* C */
	u64 fastest_bytes_per_s;  /* never less, but for standstills C */
	u64 base_since_us;
	u64 last_empty_us;
	u32 base_us[2];       /* least RTT in this base window and the last */
	u32 estimate_us;      /* the host's estimate at the last look; 0: none yet */
	u32 rtt_us;           /* the same without the host's smoothing */
	u32 queue_us;         /* q: rtt less the least */
	u32 last_queue_us;    /* q at the look before */
	u32 longest_queue_us; /* ever seen */

	/* The round trip under way. */
	u64 round_since_us;
	u32 round_edge_seq;
	u32 round_bytes;
	u32 round_queue_us;   /* least q */
	u32 round_rwnd_bytes; /* W at its start */
	u32 last_rwnd_bytes;  /* W1: W one round trip earlier */
	u32 last_round_bytes;
	u32 growth_bytes; /* what W shall grow by in this round trip */
	u32 growth_left_bytes;

	/* After a cut, until its effect is seen. */
	u64 blind_until_us;
	u32 blind_edge_seq;

	u32 saturation_bytes; /* W at which the link was full last; 0: not known */
	u64 yield_since_us;
	u64 hold_until_us;
	u64 own_until_us;  /* paced: the queue up to then is that of our own overshoot */
	u64 loss_until_us; /* losses up to then belong to the last one */
	u32 hold_us;
	u32 clear_rounds;  /* round trips without a queue in a row */
	u32 restore_bytes; /* W before draining */

	u8 is_round_open;
	u8 is_blind;
	u8 is_draining;
	u8 is_yielding;
	u8 has_yielded;
	u8 is_starting;   /* doubling from the first window */
	u8 is_reclaiming; /* just out of YIELD */
	u8 has_hole;      /* a segment came out of order since the last look */
	u8 has_looked;
	u8 is_mean; /* the host's estimate is a mean: it falls as slowly as it rises */
	u8 reserved[6];
};

/* ---- helpers: window and path ---- */

EBB_INLINE u32 ebb_sampled_segments(const struct ebb_sampled_state *s, u64 segments)
{
	return (u32)(s->mss_bytes * segments);
}

EBB_INLINE void ebb_sampled_set_window(struct ebb_sampled_state *s, u64 bytes)
{
	s->rwnd_bytes = ebb_moves_window_bytes(bytes, s->mss_bytes);
}

EBB_INLINE u32 ebb_sampled_base_us(const struct ebb_sampled_state *s)
{
	return (u32)ebb_min(s->base_us[0], s->base_us[1]);
}

EBB_INLINE u64 ebb_sampled_bytes_in(const struct ebb_sampled_state *s, u64 time_us)
{
	return ebb_moves_bytes_in(s->capacity_bytes_per_s, time_us);
}

EBB_INLINE u64 ebb_sampled_time_us(const struct ebb_sampled_state *s, u64 bytes)
{
	return ebb_moves_time_us(s->capacity_bytes_per_s, bytes);
}

/* 0 while the path is not known. */
EBB_INLINE u64 ebb_sampled_bdp_bytes(const struct ebb_sampled_state *s)
{
	u32 base_us = ebb_sampled_base_us(s);

	return base_us == EBB_MOVES_NO_DELAY ? 0 : ebb_sampled_bytes_in(s, base_us);
}

/* The time that the link needs for a segment; too long where its capacity is not known. */
EBB_INLINE u32 ebb_sampled_segment_us(const struct ebb_sampled_state *s)
{
	return (u32)ebb_min(ebb_sampled_time_us(s, s->mss_bytes), EBB_MOVES_MAX_SEGMENT_US);
}

/*
 * A queue below a few segments' time cannot be told from none. Who is paced has fewer of its
 * own behind one another, and often does not know how fast the link is: half of that time.
 */
EBB_INLINE u32 ebb_sampled_grain_us(const struct ebb_sampled_state *s)
{
	return ebb_sampled_segment_us(s) / (s->is_mean ? EBB_SAMPLED_PACED_GRAIN_DIVISOR : 1);
}

EBB_INLINE u32 ebb_sampled_low_us(const struct ebb_sampled_state *s,
				  const struct ebb_sampled_params *p)
{
	return (u32)ebb_max(p->low_us, (u64)ebb_sampled_grain_us(s) * 3 / 2);
}

EBB_INLINE u32 ebb_sampled_target_us(const struct ebb_sampled_state *s,
				     const struct ebb_sampled_params *p)
{
	return (u32)ebb_max(p->target_us, 2 * ebb_sampled_grain_us(s));
}

EBB_INLINE u32 ebb_sampled_high_us(const struct ebb_sampled_state *s,
				   const struct ebb_sampled_params *p)
{
	return (u32)ebb_max(p->high_us, 4 * ebb_sampled_grain_us(s));
}

/* ---- helpers: what a look tells ---- */

/* (7/8)^n, in 1/1024: what is left of an old estimate after so many echoes. */
EBB_INLINE u32 ebb_sampled_left_x1024(u32 echoes)
{
	u32 left_x1024 = 1024, i;

	for (i = 0; i < EBB_SAMPLED_SETTLED_ECHOES; i++)
		left_x1024 -= i < echoes ? left_x1024 / 8 : 0;
	return left_x1024;
}

/*
 * The host's estimate falls at once and rises by 1/8 of the distance with each echo. A rise
 * is as if each segment had brought an echo, which errs to the low side.
 */
EBB_INLINE u32 ebb_sampled_undo_us(const struct ebb_sampled_state *s, u32 estimate_us)
{
	u32 left_x1024 = ebb_sampled_left_x1024(s->look_segments);
	u64 rise_us, fall_us;

	if (!s->estimate_us || left_x1024 >= 1024)
		return estimate_us;
	if (estimate_us <= s->estimate_us) {
		fall_us = (u64)(s->estimate_us - estimate_us) * 1024 / (1024 - left_x1024);
		return s->is_mean ? (u32)ebb_max(ebb_sub_floor(s->estimate_us, fall_us), 1)
				  : estimate_us;
	}
	rise_us = (u64)(estimate_us - s->estimate_us) * 1024 / (1024 - left_x1024);
	return (u32)ebb_min(s->estimate_us + rise_us, EBB_MOVES_MAX_RTT_US);
}

/*
 * Linux paces segments in pairs, and a pair is acknowledged when the second of them is there:
 * that much later than the least round trip, which may be a lone segment's. At the start the
 * capacity is not known, and the first window leaves at once: its own pace has to do.
 */
EBB_INLINE u32 ebb_sampled_late_us(const struct ebb_sampled_state *s)
{
	u64 window_bytes = ebb_min(s->rwnd_bytes, s->last_rwnd_bytes);

	if (!s->is_mean)
		return 0;
	return s->is_starting ? (u32)ebb_div((u64)s->rtt_us * s->mss_bytes, window_bytes, 0)
			      : ebb_sampled_segment_us(s);
}

/* A round trip that was measured, not smoothed. */
EBB_INLINE void ebb_sampled_take_least(struct ebb_sampled_state *s, u32 rtt_us)
{
	u32 least_us = (u32)ebb_min(rtt_us, EBB_MOVES_MAX_RTT_US);

	if (rtt_us)
		s->base_us[0] = (u32)ebb_min(s->base_us[0], least_us);
}

/* The least RTT of one to two base windows. */
EBB_INLINE void ebb_sampled_take_rtt(struct ebb_sampled_state *s, u64 now_us, u32 estimate_us,
				     const struct ebb_sampled_params *p)
{
	u64 window_us = ebb_moves_base_window_us(p->base_window_us, s->is_yielding);
	u32 least_us;
	u64 empty_us;

	estimate_us = (u32)ebb_clamp(estimate_us, 1, EBB_MOVES_MAX_RTT_US);
	s->last_queue_us = s->queue_us;
	s->rtt_us = ebb_sampled_undo_us(s, estimate_us);
	s->estimate_us = estimate_us;
	if (now_us - s->base_since_us > window_us) {
		s->base_us[1] = s->base_us[0];
		s->base_us[0] = EBB_MOVES_NO_DELAY;
		s->base_since_us = now_us;
	}
	s->base_us[0] = (u32)ebb_min(s->base_us[0], estimate_us);
	empty_us = ebb_sampled_base_us(s) + ebb_sampled_late_us(s);
	least_us = (u32)ebb_sub_floor(s->is_mean ? s->rtt_us : estimate_us, empty_us);
	s->queue_us = (u32)ebb_sub_floor(s->rtt_us, empty_us);
	s->longest_queue_us = (u32)ebb_max(s->longest_queue_us, s->queue_us);
	s->round_queue_us = (u32)ebb_min(s->round_queue_us, least_us);
	if (least_us < EBB_SAMPLED_EMPTY_US)
		s->last_empty_us = now_us;
}

/* What came between two looks, counted back from the latest; 0: there were not so many. */
EBB_INLINE u64 ebb_sampled_rate_between(const struct ebb_sampled_state *s, u32 later, u32 earlier)
{
	u32 end_at = (s->look_count - later) & (EBB_SAMPLED_LOOKS - 1);
	u32 begin_at = (s->look_count - earlier) & (EBB_SAMPLED_LOOKS - 1);
	const struct ebb_sampled_look *end = &s->looks[end_at];
	const struct ebb_sampled_look *begin = &s->looks[begin_at];
	u64 bytes = end->received_bytes - begin->received_bytes;

	if (s->look_count <= earlier)
		return 0;
	return ebb_min(ebb_div(bytes * 1000000, end->at_us - begin->at_us, 0),
		       EBB_MOVES_MAX_CAPACITY_BYTES_PER_S);
}

/*
 * The fastest of several looks in a row may be what a standstill kept back: the link carries
 * what came no slower before.
 */
EBB_INLINE void ebb_sampled_take_rate(struct ebb_sampled_state *s, u64 now_us)
{
	struct ebb_sampled_look *look;
	u64 fastest_bytes_per_s, sure_bytes_per_s;

	s->look_count++;
	look = &s->looks[s->look_count & (EBB_SAMPLED_LOOKS - 1)];
	look->at_us = (u32)now_us;
	look->received_bytes = s->received_bytes;
	fastest_bytes_per_s = ebb_sampled_rate_between(s, 0, EBB_SAMPLED_RATE_LOOKS);
	sure_bytes_per_s =
		ebb_min(ebb_sampled_rate_between(s, 0, EBB_SAMPLED_OWN_LOOKS),
			ebb_sampled_rate_between(s, EBB_SAMPLED_OWN_LOOKS, EBB_SAMPLED_LOOKS - 1));
	s->fastest_bytes_per_s = ebb_max(s->fastest_bytes_per_s, fastest_bytes_per_s);
	s->capacity_bytes_per_s = ebb_max(s->capacity_bytes_per_s, sure_bytes_per_s);
}

#endif /* EBB_SAMPLED_STATE_H */
