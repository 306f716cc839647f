/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a receiver can know of time from RFC 7323 timestamps: the length of the
 * sender's tick (tick.h), and how long segments were under way, up to a constant.
 *
 * Sources: [RFC7323 §5.4] quartz clocks drift; [TCPLP §4.2] one-way delays from both clocks.
 *
 * Differences from the source:
 * 1. The tick is one of those that hosts really have (tick.h).
 * 2. Clock drift is followed (up to EBB_CLOCK_DRIFT_PPM), by the greatest difference
 *    between one-way delay and round-trip time: a queue on the forward path enters
 *    both and cancels, so what remains is the offset of the clocks.
 * 3. One segment alone changes nothing that lasts: it may lie, come late, or be somebody else's.
 *    A tick that was measured changes when two looks that began with different segments tell two
 *    segments in a row the same; the offset is the second greatest of a window; a timestamp that
 *    leaps is not taken before the next one leaps, too.
 *
 * Domain: ticks from 1 us to 1 s, drift up to 150 ppm, silences below 24 days
 * (1 ms tick) or 35 minutes (1 us tick); after longer ones the state starts anew.
 */
#ifndef EBB_TIMESTAMPS_H
#define EBB_TIMESTAMPS_H

#include "tick.h"

/* [RFC7323 §5.4] 100 ppm is what quartz clocks reach; half as much again to spare. */
#define EBB_CLOCK_DRIFT_PPM 150u
/* [EBB §clock] An offset counts for one to two windows, if drift explains its loss. */
#define EBB_CLOCK_WINDOW_US 10000000u
/* [EBB §clock] Keeps differences of clocks positive: larger than any delay. */
#define EBB_CLOCK_BIAS_US (1ull << 40)
/* [EBB §clock] Keeps a delay positive that both clocks' ticks round below zero. */
#define EBB_CLOCK_DELAY_BIAS_US 65536u
/* [EBB §domain] Bounds of delays, and of times that drift is reckoned for. */
#define EBB_CLOCK_MAX_DELAY_US 0x7fffffffu
#define EBB_CLOCK_MAX_ELAPSED_US (1ull << 40)
/* [EBB §clock] After such a silence a 1 us clock may have wrapped: begin anew. */
#define EBB_CLOCK_SILENCE_US 1800000000ull
/* [EBB §clock] No segment is under way for so much longer or shorter than the one before. */
#define EBB_CLOCK_LEAP_US 60000000u

struct ebb_clock {
	struct ebb_tick tick;
	u64 sender_us;           /* sender's clock at last_tsval, on our scale, arbitrary zero */
	u64 heard_us;            /* arrival of the segment with last_tsval */
	u64 offset_us;           /* one-way delay - RTT, following drift */
	u64 offset_at_us;        /* when it was brought up to date */
	u64 window_since_us;     /* start of the current window */
	u64 window_offset_us[2]; /* second greatest (one-way delay - RTT) of this and the last */
	u64 greatest_us;         /* the greatest of this one; 0: none yet */
	u32 last_tsval;
	u8 is_started;
	u8 has_offset;
	u8 is_leaping; /* the timestamp heard last was not taken */
	u8 reserved;
};

/* Moves the sender's clock to tsval; timestamps may step back with reordering. */
EBB_INLINE void ebb_clock_advance(struct ebb_clock *clock, u64 now_us, u32 tsval)
{
	u32 ticks;

	if (!clock->is_started) {
		clock->sender_us = now_us;
		clock->is_started = 1;
	} else if (ebb_before32(tsval, clock->last_tsval)) {
		ticks = clock->last_tsval - tsval;
		clock->sender_us -= (u64)ticks * clock->tick.tick_us;
	} else {
		ticks = tsval - clock->last_tsval;
		clock->sender_us += (u64)ticks * clock->tick.tick_us;
	}
	clock->last_tsval = tsval;
	clock->heard_us = now_us;
}

/* Is the sender's clock where nobody's can be, from the segment before to this one? */
EBB_INLINE u8 ebb_clock_is_leap(const struct ebb_clock *clock, u64 now_us, u32 tsval)
{
	u64 elapsed_us = ebb_sub_floor(now_us, clock->heard_us) + EBB_CLOCK_LEAP_US;

	if (!clock->is_started)
		return 0;
	if (ebb_before32(tsval, clock->last_tsval))
		return (u64)(clock->last_tsval - tsval) * clock->tick.tick_us > EBB_CLOCK_LEAP_US;
	return (u64)(tsval - clock->last_tsval) * clock->tick.tick_us > elapsed_us;
}

/*
 * Takes a sample of the clocks' offset. The greatest that two segments of a window agree on
 * counts: queues on the way back make samples smaller. The ticks' rounding makes even the greatest
 * wander by one tick of each side, so the offset moves only when it leaves that range, and sinks
 * only as fast as drift can explain; but the first sample is believed only as far as the second.
 */
EBB_INLINE void ebb_clock_take_offset(struct ebb_clock *clock, u64 now_us, u64 offset_us)
{
	u64 elapsed_us =
		ebb_min(ebb_sub_floor(now_us, clock->offset_at_us), EBB_CLOCK_MAX_ELAPSED_US);
	u64 sink_us = elapsed_us * EBB_CLOCK_DRIFT_PPM / EBB_ONE_PPM;
	u64 rounding_us = (u64)clock->tick.tick_us + EBB_TICK_USUAL_US, greatest_us;
	u8 is_second = !clock->window_offset_us[0] && !clock->window_offset_us[1];

	if (now_us - clock->window_since_us > EBB_CLOCK_WINDOW_US && clock->window_offset_us[0]) {
		clock->window_offset_us[1] = clock->window_offset_us[0];
		clock->window_offset_us[0] = 0;
		clock->greatest_us = 0;
		clock->window_since_us = now_us;
	}
	clock->window_offset_us[0] =
		ebb_max(clock->window_offset_us[0], ebb_min(clock->greatest_us, offset_us));
	clock->greatest_us = ebb_max(clock->greatest_us, offset_us);
	greatest_us = ebb_max(clock->window_offset_us[0], clock->window_offset_us[1]);
	if (greatest_us + rounding_us >= clock->offset_us) {
		clock->offset_us = ebb_max(clock->offset_us, greatest_us - rounding_us);
		clock->offset_at_us = now_us;
	} else if (is_second) {
		clock->offset_us = greatest_us + rounding_us;
		clock->offset_at_us = now_us;
	} else if (sink_us) {
		clock->offset_us = ebb_max(greatest_us + rounding_us, clock->offset_us - sink_us);
		clock->offset_at_us = now_us;
	}
}

/* The way back has become longer for good: sinks at once as far as it would; returns how far. */
EBB_INLINE u32 ebb_clock_settle(struct ebb_clock *clock, u64 now_us)
{
	u64 greatest_us = ebb_max(clock->window_offset_us[0], clock->window_offset_us[1]);
	u64 settled_us = greatest_us + clock->tick.tick_us + EBB_TICK_USUAL_US, sunk_us;

	if (!clock->has_offset || !greatest_us || settled_us >= clock->offset_us)
		return 0;
	sunk_us = clock->offset_us - settled_us;
	clock->offset_us = settled_us;
	clock->offset_at_us = now_us;
	return (u32)ebb_min(sunk_us, EBB_CLOCK_MAX_DELAY_US);
}

/*
 * Takes a timestamp; returns 1 if the tick changed and every delay so far is void. One that leaps
 * is not taken; if the next one leaps as well, the clock begins anew from there.
 */
EBB_INLINE u8 ebb_clock_hear(struct ebb_clock *clock, u64 now_us, u32 tsval)
{
	u8 is_void = clock->has_offset &&
		     ebb_sub_floor(now_us, clock->offset_at_us) > EBB_CLOCK_SILENCE_US;
	u8 has_leapt = clock->is_leaping;

	if (is_void)
		ebb_tick_start(&clock->tick, now_us, tsval);
	else
		is_void = ebb_tick_on_segment(&clock->tick, now_us, tsval);
	ebb_end_step();
	clock->is_leaping = !is_void && ebb_clock_is_leap(clock, now_us, tsval);
	if (clock->is_leaping && !has_leapt)
		return 0;
	is_void |= clock->is_leaping;
	clock->is_leaping = 0;
	if (is_void) {
		clock->is_started = 0;
		clock->has_offset = 0;
	}
	ebb_clock_advance(clock, now_us, tsval);
	ebb_end_step();
	return is_void;
}

/* Takes the first sample of the clocks' offset, or a further one. */
EBB_INLINE void ebb_clock_learn_offset(struct ebb_clock *clock, u64 now_us, u64 offset_us)
{
	if (!clock->has_offset) {
		clock->offset_us = offset_us;
		clock->offset_at_us = now_us;
		clock->window_since_us = now_us;
		clock->window_offset_us[0] = 0;
		clock->window_offset_us[1] = 0;
		clock->greatest_us = offset_us;
		clock->has_offset = 1;
	} else {
		ebb_clock_take_offset(clock, now_us, offset_us);
	}
}

/*
 * Takes a segment's timestamp and its RTT sample (0: none); returns 1 if the tick
 * changed and every delay so far is void.
 */
EBB_INLINE u8 ebb_clock_on_segment(struct ebb_clock *clock, u64 now_us, u32 tsval, u64 rtt_us)
{
	if (ebb_clock_hear(clock, now_us, tsval))
		return 1;
	if (rtt_us && !clock->is_leaping)
		ebb_clock_learn_offset(clock, now_us,
				       EBB_CLOCK_BIAS_US + now_us - clock->sender_us - rtt_us);
	return 0;
}

/*
 * How long the segment taken last was under way, plus a constant (the least delay of
 * the way back, the ticks' rounding, EBB_CLOCK_DELAY_BIAS_US): for comparison with
 * other delays of the same connection. In us; 0 until it is known.
 */
EBB_INLINE u32 ebb_clock_delay_us(const struct ebb_clock *clock, u64 now_us)
{
	u64 one_way_us = EBB_CLOCK_BIAS_US + EBB_CLOCK_DELAY_BIAS_US + now_us - clock->sender_us;

	if (!clock->has_offset || !clock->tick.tick_us || clock->tick.is_unsure ||
	    clock->is_leaping)
		return 0;
	return (u32)ebb_clamp(ebb_sub_floor(one_way_us, clock->offset_us), 1,
			      EBB_CLOCK_MAX_DELAY_US);
}

#endif /* EBB_TIMESTAMPS_H */
