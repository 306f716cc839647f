/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the ebb law makes of arriving segments: capacity, round-trip time, queueing
 * delay, and the part of it that its own bursts do not explain. See ebb.h.
 */
#ifndef EBB_EBB_PATH_H
#define EBB_EBB_PATH_H

#include "ebb/thresholds.h"

/* ---- helpers: window and path ---- */

EBB_INLINE u64 ebb_ebb_bdp_bytes(const struct ebb_ebb_state *s)
{
	return ebb_moves_bytes_in(s->capacity_bytes_per_s, s->rtt_us);
}

EBB_INLINE void ebb_ebb_forget_delays(struct ebb_ebb_state *s, u64 now_us)
{
	ebb_moves_forget_base(&s->moves, now_us);
	s->least_rtt_us[0] = EBB_MOVES_NO_DELAY;
	s->least_rtt_us[1] = EBB_MOVES_NO_DELAY;
	s->lowest_rtt_us = EBB_MOVES_NO_DELAY;
	s->second_us = EBB_MOVES_NO_DELAY;
	s->second_rtt_us = EBB_MOVES_NO_DELAY;
	s->trial_base_us = EBB_MOVES_NO_DELAY;
	s->virtual_queue_bytes = 0;
	s->virtual_queue_at_us = s->clock.sender_us;
}

/* The least, if the second least is near it: else the second, which two do not exceed. */
EBB_INLINE u32 ebb_ebb_agreed_us(u32 least_us, u32 second_us)
{
	return second_us - least_us <= EBB_EBB_AGREE_US ? least_us : second_us;
}

/*
 * The least delay and RTT of one to two base windows, that two segments agree on; one alone counts
 * while there is no other. A window lasts until two have come.
 */
EBB_INLINE void ebb_ebb_update_base(struct ebb_ebb_state *s, const struct ebb_ebb_params *p,
				    u64 now_us, u32 delay_us, u32 rtt_us)
{
	if (ebb_moves_age_base(&s->moves, now_us, p->base_window_us)) {
		s->least_rtt_us[1] = s->least_rtt_us[0];
		s->least_rtt_us[0] = EBB_MOVES_NO_DELAY;
		s->lowest_rtt_us = EBB_MOVES_NO_DELAY;
		s->second_us = EBB_MOVES_NO_DELAY;
		s->second_rtt_us = EBB_MOVES_NO_DELAY;
		s->trial_base_us = EBB_MOVES_NO_DELAY;
	}
	s->second_us = ebb_second_least(&s->lowest_us, s->second_us, delay_us);
	s->base_us[0] = ebb_ebb_agreed_us(s->lowest_us, s->second_us);
	s->second_rtt_us = ebb_second_least(&s->lowest_rtt_us, s->second_rtt_us, rtt_us);
	s->least_rtt_us[0] = ebb_ebb_agreed_us(s->lowest_rtt_us, s->second_rtt_us);
	rtt_us = (u32)ebb_min(s->least_rtt_us[0], s->least_rtt_us[1]);
	if (rtt_us == EBB_MOVES_NO_DELAY)
		rtt_us = s->lowest_rtt_us;
	s->rtt_us = rtt_us == EBB_MOVES_NO_DELAY ? 0 : (u32)ebb_min(rtt_us, EBB_MOVES_MAX_RTT_US);
}

/*
 * The window that fills the link with a queue of the target; no limit before C is known. Of many
 * connections each may have a segment that waits to be acknowledged: as far as these lie idle, they
 * fill nothing. What senders wait for their timers with comes yet.
 */
EBB_INLINE u64 ebb_ebb_cap_bytes(const struct ebb_ebb_state *s)
{
	u64 cap_bytes = ebb_moves_bytes_in(s->capacity_bytes_per_s, (u64)s->rtt_us + s->target_us);
	u64 idle_bytes = ebb_sub_floor(s->round_rwnd_bytes, s->round_bytes);

	if (!s->member.stalled_bytes)
		cap_bytes += ebb_min(idle_bytes, s->member.waiting_bytes);
	return s->capacity_bytes_per_s
		       ? ebb_max(cap_bytes, ebb_moves_segments(&s->moves, EBB_MOVES_CAP_SEGMENTS))
		       : EBB_MOVES_MAX_WINDOW_BYTES;
}

/* ---- helpers: what a segment tells ---- */

/* Bytes per second from the arrival so many arrivals ago to a later one; the last is 1. */
EBB_INLINE u64 ebb_ebb_train_bytes_per_s(const struct ebb_ebb_state *s, u32 from_ago, u32 to_ago)
{
	const struct ebb_ebb_arrival *from, *to;

	from = &s->arrivals[(s->arrival_count - from_ago) & (EBB_EBB_ARRIVALS - 1)];
	to = &s->arrivals[(s->arrival_count - to_ago) & (EBB_EBB_ARRIVALS - 1)];
	return ebb_div((u64)(to->received_bytes - from->received_bytes) * EBB_US_PER_S,
		       to->at_us - from->at_us, 0);
}

/*
 * The same for when they would have come without a queue: as they were sent. A tick blurs that; 0
 * where the clocks have just changed.
 */
EBB_INLINE u64 ebb_ebb_sent_bytes_per_s(const struct ebb_ebb_state *s)
{
	const struct ebb_ebb_arrival *from, *to;
	u32 tick_us = s->clock.tick.tick_us, took_us;

	from = &s->arrivals[(s->arrival_count - EBB_EBB_TRAINS_ARRIVALS) & (EBB_EBB_ARRIVALS - 1)];
	to = &s->arrivals[(s->arrival_count - 1) & (EBB_EBB_ARRIVALS - 1)];
	took_us = to->sent_us - from->sent_us + tick_us;
	if (took_us >= EBB_HALF_CIRCLE)
		return 0;
	return ebb_div((u64)(to->received_bytes - from->received_bytes) * EBB_US_PER_S,
		       ebb_sub_floor(took_us, tick_us + tick_us),
		       EBB_MOVES_MAX_CAPACITY_BYTES_PER_S);
}

/* Others held it up, or nobody knows what: the rate at which it comes is not the link's. */
EBB_INLINE u8 ebb_ebb_is_late(const struct ebb_ebb_state *s)
{
	if (s->clock.tick.is_unsure)
		return 1;
	return s->capacity_bytes_per_s && s->excess_us > s->low_us;
}

/* Was a segment late in so long until then? Arrival times, low 32 bits. */
EBB_INLINE u8 ebb_ebb_was_late(const struct ebb_ebb_state *s, u32 at_us, u32 for_us)
{
	return at_us - s->late_at_us <= for_us;
}

EBB_INLINE void ebb_ebb_time_segment(struct ebb_ebb_state *s)
{
	u32 segment_us = (u32)ebb_min(ebb_moves_time_us(s->capacity_bytes_per_s, s->mss_bytes),
				      EBB_MOVES_MAX_SEGMENT_US);

	if (segment_us != s->segment_us)
		s->pace_us_x16 = 0;
	if (segment_us + s->segment_us / EBB_EBB_SURE_DIVISOR < s->segment_us)
		s->sure_gaps = 0;
	s->segment_us = segment_us;
}

/*
 * One train tells nothing: it may have begun with segments that were held up on their way, or
 * have one that is nobody's. So two of them, without an arrival that is in both. Nor
 * do trains with a silence in them, as between two flights, unless there are no others.
 */
EBB_INLINE void ebb_ebb_take_capacity(struct ebb_ebb_state *s, u32 at_us)
{
	u32 first = (s->arrival_count - EBB_EBB_TRAINS_ARRIVALS) & (EBB_EBB_ARRIVALS - 1);
	u64 rate_bytes_per_s, before_bytes_per_s;

	if (s->arrival_count < EBB_EBB_TRAINS_ARRIVALS ||
	    ebb_ebb_was_late(s, at_us, at_us - s->arrivals[first].at_us))
		return;
	if (s->run_arrivals >= EBB_EBB_TRAINS_ARRIVALS)
		s->is_steady = 1;
	else if (s->is_steady || s->arrival_count < EBB_EBB_UNSTEADY_ARRIVALS)
		return;
	rate_bytes_per_s = ebb_ebb_train_bytes_per_s(s, EBB_EBB_TRAIN, 1);
	before_bytes_per_s =
		ebb_ebb_train_bytes_per_s(s, EBB_EBB_TRAINS_ARRIVALS, EBB_EBB_TRAIN + 1);
	rate_bytes_per_s = ebb_min(rate_bytes_per_s, before_bytes_per_s);
	rate_bytes_per_s = ebb_min(rate_bytes_per_s, ebb_ebb_sent_bytes_per_s(s));
	s->capacity_bytes_per_s = ebb_min(ebb_max(s->capacity_bytes_per_s, rate_bytes_per_s),
					  EBB_MOVES_MAX_CAPACITY_BYTES_PER_S);
	ebb_ebb_time_segment(s);
}

/* A run of arrivals at about the same pace goes on, or another begins. */
EBB_INLINE void ebb_ebb_take_pace(struct ebb_ebb_state *s, u32 gap_us)
{
	u8 is_steady = s->run_arrivals > 1;

	if (!s->run_arrivals || (is_steady && gap_us / EBB_EBB_PACES > s->run_gap_us)) {
		s->run_arrivals = 1;
		return;
	}
	if (is_steady && gap_us < s->run_gap_us / EBB_EBB_PACES) {
		s->run_arrivals = 1;
		is_steady = 0;
	}
	if (is_steady)
		gap_us = (u32)(((u64)s->run_gap_us * EBB_EBB_GAP_X8 + gap_us) / EBB_ONE_X8);
	s->run_gap_us = gap_us;
	s->run_arrivals = (u32)ebb_min(s->run_arrivals + 1, EBB_EBB_TRAINS * EBB_EBB_TRAIN);
}

/* Arrivals in quick succession are one, whose time and bytes are those of its last segment. */
EBB_INLINE void ebb_ebb_take_arrival(struct ebb_ebb_state *s, u64 now_us, u32 bytes)
{
	struct ebb_ebb_arrival *arrival;
	u32 at_us = (u32)now_us;
	u8 is_new = !s->arrival_count || at_us - s->arrival_since_us >= EBB_EBB_ARRIVAL_GAP_US;

	s->received_bytes += bytes;
	s->arrival_count += is_new;
	arrival = &s->arrivals[(s->arrival_count - 1) & (EBB_EBB_ARRIVALS - 1)];
	arrival->at_us = at_us;
	arrival->sent_us = at_us - s->queue_us;
	arrival->received_bytes = s->received_bytes;
	if (ebb_ebb_is_late(s))
		s->late_at_us = at_us;
	if (!is_new)
		return;
	ebb_ebb_take_pace(s, at_us - s->arrival_since_us);
	s->arrival_since_us = at_us;
	ebb_end_step();
	ebb_ebb_take_capacity(s, at_us);
	ebb_end_step();
	if (s->arrival_count >= EBB_EBB_LONG_TRAIN)
		s->round_rate_bytes_per_s =
			ebb_max(s->round_rate_bytes_per_s,
				ebb_ebb_train_bytes_per_s(s, EBB_EBB_LONG_TRAIN, 1));
}

/* Own segments that would wait if nobody else sent; returns the wait in us. */
EBB_INLINE u64 ebb_ebb_own_wait_us(struct ebb_ebb_state *s, u64 sender_us, u32 bytes)
{
	u64 step_us = 0, drained_bytes;

	if ((s64)(sender_us - s->virtual_queue_at_us) > 0)
		step_us = sender_us - s->virtual_queue_at_us;
	s->virtual_queue_at_us = sender_us;
	drained_bytes = ebb_moves_bytes_in(s->capacity_bytes_per_s, step_us);
	s->virtual_queue_bytes = ebb_sub_floor(s->virtual_queue_bytes, drained_bytes);
	s->virtual_queue_bytes =
		ebb_min(s->virtual_queue_bytes + bytes, EBB_EBB_MAX_VIRTUAL_QUEUE_BYTES);
	return ebb_moves_time_us(s->capacity_bytes_per_s, s->virtual_queue_bytes);
}

/* A segment's queueing delay, and the part that is not ours: it was sent at clock.sender_us. */
EBB_INLINE void ebb_ebb_take_queue(struct ebb_ebb_state *s, u64 now_us, u32 delay_us,
				   u32 payload_bytes)
{
	u32 base_us = ebb_moves_base_us(&s->moves), last_queue_us = s->queue_us;

	s->queue_us = (u32)ebb_sub_floor(delay_us, base_us);
	s->excess_us = (u32)ebb_sub_floor(
		s->queue_us, ebb_ebb_own_wait_us(s, s->clock.sender_us, payload_bytes));
	if (s->queue_us < EBB_EBB_EMPTY_US)
		s->last_empty_us = now_us;
	s->longest_queue_us =
		(u32)ebb_max(s->longest_queue_us, ebb_min(s->queue_us, last_queue_us));
	s->round_queue_us = (u32)ebb_min(s->round_queue_us, s->queue_us);
	s->round_excess_us = (u32)ebb_max(s->round_excess_us, s->excess_us);
	s->look_excess_us = (u32)ebb_min(s->look_excess_us, s->excess_us);
}

/* Queueing delay from timestamps. */
EBB_INLINE void ebb_ebb_take_delay(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				   const struct ebb_ebb_params *p)
{
	u64 rtt_us = 0;
	u32 delay_us, echo_age = segment->local_ts - segment->tsecr;

	if (segment->tsecr && echo_age < EBB_HALF_CIRCLE)
		rtt_us = ebb_clamp((u64)echo_age * segment->local_tick_us +
					   ebb_mod(segment->now_us, segment->local_tick_us),
				   1, EBB_MOVES_MAX_RTT_US);
	if (ebb_clock_on_segment(&s->clock, segment->now_us, segment->tsval, rtt_us))
		ebb_ebb_forget_delays(s, segment->now_us);
	rtt_us = rtt_us ? ebb_max(rtt_us, segment->local_tick_us) : EBB_MOVES_NO_DELAY;
	s->round_rtt_us = (u32)ebb_min(s->round_rtt_us, rtt_us);
	delay_us = ebb_clock_delay_us(&s->clock, segment->now_us);
	if (!delay_us)
		return;
	ebb_ebb_update_base(s, p, segment->now_us, delay_us, (u32)rtt_us);
	ebb_ebb_take_queue(s, segment->now_us, delay_us, segment->payload_bytes);
}

#endif /* EBB_EBB_PATH_H */
