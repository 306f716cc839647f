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

#include "contract.h"
#include "math.h"
#include "timestamps.h"

#define EBB_EBB_PARAMS(P)                                                                   \
	P(low_us, 3000, 500, 1000000, "us", "[EBB §thresholds]",                            \
	  "queueing delay below which the window grows freely")                             \
	P(target_us, 5000, 1000, 1000000, "us", "[EBB §thresholds]",                        \
	  "queueing delay above which the window shrinks")                                  \
	P(high_us, 15000, 1000, 1000000, "us", "[EBB §thresholds]",                         \
	  "delay not explained by our own bursts above which others want the link")         \
	P(span_us, 20000, 1000, 1000000, "us", "[EBB §yield]",                              \
	  "excess over the target at which a graded cut would empty the window")            \
	P(start_segments, 10, 1, 64, "segments", "[RFC6928 §2]", "first window")            \
	P(hold_max_us, 1000000, 0, 10000000, "us", "[EBB §yield]",                          \
	  "longest wait before probing again after yields in quick succession")             \
	P(probe_segments, 4, 1, 64, "segments", "[EBB §yield]",                             \
	  "window while yielding, for the first 1.5 s; half of it to 4 s, then 1")          \
	P(empty_within_us, 10000000, 1000000, 600000000, "us", "[EBB §base]",               \
	  "drain once if the queue was not seen empty for so long")                         \
	P(base_window_us, 30000000, 1000000, 3600000000u, "us", "[EBB §base]",              \
	  "the least delay is forgotten after one to two of these (ten times in YIELD)")

struct ebb_ebb_params {
	EBB_EBB_PARAMS(EBB_PARAM_FIELD)
};

/* [EBB §detection] A look at the queue takes so many segments and a quarter RTT. */
#define EBB_EBB_LOOK_SEGMENTS 8u
/* [EBB §capacity] Trains for the capacity, and for "the link is ours". */
#define EBB_EBB_TRAIN 6u
#define EBB_EBB_LONG_TRAIN 12u
#define EBB_EBB_ARRIVALS 16u
/* [EBB §capacity] Arrivals closer than this count as one (GRO, interrupt batches). */
#define EBB_EBB_ARRIVAL_GAP_US 250u
/* [EBB §yield] While yielding the window falls to a half and to one segment then. */
#define EBB_EBB_PROBE_HALF_AFTER_US 1500000u
#define EBB_EBB_PROBE_ONE_AFTER_US 4000000u
/* [EBB §base] Queueing delays below this count as an empty queue. */
#define EBB_EBB_EMPTY_US 1000u
/* [EBB §domain] Bounds that keep products within 64 bits. */
#define EBB_EBB_MAX_RTT_US 60000000u
#define EBB_EBB_MAX_CAPACITY_BYTES_PER_S 62500000000ull
#define EBB_EBB_MAX_WINDOW_BYTES 0x3fffffffu
/* [EBB §domain] Stands for a delay that was not seen. */
#define EBB_EBB_NO_DELAY 0xffffffffu

struct ebb_ebb_arrival {
	u32 at_us;             /* arrival time, low 32 bits */
	u32 received_bytes;    /* everything received up to and with it, low 32 bits */
};

struct ebb_ebb_state {
	u32 rwnd_bytes;             /* the answer: W */
	u32 mss_bytes;
	struct ebb_clock clock;

	/* What the path looks like. */
	u64 capacity_bytes_per_s;   /* C: fastest train */
	u64 base_since_us;          /* start of the current base window */
	u32 base_us[2];             /* least delay in the current and the last base window */
	u32 least_rtt_us[2];        /* least round-trip time, likewise */
	u32 rtt_us;                 /* the lesser of these; 0: none yet */
	u32 segment_us;             /* time that a segment takes at C */
	u32 queue_us;               /* q: the last segment's queueing delay */
	u32 excess_us;              /* e: the part of it that our bursts do not explain */
	u32 longest_queue_us;       /* ever seen: about the bottleneck's buffer */
	u64 virtual_queue_bytes;    /* own segments queued if we were alone */
	u64 virtual_queue_at_us;    /* sender's clock when that was brought up to date */
	u64 last_empty_us;          /* when the queue was last seen empty */

	/* The last arrivals, for trains. */
	struct ebb_ebb_arrival arrivals[EBB_EBB_ARRIVALS];
	u32 arrival_count;
	u32 received_bytes;

	/* The round trip under way. */
	u64 round_since_us;
	u32 round_local_ts;         /* ends with a segment that echoes a later one */
	u32 round_edge_seq;         /* without timestamps: with one beyond this */
	u32 round_bytes;
	u32 round_queue_us;         /* least q */
	u32 round_excess_us;        /* greatest e */
	u64 round_rate_bytes_per_s; /* fastest long train */
	u32 round_rwnd_bytes;       /* W at its start */
	u32 last_round_bytes;
	u32 last_rwnd_bytes;        /* W1: W one round trip earlier */
	u32 growth_bytes;           /* g: what W shall grow by in this round trip */
	u32 growth_left_bytes;

	/* The look at the queue under way. */
	u64 look_since_us;
	u32 look_segments;
	u32 look_excess_us;         /* least e */

	/* After a cut, until its effect is seen. */
	u64 blind_until_us;
	u32 blind_edge_seq;

	u64 yield_since_us;
	u64 hold_until_us;
	u32 hold_us;
	u32 saturation_bytes;       /* W at which the link was full last; 0: not known */
	u32 clear_rounds;           /* round trips without a queue in a row */
	u64 loss_until_us;          /* losses up to then belong to the last one */
	u32 restore_bytes;          /* W before draining */

	u8 is_round_open;
	u8 is_blind;
	u8 is_draining;
	u8 is_yielding;
	u8 has_yielded;             /* ever: yield_since_us is valid */
	u8 is_starting;             /* doubling from the first window */
	u8 is_reclaiming;           /* just out of YIELD: the link may be ours */
	u8 reserved;
};

/* ---- helpers: window and path ---- */

EBB_INLINE u32 ebb_ebb_segments(const struct ebb_ebb_state *s, u64 segments)
{
	return (u32)(s->mss_bytes * segments);
}

EBB_INLINE void ebb_ebb_set_window(struct ebb_ebb_state *s, u64 bytes)
{
	s->rwnd_bytes = (u32)ebb_clamp(bytes, s->mss_bytes, EBB_EBB_MAX_WINDOW_BYTES);
}

/* Bytes that the link carries in a time. Capacity < 2^36 B/s, time < 2^26 us. */
EBB_INLINE u64 ebb_ebb_bytes_in(const struct ebb_ebb_state *s, u64 time_us)
{
	return s->capacity_bytes_per_s * ebb_min(time_us, EBB_EBB_MAX_RTT_US) / 1000000;
}

/* Time that the link needs for so many bytes. */
EBB_INLINE u64 ebb_ebb_time_of(const struct ebb_ebb_state *s, u64 bytes)
{
	return ebb_div(ebb_min(bytes, 1ull << 40) * 1000000, s->capacity_bytes_per_s, 0);
}

EBB_INLINE u64 ebb_ebb_bdp_bytes(const struct ebb_ebb_state *s)
{
	return ebb_ebb_bytes_in(s, s->rtt_us);
}

EBB_INLINE u32 ebb_ebb_base_us(const struct ebb_ebb_state *s)
{
	return (u32)ebb_min(s->base_us[0], s->base_us[1]);
}

EBB_INLINE void ebb_ebb_forget_delays(struct ebb_ebb_state *s, u64 now_us)
{
	s->base_us[0] = EBB_EBB_NO_DELAY;
	s->base_us[1] = EBB_EBB_NO_DELAY;
	s->least_rtt_us[0] = EBB_EBB_NO_DELAY;
	s->least_rtt_us[1] = EBB_EBB_NO_DELAY;
	s->base_since_us = now_us;
	s->last_empty_us = now_us;
	s->virtual_queue_bytes = 0;
	s->virtual_queue_at_us = s->clock.sender_us;
}

/* The least delay and RTT of one to two base windows; time passes slowly in YIELD. */
EBB_INLINE void ebb_ebb_update_base(struct ebb_ebb_state *s, const struct ebb_ebb_params *p,
				    u64 now_us, u32 delay_us, u32 rtt_us)
{
	u64 window_us = s->is_yielding ? (u64)p->base_window_us * 10 : p->base_window_us;

	if (now_us - s->base_since_us > window_us) {
		s->base_us[1] = s->base_us[0];
		s->base_us[0] = EBB_EBB_NO_DELAY;
		s->least_rtt_us[1] = s->least_rtt_us[0];
		s->least_rtt_us[0] = EBB_EBB_NO_DELAY;
		s->base_since_us = now_us;
	}
	s->base_us[0] = (u32)ebb_min(s->base_us[0], delay_us);
	s->least_rtt_us[0] = (u32)ebb_min(s->least_rtt_us[0], rtt_us);
	rtt_us = (u32)ebb_min(s->least_rtt_us[0], s->least_rtt_us[1]);
	s->rtt_us = rtt_us == EBB_EBB_NO_DELAY ? 0 : rtt_us;
}

/* A queue below a segment's time, or a tick, cannot be told from none: thresholds scale. */
EBB_INLINE u32 ebb_ebb_grain_us(const struct ebb_ebb_state *s)
{
	u32 tick_us = s->clock.tick.tick_us > EBB_TICK_USUAL_US ? s->clock.tick.tick_us : 0;

	return (u32)ebb_max(s->segment_us, tick_us);
}

EBB_INLINE u32 ebb_ebb_low_us(const struct ebb_ebb_state *s, const struct ebb_ebb_params *p)
{
	return (u32)ebb_max(p->low_us, ebb_ebb_grain_us(s));
}

EBB_INLINE u32 ebb_ebb_target_us(const struct ebb_ebb_state *s, const struct ebb_ebb_params *p)
{
	return (u32)ebb_max(p->target_us, ebb_ebb_grain_us(s) * 3 / 2);
}

EBB_INLINE u32 ebb_ebb_high_us(const struct ebb_ebb_state *s, const struct ebb_ebb_params *p)
{
	return (u32)ebb_max(p->high_us, ebb_ebb_grain_us(s) * 4);
}

/* The window that fills the link with a queue of the target; no limit before C is known. */
EBB_INLINE u64 ebb_ebb_cap_bytes(const struct ebb_ebb_state *s, const struct ebb_ebb_params *p)
{
	u64 cap_bytes = ebb_ebb_bytes_in(s, (u64)s->rtt_us + ebb_ebb_target_us(s, p));

	return s->capacity_bytes_per_s ? ebb_max(cap_bytes, ebb_ebb_segments(s, 4)) :
					 EBB_EBB_MAX_WINDOW_BYTES;
}

/* ---- helpers: what a segment tells ---- */

EBB_INLINE void ebb_ebb_take_arrival(struct ebb_ebb_state *s, u64 now_us, u32 bytes)
{
	const struct ebb_ebb_arrival *last, *short_train, *long_train;
	struct ebb_ebb_arrival *next;
	u64 rate_bytes_per_s;
	u32 at_us = (u32)now_us;

	s->received_bytes += bytes;
	last = &s->arrivals[(s->arrival_count - 1) & (EBB_EBB_ARRIVALS - 1)];
	if (s->arrival_count && at_us - last->at_us < EBB_EBB_ARRIVAL_GAP_US)
		return;
	next = &s->arrivals[s->arrival_count & (EBB_EBB_ARRIVALS - 1)];
	next->at_us = at_us;
	next->received_bytes = s->received_bytes;
	s->arrival_count++;
	if (s->arrival_count >= EBB_EBB_TRAIN) {
		short_train = &s->arrivals[(s->arrival_count - EBB_EBB_TRAIN) &
					   (EBB_EBB_ARRIVALS - 1)];
		rate_bytes_per_s = ebb_div((u64)(s->received_bytes - short_train->received_bytes) *
					   1000000, at_us - short_train->at_us, 0);
		s->capacity_bytes_per_s = ebb_min(ebb_max(s->capacity_bytes_per_s,
							  rate_bytes_per_s),
						  EBB_EBB_MAX_CAPACITY_BYTES_PER_S);
		s->segment_us = (u32)ebb_min(ebb_ebb_time_of(s, s->mss_bytes), 1000000);
	}
	if (s->arrival_count >= EBB_EBB_LONG_TRAIN) {
		long_train = &s->arrivals[(s->arrival_count - EBB_EBB_LONG_TRAIN) &
					  (EBB_EBB_ARRIVALS - 1)];
		rate_bytes_per_s = ebb_div((u64)(s->received_bytes - long_train->received_bytes) *
					   1000000, at_us - long_train->at_us, 0);
		s->round_rate_bytes_per_s = ebb_max(s->round_rate_bytes_per_s, rate_bytes_per_s);
	}
}

/* Own segments that would wait if nobody else sent; returns the wait in us. */
EBB_INLINE u64 ebb_ebb_own_wait_us(struct ebb_ebb_state *s, u64 sender_us, u32 bytes)
{
	u64 step_us = 0, drained_bytes, wait_us;

	if ((s64)(sender_us - s->virtual_queue_at_us) > 0) {
		step_us = sender_us - s->virtual_queue_at_us;
		s->virtual_queue_at_us = sender_us;
	}
	drained_bytes = ebb_ebb_bytes_in(s, step_us);
	s->virtual_queue_bytes = ebb_sub_floor(s->virtual_queue_bytes, drained_bytes);
	s->virtual_queue_bytes = ebb_min(s->virtual_queue_bytes + bytes, 1ull << 31);
	wait_us = ebb_ebb_time_of(s, s->virtual_queue_bytes);
	return wait_us;
}

/* Queueing delay from timestamps, and the part that is not ours. */
EBB_INLINE void ebb_ebb_take_delay(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				   const struct ebb_ebb_params *p)
{
	u64 rtt_us = 0;
	u32 delay_us, base_us, echo_age = segment->local_ts - segment->tsecr;

	if (segment->tsecr && echo_age < 0x7fffffff)
		rtt_us = ebb_clamp((u64)echo_age * segment->local_tick_us +
				   ebb_mod(segment->now_us, segment->local_tick_us),
				   1, EBB_EBB_MAX_RTT_US);
	if (ebb_clock_on_segment(&s->clock, segment->now_us, segment->tsval, rtt_us))
		ebb_ebb_forget_delays(s, segment->now_us);
	rtt_us = rtt_us ? ebb_max(rtt_us, segment->local_tick_us) : EBB_EBB_NO_DELAY;
	delay_us = ebb_clock_delay_us(&s->clock, segment->now_us);
	if (!delay_us)
		return;
	ebb_ebb_update_base(s, p, segment->now_us, delay_us, (u32)rtt_us);
	base_us = ebb_ebb_base_us(s);
	s->queue_us = delay_us - base_us;
	s->excess_us = (u32)ebb_sub_floor(s->queue_us,
		ebb_ebb_own_wait_us(s, s->clock.sender_us, segment->payload_bytes));
	if (s->queue_us < EBB_EBB_EMPTY_US)
		s->last_empty_us = segment->now_us;
	s->longest_queue_us = (u32)ebb_max(s->longest_queue_us, s->queue_us);
	s->round_queue_us = (u32)ebb_min(s->round_queue_us, s->queue_us);
	s->round_excess_us = (u32)ebb_max(s->round_excess_us, s->excess_us);
	s->look_excess_us = (u32)ebb_min(s->look_excess_us, s->excess_us);
}

/* ---- helpers: rounds ---- */

EBB_INLINE void ebb_ebb_begin_look(struct ebb_ebb_state *s, u64 now_us)
{
	s->look_since_us = now_us;
	s->look_segments = 0;
	s->look_excess_us = EBB_EBB_NO_DELAY;
}

EBB_INLINE void ebb_ebb_begin_round(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	s->round_since_us = segment->now_us;
	s->round_local_ts = segment->local_ts;
	s->round_edge_seq = segment->right_edge_seq;
	s->round_bytes = 0;
	s->round_queue_us = EBB_EBB_NO_DELAY;
	s->round_excess_us = 0;
	s->round_rate_bytes_per_s = 0;
	s->round_rwnd_bytes = s->rwnd_bytes;
	s->is_round_open = 1;
	ebb_ebb_begin_look(s, segment->now_us);
}

/* Nothing is judged until a segment arrives that the new window allowed. */
EBB_INLINE void ebb_ebb_go_blind(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	s->is_blind = 1;
	s->blind_edge_seq = segment->right_edge_seq;
	s->blind_until_us = segment->now_us + 4ull * s->rtt_us + 20000;
	s->last_rwnd_bytes = s->rwnd_bytes;
	s->growth_bytes = 0;
	s->growth_left_bytes = 0;
	s->is_round_open = 0;
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

EBB_INLINE void ebb_ebb_remember_saturation(struct ebb_ebb_state *s, u64 bytes)
{
	s->saturation_bytes = (u32)ebb_max(bytes, (u64)s->saturation_bytes * 4 / 5);
}

EBB_INLINE u32 ebb_ebb_probe_bytes(const struct ebb_ebb_state *s, const struct ebb_ebb_params *p,
				   u64 now_us)
{
	u64 since_us = s->is_yielding ? now_us - s->yield_since_us : 0;

	if (since_us >= EBB_EBB_PROBE_ONE_AFTER_US)
		return ebb_ebb_segments(s, 1);
	if (since_us >= EBB_EBB_PROBE_HALF_AFTER_US)
		return ebb_ebb_segments(s, ebb_max(p->probe_segments / 2, 1));
	return ebb_ebb_segments(s, p->probe_segments);
}

EBB_INLINE void ebb_ebb_enter_yield(struct ebb_ebb_state *s, const struct ebb_ebb_params *p,
				    u64 now_us)
{
	u64 since_last_us = now_us - s->yield_since_us;
	u32 short_us = 3 * s->rtt_us;

	if (s->has_yielded && since_last_us < 8ull * s->rtt_us + s->hold_us)
		s->hold_us = (u32)ebb_min(2ull * s->hold_us + 300000, p->hold_max_us);
	else
		s->hold_us = short_us;
	s->is_yielding = 1;
	s->has_yielded = 1;
	s->yield_since_us = now_us;
	s->hold_until_us = now_us + s->hold_us;
}

/* Others want the link: give it all if we had it, else a share of the excess. */
EBB_INLINE void ebb_ebb_yield(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			      const struct ebb_ebb_params *p, u32 excess_us, u32 own_us)
{
	u64 window_bytes = ebb_min(s->rwnd_bytes, s->last_rwnd_bytes);
	u64 least_bytes = ebb_ebb_segments(s, p->probe_segments);
	u64 over_us = ebb_sub_floor(ebb_sub_floor(excess_us, own_us), ebb_ebb_target_us(s, p));
	u8 had_link = (u64)s->last_round_bytes * 10 > ebb_ebb_bdp_bytes(s) * 7;
	u8 is_recent = s->has_yielded &&
		       segment->now_us - s->yield_since_us < 6ull * s->rtt_us;

	if (is_recent)
		s->saturation_bytes = (u32)ebb_max(s->saturation_bytes, window_bytes);
	else
		ebb_ebb_remember_saturation(s, window_bytes);
	over_us = ebb_min(over_us, p->span_us);
	window_bytes -= ebb_div(window_bytes * over_us, p->span_us, window_bytes);
	if (had_link || window_bytes < least_bytes)
		window_bytes = least_bytes;
	ebb_ebb_set_window(s, window_bytes);
	if (window_bytes == least_bytes)
		ebb_ebb_enter_yield(s, p, segment->now_us);
	s->is_starting = 0;
	s->is_reclaiming = 0;
	s->clear_rounds = 0;
	ebb_ebb_go_blind(s, segment);
}

/* We overshot ourselves: back to what the link and the target hold. */
EBB_INLINE void ebb_ebb_retreat(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				const struct ebb_ebb_params *p, u32 excess_us)
{
	u64 longer_us = (u64)s->rtt_us + ebb_sub_floor(excess_us, ebb_ebb_target_us(s, p)) + 2000;
	u64 window_bytes = ebb_div((u64)s->rwnd_bytes * s->rtt_us, longer_us, s->rwnd_bytes);

	ebb_ebb_set_window(s, ebb_min(s->last_rwnd_bytes, window_bytes));
	s->saturation_bytes = s->rwnd_bytes;
	s->is_starting = 0;
	s->is_reclaiming = 0;
	s->clear_rounds = 0;
	ebb_ebb_go_blind(s, segment);
}

/* Judges a look at the queue; returns 1 if it led to a cut. */
EBB_INLINE u8 ebb_ebb_judge(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			    const struct ebb_ebb_params *p, u32 excess_us)
{
	u64 grown_bytes = ebb_sub_floor(s->rwnd_bytes, s->last_rwnd_bytes);
	u32 own_us = (u32)ebb_min(ebb_ebb_time_of(s, grown_bytes), EBB_EBB_MAX_RTT_US);

	if (excess_us == EBB_EBB_NO_DELAY || excess_us <= ebb_ebb_high_us(s, p) || s->is_yielding)
		return 0;
	if (excess_us > ebb_ebb_high_us(s, p) + own_us)
		ebb_ebb_yield(s, segment, p, excess_us, own_us);
	else
		ebb_ebb_retreat(s, segment, p, excess_us);
	return 1;
}

/* How much the window may grow in the next round trip, with no queue to speak of. */
EBB_INLINE u64 ebb_ebb_growth_bytes(struct ebb_ebb_state *s, const struct ebb_ebb_params *p)
{
	u64 window_bytes = s->rwnd_bytes, bdp_bytes = ebb_ebb_bdp_bytes(s);
	u64 cap_bytes = ebb_ebb_cap_bytes(s, p), growth_bytes, steps;
	u8 is_fast = s->round_rate_bytes_per_s * 100 > s->capacity_bytes_per_s * 85;
	u8 is_alone = s->round_excess_us < ebb_ebb_target_us(s, p) + 3000;

	if ((u64)s->round_bytes * 3 / 2 + ebb_ebb_segments(s, 4) < s->round_rwnd_bytes)
		return 0;
	if (s->is_starting)
		return ebb_min(window_bytes, ebb_sub_floor(cap_bytes, window_bytes));
	if (s->is_reclaiming && is_fast && is_alone && window_bytes * 10 < bdp_bytes * 9)
		return ebb_min(2 * window_bytes, bdp_bytes - window_bytes);
	if (window_bytes < s->saturation_bytes)
		return ebb_min(2 * window_bytes, (s->saturation_bytes - window_bytes) / 2);
	if (window_bytes >= bdp_bytes)
		return ebb_min(s->mss_bytes, ebb_sub_floor(cap_bytes, window_bytes));
	steps = ebb_min(s->clear_rounds, 16);
	growth_bytes = (u64)s->mss_bytes << (steps / 2);
	if (steps & 1)
		growth_bytes = growth_bytes * 181 / 128;
	growth_bytes = ebb_min(growth_bytes, ebb_max(window_bytes / 8, s->mss_bytes));
	return ebb_min(growth_bytes, ebb_sub_floor(cap_bytes, window_bytes));
}

/* The queue is above the target: take back what makes it. */
EBB_INLINE void ebb_ebb_shrink(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			       const struct ebb_ebb_params *p)
{
	u64 window_bytes = ebb_min(s->rwnd_bytes, (u64)s->round_bytes + ebb_ebb_segments(s, 2));
	u64 over_us = s->round_queue_us - ebb_ebb_target_us(s, p);
	u64 step_bytes = ebb_div(window_bytes * ebb_min(over_us, 1 << 20) * 3 / 2, s->rtt_us, 0);

	ebb_ebb_remember_saturation(s, s->rwnd_bytes);
	step_bytes = ebb_max(step_bytes, s->mss_bytes / 2);
	ebb_ebb_set_window(s, ebb_sub_floor(window_bytes, step_bytes));
	s->is_starting = 0;
	s->is_reclaiming = 0;
	s->clear_rounds = 0;
	ebb_ebb_go_blind(s, segment);
}

/* No empty queue for long: let it drain, so that the least delay is measured anew. */
EBB_INLINE u8 ebb_ebb_drain(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			    const struct ebb_ebb_params *p)
{
	if (segment->now_us - s->last_empty_us < p->empty_within_us)
		return 0;
	s->restore_bytes = s->rwnd_bytes;
	s->last_empty_us = segment->now_us;
	ebb_ebb_set_window(s, (u64)s->rwnd_bytes * 3 / 4);
	s->is_draining = 1;
	ebb_ebb_go_blind(s, segment);
	return 1;
}

EBB_INLINE void ebb_ebb_end_yielding_round(struct ebb_ebb_state *s,
					   const struct ebb_segment *segment,
					   const struct ebb_ebb_params *p)
{
	if (s->round_queue_us < ebb_ebb_target_us(s, p) && segment->now_us >= s->hold_until_us) {
		s->is_yielding = 0;
		s->is_reclaiming = 1;
		s->clear_rounds = 0;
		return;
	}
	ebb_ebb_set_window(s, ebb_ebb_probe_bytes(s, p, segment->now_us));
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
		/* Never grant what the sender does not use: it can't be taken back. */
		ebb_ebb_set_window(s, ebb_min(s->rwnd_bytes, 2ull * s->round_bytes +
							      ebb_ebb_segments(s, 4)));
		if (ebb_ebb_drain(s, segment, p))
			return;
		if (s->round_queue_us < ebb_ebb_low_us(s, p)) {
			s->clear_rounds++;
			s->growth_bytes = (u32)ebb_ebb_growth_bytes(s, p);
		} else if (s->round_queue_us < ebb_ebb_target_us(s, p)) {
			s->is_starting = 0;
			ebb_ebb_set_window(s, ebb_min(s->rwnd_bytes, (u64)s->round_bytes +
							      ebb_ebb_segments(s, 2)));
			s->growth_bytes = s->mss_bytes;
		} else if (s->round_queue_us != EBB_EBB_NO_DELAY) {
			ebb_ebb_shrink(s, segment, p);
			return;
		}
	}
	s->growth_left_bytes = s->growth_bytes;
	ebb_ebb_begin_round(s, segment);
}

/* ---- helpers: one segment's steps ---- */

/* A hole means congestion if segments were queueing, or if delays tell nothing. */
EBB_INLINE u8 ebb_ebb_is_congestive(const struct ebb_ebb_state *s,
				    const struct ebb_segment *segment,
				    const struct ebb_ebb_params *p)
{
	u32 usual_us = (u32)ebb_min(ebb_ebb_target_us(s, p), s->longest_queue_us / 4 * 3);

	if (segment->is_ce)
		return 1;
	if (!ebb_before32(segment->rcv_nxt, segment->seq))
		return 0;
	return !segment->has_timestamps || s->queue_us > ebb_max(usual_us, EBB_EBB_EMPTY_US);
}

EBB_INLINE void ebb_ebb_take_loss(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				  const struct ebb_ebb_params *p)
{
	if (s->is_yielding || segment->now_us < s->loss_until_us)
		return;
	if (!ebb_ebb_is_congestive(s, segment, p))
		return;
	s->loss_until_us = segment->now_us + s->rtt_us + s->queue_us;
	s->saturation_bytes = s->rwnd_bytes;
	ebb_ebb_set_window(s, ebb_max(s->rwnd_bytes / 2, ebb_ebb_segments(s, 2)));
	s->is_starting = 0;
	s->is_reclaiming = 0;
	s->clear_rounds = 0;
	ebb_ebb_go_blind(s, segment);
}

EBB_INLINE void ebb_ebb_grow(struct ebb_ebb_state *s, u32 payload_bytes)
{
	u64 share_bytes;

	if (!s->growth_left_bytes)
		return;
	share_bytes = ebb_div((u64)s->growth_bytes * payload_bytes, s->round_rwnd_bytes, 0);
	share_bytes = ebb_min(share_bytes, s->growth_left_bytes);
	s->growth_left_bytes -= (u32)share_bytes;
	ebb_ebb_set_window(s, s->rwnd_bytes + share_bytes);
}

/* Without timestamps, the time until a new window is used is the round trip. */
EBB_INLINE void ebb_ebb_take_feedback_time(struct ebb_ebb_state *s,
					   const struct ebb_segment *segment,
					   const struct ebb_ebb_params *p)
{
	u32 feedback_us = (u32)ebb_clamp(segment->now_us - s->round_since_us, 1,
					 EBB_EBB_MAX_RTT_US);

	ebb_ebb_update_base(s, p, segment->now_us, feedback_us, feedback_us);
	s->queue_us = feedback_us - s->rtt_us;
	s->round_queue_us = s->queue_us;
	s->longest_queue_us = (u32)ebb_max(s->longest_queue_us, s->queue_us);
	if (s->queue_us < EBB_EBB_EMPTY_US)
		s->last_empty_us = segment->now_us;
}

/* While observing, the window only follows what arrives. */
EBB_INLINE void ebb_ebb_observe_round(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				      const struct ebb_ebb_params *p)
{
	u32 least_bytes = ebb_ebb_segments(s, p->start_segments);

	s->last_round_bytes = s->round_bytes;
	ebb_ebb_set_window(s, ebb_max(s->round_bytes, least_bytes));
	s->last_rwnd_bytes = s->rwnd_bytes;
	s->growth_bytes = 0;
	s->growth_left_bytes = 0;
	ebb_ebb_begin_round(s, segment);
}

EBB_INLINE void ebb_ebb_look(struct ebb_ebb_state *s, const struct ebb_segment *segment,
			     const struct ebb_ebb_params *p)
{
	s->look_segments += segment->segments;
	if (s->look_segments < EBB_EBB_LOOK_SEGMENTS ||
	    segment->now_us - s->look_since_us < s->rtt_us / 4)
		return;
	if (!ebb_ebb_judge(s, segment, p, s->look_excess_us))
		ebb_ebb_begin_look(s, segment->now_us);
}

/* ---- hooks ---- */

EBB_INLINE void ebb_ebb_init(struct ebb_ebb_state *s, const struct ebb_start *start,
			     const struct ebb_ebb_params *p)
{
	s->mss_bytes = (u32)ebb_clamp(start->mss_bytes, 64, 65535);
	ebb_ebb_forget_delays(s, start->now_us);
	s->round_queue_us = EBB_EBB_NO_DELAY;
	s->look_excess_us = EBB_EBB_NO_DELAY;
	s->is_starting = 1;
	ebb_ebb_set_window(s, ebb_ebb_segments(s, p->start_segments));
	s->last_rwnd_bytes = s->rwnd_bytes;
	if (start->has_timestamps && start->tsval)
		ebb_tick_start(&s->clock.tick, start->now_us, start->tsval);
}

EBB_INLINE void ebb_ebb_on_segment(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				   const struct ebb_ebb_params *p)
{
	u32 end_seq = segment->seq + segment->payload_bytes;

	if (segment->mss_bytes)
		s->mss_bytes = (u32)ebb_clamp(segment->mss_bytes, 64, 65535);
	ebb_ebb_take_arrival(s, segment->now_us, segment->payload_bytes);
	if (segment->has_timestamps)
		ebb_ebb_take_delay(s, segment, p);
	s->round_bytes += segment->payload_bytes;

	if (s->is_blind) {
		if (!ebb_before32(s->blind_edge_seq, end_seq) &&
		    segment->now_us < s->blind_until_us)
			return;
		s->is_blind = 0;
		if (s->is_draining)
			ebb_ebb_set_window(s, s->restore_bytes);
		s->is_draining = 0;
	}
	if (!s->is_round_open) {
		ebb_ebb_begin_round(s, segment);
		return;
	}
	if (segment->is_observing) {
		if (ebb_ebb_is_round_over(s, segment))
			ebb_ebb_observe_round(s, segment, p);
		return;
	}
	ebb_ebb_take_loss(s, segment, p);
	if (s->is_blind)
		return;
	ebb_ebb_grow(s, segment->payload_bytes);
	ebb_ebb_look(s, segment, p);
	if (s->is_blind || !ebb_ebb_is_round_over(s, segment))
		return;
	if (!segment->has_timestamps)
		ebb_ebb_take_feedback_time(s, segment, p);
	ebb_ebb_end_round(s, segment, p);
}

/* The window is decided when segments arrive; an outgoing one only carries it. */
EBB_INLINE void ebb_ebb_on_ack(struct ebb_ebb_state *s, const struct ebb_ack *ack,
			       const struct ebb_ebb_params *p)
{
	if (s->is_yielding && !ack->is_observing)
		ebb_ebb_set_window(s, ebb_min(s->rwnd_bytes,
					      ebb_ebb_probe_bytes(s, p, ack->now_us)));
}

#endif /* EBB_EBB_H */
