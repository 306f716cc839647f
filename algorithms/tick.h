/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The length of the sender's tick, from how fast its RFC 7323 timestamps advance.
 *
 * Sources: [RFC7323 §5.4] the tick lies between 1 ms and 1 s (Linux may use 1 us);
 * [TCPLP §4.2] the remote tick is estimated from how fast the remote clock advances.
 *
 * Differences from the source: TCP-LP scales by a measured frequency; here the measurement picks
 * one of the ticks that hosts really have, because an error of 1 % in the tick would look like a
 * queue that grows by 10 ms every second.
 *
 * Domain: as in timestamps.h, which has what else timestamps tell.
 */
#ifndef EBB_TICK_H
#define EBB_TICK_H

#include "math.h"
#include "units.h"

/* [RFC7323 §5.4] What most senders use, and what is assumed until it is measured. */
#define EBB_TICK_USUAL_US 1000u

/* [EBB §clock] The ticks that hosts have: X(below_us, tick_us), each up to the geometric mean with
 * the next one. */
#define EBB_TICKS(X)      \
	X(3, 1)           \
	X(32, 10)         \
	X(316, 100)       \
	X(1414, 1000)     \
	X(2582, 2000)     \
	X(3651, 3333)     \
	X(4472, 4000)     \
	X(7071, 5000)     \
	X(14142, 10000)   \
	X(44721, 20000)   \
	X(141421, 100000) \
	X(316228, 200000) \
	X(707107, 500000)
/* [RFC7323 §5.4] The slowest. */
#define EBB_TICK_SLOWEST_US 1000000u

/* [EBB §clock] Evidence needed: a short look tells ticks that differ by a factor ... */
#define EBB_TICK_FIRST_LOOK_US 100000u
/* [EBB §clock] ... of this (a growing queue stretches the first round trips), ... */
#define EBB_TICK_OBVIOUS_FACTOR 3u
/* [EBB §clock] ... and a longer one tells neighbours apart. */
#define EBB_TICK_SECOND_LOOK_US 2000000u
/* [EBB §clock] At least so many ticks have to pass, or a tick's rounding decides. */
#define EBB_TICK_LOOK_TICKS 10u
/* [EBB §clock] The first tick has to be told for this part longer, if it is not the usual one: a
 * segment that was held up tells a slower clock. None tells one that is faster by this. */
#define EBB_TICK_SURE_DIVISOR 2u
#define EBB_TICK_SURE_FACTOR 32u
/* [EBB §clock] The look begins anew so often: before a 1 us clock wraps (71 min). */
#define EBB_TICK_WINDOW_US 60000000u
/* [EBB §clock] A clock that has not moved for so long is no clock (tick above 1 s). */
#define EBB_TICK_STOPPED_US 5000000u
/* [EBB §clock] Looks that have to agree, and stand for what they tell: not enough to say, or
 * that the segment was sent before the one that the look began with. */
#define EBB_TICK_LOOKS 2u
#define EBB_TICK_UNKNOWN_US 0xffffffffu
#define EBB_TICK_BEHIND_US 0xfffffffeu

struct ebb_tick {
	u64 look_start_us[EBB_TICK_LOOKS];    /* arrival of the segment that a look starts from */
	u32 look_start_tsval[EBB_TICK_LOOKS]; /* its timestamp */
	u32 tick_us;                 /* length of the sender's tick; 0: the clock stands still */
	u32 told_us[EBB_TICK_LOOKS]; /* what each makes of the segment heard last */
	u32 claimed_us;              /* what both told of it */
	u64 sure_at_us;              /* when the first tick is sure that was told last */
	u32 first_us;                /* which that is; 0: none yet */
	u8 looks;                    /* how many have begun */
	u8 is_started;
	u8 is_measured; /* tick_us was measured, not assumed */
	u8 is_unsure;   /* it may be another one than is assumed: delays tell nothing */
	u8 is_careful;  /* the law would rather wait than take a wrong first tick */
	u8 reserved[7];
};

/* The tick that real hosts have, nearest on a logarithmic scale to the measured one. */
#define EBB_TICK_IF_BELOW(below_us, tick_us) \
	if (measured_us < (below_us))        \
		return tick_us;

EBB_INLINE u32 ebb_tick_nearest_us(u64 measured_us)
{
	EBB_TICKS(EBB_TICK_IF_BELOW)
	return EBB_TICK_SLOWEST_US;
}
#undef EBB_TICK_IF_BELOW

EBB_INLINE void ebb_tick_begin_look(struct ebb_tick *tick, u32 look, u64 now_us, u32 tsval)
{
	tick->look_start_us[look] = now_us;
	tick->look_start_tsval[look] = tsval;
}

/* The look that began first begins anew. */
EBB_INLINE void ebb_tick_renew_look(struct ebb_tick *tick, u64 now_us, u32 tsval)
{
	if (tick->look_start_us[0] <= tick->look_start_us[1])
		ebb_tick_begin_look(tick, 0, now_us, tsval);
	else
		ebb_tick_begin_look(tick, 1, now_us, tsval);
}

/* The first look begins, the second one with the next segment. */
EBB_INLINE void ebb_tick_start(struct ebb_tick *tick, u64 now_us, u32 tsval)
{
	ebb_tick_begin_look(tick, 0, now_us, tsval);
	tick->looks = 1;
	if (!tick->is_started)
		tick->tick_us = EBB_TICK_USUAL_US;
	tick->is_started = 1;
	tick->claimed_us = EBB_TICK_UNKNOWN_US;
}

/* What a look makes of a segment: a tick, 0 where the clock stands still, or that it cannot say. */
EBB_INLINE u32 ebb_tick_look_us(const struct ebb_tick *tick, u32 look, u64 now_us, u32 tsval)
{
	u64 elapsed_us = ebb_sub_floor(now_us, tick->look_start_us[look]), measured_us;
	u32 ticks = tsval - tick->look_start_tsval[look], nearest_us, low_us, high_us;

	if (ebb_before32(tsval, tick->look_start_tsval[look]))
		return EBB_TICK_BEHIND_US;
	if (elapsed_us < EBB_TICK_FIRST_LOOK_US)
		return EBB_TICK_UNKNOWN_US;
	if (ticks < EBB_TICK_LOOK_TICKS)
		return ticks || elapsed_us < EBB_TICK_STOPPED_US ? EBB_TICK_UNKNOWN_US : 0;
	measured_us = ebb_min(ebb_div(elapsed_us, ticks, 0), EBB_TICK_SLOWEST_US);
	nearest_us = ebb_tick_nearest_us(measured_us);
	low_us = (u32)ebb_min(nearest_us, tick->tick_us);
	high_us = (u32)ebb_max(nearest_us, tick->tick_us);
	if (elapsed_us < EBB_TICK_SECOND_LOOK_US && high_us < low_us * EBB_TICK_OBVIOUS_FACTOR)
		return EBB_TICK_UNKNOWN_US;
	return nearest_us;
}

/*
 * What both looks tell; unknown if they differ. One that a segment was sent before, and the older
 * one where they differ, began with a bad segment, or the segment is bad: it begins anew. Never
 * both by one segment.
 */
EBB_INLINE u32 ebb_tick_agreed_us(struct ebb_tick *tick, u64 now_us, u32 tsval)
{
	u32 first_us = tick->told_us[0], second_us = tick->told_us[1];

	if (first_us == second_us && first_us != EBB_TICK_BEHIND_US)
		return first_us;
	if (first_us == EBB_TICK_BEHIND_US)
		ebb_tick_begin_look(tick, 0, now_us, tsval);
	else if (second_us == EBB_TICK_BEHIND_US)
		ebb_tick_begin_look(tick, 1, now_us, tsval);
	else if (first_us != EBB_TICK_UNKNOWN_US && second_us != EBB_TICK_UNKNOWN_US)
		ebb_tick_renew_look(tick, now_us, tsval);
	return EBB_TICK_UNKNOWN_US;
}

/*
 * Both looks at a segment; the second one begins with the second segment. Each is a step of its
 * own: the verifier would follow the second for each way through the first.
 */
EBB_INLINE void ebb_tick_look(struct ebb_tick *tick, u64 now_us, u32 tsval)
{
	tick->told_us[0] = ebb_tick_look_us(tick, 0, now_us, tsval);
	ebb_end_step();
	if (tick->looks < EBB_TICK_LOOKS) {
		ebb_tick_begin_look(tick, 1, now_us, tsval);
		tick->looks = EBB_TICK_LOOKS;
		return;
	}
	tick->told_us[1] = ebb_tick_look_us(tick, 1, now_us, tsval);
	ebb_end_step();
	tick->claimed_us = ebb_tick_agreed_us(tick, now_us, tsval);
	ebb_end_step();
}

/* Is the first tick, as it is told now, another one than is assumed, and not told for long enough? */
EBB_INLINE u8 ebb_tick_is_unsure(struct ebb_tick *tick, u64 now_us)
{
	u32 told_us = tick->told_us[0];

	if (!tick->is_careful || tick->is_measured || !told_us || told_us == tick->tick_us ||
	    told_us < tick->tick_us / EBB_TICK_SURE_FACTOR)
		return 0;
	if (told_us != tick->first_us) {
		tick->first_us = told_us;
		tick->sure_at_us = now_us + ebb_sub_floor(now_us, tick->look_start_us[0]) /
						    EBB_TICK_SURE_DIVISOR;
	}
	return now_us < tick->sure_at_us;
}

/*
 * Takes the timestamp of a segment; returns 1 if tick_us changed, which makes all earlier delays
 * worthless. The first look alone tells the first tick, if it tells it for long enough.
 */
EBB_INLINE u8 ebb_tick_on_segment(struct ebb_tick *tick, u64 now_us, u32 tsval)
{
	u64 oldest_us;
	u32 told_us, claimed_us = tick->claimed_us;

	if (!tick->is_started) {
		ebb_tick_start(tick, now_us, tsval);
		return 0;
	}
	ebb_tick_look(tick, now_us, tsval);
	tick->is_unsure = 0;
	told_us = tick->is_measured ? tick->claimed_us : tick->told_us[0];
	if (told_us >= EBB_TICK_BEHIND_US || (tick->is_measured && told_us != claimed_us))
		return 0;
	tick->is_unsure = ebb_tick_is_unsure(tick, now_us);
	if (tick->is_unsure)
		return 0;
	if (told_us)
		tick->is_measured = 1;
	if (told_us != tick->tick_us) {
		tick->tick_us = told_us;
		ebb_tick_start(tick, now_us, tsval);
		return 1;
	}
	oldest_us = ebb_min(tick->look_start_us[0], tick->look_start_us[1]);
	if (told_us && ebb_sub_floor(now_us, oldest_us) >= EBB_TICK_WINDOW_US)
		ebb_tick_renew_look(tick, now_us, tsval);
	return 0;
}

#endif
