/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tcp-lp-ecn: TCP-LP that a router's congestion marks tell of congestion, in place of
 * delays; the yardstick that tells TCP-LP's inference from its policy. The router has to
 * mark at a queue far below the one at which it drops.
 *
 * Sources: [TCPLP §IV.A], [TCPLP §III.B] for the policy, [RFC3168 §6.1] for ECN in TCP.
 *
 * Differences from the paper:
 * 1. The host answers marks at most once per round trip and leads the window to the
 *    threshold meanwhile (RFC 3168's CWR), so the window falls within the round trip.
 * 2. As difference 6 of tcp_lp.h (resume_x1024).
 * 3. No growth while the application does not fill the window [RFC7661 §4.1].
 *
 * Domain: windows below 2^30 segments. Small segments as in tcp_lp.h. State: 56 bytes.
 */
#ifndef EBB_TCP_LP_ECN_H
#define EBB_TCP_LP_ECN_H

#include "tcp_lp_policy.h"

#define EBB_TCP_LP_ECN_PARAMS(P) EBB_TCP_LP_POLICY_PARAMS(P)

struct ebb_tcp_lp_ecn_params {
	struct ebb_tcp_lp_policy_params policy;
};

struct ebb_tcp_lp_ecn_state {
	struct ebb_sender_window window;
	struct ebb_tcp_lp_policy policy;
};

EBB_INLINE void ebb_tcp_lp_ecn_init(struct ebb_tcp_lp_ecn_state *state,
				    const struct ebb_sender_start *start,
				    const struct ebb_tcp_lp_ecn_params *params)
{
	ebb_tcp_lp_begin(&state->window, start, &params->policy);
}

EBB_INLINE void ebb_tcp_lp_ecn_on_ack(struct ebb_tcp_lp_ecn_state *state,
				      const struct ebb_sender_ack *ack,
				      const struct ebb_tcp_lp_ecn_params *params)
{
	struct ebb_tcp_lp_moment at = EBB_TCP_LP_MOMENT(ack);

	ebb_sender_follow(&state->window, ack->cwnd_pkts, ack->ssthresh_pkts);
	ebb_tcp_lp_expire(&state->window, &state->policy, &at);
	if (ack->is_cwnd_limited)
		ebb_tcp_lp_grow(&state->window, &state->policy, ack->acked_pkts);
	ebb_tcp_lp_pace(&state->window, &state->policy, &at, ack->mss_bytes);
	ebb_tcp_lp_size_segments(&state->window, &params->policy);
}

EBB_INLINE void ebb_tcp_lp_ecn_on_loss(struct ebb_tcp_lp_ecn_state *state,
				       const struct ebb_sender_event *event,
				       const struct ebb_tcp_lp_ecn_params *params)
{
	struct ebb_tcp_lp_moment at = EBB_TCP_LP_MOMENT(event);

	ebb_sender_follow(&state->window, event->cwnd_pkts, event->cwnd_pkts);
	ebb_tcp_lp_expire(&state->window, &state->policy, &at);
	if (event->is_ecn)
		ebb_tcp_lp_indicate(&state->window, &state->policy, &at, &params->policy);
	else
		ebb_tcp_lp_lose(&state->window, &state->policy, event);
}

EBB_INLINE void ebb_tcp_lp_ecn_on_timeout(struct ebb_tcp_lp_ecn_state *state,
					  const struct ebb_sender_event *event,
					  const struct ebb_tcp_lp_ecn_params *params)
{
	ebb_tcp_lp_lose_all(&state->window, &state->policy, event, &params->policy);
}

EBB_INLINE void ebb_tcp_lp_ecn_on_undo(struct ebb_tcp_lp_ecn_state *state,
				       const struct ebb_sender_event *event,
				       const struct ebb_tcp_lp_ecn_params *params)
{
	ebb_tcp_lp_undo(&state->window, &state->policy, event, &params->policy);
}

EBB_INLINE void ebb_tcp_lp_ecn_on_idle(struct ebb_tcp_lp_ecn_state *state,
				       const struct ebb_sender_event *event,
				       const struct ebb_tcp_lp_ecn_params *params)
{
	ebb_tcp_lp_restart(&state->window, event, &params->policy);
}

#endif /* EBB_TCP_LP_ECN_H */
