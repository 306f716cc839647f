/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ebb law when a route becomes longer: a queue of others breathes, a route does not. See
 * ebb.h.
 */
#ifndef EBB_EBB_ROUTE_H
#define EBB_EBB_ROUTE_H

#include "ebb/window.h"

/* Delays within this of one another are the same: a few segments, and what a tick blurs. */
EBB_INLINE u32 ebb_ebb_calm_range_us(const struct ebb_ebb_state *s, const struct ebb_ebb_params *p)
{
	u64 blur_us = s->clock.tick.tick_us + EBB_EBB_CALM_LEAST_US;
	u64 range_us = ebb_min((u64)s->segment_us * EBB_EBB_CALM_SEGMENTS, p->low_us);

	return (u32)ebb_max(range_us, blur_us);
}

/* A segment of ours was lost, and sent again late, or the sender had nothing to send. */
EBB_INLINE u8 ebb_ebb_is_round_late(const struct ebb_ebb_state *s,
				    const struct ebb_segment *segment)
{
	u64 round_us = segment->now_us - s->round_since_us;

	return round_us > (u64)s->round_rtt_us * EBB_EBB_CALM_LATE_ROUNDS + EBB_EBB_CALM_LATE_US;
}

/*
 * At the end of a round trip in YIELD; returns 1 if it has taken the same time for calm_us. Not
 * by q: a longer way back moves the clocks' offset for minutes.
 */
EBB_INLINE u8 ebb_ebb_is_calm(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			      const struct ebb_ebb_params *p)
{
	u32 rtt_us = s->round_rtt_us;
	u32 least_us = (u32)ebb_min(s->calm_least_us, rtt_us);
	u32 most_us = (u32)ebb_max(s->calm_most_us, rtt_us);

	if (!s->calm_rounds || rtt_us == EBB_MOVES_NO_DELAY || s->hole_since_us ||
	    ebb_ebb_is_round_late(s, segment) || most_us - least_us > ebb_ebb_calm_range_us(s, p)) {
		s->calm_since_us = segment->now_us;
		s->calm_least_us = rtt_us;
		s->calm_most_us = rtt_us;
		s->calm_rounds = rtt_us != EBB_MOVES_NO_DELAY;
		return 0;
	}
	s->calm_least_us = least_us;
	s->calm_most_us = most_us;
	s->calm_rounds++;
	return s->calm_rounds >= EBB_EBB_CALM_ROUNDS &&
	       segment->now_us - s->calm_since_us >= p->calm_us;
}

/* What the delay is now becomes the base, on trial: the one before is kept for a while. */
EBB_INLINE void ebb_ebb_try_route(struct ebb_ebb_state *s, u64 now_us)
{
	u64 base_us = ebb_moves_base_us(&s->moves);
	u32 rtt_us = s->rtt_us;

	base_us += ebb_clock_settle(&s->clock, now_us);
	ebb_ebb_forget_delays(s, now_us);
	s->trial_base_us = (u32)ebb_min(base_us, EBB_MOVES_NO_DELAY - 1);
	s->trial_rtt_us = rtt_us;
	s->calm_rounds = 0;
}

/* Growing met losses: it was a full buffer after all. Its delay is a queue again. */
EBB_INLINE void ebb_ebb_leave_route(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				    const struct ebb_ebb_params *p)
{
	u32 base_us = s->trial_base_us, rtt_us = s->trial_rtt_us;

	ebb_ebb_forget_delays(s, segment->now_us);
	s->base_us[0] = base_us;
	s->second_us = base_us;
	s->least_rtt_us[0] = rtt_us;
	s->second_rtt_us = rtt_us;
	s->rtt_us = rtt_us;
	ebb_moves_set_window(&s->moves, ebb_moves_segments(&s->moves, p->probe_segments));
	ebb_ebb_enter_yield(s, p, segment->now_us);
	ebb_moves_stop_growing(&s->moves, segment, EBB_EBB_BLIND_RTTS);
}

#endif /* EBB_EBB_ROUTE_H */
