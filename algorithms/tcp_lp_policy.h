/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What TCP-LP does with its window once it knows that there is congestion, however it
 * learned of it: the part that tcp-lp and tcp-lp-ecn share. See tcp_lp.h.
 */
#ifndef EBB_TCP_LP_POLICY_H
#define EBB_TCP_LP_POLICY_H

#include "sender_contract.h"

#define EBB_TCP_LP_POLICY_PARAMS(P)                                                             \
	P(inference_rtts, 3, 1, 100, "round trips", "[TCPLP §III.D.3]",                         \
	  "inference phase: no growth, a second indication leaves one segment")                 \
	P(small_segment_bytes, 64, 0, 65535, "bytes", "[TCPLP §III.B.4]",                       \
	  "payload of a segment while the window is small, where the host can do that; 0: "     \
	  "the MSS")                                                                            \
	P(small_below_pkts, 5, 0, 1000, "segments", "[TCPLP §III.B.4]", "window that is small") \
	P(resume_x1024, 820, 0, 1024, "1/1024", "[DELAYLAWS §tcp-lp]",                          \
	  "part of the window before the halving that an inference phase without a second "     \
	  "indication gives back at once; 0: none, as in the paper")

struct ebb_tcp_lp_policy_params {
	EBB_TCP_LP_POLICY_PARAMS(EBB_PARAM_FIELD)
};

/* [RFC6298 §2] What stands for a round trip before one was measured. */
#define EBB_TCP_LP_UNKNOWN_RTT_US 1000000u
/* [RFC5681 §3.1] Least threshold after a loss. */
#define EBB_TCP_LP_LEAST_SSTHRESH_PKTS 2u
/* [RFC5681 §3.1] What a loss leaves of the window ... */
#define EBB_TCP_LP_LOSS_DIVISOR 2u
/* [TCPLP §III.B.3] ... and a first indication. */
#define EBB_TCP_LP_INDICATION_DIVISOR 2u
/* [DELAYLAWS §tcp-lp] A bound that keeps products within 64 bits. */
#define EBB_TCP_LP_MAX_MSS_BYTES 8192u

struct ebb_tcp_lp_policy {
	u64 inference_until_us;
	u32 quiet_seq;       /* nothing before it shows what the last reduction did */
	u32 credit_pkts;     /* acknowledged towards the next segment of the window */
	u32 prior_cwnd_pkts; /* before the last reduction, for undo */
	u32 resume_pkts;     /* what the inference phase gives back at its end; 0: nothing */
	u32 resume_seq;      /* acknowledged: that is a round trip ago */
	u8 is_quiet;
	u8 is_inferring;
	u8 is_resuming;
	u8 reserved;
};

/* When an indication comes, and upon what window. */
struct ebb_tcp_lp_moment {
	u64 now_us;
	u32 cwnd_pkts;
	u32 srtt_us;
	u32 ack_seq;
	u32 snd_nxt;
};

/* That of an acknowledgement, or of an event. */
#define EBB_TCP_LP_MOMENT(input)                                            \
	{                                                                   \
		.now_us = (input)->now_us, .cwnd_pkts = (input)->cwnd_pkts, \
		.srtt_us = (input)->srtt_us, .ack_seq = (input)->ack_seq,   \
		.snd_nxt = (input)->snd_nxt,                                \
	}

/* What the round trip and the inference phase hold back ends. */
EBB_INLINE void ebb_tcp_lp_expire(struct ebb_sender_window *window,
				  struct ebb_tcp_lp_policy *policy,
				  const struct ebb_tcp_lp_moment *at)
{
	if (policy->is_quiet && ebb_before32(policy->quiet_seq, at->ack_seq))
		policy->is_quiet = 0;
	if (!policy->is_inferring || at->now_us < policy->inference_until_us)
		return;
	policy->is_inferring = 0;
	if (policy->resume_pkts <= window->cwnd_pkts)
		return;
	window->cwnd_pkts = policy->resume_pkts;
	window->ssthresh_pkts = policy->resume_pkts;
	policy->resume_seq = at->snd_nxt;
	policy->is_resuming = 1;
}

/*
 * After the inference phase the acknowledgements come in a train with a gap behind it:
 * what comes back would queue behind the train, for everybody to wait: it is spread over
 * the round trip.
 */
EBB_INLINE void ebb_tcp_lp_pace(struct ebb_sender_window *window, struct ebb_tcp_lp_policy *policy,
				const struct ebb_tcp_lp_moment *at, u32 mss_bytes)
{
	u64 window_bytes = (u64)policy->resume_pkts * ebb_min(mss_bytes, EBB_TCP_LP_MAX_MSS_BYTES);

	if (ebb_before32(policy->resume_seq, at->ack_seq))
		policy->is_resuming = 0;
	window->pacing_bytes_per_s = 0;
	if (policy->is_resuming)
		window->pacing_bytes_per_s = ebb_div(window_bytes * EBB_US_PER_S, at->srtt_us, 0);
}

EBB_INLINE void ebb_tcp_lp_stay_quiet(struct ebb_tcp_lp_policy *policy, u32 snd_nxt)
{
	policy->quiet_seq = snd_nxt;
	policy->is_quiet = 1;
}

/* Nothing that was sent up to now shows yet what the reduction does. */
EBB_INLINE void ebb_tcp_lp_keep_quiet(struct ebb_tcp_lp_policy *policy, u32 cwnd_pkts, u32 snd_nxt)
{
	policy->prior_cwnd_pkts = cwnd_pkts;
	policy->credit_pkts = 0;
	ebb_tcp_lp_stay_quiet(policy, snd_nxt);
}

/* An early indication of congestion [TCPLP §III.B.3], figure 3; after ebb_tcp_lp_expire. */
EBB_INLINE void ebb_tcp_lp_indicate(struct ebb_sender_window *window,
				    struct ebb_tcp_lp_policy *policy,
				    const struct ebb_tcp_lp_moment *at,
				    const struct ebb_tcp_lp_policy_params *params)
{
	u64 rtt_us = at->srtt_us ? at->srtt_us : EBB_TCP_LP_UNKNOWN_RTT_US;
	u8 is_second = policy->is_inferring;
	u32 cwnd_pkts, half_pkts;
	u64 resume_pkts;

	ebb_sender_follow(window, at->cwnd_pkts, window->ssthresh_pkts);
	if (policy->is_quiet)
		return;
	cwnd_pkts = window->cwnd_pkts;
	half_pkts = (u32)ebb_max(cwnd_pkts / EBB_TCP_LP_INDICATION_DIVISOR, 1);
	window->cwnd_pkts = is_second ? 1 : half_pkts;
	window->ssthresh_pkts = window->cwnd_pkts;
	resume_pkts = (u64)cwnd_pkts * params->resume_x1024 / EBB_ONE_X1024;
	policy->resume_pkts = is_second ? 0 : (u32)resume_pkts;
	policy->is_inferring = 1;
	policy->is_resuming = 0;
	policy->inference_until_us = at->now_us + rtt_us * params->inference_rtts;
	ebb_tcp_lp_keep_quiet(policy, cwnd_pkts, at->snd_nxt);
}

/* TCP's slow start and congestion avoidance, but not in the inference phase. */
EBB_INLINE void ebb_tcp_lp_grow(struct ebb_sender_window *window, struct ebb_tcp_lp_policy *policy,
				u32 acked_pkts)
{
	if (policy->is_inferring)
		return;
	if (ebb_sender_in_slow_start(window))
		acked_pkts = ebb_sender_slow_start(window, acked_pkts);
	if (acked_pkts)
		ebb_sender_add_per(window, &policy->credit_pkts, acked_pkts, window->cwnd_pkts);
}

/* TCP's half of the window at a loss [RFC5681 §3.1]; no indication of the same round trip. */
EBB_INLINE void ebb_tcp_lp_lose(struct ebb_sender_window *window, struct ebb_tcp_lp_policy *policy,
				const struct ebb_sender_event *event)
{
	u64 half_pkts;

	ebb_sender_follow(window, event->cwnd_pkts, event->ssthresh_pkts);
	half_pkts = window->cwnd_pkts / EBB_TCP_LP_LOSS_DIVISOR;
	window->ssthresh_pkts = (u32)ebb_max(half_pkts, EBB_TCP_LP_LEAST_SSTHRESH_PKTS);
	policy->resume_pkts = 0;
	policy->is_resuming = 0;
	ebb_tcp_lp_keep_quiet(policy, window->cwnd_pkts, event->snd_nxt);
}

/* Small segments below five, so that many flows of one segment take little. */
EBB_INLINE void ebb_tcp_lp_size_segments(struct ebb_sender_window *window,
					 const struct ebb_tcp_lp_policy_params *params)
{
	window->segment_bytes =
		window->cwnd_pkts < params->small_below_pkts ? params->small_segment_bytes : 0;
}

/* ---- the hooks, as far as delays and marks make no difference ---- */

EBB_INLINE void ebb_tcp_lp_begin(struct ebb_sender_window *window,
				 const struct ebb_sender_start *start,
				 const struct ebb_tcp_lp_policy_params *params)
{
	ebb_sender_begin(window, start);
	ebb_tcp_lp_size_segments(window, params);
}

EBB_INLINE void ebb_tcp_lp_lose_all(struct ebb_sender_window *window,
				    struct ebb_tcp_lp_policy *policy,
				    const struct ebb_sender_event *event,
				    const struct ebb_tcp_lp_policy_params *params)
{
	ebb_tcp_lp_lose(window, policy, event);
	window->cwnd_pkts = 1;
	ebb_tcp_lp_size_segments(window, params);
}

EBB_INLINE void ebb_tcp_lp_undo(struct ebb_sender_window *window,
				const struct ebb_tcp_lp_policy *policy,
				const struct ebb_sender_event *event,
				const struct ebb_tcp_lp_policy_params *params)
{
	ebb_sender_follow(window, (u32)ebb_max(event->cwnd_pkts, policy->prior_cwnd_pkts),
			  event->ssthresh_pkts);
	ebb_tcp_lp_size_segments(window, params);
}

EBB_INLINE void ebb_tcp_lp_restart(struct ebb_sender_window *window,
				   const struct ebb_sender_event *event,
				   const struct ebb_tcp_lp_policy_params *params)
{
	ebb_sender_follow(window, event->cwnd_pkts, event->ssthresh_pkts);
	ebb_tcp_lp_size_segments(window, params);
}

#endif /* EBB_TCP_LP_POLICY_H */
