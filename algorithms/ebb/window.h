/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ebb law's moves: yield, retreat, shrink, drain, grow. See ebb.h.
 */
#ifndef EBB_EBB_WINDOW_H
#define EBB_EBB_WINDOW_H

#include "ebb/path.h"

/* ---- helpers: rounds ---- */

EBB_INLINE void ebb_ebb_begin_look(struct ebb_ebb_state *s, u64 now_us)
{
	s->look_since_us = now_us;
	s->look_segments = 0;
	s->look_excess_us = EBB_MOVES_NO_DELAY;
}

EBB_INLINE void ebb_ebb_begin_round(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	ebb_moves_begin_round(&s->moves, segment);
	s->round_local_ts = segment->local_ts;
	s->round_excess_us = 0;
	s->round_rtt_us = EBB_MOVES_NO_DELAY;
	s->round_rate_bytes_per_s = 0;
	ebb_ebb_begin_look(s, segment->now_us);
}

EBB_INLINE u8 ebb_ebb_is_round_over(const struct ebb_ebb_state *s,
				    const struct ebb_segment *segment)
{
	u32 end_seq = segment->seq + segment->payload_bytes;

	if (segment->has_timestamps)
		return ebb_before32(s->round_local_ts, segment->tsecr);
	return ebb_before32(s->round_edge_seq, end_seq);
}

/* ---- helpers: the answers ---- */

EBB_INLINE u32 ebb_ebb_probe_bytes(const struct ebb_ebb_state *s, const struct ebb_ebb_params *p,
				   u64 now_us)
{
	u64 since_us = s->is_yielding ? now_us - s->yield_since_us : 0;

	if (since_us >= EBB_EBB_PROBE_ONE_AFTER_US)
		return ebb_moves_segments(&s->moves, 1);
	if (since_us >= EBB_EBB_PROBE_HALF_AFTER_US)
		return ebb_moves_segments(&s->moves,
					  ebb_max(p->probe_segments / EBB_MOVES_PROBE_DIVISOR, 1));
	return ebb_moves_segments(&s->moves, p->probe_segments);
}

/* The last yield was for nobody, if nobody was met and the link was ours at once. */
EBB_INLINE void ebb_ebb_count_vain_yield(struct ebb_ebb_state *s)
{
	u32 vain_yields = s->has_jumped && !s->has_met ? s->vain_yields + 1u : 0;

	s->vain_yields = (u8)ebb_min(vain_yields, EBB_EBB_VAIN_YIELDS);
	s->retreats = 0;
	s->has_jumped = 0;
	s->has_met = 0;
}

EBB_INLINE void ebb_ebb_enter_yield(struct ebb_ebb_state *s, const struct ebb_ebb_params *p,
				    u64 now_us)
{
	ebb_moves_enter_yield(&s->moves, now_us, s->rtt_us, s->rtt_us * EBB_EBB_HOLD_RTTS,
			      p->hold_max_us);
	s->calm_rounds = 0;
	ebb_ebb_count_vain_yield(s);
}

/* Others want the link: give it all if we had it, else a share of the excess. */
EBB_INLINE void ebb_ebb_yield(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			      const struct ebb_ebb_params *p, u32 excess_us, u32 own_us)
{
	u64 window_bytes = ebb_min(s->rwnd_bytes, s->last_rwnd_bytes);
	u64 least_bytes = ebb_moves_segments(&s->moves, p->probe_segments);
	u64 over_us = ebb_sub_floor(ebb_sub_floor(excess_us, own_us), s->target_us);
	u8 had_link = (u64)s->last_round_bytes * EBB_ONE_X10 >
		      ebb_ebb_bdp_bytes(s) * EBB_EBB_HAD_LINK_X10;
	u64 since_last_us = segment->now_us - s->yield_since_us;
	u8 is_recent = s->has_yielded && since_last_us < (u64)s->rtt_us * EBB_EBB_RECENT_RTTS;

	if (is_recent)
		s->saturation_bytes = (u32)ebb_max(s->saturation_bytes, window_bytes);
	else
		s->saturation_bytes = ebb_moves_saturation_bytes(window_bytes, s->saturation_bytes);
	window_bytes =
		ebb_moves_yield_bytes(window_bytes, over_us, p->span_us, least_bytes, had_link);
	ebb_moves_set_window(&s->moves, window_bytes);
	if (window_bytes == least_bytes)
		ebb_ebb_enter_yield(s, p, segment->now_us);
	ebb_moves_stop_growing(&s->moves, segment, EBB_EBB_BLIND_RTTS);
}

/* We overshot ourselves: back to what the link and the target hold. */
EBB_INLINE void ebb_ebb_retreat(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				u32 excess_us)
{
	u64 over_us = ebb_sub_floor(excess_us, s->target_us);
	u64 window_bytes = ebb_moves_retreat_bytes(s->rwnd_bytes, s->rtt_us, over_us);

	ebb_moves_set_window(&s->moves, ebb_min(s->last_rwnd_bytes, window_bytes));
	s->saturation_bytes = s->rwnd_bytes;
	ebb_moves_stop_growing(&s->moves, segment, EBB_EBB_BLIND_RTTS);
}

/*
 * One yield after the other was for nobody: what looks as others do may be a link that carries less
 * than its trains show, like one with a bucket of tokens. Then we overshot, unless that goes on.
 */
EBB_INLINE u8 ebb_ebb_is_slower(struct ebb_ebb_state *s)
{
	if (s->vain_yields < EBB_EBB_VAIN_YIELDS || s->retreats >= EBB_EBB_VAIN_RETREATS)
		return 0;
	s->retreats++;
	return 1;
}

/* Judges a look at the queue; returns 1 if it led to a cut. */
EBB_INLINE u8 ebb_ebb_judge(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			    const struct ebb_ebb_params *p, u32 excess_us)
{
	u32 high_us = s->high_us;
	u64 grown_bytes = ebb_sub_floor(s->rwnd_bytes, s->last_rwnd_bytes) +
			  ebb_min(ebb_sub_floor(s->last_rwnd_bytes, s->last_round_bytes),
				  s->member.stalled_bytes);
	u32 own_us = (u32)ebb_min(ebb_moves_time_us(s->capacity_bytes_per_s, grown_bytes),
				  EBB_MOVES_MAX_RTT_US);

	if (excess_us == EBB_MOVES_NO_DELAY || excess_us <= high_us || s->is_yielding)
		return 0;
	if (excess_us > high_us + own_us && !ebb_ebb_is_slower(s))
		ebb_ebb_yield(s, segment, p, excess_us, own_us);
	else
		ebb_ebb_retreat(s, segment, excess_us);
	return 1;
}

/*
 * Below saturation: half-way there while it is far, then a plateau of small steps, equal
 * for all, because what filled the link last will do so again. Beyond it, probing starts
 * from one segment. Just out of YIELD there is no plateau: others were on the link then.
 */
EBB_INLINE u64 ebb_ebb_recall_bytes(struct ebb_ebb_state *s, const struct ebb_ebb_params *p)
{
	u64 missing_bytes = s->saturation_bytes - s->rwnd_bytes;
	u64 half_bytes = ebb_min((u64)s->rwnd_bytes * EBB_EBB_RECALL_WINDOWS,
				 missing_bytes / EBB_EBB_RECALL_DIVISOR);

	if (s->is_reclaiming)
		return ebb_max(half_bytes, s->mss_bytes);
	s->clear_rounds = 0;
	if (missing_bytes > s->rwnd_bytes / EBB_EBB_FAR_DIVISOR)
		return half_bytes;
	/* Of many connections each has its step. */
	return ebb_div(ebb_max(s->mss_bytes, ebb_min(s->member.waiting_bytes,
						     s->rwnd_bytes / EBB_EBB_STEPS_DIVISOR)),
		       p->plateau_rounds, s->mss_bytes) +
	       1;
}

/* Just out of YIELD, segments that come back to back at C show that the link is ours. */
EBB_INLINE u8 ebb_ebb_may_jump(const struct ebb_ebb_state *s, u64 bdp_bytes)
{
	u8 is_fast = s->round_rate_bytes_per_s * EBB_ONE_X100 >
		     s->capacity_bytes_per_s * EBB_EBB_FAST_X100;
	u8 is_alone = s->round_excess_us < s->target_us + EBB_EBB_ALONE_US;
	u8 is_below = (u64)s->rwnd_bytes * EBB_ONE_X10 < bdp_bytes * EBB_EBB_JUMP_BELOW_X10;

	return s->is_reclaiming && is_fast && is_alone && is_below;
}

/* Beyond saturation: larger steps with every round trip, a part of the BDP at the most. */
EBB_INLINE u64 ebb_ebb_step_bytes(const struct ebb_ebb_state *s, u64 bdp_bytes)
{
	u64 growth_bytes = ebb_moves_step_bytes(s->mss_bytes, s->clear_rounds);
	u64 divisor = s->is_reclaiming ? EBB_EBB_RECLAIM_DIVISOR : EBB_MOVES_GROWTH_DIVISOR;

	if (ebb_min(s->clear_rounds, EBB_MOVES_MAX_STEPS) & 1)
		growth_bytes = growth_bytes * EBB_EBB_ROOT_OF_2_X128 / EBB_ONE_X128;
	return ebb_min(growth_bytes, ebb_max(bdp_bytes / divisor, s->mss_bytes));
}

/* How much the window may grow in the next round trip, with no queue to speak of. */
EBB_INLINE u64 ebb_ebb_growth_bytes(struct ebb_ebb_state *s, const struct ebb_ebb_params *p)
{
	u64 window_bytes = s->rwnd_bytes;
	u64 bdp_bytes = s->capacity_bytes_per_s ? ebb_ebb_bdp_bytes(s)
						: window_bytes * EBB_EBB_UNKNOWN_BDP_WINDOWS;
	u64 room_bytes = ebb_sub_floor(ebb_ebb_cap_bytes(s), window_bytes);

	if (!ebb_moves_is_used(s->round_bytes, s->mss_bytes, s->round_rwnd_bytes))
		return 0;
	if (s->is_starting)
		return ebb_min(window_bytes, room_bytes);
	if (ebb_ebb_may_jump(s, bdp_bytes)) {
		s->has_jumped = 1;
		return ebb_min(window_bytes * EBB_EBB_JUMP_WINDOWS, bdp_bytes - window_bytes);
	}
	if (window_bytes < s->saturation_bytes)
		return ebb_ebb_recall_bytes(s, p);
	if (window_bytes >= bdp_bytes)
		return ebb_min(s->mss_bytes, room_bytes);
	return ebb_min(ebb_ebb_step_bytes(s, bdp_bytes), room_bytes);
}

/* The queue is above the target: take back what makes it. */
EBB_INLINE void ebb_ebb_shrink(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			       const struct ebb_ebb_params *p)
{
	u64 near_bytes = ebb_moves_near_bytes(s->round_bytes, s->mss_bytes);
	u64 window_bytes = ebb_min(s->rwnd_bytes, near_bytes);
	u64 over_us = s->round_queue_us - s->target_us;

	s->saturation_bytes = ebb_moves_saturation_bytes(s->rwnd_bytes, s->saturation_bytes);
	ebb_moves_set_window(&s->moves, ebb_moves_shrink_bytes(window_bytes, over_us, s->rtt_us,
							       p->shrink_divisor));
	ebb_moves_stop_growing(&s->moves, segment, EBB_EBB_BLIND_RTTS);
}

/*
 * No empty queue for long: let it drain, so that the least delay is measured anew. A small
 * window goes to one segment: others keep the queue then, and what we leave of ours in it
 * would become part of the base, with the target on top, again and again.
 */
EBB_INLINE u8 ebb_ebb_drain(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			    const struct ebb_ebb_params *p)
{
	u8 is_small = s->rwnd_bytes < ebb_ebb_bdp_bytes(s) / EBB_EBB_SMALL_DIVISOR;

	if (segment->now_us - s->last_empty_us < p->empty_within_us)
		return 0;
	s->restore_bytes = s->rwnd_bytes;
	s->last_empty_us = segment->now_us;
	ebb_moves_set_window(&s->moves,
			     is_small ? s->mss_bytes : ebb_moves_drain_bytes(s->rwnd_bytes));
	s->is_draining = 1;
	ebb_moves_go_blind(&s->moves, segment, EBB_EBB_BLIND_RTTS);
	return 1;
}

#endif /* EBB_EBB_WINDOW_H */
