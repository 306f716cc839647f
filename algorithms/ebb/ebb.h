/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ebb: Ebb's own receiver law. Holds the queue at the bottleneck near a few
 * milliseconds, tells its own queue from that of others by what it sent itself, and
 * steps aside at once when others take the link.
 *
 * Sources: [EBB] docs/ebb-law.md; the window's rules: [VULTURE §0.3.4] (a decrease is
 * never a retreat of the right edge), [RFC6817 §2.4.2] (queueing delay as the distance
 * from a minimum), [TCPLP §3] (a pause after yielding: inference phase).
 *
 * Domain: RTT from 1 ms to 60 s, capacity from 50 kbit/s to 500 Gbit/s.
 */
#ifndef EBB_EBB_H
#define EBB_EBB_H

#include "ebb/comb.h"
#include "ebb/route.h"

/* Nobody wants the link: W grows. */
EBB_INLINE void ebb_ebb_leave_yield(struct ebb_ebb_state *s)
{
	s->is_yielding = 0;
	s->is_unseen = 0;
	s->is_testing = 0;
	s->is_reclaiming = 1;
	s->clear_rounds = 0;
}

EBB_INLINE void ebb_ebb_end_yielding_round(struct ebb_ebb_state *s,
					   const struct ebb_segment *segment,
					   const struct ebb_ebb_params *p)
{
	u8 is_over = s->round_queue_us < s->target_us && segment->now_us >= s->hold_until_us;

	if (s->is_testing) {
		s->test_rounds++;
		return;
	}
	/* By then what waited of ours has gone. */
	if (s->round_since_us - s->yield_since_us > (u64)s->rtt_us + s->target_us)
		s->has_met |= s->round_queue_us >= s->low_us;
	if (is_over && s->is_unseen) {
		ebb_ebb_begin_test(s, segment);
		return;
	}
	if (is_over) {
		ebb_ebb_leave_yield(s);
		/* Growing begins a step further. On trial that is not sure. */
		if (s->trial_base_us == EBB_MOVES_NO_DELAY)
			ebb_moves_set_window(&s->moves,
					     ebb_moves_segments(&s->moves, p->probe_segments));
		s->growth_bytes = (u32)ebb_ebb_growth_bytes(s, p);
		return;
	}
	/* The next round trip finds no queue and ends yielding. */
	if (ebb_ebb_is_calm(s, segment, p))
		ebb_ebb_try_route(s, segment->now_us);
	ebb_moves_set_window(&s->moves, ebb_ebb_probe_bytes(s, p, segment->now_us));
}

/* The train has come. Answers whether others' segments came between ours, and YIELD goes on. */
EBB_INLINE u8 ebb_ebb_end_test(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	if (ebb_ebb_is_stretched(s)) {
		s->has_met = 1;
		s->vain_combs = 0;
		ebb_ebb_doubt_capacity(s);
		return 1;
	}
	s->doubts = 0;
	ebb_ebb_leave_yield(s);
	ebb_moves_set_window(&s->moves, s->test_bytes);
	ebb_ebb_begin_round(s, segment);
	return 0;
}

EBB_INLINE void ebb_ebb_end_round(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				  const struct ebb_ebb_params *p)
{
	s->last_round_bytes = s->round_bytes;
	s->last_rwnd_bytes = s->round_rwnd_bytes;
	s->growth_bytes = 0;
	if (s->is_yielding) {
		ebb_ebb_end_yielding_round(s, segment, p);
	} else if (ebb_ebb_judge(s, segment, p, s->round_queue_us)) {
		return;
	} else {
		ebb_moves_set_window(
			&s->moves,
			ebb_min(s->rwnd_bytes,
				ebb_max(ebb_moves_grant_bytes(s->round_bytes, s->mss_bytes),
					s->member.stalled_bytes)));
		if (ebb_ebb_drain(s, segment, p))
			return;
		if (s->round_queue_us < s->target_us)
			s->retreats = 0;
		if (s->round_queue_us < s->low_us) {
			s->clear_rounds++;
			s->growth_bytes = (u32)ebb_ebb_growth_bytes(s, p);
		} else if (s->round_queue_us < s->target_us) {
			s->is_starting = 0;
			ebb_moves_set_window(
				&s->moves,
				ebb_min(s->rwnd_bytes,
					ebb_moves_near_bytes(s->round_bytes, s->mss_bytes)));
			s->growth_bytes = s->mss_bytes;
		} else if (s->round_queue_us != EBB_MOVES_NO_DELAY) {
			ebb_ebb_shrink(s, segment, p);
			return;
		}
	}
	s->growth_left_bytes = s->growth_bytes;
	ebb_ebb_begin_round(s, segment);
}

/* ---- helpers: one segment's steps ---- */

EBB_INLINE u8 ebb_ebb_is_hole_old(const struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	return s->hole_since_us &&
	       segment->now_us - s->hole_since_us > s->rtt_us / EBB_EBB_HOLE_DIVISOR;
}

/* A hole means congestion if segments were queueing, or if delays tell nothing. */
EBB_INLINE u8 ebb_ebb_is_congestive(const struct ebb_ebb_state *s,
				    const struct ebb_segment *segment)
{
	u32 usual_us = ebb_moves_usual_us(s->target_us, s->longest_queue_us);

	if (segment->is_ce)
		return 1;
	if (!ebb_ebb_is_hole_old(s, segment))
		return 0;
	return !segment->has_timestamps || s->hole_queue_us > ebb_max(usual_us, EBB_EBB_EMPTY_US);
}

/* A segment is missing for long before it is lost: others may have overtaken it. */
EBB_INLINE void ebb_ebb_watch_hole(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	if (!ebb_before32(segment->rcv_nxt, segment->seq)) {
		s->hole_since_us = 0;
	} else if (!s->hole_since_us || s->hole_seq != segment->rcv_nxt) {
		s->hole_since_us = segment->now_us;
		s->hole_seq = segment->rcv_nxt;
		/* Of many connections each has few segments: its next one comes when others' are gone. */
		s->hole_queue_us = (u32)ebb_max(s->queue_us, s->member.most_queue_us);
		s->has_lost = 0;
	}
}

/* What is lost is lost when the queue is full, or as long as a router lets it be. */
EBB_INLINE void ebb_ebb_learn_full(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	u64 sum_us = (u64)s->full_us * EBB_EBB_FULL_X4 + s->hole_queue_us;

	if (s->has_lost || !ebb_ebb_is_hole_old(s, segment))
		return;
	s->has_lost = 1;
	s->full_us = s->full_us ? (u32)(sum_us / EBB_ONE_X4) : s->hole_queue_us;
}

/*
 * A loss halves the window; of many connections it halves the part of the one that lost, or takes it
 * where others were just now.
 */
EBB_INLINE u64 ebb_ebb_loss_bytes(const struct ebb_ebb_state *s)
{
	u64 part_bytes = ebb_min(s->member.part_bytes, s->rwnd_bytes);

	if (!part_bytes)
		return ebb_moves_loss_bytes(s->rwnd_bytes, s->mss_bytes);
	return s->rwnd_bytes - (s->is_near ? part_bytes : part_bytes / EBB_MOVES_LOSS_DIVISOR);
}

/* Where others were just now, a loss says that they still are. */
EBB_INLINE void ebb_ebb_cut_for_loss(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				     const struct ebb_ebb_params *p)
{
	if (s->is_near && !s->member.part_bytes) {
		ebb_moves_set_window(&s->moves, ebb_moves_segments(&s->moves, p->probe_segments));
		ebb_ebb_enter_yield(s, p, segment->now_us);
	} else {
		ebb_moves_set_window(&s->moves, ebb_ebb_loss_bytes(s));
	}
	ebb_moves_stop_growing(&s->moves, segment, EBB_EBB_BLIND_RTTS);
}

EBB_INLINE void ebb_ebb_take_loss(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				  const struct ebb_ebb_params *p)
{
	if (s->is_yielding || segment->now_us < s->loss_until_us)
		return;
	if (s->trial_base_us != EBB_MOVES_NO_DELAY && ebb_ebb_is_hole_old(s, segment)) {
		ebb_ebb_leave_route(s, segment, p);
		return;
	}
	if (!ebb_ebb_is_congestive(s, segment))
		return;
	s->loss_until_us = segment->now_us + s->rtt_us + s->queue_us;
	s->saturation_bytes = s->rwnd_bytes;
	ebb_ebb_cut_for_loss(s, segment, p);
}

/* Without timestamps, the time until a new window is used is the round trip. */
EBB_INLINE void ebb_ebb_take_feedback_time(struct ebb_ebb_state *s,
					   const struct ebb_segment *segment,
					   const struct ebb_ebb_params *p)
{
	u32 feedback_us =
		(u32)ebb_clamp(segment->now_us - s->round_since_us, 1, EBB_MOVES_MAX_RTT_US);
	u32 last_queue_us = s->queue_us;

	ebb_ebb_update_base(s, p, segment->now_us, feedback_us, feedback_us);
	s->queue_us = (u32)ebb_sub_floor(feedback_us, s->rtt_us);
	s->round_queue_us = s->queue_us;
	s->round_rtt_us = feedback_us;
	s->longest_queue_us =
		(u32)ebb_max(s->longest_queue_us, ebb_min(s->queue_us, last_queue_us));
	if (s->queue_us < EBB_EBB_EMPTY_US)
		s->last_empty_us = segment->now_us;
}

EBB_INLINE void ebb_ebb_observe_round(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				      const struct ebb_ebb_params *p)
{
	ebb_moves_observe_round(&s->moves, p->start_segments);
	ebb_ebb_begin_round(s, segment);
}

EBB_INLINE void ebb_ebb_look(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			     const struct ebb_ebb_params *p)
{
	s->look_segments += segment->segments;
	if (s->look_segments < EBB_EBB_LOOK_SEGMENTS ||
	    segment->now_us - s->look_since_us < s->rtt_us / EBB_EBB_LOOK_DIVISOR)
		return;
	if (!ebb_ebb_judge(s, segment, p, s->look_excess_us))
		ebb_ebb_begin_look(s, segment->now_us);
}

/*
 * What was granted before this law came cannot be taken back, and its queue may stand at the
 * bottleneck: until the sender has used it up, delays say nothing and growing is idle. The host
 * may grant more until the first window of ours goes out, and a little later.
 */
EBB_INLINE void ebb_ebb_await_older_window(struct ebb_ebb_state *s,
					   const struct ebb_segment *segment)
{
	u32 granted_bytes = segment->right_edge_seq - segment->rcv_nxt;
	u64 own_bytes = (u64)s->rwnd_bytes * EBB_EBB_OLDER_WINDOWS;
	u8 is_older = granted_bytes > ebb_max(EBB_EBB_UNSCALED_WINDOW_BYTES, own_bytes);

	if (!s->is_begun && is_older && !segment->is_observing) {
		ebb_moves_go_blind(&s->moves, segment, EBB_EBB_BLIND_RTTS);
		s->is_awaiting = 1;
		s->blind_until_us = EBB_EBB_NEVER_US;
	} else if (s->is_awaiting && is_older) {
		s->blind_edge_seq = segment->right_edge_seq;
	}
	s->is_begun = 1;
}

/* Ends blindness with a segment that the new window allowed, or by time; answers whether it did. */
EBB_INLINE u8 ebb_ebb_see_again(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	u32 end_seq = segment->seq + segment->payload_bytes;

	if (!ebb_before32(s->blind_edge_seq, end_seq) && segment->now_us < s->blind_until_us)
		return 0;
	s->is_blind = 0;
	s->is_awaiting = 0;
	if (s->is_draining) {
		ebb_moves_set_window(&s->moves, s->restore_bytes);
		/* It was as large before: what comes back is no growth. */
		s->last_rwnd_bytes = s->rwnd_bytes;
	}
	s->is_draining = 0;
	return 1;
}

/* What a segment of the round trip under way leads to. */
EBB_INLINE void ebb_ebb_act(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			    const struct ebb_ebb_params *p)
{
	ebb_ebb_take_loss(s, segment, p);
	if (s->is_blind)
		return;
	ebb_end_step();
	ebb_moves_grow(&s->moves, segment->payload_bytes);
	ebb_end_step();
	ebb_ebb_look(s, segment, p);
	ebb_end_step();
	if (s->is_blind || !ebb_ebb_is_round_over(s, segment))
		return;
	if (!segment->has_timestamps)
		ebb_ebb_take_feedback_time(s, segment, p);
	ebb_end_step();
	ebb_ebb_end_round(s, segment, p);
}

/* Judges what was measured so far, and moves. */
EBB_INLINE void ebb_ebb_decide(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			       const struct ebb_ebb_params *p)
{
	if (s->is_blind && !ebb_ebb_see_again(s, segment))
		return;
	if (!s->is_round_open) {
		ebb_ebb_begin_round(s, segment);
		return;
	}
	if (segment->is_observing) {
		if (ebb_ebb_is_round_over(s, segment))
			ebb_ebb_observe_round(s, segment, p);
		return;
	}
	ebb_ebb_act(s, segment, p);
}

/* ---- hooks ---- */

EBB_INLINE void ebb_ebb_init(struct ebb_ebb_state *s, const struct ebb_start *start,
			     const struct ebb_ebb_params *p)
{
	ebb_moves_begin(&s->moves, start, p->start_segments);
	ebb_ebb_forget_delays(s, start->now_us);
	s->look_excess_us = EBB_MOVES_NO_DELAY;
	s->late_at_us = (u32)start->now_us - 1; /* before all of it: 0 is a time like any other */
	if (start->has_timestamps && start->tsval)
		ebb_tick_start(&s->clock.tick, start->now_us, start->tsval);
	s->clock.tick.is_careful = 1;
}

EBB_INLINE void ebb_ebb_on_segment(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				   const struct ebb_ebb_params *p)
{
	u8 are_unseen;

	if (segment->mss_bytes)
		s->mss_bytes = ebb_bound_mss_bytes(segment->mss_bytes);
	if (segment->has_timestamps)
		ebb_ebb_take_delay(s, segment, p);
	ebb_end_step();
	ebb_ebb_take_arrival(s, segment->now_us, segment->payload_bytes);
	ebb_end_step();
	ebb_ebb_take_gap(s, segment);
	ebb_end_step();
	s->round_bytes += segment->payload_bytes;
	ebb_ebb_watch_hole(s, segment);
	ebb_ebb_learn_full(s, segment);
	ebb_end_step();
	ebb_ebb_set_thresholds(s, p);

	if (!s->is_begun || s->is_awaiting)
		ebb_ebb_await_older_window(s, segment);
	ebb_ebb_decide(s, segment, p);
	ebb_end_step();
	if (segment->is_observing)
		return;
	if (s->is_testing)
		are_unseen = ebb_ebb_follow_train(s) && ebb_ebb_end_test(s, segment);
	else
		are_unseen = ebb_ebb_is_comb(s) && !ebb_ebb_take_slower(s, segment);
	ebb_end_step();
	if (are_unseen)
		ebb_ebb_yield_unseen(s, segment, p);
}

/* The window is decided when segments arrive; an outgoing one only carries it. */
EBB_INLINE void ebb_ebb_on_ack(struct ebb_ebb_state *s, const struct ebb_ack *ack,
			       const struct ebb_ebb_params *p)
{
	if (s->is_yielding && !s->is_testing && !ack->is_observing)
		ebb_moves_set_window(
			&s->moves, ebb_min(s->rwnd_bytes, ebb_ebb_probe_bytes(s, p, ack->now_us)));
}

#endif /* EBB_EBB_H */
