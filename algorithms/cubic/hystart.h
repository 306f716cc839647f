/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slow start of `cubic`: HyStart++ [RFC9406], or HyStart as Linux has it [LINUXCUBIC].
 * Both look for a queue from the first loss-free round on, so that slow start ends before
 * it overflows one.
 */
#ifndef EBB_CUBIC_HYSTART_H
#define EBB_CUBIC_HYSTART_H

#include "cubic/state.h"

/* The delay that tells a queue [RFC9406 §4.2]: an eighth of the RTT, 4 to 16 ms. */
EBB_INLINE u32 ebb_cubic_rtt_thresh_us(u32 rtt_us, const struct ebb_cubic_params *params)
{
	u64 share_us = ebb_div(rtt_us, params->rtt_divisor, 0);

	return (u32)ebb_clamp(share_us, params->min_rtt_thresh_us, params->max_rtt_thresh_us);
}

EBB_INLINE void ebb_cubic_begin_round(struct ebb_cubic_state *state,
				      const struct ebb_sender_ack *ack)
{
	state->has_round = 1;
	state->round_end_seq = ack->snd_nxt;
	state->last_round_rtt_us = state->round_rtt_us;
	state->round_rtt_us = 0;
	state->round_samples = 0;
	state->round_us = ack->now_us;
	state->train_us = ack->now_us;
}

EBB_INLINE void ebb_cubic_sample_rtt(struct ebb_cubic_state *state,
				     const struct ebb_sender_ack *ack)
{
	if (!ack->rtt_us)
		return;
	if (!state->round_rtt_us || ack->rtt_us < state->round_rtt_us)
		state->round_rtt_us = ack->rtt_us;
	if (state->round_samples < ~0u)
		state->round_samples++;
}

EBB_INLINE void ebb_cubic_leave_slow_start(struct ebb_cubic_state *state)
{
	state->window.ssthresh_pkts = state->window.cwnd_pkts;
	state->css_base_rtt_us = 0;
	state->has_reduced = 1;
}

/* Into conservative slow start, or back out of it if it was a mistake [RFC9406 §4.2]. */
EBB_INLINE void ebb_cubic_judge_round(struct ebb_cubic_state *state,
				      const struct ebb_cubic_params *params)
{
	u64 limit_us;

	if (state->round_samples < params->rtt_samples || !state->round_rtt_us)
		return;
	if (state->css_base_rtt_us) {
		if (state->round_rtt_us < state->css_base_rtt_us)
			state->css_base_rtt_us = 0;
		return;
	}
	if (!state->last_round_rtt_us)
		return;
	limit_us = (u64)state->last_round_rtt_us +
		   ebb_cubic_rtt_thresh_us(state->last_round_rtt_us, params);
	if (state->round_rtt_us >= limit_us) {
		state->css_base_rtt_us = state->round_rtt_us;
		state->css_rounds = 0;
	}
}

/* HyStart++: samples, judges and ends rounds; what the window gains is the caller's. */
EBB_INLINE void ebb_cubic_hystart_plus(struct ebb_cubic_state *state,
				       const struct ebb_sender_ack *ack,
				       const struct ebb_cubic_params *params)
{
	if (!state->has_round)
		ebb_cubic_begin_round(state, ack);
	ebb_cubic_sample_rtt(state, ack);
	ebb_cubic_judge_round(state, params);
	if (ebb_before32(ack->ack_seq, state->round_end_seq))
		return;
	ebb_cubic_begin_round(state, ack);
	if (!state->css_base_rtt_us)
		return;
	state->css_rounds++;
	if (state->css_rounds >= params->css_rounds)
		ebb_cubic_leave_slow_start(state);
}

/* A train of acknowledgements that is as long as (half) the RTT fills the path. */
EBB_INLINE u8 ebb_cubic_train_is_long(struct ebb_cubic_state *state,
				      const struct ebb_sender_ack *ack,
				      const struct ebb_cubic_params *params)
{
	u64 limit_us = (u64)state->min_rtt_us + params->train_slack_us;

	if (ebb_sub_floor(ack->now_us, state->train_us) > params->train_gap_us)
		return 0;
	state->train_us = ack->now_us;
	return ebb_sub_floor(ack->now_us, state->round_us) >
	       limit_us * params->train_share_x1024 / EBB_ONE_X1024;
}

/* HyStart of Linux: ends slow start at once. */
EBB_INLINE void ebb_cubic_hystart_linux(struct ebb_cubic_state *state,
					const struct ebb_sender_ack *ack,
					const struct ebb_cubic_params *params)
{
	u8 was_judgeable;

	if (!ack->rtt_us || !ebb_sender_in_slow_start(&state->window))
		return;
	/* From the first window on, so that a round begins with the head of a burst. */
	if (!state->has_round || ebb_before32(state->round_end_seq, ack->ack_seq))
		ebb_cubic_begin_round(state, ack);
	if (state->window.cwnd_pkts < params->low_window_pkts)
		return;
	if (ebb_cubic_train_is_long(state, ack, params)) {
		ebb_cubic_leave_slow_start(state);
		return;
	}
	was_judgeable = state->round_samples >= params->rtt_samples;
	ebb_cubic_sample_rtt(state, ack);
	if (was_judgeable &&
	    state->round_rtt_us >
		    (u64)state->min_rtt_us + ebb_cubic_rtt_thresh_us(state->min_rtt_us, params))
		ebb_cubic_leave_slow_start(state);
}

/* Slow start; answers what is left for congestion avoidance. */
EBB_INLINE u32 ebb_cubic_slow_start(struct ebb_cubic_state *state, u32 acked_pkts,
				    const struct ebb_cubic_params *params)
{
	u64 credit;
	u64 more;

	if (params->hystart != EBB_CUBIC_HYSTART_PLUS || state->has_reduced)
		return ebb_sender_slow_start(&state->window, acked_pkts);
	if (params->burst_limit_pkts)
		acked_pkts = (u32)ebb_min(acked_pkts, params->burst_limit_pkts);
	if (!state->css_base_rtt_us)
		return ebb_sender_slow_start(&state->window, acked_pkts);
	credit = (u64)state->css_credit_pkts + acked_pkts;
	more = ebb_div(credit, params->css_divisor, 0);
	state->css_credit_pkts = (u32)ebb_mod(credit, params->css_divisor);
	ebb_sender_slow_start(&state->window, (u32)more);
	return 0;
}

#endif /* EBB_CUBIC_HYSTART_H */
