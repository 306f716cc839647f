/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long a queue the ebb law holds and takes for others': less where the room in front of the
 * link is short, or kept short. See ebb.h.
 */
#ifndef EBB_EBB_THRESHOLDS_H
#define EBB_EBB_THRESHOLDS_H

#include "ebb/state.h"

/* A queue below a segment's time, or a tick, cannot be told from none: thresholds scale. */
EBB_INLINE u32 ebb_ebb_grain_us(const struct ebb_ebb_state *s)
{
	u32 tick_us = s->clock.tick.tick_us > EBB_TICK_USUAL_US ? s->clock.tick.tick_us : 0;

	return (u32)ebb_max(s->segment_us, tick_us);
}

/* Others were on the link lately, and a queue of theirs is lost to us as soon as it is full. */
EBB_INLINE u8 ebb_ebb_are_others_near(const struct ebb_ebb_state *s)
{
	return s->has_yielded && s->full_us >= EBB_EBB_NEAR_LEAST_US &&
	       s->full_us <= EBB_EBB_NEAR_MOST_US &&
	       ebb_sub_floor(s->round_since_us, s->yield_since_us) < EBB_EBB_NEAR_FOR_US;
}

/* The usual threshold; less in short queues, and least where others are near. */
EBB_INLINE u32 ebb_ebb_threshold_us(const struct ebb_ebb_state *s, u32 usual_us, u32 part_x10,
				    u32 near_us)
{
	u64 short_us = (u64)s->full_us * EBB_EBB_FULL_PART_X10 / EBB_ONE_X10;

	if (s->is_near)
		return (u32)ebb_min(usual_us, near_us);
	if (!s->full_us)
		return usual_us;
	short_us = ebb_max(short_us, EBB_EBB_SHORT_US) * part_x10 / EBB_ONE_X10;
	return (u32)ebb_min(usual_us, short_us);
}

EBB_INLINE u32 ebb_ebb_high_us(const struct ebb_ebb_state *s, u32 high_us)
{
	u32 grain_us = ebb_ebb_grain_us(s);

	if (s->is_near)
		return (u32)ebb_max(high_us, grain_us * EBB_EBB_NEAR_GRAINS_X2 / EBB_ONE_X2);
	return ebb_moves_high_us(high_us, grain_us);
}

/*
 * For the segment under way. They are kept, and each is a step of its own: the verifier would
 * follow all ways that lead to them wherever they are asked for.
 */
EBB_INLINE void ebb_ebb_set_thresholds(struct ebb_ebb_state *s, const struct ebb_ebb_params *p)
{
	s->is_near = ebb_ebb_are_others_near(s);
	ebb_end_step();
	s->low_us = ebb_ebb_threshold_us(s, p->low_us, EBB_EBB_SHORT_LOW_X10, EBB_EBB_NEAR_LOW_US);
	s->low_us = (u32)ebb_max(s->low_us, ebb_ebb_grain_us(s));
	ebb_end_step();
	s->target_us = ebb_ebb_threshold_us(s, p->target_us, EBB_EBB_SHORT_TARGET_X10,
					    EBB_EBB_NEAR_TARGET_US);
	s->target_us = (u32)ebb_max(s->target_us,
				    ebb_ebb_grain_us(s) * EBB_EBB_TARGET_GRAINS_X2 / EBB_ONE_X2);
	ebb_end_step();
	s->high_us = ebb_ebb_threshold_us(s, p->high_us, EBB_ONE_X10, EBB_EBB_NEAR_HIGH_US);
	s->high_us = ebb_ebb_high_us(s, s->high_us);
	ebb_end_step();
}

#endif /* EBB_EBB_THRESHOLDS_H */
