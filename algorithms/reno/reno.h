/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reno: slow start, then one segment more per round trip; half the window at a loss.
 * The yardstick of most papers, and the law that cubic+ and others are measured against.
 *
 * Sources: [RFC5681], [RFC6582] for what its host does during recovery.
 *
 * Differences from the source:
 * 1. Windows count whole segments; the rest of an increase is kept as credit, which
 *    gives the one segment per window of §3.1 (3) exactly.
 * 2. A window that the application does not fill does not grow [RFC7661 §4.1].
 * 3. The threshold is half of the window, not of the flight (as Linux has it); since
 *    the window does not grow while it is not filled, they differ by little.
 *
 * Domain: windows below 2^30 segments.
 */
#ifndef EBB_RENO_H
#define EBB_RENO_H

#include "sender_contract.h"

#define EBB_RENO_PARAMS(P)                                               \
	P(beta_x1024, 512, 64, 1000, "1/1024", "[RFC5681 §3.1]",         \
	  "what a loss leaves of the window")                            \
	P(least_ssthresh_pkts, 2, 1, 1000, "segments", "[RFC5681 §3.1]", \
	  "least threshold after a loss")

struct ebb_reno_params {
	EBB_RENO_PARAMS(EBB_PARAM_FIELD)
};

struct ebb_reno_state {
	struct ebb_sender_window window;
	u32 credit_pkts;     /* acknowledged towards the next segment of the window */
	u32 prior_cwnd_pkts; /* before the last reduction, for undo */
};

EBB_INLINE void ebb_reno_init(struct ebb_reno_state *state, const struct ebb_sender_start *start,
			      const struct ebb_reno_params *params)
{
	(void)params;
	ebb_sender_begin(&state->window, start);
}

EBB_INLINE void ebb_reno_on_ack(struct ebb_reno_state *state, const struct ebb_sender_ack *ack,
				const struct ebb_reno_params *params)
{
	u32 acked_pkts = ack->acked_pkts;

	(void)params;
	ebb_sender_follow(&state->window, ack->cwnd_pkts, ack->ssthresh_pkts);
	if (!ack->is_cwnd_limited)
		return;
	if (ebb_sender_in_slow_start(&state->window))
		acked_pkts = ebb_sender_slow_start(&state->window, acked_pkts);
	if (acked_pkts)
		ebb_sender_add_per(&state->window, &state->credit_pkts, acked_pkts,
				   state->window.cwnd_pkts);
}

/* The threshold of [RFC5681 §3.1] equation (4). */
EBB_INLINE void ebb_reno_reduce(struct ebb_reno_state *state, u32 cwnd_pkts,
				const struct ebb_reno_params *params)
{
	u64 left;

	cwnd_pkts = (u32)ebb_clamp(cwnd_pkts, 1, EBB_SENDER_MAX_CWND_PKTS);
	left = (u64)cwnd_pkts * params->beta_x1024 / EBB_ONE_X1024;
	state->prior_cwnd_pkts = cwnd_pkts;
	state->credit_pkts = 0;
	state->window.cwnd_pkts = cwnd_pkts;
	state->window.ssthresh_pkts = (u32)ebb_max(left, params->least_ssthresh_pkts);
}

EBB_INLINE void ebb_reno_on_loss(struct ebb_reno_state *state, const struct ebb_sender_event *event,
				 const struct ebb_reno_params *params)
{
	ebb_reno_reduce(state, event->cwnd_pkts, params);
}

EBB_INLINE void ebb_reno_on_timeout(struct ebb_reno_state *state,
				    const struct ebb_sender_event *event,
				    const struct ebb_reno_params *params)
{
	ebb_reno_reduce(state, event->cwnd_pkts, params);
	state->window.cwnd_pkts = 1;
}

EBB_INLINE void ebb_reno_on_undo(struct ebb_reno_state *state, const struct ebb_sender_event *event,
				 const struct ebb_reno_params *params)
{
	(void)params;
	ebb_sender_follow(&state->window, (u32)ebb_max(event->cwnd_pkts, state->prior_cwnd_pkts),
			  event->ssthresh_pkts);
}

/* The host itself shrinks the window after an idle time [RFC5681 §4.1]. */
EBB_INLINE void ebb_reno_on_idle(struct ebb_reno_state *state, const struct ebb_sender_event *event,
				 const struct ebb_reno_params *params)
{
	(void)params;
	ebb_sender_follow(&state->window, event->cwnd_pkts, event->ssthresh_pkts);
}

#endif /* EBB_RENO_H */
