/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * vegas: keeps two to four segments of its own in the queue, judged once per round trip by
 * how much longer than the shortest RTT the last one was. The classic of delay-based laws.
 *
 * Sources: [VEGAS]; after losses, and until it has samples, reno: [RFC5681 §3.1]. Where the
 * paper needs a new sender (fine-grained retransmission), as Linux has it: [LINUXVEGAS].
 *
 * Differences from the paper:
 * 1. Slow start doubles each round trip, not every other one (slow_start_rounds=2 does).
 * 2. A loss leaves half of the window, not three quarters (beta_x1024=768 does): hosts
 *    repair losses by themselves, and the paper's early retransmission is not theirs.
 * 3. A round trip is judged by its least RTT, which one delayed acknowledgement cannot
 *    spoil; with two samples or fewer it is reno's.
 * 4. The shortest RTT is forgotten after an idle time: the path may have changed.
 * 5. A window that the application does not fill does not grow [RFC7661 §4.1].
 * 6. The window is two segments at least.
 * 7. The segments in the queue are reckoned as cwnd (rtt - base) / base and cut to whole
 *    ones, as Linux has it; the paper's (Expected - Actual) base is cwnd (rtt - base) / rtt,
 *    which is less where the queue is a good part of the path (queue_rule=1).
 * 8. When slow start is over the window is at once what the path holds and one segment, as
 *    Linux has it; the paper goes on from the window that it has.
 * 9. The shortest RTT is one that two samples agree on: the second shortest. One sample that is too
 *    short would make a queue of the path itself, for good (lone_extremes=1, as in the paper).
 *
 * Domain: windows below 2^30 segments, RTT below 1 h.
 */
#ifndef EBB_VEGAS_H
#define EBB_VEGAS_H

#include "sender_contract.h"

/* [LINUXVEGAS] Fewer RTT samples than this tell nothing: two may be delayed ACKs. */
#define EBB_VEGAS_LEAST_SAMPLES 3u
/* [LINUXVEGAS] Least window. */
#define EBB_VEGAS_LEAST_PKTS 2u

/* [VEGAS §3.2] Stands for a shortest RTT that was not seen. */
#define EBB_VEGAS_NO_RTT 0xffffffffu

/* [VEGAS §3.3] Slow start that doubles in so many round trips rests in every other one. */
#define EBB_VEGAS_RESTING_ROUNDS 2u

/* queue_rule: what the part of the RTT that is queueing is held against. */
#define EBB_VEGAS_QUEUE_LINUX 0u /* the shortest RTT */
#define EBB_VEGAS_QUEUE_PAPER 1u /* this round trip's */

#define EBB_VEGAS_PARAMS(P)                                                                 \
	P(alpha_pkts, 2, 0, 1000, "segments", "[VEGAS §3.2]",                               \
	  "fewer of our own in the queue: one segment more")                                \
	P(beta_pkts, 4, 0, 1000, "segments", "[VEGAS §3.2]",                                \
	  "more of our own in the queue: one segment less")                                 \
	P(gamma_pkts, 1, 0, 1000, "segments", "[VEGAS §3.3]",                               \
	  "more of our own in the queue: slow start is over")                               \
	P(slow_start_rounds, 1, 1, 2, "round trips", "[LINUXVEGAS]",                        \
	  "slow start doubles each round trip (1), or every other one as in the paper (2)") \
	P(beta_x1024, 512, 64, 1000, "1/1024", "[RFC5681 §3.1]",                            \
	  "what a loss leaves of the window; the paper has 768")                            \
	P(queue_rule, EBB_VEGAS_QUEUE_LINUX, 0, 1, "choice", "[VEGAS §3.2]",                \
	  "our own in the queue: (rtt - base) x window over 0 the shortest RTT, 1 the RTT") \
	P(lone_extremes, 0, 0, 1, "choice", "[DELAYLAWS §two samples]",                     \
	  "1: an RTT that only one sample showed is a shortest one, too, as in the paper")

struct ebb_vegas_params {
	EBB_VEGAS_PARAMS(EBB_PARAM_FIELD)
};

struct ebb_vegas_state {
	struct ebb_sender_window window;
	u32 second_rtt_us;   /* shortest of the connection that two samples agree on */
	u32 lowest_rtt_us;   /* shortest of one sample */
	u32 round_rtt_us;    /* shortest of this round trip; 0: none */
	u32 round_samples;   /* RTT samples of this round trip */
	u32 round_end_seq;   /* it ends when more than this is acknowledged */
	u32 credit_pkts;     /* reno: acknowledged towards the next segment */
	u32 prior_cwnd_pkts; /* before the last reduction, for undo */
	u8 is_judging;       /* a round trip has begun in which nothing was lost */
	u8 is_resting;       /* slow start: the window stands in this round trip */
	u8 reserved[2];
};

EBB_INLINE void ebb_vegas_forget_rtt(struct ebb_vegas_state *state)
{
	state->second_rtt_us = EBB_VEGAS_NO_RTT;
	state->lowest_rtt_us = EBB_VEGAS_NO_RTT;
}

EBB_INLINE void ebb_vegas_init(struct ebb_vegas_state *state, const struct ebb_sender_start *start,
			       const struct ebb_vegas_params *params)
{
	(void)params;
	ebb_sender_begin(&state->window, start);
	ebb_vegas_forget_rtt(state);
}

EBB_INLINE void ebb_vegas_begin_round(struct ebb_vegas_state *state, u32 end_seq)
{
	state->is_judging = 1;
	state->round_end_seq = end_seq;
	state->round_rtt_us = 0;
	state->round_samples = 0;
}

EBB_INLINE void ebb_vegas_sample_rtt(struct ebb_vegas_state *state, u32 rtt_us)
{
	if (!rtt_us)
		return;
	state->second_rtt_us =
		ebb_second_least(&state->lowest_rtt_us, state->second_rtt_us, rtt_us);
	if (!state->round_rtt_us || rtt_us < state->round_rtt_us)
		state->round_rtt_us = rtt_us;
	if (state->round_samples < ~0u)
		state->round_samples++;
}

EBB_INLINE void ebb_vegas_slow_start(struct ebb_vegas_state *state, u32 acked_pkts,
				     const struct ebb_vegas_params *params)
{
	if (params->slow_start_rounds < EBB_VEGAS_RESTING_ROUNDS || !state->is_resting)
		ebb_sender_slow_start(&state->window, acked_pkts);
}

EBB_INLINE void ebb_vegas_as_reno(struct ebb_vegas_state *state, u32 acked_pkts)
{
	if (ebb_sender_in_slow_start(&state->window))
		acked_pkts = ebb_sender_slow_start(&state->window, acked_pkts);
	if (acked_pkts)
		ebb_sender_add_per(&state->window, &state->credit_pkts, acked_pkts,
				   state->window.cwnd_pkts);
}

/* The window goes down to, or the threshold with it: slow start is over [VEGAS §3.3]. */
EBB_INLINE void ebb_vegas_lower(struct ebb_vegas_state *state, u64 cwnd_pkts)
{
	cwnd_pkts = ebb_min(cwnd_pkts, state->window.cwnd_pkts);
	state->window.cwnd_pkts = (u32)ebb_max(cwnd_pkts, EBB_VEGAS_LEAST_PKTS);
	state->window.ssthresh_pkts =
		(u32)ebb_min(state->window.ssthresh_pkts, state->window.cwnd_pkts);
}

/*
 * Once per round trip [VEGAS §3.2]: of the window, what the path held at the shortest
 * RTT is on the way, the rest is in the queue; differences 7 and 8.
 */
EBB_INLINE void ebb_vegas_judge(struct ebb_vegas_state *state, u32 acked_pkts,
				const struct ebb_vegas_params *params)
{
	u64 cwnd_pkts = state->window.cwnd_pkts;
	u64 base_us = params->lone_extremes ? state->lowest_rtt_us : state->second_rtt_us;
	u64 queue_us = ebb_sub_floor(state->round_rtt_us, base_us);
	u64 against_us = params->queue_rule == EBB_VEGAS_QUEUE_PAPER ? base_us + queue_us : base_us;
	u64 diff_pkts = ebb_div(cwnd_pkts * queue_us, against_us, 0);

	if (ebb_sender_in_slow_start(&state->window)) {
		if (diff_pkts > params->gamma_pkts)
			ebb_vegas_lower(
				state,
				ebb_div(cwnd_pkts * base_us, state->round_rtt_us, cwnd_pkts) + 1);
		else
			ebb_vegas_slow_start(state, acked_pkts, params);
	} else if (diff_pkts > params->beta_pkts) {
		ebb_vegas_lower(state, cwnd_pkts - 1);
	} else if (diff_pkts < params->alpha_pkts) {
		state->window.cwnd_pkts = (u32)ebb_min(cwnd_pkts + 1, EBB_SENDER_MAX_CWND_PKTS);
	}
}

EBB_INLINE void ebb_vegas_on_ack(struct ebb_vegas_state *state, const struct ebb_sender_ack *ack,
				 const struct ebb_vegas_params *params)
{
	ebb_sender_follow(&state->window, ack->cwnd_pkts, ack->ssthresh_pkts);
	if (ack->phase != EBB_SENDER_OPEN)
		state->is_judging = 0;
	else if (!state->is_judging)
		ebb_vegas_begin_round(state, ack->snd_nxt);
	ebb_vegas_sample_rtt(state, ack->rtt_us);
	if (!ack->acked_pkts || !ack->is_cwnd_limited)
		return;
	if (!state->is_judging) {
		ebb_vegas_as_reno(state, ack->acked_pkts);
	} else if (ebb_before32(state->round_end_seq, ack->ack_seq)) {
		state->is_resting = !state->is_resting;
		if (state->round_samples < EBB_VEGAS_LEAST_SAMPLES)
			ebb_vegas_as_reno(state, ack->acked_pkts);
		else
			ebb_vegas_judge(state, ack->acked_pkts, params);
		ebb_vegas_begin_round(state, ack->snd_nxt);
	} else if (ebb_sender_in_slow_start(&state->window)) {
		ebb_vegas_slow_start(state, ack->acked_pkts, params);
	}
}

EBB_INLINE void ebb_vegas_reduce(struct ebb_vegas_state *state, u32 cwnd_pkts,
				 const struct ebb_vegas_params *params)
{
	u64 left_pkts;

	cwnd_pkts = (u32)ebb_clamp(cwnd_pkts, 1, EBB_SENDER_MAX_CWND_PKTS);
	left_pkts = (u64)cwnd_pkts * params->beta_x1024 / EBB_ONE_X1024;
	state->prior_cwnd_pkts = cwnd_pkts;
	state->credit_pkts = 0;
	state->is_judging = 0;
	state->window.cwnd_pkts = cwnd_pkts;
	state->window.ssthresh_pkts = (u32)ebb_max(left_pkts, EBB_VEGAS_LEAST_PKTS);
}

EBB_INLINE void ebb_vegas_on_loss(struct ebb_vegas_state *state,
				  const struct ebb_sender_event *event,
				  const struct ebb_vegas_params *params)
{
	ebb_vegas_reduce(state, event->cwnd_pkts, params);
}

EBB_INLINE void ebb_vegas_on_timeout(struct ebb_vegas_state *state,
				     const struct ebb_sender_event *event,
				     const struct ebb_vegas_params *params)
{
	ebb_vegas_reduce(state, event->cwnd_pkts, params);
	state->window.cwnd_pkts = 1;
}

EBB_INLINE void ebb_vegas_on_undo(struct ebb_vegas_state *state,
				  const struct ebb_sender_event *event,
				  const struct ebb_vegas_params *params)
{
	(void)params;
	ebb_sender_follow(&state->window, (u32)ebb_max(event->cwnd_pkts, state->prior_cwnd_pkts),
			  event->ssthresh_pkts);
}

EBB_INLINE void ebb_vegas_on_idle(struct ebb_vegas_state *state,
				  const struct ebb_sender_event *event,
				  const struct ebb_vegas_params *params)
{
	(void)params;
	ebb_sender_follow(&state->window, event->cwnd_pkts, event->ssthresh_pkts);
	ebb_vegas_forget_rtt(state);
	state->is_judging = 0;
}

#endif /* EBB_VEGAS_H */
