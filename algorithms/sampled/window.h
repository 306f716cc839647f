/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sampled law's moves: yield, retreat, shrink, drain, grow. See sampled.h.
 */
#ifndef EBB_SAMPLED_WINDOW_H
#define EBB_SAMPLED_WINDOW_H

#include "sampled/path.h"

/* ---- helpers: rounds ---- */

/* Nothing is judged until a segment arrives that the new window allowed. */
EBB_INLINE void ebb_sampled_go_blind(struct ebb_sampled_state *s, const struct ebb_segment *segment)
{
	ebb_moves_stop_growing(&s->moves, segment, EBB_SAMPLED_BLIND_RTTS);
	s->is_draining = 0;
}

/* By a segment beyond the right edge of its start, or by time where nobody gets there. */
EBB_INLINE u8 ebb_sampled_is_round_over(const struct ebb_sampled_state *s,
					const struct ebb_segment *segment, u32 end_seq)
{
	u64 elapsed_us = segment->now_us - s->round_since_us;
	u64 rtt_us = ebb_max(s->rtt_us, EBB_SAMPLED_LEAST_ROUND_US);

	if (ebb_before32(s->round_edge_seq, end_seq))
		return 1;
	return elapsed_us > rtt_us + rtt_us / EBB_SAMPLED_LATE_DIVISOR;
}

/* ---- helpers: the answers ---- */

EBB_INLINE u32 ebb_sampled_probe_bytes(const struct ebb_sampled_state *s,
				       const struct ebb_sampled_params *p, u64 now_us)
{
	u8 is_long =
		s->is_yielding && now_us - s->yield_since_us >= EBB_SAMPLED_PROBE_HALF_AFTER_US;

	return ebb_moves_segments(&s->moves,
				  is_long ? ebb_max(p->probe_segments / EBB_MOVES_PROBE_DIVISOR, 1)
					  : p->probe_segments);
}

/* Others want the link: give it all if we had it, else a share of the excess. */
EBB_INLINE void ebb_sampled_yield(struct ebb_sampled_state *s, const struct ebb_segment *segment,
				  const struct ebb_sampled_params *p, u64 foreign_us)
{
	u32 base_us = (u32)ebb_min(ebb_moves_base_us(&s->moves), EBB_MOVES_MAX_RTT_US);
	u64 hold_us = ebb_min((u64)base_us * EBB_SAMPLED_HOLD_RTTS, p->hold_max_us);
	u64 window_bytes = ebb_min(s->rwnd_bytes, s->last_rwnd_bytes);
	u64 least_bytes = ebb_moves_segments(&s->moves, p->probe_segments);
	u64 over_us = ebb_sub_floor(foreign_us, ebb_sampled_target_us(s, p));
	u8 had_link = (u64)s->last_round_bytes * EBB_ONE_X10 >
		      ebb_sampled_bdp_bytes(s) * EBB_SAMPLED_HAD_LINK_X10;

	s->saturation_bytes = ebb_moves_saturation_bytes(window_bytes, s->saturation_bytes);
	window_bytes =
		ebb_moves_yield_bytes(window_bytes, over_us, p->span_us, least_bytes, had_link);
	ebb_moves_set_window(&s->moves, window_bytes);
	if (window_bytes == least_bytes)
		ebb_moves_enter_yield(&s->moves, segment->now_us, base_us, (u32)hold_us,
				      p->hold_max_us);
	ebb_sampled_go_blind(s, segment);
}

/*
 * We overshot ourselves: back to what the link and the target hold. Who is paced goes on
 * adding to the queue until it has sent less than the link carries for a round trip.
 */
EBB_INLINE void ebb_sampled_retreat(struct ebb_sampled_state *s, const struct ebb_segment *segment,
				    const struct ebb_sampled_params *p, u32 queue_us)
{
	u32 base_us = ebb_moves_base_us(&s->moves);
	u64 over_us = ebb_sub_floor(queue_us, ebb_sampled_target_us(s, p));
	u64 window_bytes = ebb_moves_retreat_bytes(s->rwnd_bytes, base_us, over_us);
	u64 full_bytes = ebb_min(s->rwnd_bytes, ebb_sampled_bdp_bytes(s) / EBB_ONE_X32 *
							EBB_SAMPLED_PACED_FULL_X32);

	if (s->is_mean)
		window_bytes = ebb_sub_floor(full_bytes,
					     ebb_moves_bytes_in(s->capacity_bytes_per_s, queue_us));
	ebb_moves_set_window(&s->moves, ebb_max(ebb_min(s->rwnd_bytes, window_bytes),
						ebb_moves_segments(&s->moves, p->probe_segments)));
	s->saturation_bytes = s->is_mean ? (u32)full_bytes : s->rwnd_bytes;
	s->restore_bytes = (u32)full_bytes;
	if (s->is_mean && segment->now_us >= s->own_until_us)
		s->own_until_us = segment->now_us + (u64)base_us * EBB_SAMPLED_PACED_OWN_RTTS;
	ebb_sampled_go_blind(s, segment);
	s->is_draining = s->is_mean;
}

/*
 * The queue that counts. Where our own window has filled the path for a round trip, what
 * waits is a standing queue: the latest two looks count. Below that our segments come in flights that
 * queue behind one another: what the least of a round trip shows is not ours.
 */
EBB_INLINE u32 ebb_sampled_foreign_us(const struct ebb_sampled_state *s, u8 is_over)
{
	u64 least_bytes = ebb_min(s->rwnd_bytes, s->last_rwnd_bytes);
	u64 bdp_bytes = ebb_sampled_bdp_bytes(s);

	if (s->is_mean)
		return s->queue_us;
	if (bdp_bytes && least_bytes * EBB_ONE_X16 >= bdp_bytes * EBB_SAMPLED_FILLED_X16)
		return (u32)ebb_min(s->queue_us, s->last_queue_us);
	return is_over && s->round_queue_us != EBB_MOVES_NO_DELAY ? s->round_queue_us : 0;
}

/* What came of late is all that the link carries: nobody else's segments were among ours. */
EBB_INLINE u8 ebb_sampled_has_link(const struct ebb_sampled_state *s)
{
	u64 rate_bytes_per_s = ebb_sampled_rate_between(s, 0, EBB_SAMPLED_OWN_LOOKS);

	return !s->is_mean && !s->is_starting && s->capacity_bytes_per_s &&
	       rate_bytes_per_s * EBB_ONE_X16 >= s->capacity_bytes_per_s * EBB_SAMPLED_HAS_LINK_X16;
}

/* Judges a look; answers 1 if it led to a cut. */
EBB_INLINE u8 ebb_sampled_judge(struct ebb_sampled_state *s, const struct ebb_segment *segment,
				const struct ebb_sampled_params *p, u8 is_over)
{
	u32 high_us = ebb_moves_high_us(p->high_us, ebb_sampled_grain_us(s));
	u64 grown_bytes = ebb_sub_floor(s->rwnd_bytes, s->last_rwnd_bytes);
	u64 own_bytes = grown_bytes * (s->is_mean ? EBB_SAMPLED_PACED_GROWN : 1);
	u64 grown_us = ebb_moves_time_us(s->capacity_bytes_per_s, own_bytes);
	u32 own_us = (u32)ebb_min(grown_us, EBB_MOVES_MAX_RTT_US);
	u32 queue_us = ebb_sampled_foreign_us(s, is_over);

	if (s->is_yielding || queue_us <= high_us || ebb_sampled_has_link(s))
		return 0;
	if (queue_us > high_us + own_us && segment->now_us >= s->own_until_us)
		ebb_sampled_yield(s, segment, p, ebb_sub_floor(queue_us, own_us));
	else
		ebb_sampled_retreat(s, segment, p, queue_us);
	return 1;
}

/* Towards the window at which the link was full last. */
EBB_INLINE u64 ebb_sampled_recall_bytes(const struct ebb_sampled_state *s)
{
	u64 missing_bytes = s->saturation_bytes - s->rwnd_bytes;
	u32 part_x4 = s->is_reclaiming ? EBB_SAMPLED_RECLAIM_X4 : EBB_SAMPLED_RECALL_X4;

	return ebb_max(ebb_min(s->rwnd_bytes, missing_bytes * part_x4 / EBB_ONE_X4), s->mss_bytes);
}

/* Beyond it: larger steps with every round trip, a part of what is known at the most. */
EBB_INLINE u64 ebb_sampled_step_bytes(const struct ebb_sampled_state *s, u64 bdp_bytes)
{
	u64 growth_bytes = ebb_moves_step_bytes(s->mss_bytes, s->clear_rounds);
	u8 has_been_full = bdp_bytes || s->saturation_bytes;
	u64 known_bytes = bdp_bytes ? bdp_bytes : s->rwnd_bytes;
	u64 most_bytes = known_bytes /
			 (has_been_full ? EBB_MOVES_GROWTH_DIVISOR : EBB_SAMPLED_PACED_DIVISOR);

	return ebb_min(growth_bytes, ebb_max(most_bytes, s->mss_bytes));
}

/* How much the window may grow in the next round trip, with no queue to speak of. */
EBB_INLINE u64 ebb_sampled_growth_bytes(struct ebb_sampled_state *s,
					const struct ebb_sampled_params *p)
{
	u64 window_bytes = s->rwnd_bytes, bdp_bytes = ebb_sampled_bdp_bytes(s);
	u64 cap_us = (u64)ebb_moves_base_us(&s->moves) + ebb_sampled_target_us(s, p);
	u64 cap_bytes = ebb_moves_bytes_in(s->fastest_bytes_per_s, cap_us);
	u64 room_bytes;

	/* Who is paced never hears of more than its pace: only a queue tells the capacity. */
	if (s->is_mean)
		bdp_bytes = 0;
	cap_bytes = bdp_bytes ? ebb_max(cap_bytes,
					ebb_moves_segments(&s->moves, EBB_MOVES_CAP_SEGMENTS))
			      : EBB_MOVES_MAX_WINDOW_BYTES;
	room_bytes = ebb_sub_floor(cap_bytes, window_bytes);
	if (!ebb_moves_is_used(s->round_bytes, s->mss_bytes, s->round_rwnd_bytes))
		return 0;
	if (s->is_starting)
		return ebb_min(window_bytes / (s->is_mean ? EBB_SAMPLED_PACED_START_DIVISOR : 1),
			       room_bytes);
	if (window_bytes < s->saturation_bytes)
		return ebb_sampled_recall_bytes(s);
	if (bdp_bytes && window_bytes >= bdp_bytes)
		return ebb_min(s->mss_bytes, room_bytes);
	return ebb_min(ebb_sampled_step_bytes(s, bdp_bytes), room_bytes);
}

/* The queue is above the target: take back what makes it. */
EBB_INLINE void ebb_sampled_shrink(struct ebb_sampled_state *s, const struct ebb_segment *segment,
				   const struct ebb_sampled_params *p)
{
	u64 near_bytes = ebb_moves_near_bytes(s->round_bytes, s->mss_bytes);
	u64 window_bytes = ebb_min(s->rwnd_bytes, near_bytes);
	u64 over_us = s->round_queue_us - ebb_sampled_target_us(s, p);

	window_bytes = ebb_moves_shrink_bytes(window_bytes, over_us, ebb_moves_base_us(&s->moves),
					      EBB_SAMPLED_SHRINK_DIVISOR);
	s->saturation_bytes = ebb_moves_saturation_bytes(s->rwnd_bytes, s->saturation_bytes);
	ebb_moves_set_window(&s->moves, window_bytes);
	ebb_sampled_go_blind(s, segment);
}

/* No empty queue for long: let it drain, so that the least RTT is measured anew. */
EBB_INLINE u8 ebb_sampled_drain(struct ebb_sampled_state *s, const struct ebb_segment *segment,
				const struct ebb_sampled_params *p)
{
	if (segment->now_us - s->last_empty_us < p->empty_within_us)
		return 0;
	s->restore_bytes = s->rwnd_bytes;
	s->last_empty_us = segment->now_us;
	ebb_moves_set_window(&s->moves, ebb_moves_drain_bytes(s->rwnd_bytes));
	ebb_sampled_go_blind(s, segment);
	s->is_draining = 1;
	return 1;
}

#endif /* EBB_SAMPLED_WINDOW_H */
