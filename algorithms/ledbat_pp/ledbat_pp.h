/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ledbat++: LEDBAT with round-trip times, growth that does not exceed Reno's on short
 * paths, multiplicative decrease, and slowdowns in which all flows see the empty path.
 *
 * Sources: [LEDBATPP] what implementations do that follow the draft. The draft itself was
 * not read: no conformance to it is claimed. [RFC6817 §2.4.2] base and current delays.
 *
 * Differences from the source:
 * 1. The window counts segments, in parts of 1/65536; a decrease is spread over the
 *    acknowledgements of a round trip.
 * 2. The last delays count if they are not older than a round trip, as RFC 6817 wants.
 * 3. No growth while the application does not fill the window [RFC7661 §4.1].
 * 4. A loss during a slowdown's least window halves the window to come back to.
 *
 * Domain: windows below 2^30 segments, RTT below 60 s. State: 192 bytes.
 */
#ifndef EBB_LEDBAT_PP_H
#define EBB_LEDBAT_PP_H

#include "ledbat_pp_window.h"
#include "sender_contract.h"

#define EBB_LEDBAT_PP_PARAMS(P)    \
	EBB_LEDBAT_DELAY_PARAMS(P) \
	EBB_LEDBAT_PP_WINDOW_PARAMS(P)

struct ebb_ledbat_pp_params {
	struct ebb_ledbat_delay_params delay;
	struct ebb_ledbat_pp_window_params window;
};

struct ebb_ledbat_pp_state {
	struct ebb_sender_window window;
	struct ebb_ledbat_delays delays;
	struct ebb_ledbat_pp_window own;
	u32 prior_cwnd_pkts; /* before the last reduction, for undo */
	u32 reserved;
};

/* ---- helpers ---- */

EBB_INLINE void ebb_ledbat_pp_follow(struct ebb_ledbat_pp_state *state, u32 cwnd_pkts,
				     u32 ssthresh_pkts)
{
	/* What a slowdown comes back to is the law's: a host that undoes a loss brings back an
	 * older threshold, or none. */
	if (state->own.stage >= EBB_LEDBAT_PP_HOLD)
		ssthresh_pkts = (u32)ebb_min(ssthresh_pkts, state->own.ssthresh_pkts);
	ebb_sender_follow(&state->window, cwnd_pkts, ssthresh_pkts);
	state->own.cwnd_x65536 = ebb_ledbat_window_x65536(state->own.cwnd_x65536, cwnd_pkts);
	state->own.ssthresh_pkts = ssthresh_pkts;
}

EBB_INLINE void ebb_ledbat_pp_answer(struct ebb_ledbat_pp_state *state)
{
	state->window.cwnd_pkts = ebb_ledbat_pp_pkts(&state->own);
	state->window.ssthresh_pkts = state->own.ssthresh_pkts;
}

/* ---- the hooks ---- */

EBB_INLINE void ebb_ledbat_pp_init(struct ebb_ledbat_pp_state *state,
				   const struct ebb_sender_start *start,
				   const struct ebb_ledbat_pp_params *params)
{
	ebb_sender_begin(&state->window, start);
	ebb_ledbat_pp_begin(&state->own, params->window.least_pkts);
	ebb_ledbat_pp_answer(state);
}

EBB_INLINE void ebb_ledbat_pp_on_ack(struct ebb_ledbat_pp_state *state,
				     const struct ebb_sender_ack *ack,
				     const struct ebb_ledbat_pp_params *params)
{
	struct ebb_ledbat_pp_step step = {
		.now_us = ack->now_us,
		.rtt_us = ack->srtt_us,
		.may_grow = ack->is_cwnd_limited,
	};

	ebb_ledbat_pp_follow(state, ack->cwnd_pkts, ack->ssthresh_pkts);
	if (ack->rtt_us)
		ebb_ledbat_delays_take(&state->delays, ack->now_us, ack->rtt_us);
	if (!ack->acked_pkts)
		return;
	step.acked_x65536 = ebb_min(ack->acked_pkts, EBB_LEDBAT_MAX_ACKED_PKTS)
			    << EBB_LEDBAT_SEGMENT_SHIFT;
	step.queue_us = ebb_ledbat_queue_us(&state->delays, ack->srtt_us, &params->delay);
	step.base_us = ebb_ledbat_base_us(&state->delays, &params->delay);
	ebb_end_step();
	ebb_ledbat_pp_take(&state->own, &step, &params->window);
	ebb_ledbat_pp_answer(state);
}

EBB_INLINE void ebb_ledbat_pp_on_loss(struct ebb_ledbat_pp_state *state,
				      const struct ebb_sender_event *event,
				      const struct ebb_ledbat_pp_params *params)
{
	ebb_ledbat_pp_follow(state, event->cwnd_pkts, event->ssthresh_pkts);
	state->prior_cwnd_pkts = event->cwnd_pkts;
	ebb_ledbat_pp_lose(&state->own, event->now_us, event->srtt_us, &params->window);
	ebb_ledbat_pp_answer(state);
}

/* One segment, and slow start from there. */
EBB_INLINE void ebb_ledbat_pp_on_timeout(struct ebb_ledbat_pp_state *state,
					 const struct ebb_sender_event *event,
					 const struct ebb_ledbat_pp_params *params)
{
	ebb_ledbat_pp_on_loss(state, event, params);
	ebb_ledbat_pp_set_pkts(&state->own, 1);
	ebb_ledbat_pp_answer(state);
}

EBB_INLINE void ebb_ledbat_pp_on_undo(struct ebb_ledbat_pp_state *state,
				      const struct ebb_sender_event *event,
				      const struct ebb_ledbat_pp_params *params)
{
	(void)params;
	ebb_ledbat_pp_follow(state, (u32)ebb_max(event->cwnd_pkts, state->prior_cwnd_pkts),
			     event->ssthresh_pkts);
}

EBB_INLINE void ebb_ledbat_pp_on_idle(struct ebb_ledbat_pp_state *state,
				      const struct ebb_sender_event *event,
				      const struct ebb_ledbat_pp_params *params)
{
	(void)params;
	ebb_ledbat_pp_follow(state, event->cwnd_pkts, event->ssthresh_pkts);
}

#endif /* EBB_LEDBAT_PP_H */
