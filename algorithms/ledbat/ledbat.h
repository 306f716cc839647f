/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ledbat: Low Extra Delay Background Transport. Steers the one-way queueing delay that it
 * adds to a target: the window grows below it and shrinks above it, in proportion to the
 * distance.
 *
 * Sources: [RFC6817 §2] for all of it, [RFC5681 §3.1] for slow start.
 *
 * Differences from the source:
 * 1. The one-way delay is the RTT less the queue on the way back (forward_delay.h), and
 *    the RTT where timestamps tell nothing; clocks' drift does not enter (RFC 6817,
 *    appendix A.2, leaves it to the implementation).
 * 2. The window counts segments, in parts of 1/65536; one acknowledgement counts for 4096
 *    segments at the most.
 * 3. The congestion time-out is the host's retransmission timer (RFC 6298, as the CTO);
 *    its least and greatest values are the host's, too.
 * 4. Slow start, up to three quarters of the target, unless slow_start is 0: the RFC's
 *    pseudocode knows none, TCP's hosts have it.
 * 5. Where the host says that the window limits the flow, its flight counts as a full
 *    window: what segmentation offload holds back is not the application's doing.
 * 6. One-time events of the host that change the window (idle, undo) are followed.
 *
 * Domain: windows below 2^30 segments, targets from 1 ms (the RFC allows up to 100 ms),
 * delays below 16 s from the target, RTT below 35 minutes. State: 288 bytes.
 */
#ifndef EBB_LEDBAT_H
#define EBB_LEDBAT_H

#include "forward_delay.h"
#include "ledbat_delay.h"
#include "sender_contract.h"

#define EBB_LEDBAT_OWN_PARAMS(P)                                                                 \
	P(target_us, 100000, 1000, 100000, "us", "[RFC6817 §2.5]", "queueing delay to steer to") \
	P(gain_x1024, 1024, 1, 1024, "1/1024", "[RFC6817 §2.5]",                                 \
	  "growth, of one segment per round trip without a queue")                               \
	P(decrease_gain_x1024, 1024, 1, 4096, "1/1024", "[RFC6817 §2.4.2]",                      \
	  "the same for shrinking")                                                              \
	P(allowed_increase_pkts, 1, 1, 1000, "segments", "[RFC6817 §2.5]",                       \
	  "how far the window may exceed what is in flight")                                     \
	P(init_cwnd_pkts, 2, 1, 1000, "segments", "[RFC6817 §2.5]", "first window")              \
	P(min_cwnd_pkts, 2, 1, 1000, "segments", "[RFC6817 §2.5]",                               \
	  "least window, but after a time-out")                                                  \
	P(slow_start, 1, 0, 1, "choice", "[RFC5681 §3.1]",                                       \
	  "1: slow start up to three quarters of the target; 0: none")

#define EBB_LEDBAT_PARAMS(P)       \
	EBB_LEDBAT_DELAY_PARAMS(P) \
	EBB_LEDBAT_OWN_PARAMS(P)

struct ebb_ledbat_params {
	struct ebb_ledbat_delay_params delay;
	EBB_LEDBAT_OWN_PARAMS(EBB_PARAM_FIELD)
};

/* [RFC6817 §2.4.2] Bound of a distance from the target: products stay within 64 bits. */
#define EBB_LEDBAT_MAX_OFF_US 0xffffffu
/* [LEDBATPP] Slow start ends at this part of the target: difference 4. */
#define EBB_LEDBAT_EXIT_X4 3u
/* [RFC6817 §2.4.2] What a loss leaves of the window. */
#define EBB_LEDBAT_LOSS_DIVISOR 2u

struct ebb_ledbat_state {
	struct ebb_sender_window window;
	struct ebb_clock clock;
	struct ebb_ledbat_delays delays;
	u64 cwnd_x65536;     /* the window with its fraction */
	u32 halved_seq;      /* what was next to be sent at the last halving */
	u32 prior_cwnd_pkts; /* before the last reduction, for undo */
	u8 has_halved;
	u8 reserved[7];
};

/* ---- helpers ---- */

EBB_INLINE void ebb_ledbat_answer(struct ebb_ledbat_state *state, u64 cwnd_x65536)
{
	state->cwnd_x65536 = cwnd_x65536;
	state->window.cwnd_pkts = (u32)(cwnd_x65536 >> EBB_LEDBAT_SEGMENT_SHIFT);
}

EBB_INLINE void ebb_ledbat_follow(struct ebb_ledbat_state *state, u32 cwnd_pkts, u32 ssthresh_pkts)
{
	ebb_sender_follow(&state->window, cwnd_pkts, ssthresh_pkts);
	ebb_ledbat_answer(state, ebb_ledbat_window_x65536(state->cwnd_x65536, cwnd_pkts));
}

/*
 * |GAIN * off_target * bytes_newly_acked * MSS / cwnd| [RFC6817 §2.4.2], in 1/65536 of a
 * segment. Bounds: 2^12 (acked) * 2^12 (gain) * 2^24 (off) * 2^12 (1024 of the window's
 * 65536 and the gain's scale) = 2^60; 2^17 (target) * 2^36 (window in 1/64).
 */
EBB_INLINE u64 ebb_ledbat_step_x65536(const struct ebb_ledbat_state *state, u32 acked_pkts,
				      u32 off_us, u32 gain_x1024, u32 target_us)
{
	u64 acked = ebb_min(acked_pkts, EBB_LEDBAT_MAX_ACKED_PKTS);
	u64 product = acked * gain_x1024 * ebb_min(off_us, EBB_LEDBAT_MAX_OFF_US);
	u64 cwnd_x64 = ebb_max(state->cwnd_x65536 / EBB_LEDBAT_X65536_PER_X64, 1);

	product *= EBB_LEDBAT_X65536_PER_X1024 * EBB_ONE_X64;
	return ebb_div(product, cwnd_x64 * target_us, 0);
}

/* The controller, between acknowledgement and bounds. */
EBB_INLINE u64 ebb_ledbat_steer_x65536(const struct ebb_ledbat_state *state, u32 acked_pkts,
				       u32 queue_us, const struct ebb_ledbat_params *params)
{
	u32 target_us = params->target_us;

	if (queue_us <= target_us)
		return state->cwnd_x65536 + ebb_ledbat_step_x65536(state, acked_pkts,
								   target_us - queue_us,
								   params->gain_x1024, target_us);
	return ebb_sub_floor(state->cwnd_x65536,
			     ebb_ledbat_step_x65536(state, acked_pkts, queue_us - target_us,
						    params->decrease_gain_x1024, target_us));
}

/* Slow start; answers whether the acknowledgement was used for it. */
EBB_INLINE u8 ebb_ledbat_slow_start(struct ebb_ledbat_state *state,
				    const struct ebb_sender_ack *ack, u32 queue_us,
				    const struct ebb_ledbat_params *params)
{
	u64 exit_us = (u64)params->target_us * EBB_LEDBAT_EXIT_X4 / EBB_ONE_X4;

	if (!params->slow_start || !ebb_sender_in_slow_start(&state->window))
		return 0;
	if (queue_us != EBB_LEDBAT_NO_DELAY && queue_us > exit_us) {
		state->window.ssthresh_pkts = state->window.cwnd_pkts;
		return 0;
	}
	if (ack->is_cwnd_limited) {
		ebb_sender_slow_start(&state->window, ack->acked_pkts);
		ebb_ledbat_answer(state, ebb_ledbat_window_x65536(state->cwnd_x65536,
								  state->window.cwnd_pkts));
	}
	return 1;
}

/* max_allowed_cwnd: flightsize + ALLOWED_INCREASE. */
EBB_INLINE u64 ebb_ledbat_allowed_pkts(const struct ebb_ledbat_state *state,
				       const struct ebb_sender_ack *ack,
				       const struct ebb_ledbat_params *params)
{
	u64 flight_pkts = ack->prior_inflight_pkts;

	if (ack->is_cwnd_limited)
		flight_pkts = ebb_max(flight_pkts, state->window.cwnd_pkts);
	return flight_pkts + params->allowed_increase_pkts;
}

/* ---- the hooks ---- */

EBB_INLINE void ebb_ledbat_init(struct ebb_ledbat_state *state,
				const struct ebb_sender_start *start,
				const struct ebb_ledbat_params *params)
{
	ebb_sender_begin(&state->window, start);
	ebb_ledbat_answer(state, ebb_ledbat_window_x65536(0, params->init_cwnd_pkts));
}

/* on acknowledgment [RFC6817 §2.4.2]. */
EBB_INLINE void ebb_ledbat_on_ack(struct ebb_ledbat_state *state, const struct ebb_sender_ack *ack,
				  const struct ebb_ledbat_params *params)
{
	u32 delay_us, queue_us;
	u64 cwnd_x65536;

	ebb_ledbat_follow(state, ack->cwnd_pkts, ack->ssthresh_pkts);
	if (state->has_halved && ebb_before32(state->halved_seq, ack->ack_seq))
		state->has_halved = 0;
	ebb_forward_on_ack(&state->clock, ack);
	delay_us = ebb_forward_delay_us(&state->clock, ack);
	if (delay_us)
		ebb_ledbat_delays_take(&state->delays, ack->now_us, delay_us);
	if (!ack->acked_pkts)
		return;
	queue_us = ebb_ledbat_queue_us(&state->delays, ack->srtt_us, &params->delay);
	if (ebb_ledbat_slow_start(state, ack, queue_us, params) || queue_us == EBB_LEDBAT_NO_DELAY)
		return;

	cwnd_x65536 = ebb_ledbat_steer_x65536(state, ack->acked_pkts, queue_us, params);
	ebb_ledbat_answer(state,
			  ebb_ledbat_bound_x65536(cwnd_x65536, params->min_cwnd_pkts,
						  ebb_ledbat_allowed_pkts(state, ack, params)));
	/* Slow start does not undo a decrease. */
	if (params->slow_start)
		state->window.ssthresh_pkts =
			(u32)ebb_min(state->window.ssthresh_pkts, state->window.cwnd_pkts);
}

/* on data loss: min(cwnd, max(cwnd / 2, MIN_CWND)), at most once per round trip. */
EBB_INLINE void ebb_ledbat_on_loss(struct ebb_ledbat_state *state,
				   const struct ebb_sender_event *event,
				   const struct ebb_ledbat_params *params)
{
	u64 left_pkts = ebb_max(event->cwnd_pkts / EBB_LEDBAT_LOSS_DIVISOR, params->min_cwnd_pkts);

	ebb_ledbat_follow(state, event->cwnd_pkts, event->ssthresh_pkts);
	state->window.ssthresh_pkts = state->window.cwnd_pkts;
	if (state->has_halved && !ebb_before32(state->halved_seq, event->ack_seq))
		return;
	state->window.ssthresh_pkts = (u32)ebb_min(event->cwnd_pkts, left_pkts);
	state->prior_cwnd_pkts = event->cwnd_pkts;
	state->halved_seq = event->snd_nxt;
	state->has_halved = 1;
}

/* No acknowledgement within the congestion time-out: one segment. */
EBB_INLINE void ebb_ledbat_on_timeout(struct ebb_ledbat_state *state,
				      const struct ebb_sender_event *event,
				      const struct ebb_ledbat_params *params)
{
	state->prior_cwnd_pkts = event->cwnd_pkts;
	state->halved_seq = event->snd_nxt;
	state->has_halved = 1;
	state->window.ssthresh_pkts =
		(u32)ebb_max(event->cwnd_pkts / EBB_LEDBAT_LOSS_DIVISOR, params->min_cwnd_pkts);
	ebb_ledbat_answer(state, ebb_ledbat_window_x65536(0, 1));
}

EBB_INLINE void ebb_ledbat_on_undo(struct ebb_ledbat_state *state,
				   const struct ebb_sender_event *event,
				   const struct ebb_ledbat_params *params)
{
	(void)params;
	ebb_ledbat_follow(state, (u32)ebb_max(event->cwnd_pkts, state->prior_cwnd_pkts),
			  event->ssthresh_pkts);
}

EBB_INLINE void ebb_ledbat_on_idle(struct ebb_ledbat_state *state,
				   const struct ebb_sender_event *event,
				   const struct ebb_ledbat_params *params)
{
	(void)params;
	ebb_ledbat_follow(state, event->cwnd_pkts, event->ssthresh_pkts);
}

#endif /* EBB_LEDBAT_H */
