/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the sampled law makes of a look at the host's numbers: capacity, round-trip time and
 * queueing delay. See sampled.h.
 */
#ifndef EBB_SAMPLED_PATH_H
#define EBB_SAMPLED_PATH_H

#include "sampled/state.h"

/* ---- helpers: window and path ---- */

/* 0 while the path is not known. */
EBB_INLINE u64 ebb_sampled_bdp_bytes(const struct ebb_sampled_state *s)
{
	u32 base_us = ebb_moves_base_us(&s->moves);

	return base_us == EBB_MOVES_NO_DELAY ? 0
					     : ebb_moves_bytes_in(s->capacity_bytes_per_s, base_us);
}

/* The time that the link needs for a segment; too long where its capacity is not known. */
EBB_INLINE u32 ebb_sampled_segment_us(const struct ebb_sampled_state *s)
{
	return (u32)ebb_min(ebb_moves_time_us(s->capacity_bytes_per_s, s->mss_bytes),
			    EBB_MOVES_MAX_SEGMENT_US);
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
	return (u32)ebb_max(p->low_us,
			    (u64)ebb_sampled_grain_us(s) * EBB_SAMPLED_LOW_GRAINS_X2 / EBB_ONE_X2);
}

EBB_INLINE u32 ebb_sampled_target_us(const struct ebb_sampled_state *s,
				     const struct ebb_sampled_params *p)
{
	return (u32)ebb_max(p->target_us, ebb_sampled_grain_us(s) * EBB_SAMPLED_TARGET_GRAINS);
}

/* ---- helpers: what a look tells ---- */

/* (7/8)^n, in 1/1024: what is left of an old estimate after so many echoes. */
EBB_INLINE u32 ebb_sampled_left_x1024(u32 echoes)
{
	u32 left_x1024 = EBB_ONE_X1024, i;

	for (i = 0; i < EBB_SAMPLED_SETTLED_ECHOES; i++)
		left_x1024 -= i < echoes ? left_x1024 / EBB_SAMPLED_ECHO_DIVISOR : 0;
	return left_x1024;
}

/*
 * The host's estimate falls at once and rises by 1/8 of the distance with each echo. A rise
 * is as if each segment had brought an echo, which errs to the low side.
 */
EBB_INLINE u32 ebb_sampled_undo_us(const struct ebb_sampled_state *s, u32 estimate_us)
{
	u32 gone_x1024 = EBB_ONE_X1024 - ebb_sampled_left_x1024(s->look_segments);
	u64 rise_us, fall_us;

	if (!s->estimate_us || !gone_x1024)
		return estimate_us;
	if (estimate_us <= s->estimate_us) {
		fall_us = (u64)(s->estimate_us - estimate_us) * EBB_ONE_X1024 / gone_x1024;
		return s->is_mean ? (u32)ebb_max(ebb_sub_floor(s->estimate_us, fall_us), 1)
				  : estimate_us;
	}
	rise_us = (u64)(estimate_us - s->estimate_us) * EBB_ONE_X1024 / gone_x1024;
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
	u32 least_us;
	u64 empty_us;

	estimate_us = (u32)ebb_clamp(estimate_us, 1, EBB_MOVES_MAX_RTT_US);
	s->last_queue_us = s->queue_us;
	s->rtt_us = ebb_sampled_undo_us(s, estimate_us);
	s->estimate_us = estimate_us;
	ebb_moves_age_base(&s->moves, now_us, p->base_window_us);
	s->base_us[0] = (u32)ebb_min(s->base_us[0], estimate_us);
	empty_us = ebb_moves_base_us(&s->moves) + ebb_sampled_late_us(s);
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
	return ebb_min(ebb_div(bytes * EBB_US_PER_S, end->at_us - begin->at_us, 0),
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

#endif /* EBB_SAMPLED_PATH_H */
