/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The modes of `bbr` [BBRDRAFT §4.3]: STARTUP, DRAIN, the phases of PROBE_BW, PROBE_RTT.
 */
#ifndef EBB_BBR_MODES_H
#define EBB_BBR_MODES_H

#include "bbr/policer.h"

/* [BBRDRAFT §4.3.2] Rounds without growth are counted so far: more than any setting asks for. */
#define EBB_BBR_MAX_FULL_ROUNDS 255u

EBB_INLINE u32 ebb_bbr_pacing_gain_x1024(const struct ebb_bbr_state *state,
					 const struct ebb_bbr_params *params)
{
	if (state->mode == EBB_BBR_STARTUP)
		return params->high_gain_x1024;
	if (state->mode == EBB_BBR_DRAIN)
		return params->drain_gain_x1024;
	if (state->mode == EBB_BBR_PROBE_BW && !state->is_policed && state->phase == 0)
		return params->probe_gain_x1024;
	if (state->mode == EBB_BBR_PROBE_BW && !state->is_policed &&
	    state->phase == EBB_BBR_YIELDING_PHASE)
		return params->yield_gain_x1024;
	return EBB_ONE_X1024;
}

EBB_INLINE u32 ebb_bbr_cwnd_gain_x1024(const struct ebb_bbr_state *state,
				       const struct ebb_bbr_params *params)
{
	if (state->mode == EBB_BBR_STARTUP || state->mode == EBB_BBR_DRAIN)
		return params->high_gain_x1024;
	return state->mode == EBB_BBR_PROBE_BW ? params->cwnd_gain_x1024 : EBB_ONE_X1024;
}

/* Any phase but the one that yields, so that flows do not probe together. */
EBB_INLINE void ebb_bbr_enter_probe_bw(struct ebb_bbr_state *state, u64 now_us, u32 random)
{
	u32 phase = (u32)((u64)random * (EBB_BBR_PHASES - 1) >> EBB_U32_BITS);

	state->mode = EBB_BBR_PROBE_BW;
	state->phase = (u8)(phase >= EBB_BBR_YIELDING_PHASE ? phase + 1 : phase);
	state->phase_at_us = now_us;
}

EBB_INLINE void ebb_bbr_leave_probe_rtt(struct ebb_bbr_state *state, u64 now_us, u32 random)
{
	state->min_rtt_at_us = now_us;
	state->window.cwnd_pkts = (u32)ebb_max(state->window.cwnd_pkts, state->prior_cwnd_pkts);
	if (state->is_full)
		ebb_bbr_enter_probe_bw(state, now_us, random);
	else
		state->mode = EBB_BBR_STARTUP;
}

EBB_INLINE u8 ebb_bbr_phase_is_over(const struct ebb_bbr_state *state,
				    const struct ebb_sender_ack *ack,
				    const struct ebb_bbr_params *params)
{
	u64 time_us = ebb_sub_floor(ack->now_us, state->phase_at_us);
	u32 gain_x1024 = ebb_bbr_pacing_gain_x1024(state, params);
	u64 target_pkts = ebb_bbr_inflight_pkts(state, ebb_bbr_max_bytes_per_s(state), gain_x1024);
	u8 is_long = time_us > state->min_rtt_us;

	if (gain_x1024 > EBB_ONE_X1024)
		return is_long && (ack->lost_now_pkts || ack->prior_inflight_pkts >= target_pkts);
	if (gain_x1024 == EBB_ONE_X1024)
		return is_long;
	target_pkts = ebb_bbr_inflight_pkts(state, ebb_bbr_max_bytes_per_s(state), EBB_ONE_X1024);
	return is_long || ack->prior_inflight_pkts <= target_pkts;
}

EBB_INLINE void ebb_bbr_advance_phase(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack,
				      const struct ebb_bbr_params *params)
{
	if (state->mode != EBB_BBR_PROBE_BW || state->is_policed ||
	    !ebb_bbr_phase_is_over(state, ack, params))
		return;
	state->phase = (state->phase + 1) & (EBB_BBR_PHASES - 1);
	state->phase_at_us = ack->now_us;
}

/* Has STARTUP found the bandwidth [BBRDRAFT §4.3.2]? */
EBB_INLINE void ebb_bbr_check_full(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack,
				   const struct ebb_bbr_params *params)
{
	u64 rate = ebb_bbr_max_bytes_per_s(state);

	if (state->is_full || !state->is_round_start || ebb_bbr_is_lower_bound(state, ack))
		return;
	/* Below 2^37 x 2^14. */
	if (rate * EBB_ONE_X1024 >= state->full_bytes_per_s * params->full_growth_x1024) {
		state->full_bytes_per_s = rate;
		state->full_rounds = 0;
		return;
	}
	if (state->full_rounds < EBB_BBR_MAX_FULL_ROUNDS)
		state->full_rounds++;
	state->is_full =
		state->full_rounds >= ebb_min(params->full_rounds, EBB_BBR_MAX_FULL_ROUNDS);
}

EBB_INLINE void ebb_bbr_check_drain(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack)
{
	if (state->mode == EBB_BBR_STARTUP && state->is_full)
		state->mode = EBB_BBR_DRAIN;
	if (state->mode == EBB_BBR_DRAIN &&
	    ack->inflight_pkts <=
		    ebb_bbr_inflight_pkts(state, ebb_bbr_max_bytes_per_s(state), EBB_ONE_X1024))
		ebb_bbr_enter_probe_bw(state, ack->now_us, ack->random);
}

/* The window to go back to: the last good one, or the greatest of the troubled time. */
EBB_INLINE void ebb_bbr_save_window(struct ebb_bbr_state *state, u32 cwnd_pkts)
{
	u8 is_calm = state->host_phase < EBB_SENDER_RECOVERY && state->mode != EBB_BBR_PROBE_RTT;

	cwnd_pkts = (u32)ebb_clamp(cwnd_pkts, 1, EBB_SENDER_MAX_CWND_PKTS);
	state->prior_cwnd_pkts =
		is_calm ? cwnd_pkts : (u32)ebb_max(state->prior_cwnd_pkts, cwnd_pkts);
}

/* PROBE_RTT [BBRDRAFT §4.3.5]: a small flight for 200 ms and a round trip. */
EBB_INLINE void ebb_bbr_probe_rtt(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack,
				  const struct ebb_bbr_params *params)
{
	state->probed_until_pkts = ack->delivered_pkts + ack->inflight_pkts;
	if (!state->probe_rtt_until_us) {
		if (ack->inflight_pkts > params->least_cwnd_pkts)
			return;
		state->probe_rtt_until_us =
			ebb_max(ack->now_us + (u64)params->probe_rtt_ms * EBB_US_PER_MS, 1);
		state->is_probe_round_over = 0;
		state->round_end_pkts = ack->delivered_pkts;
		return;
	}
	if (state->is_round_start)
		state->is_probe_round_over = 1;
	if (state->is_probe_round_over && ack->now_us > state->probe_rtt_until_us)
		ebb_bbr_leave_probe_rtt(state, ack->now_us, ack->random);
}

/* RTprop [BBRDRAFT §4.1.2]: the least RTT; PROBE_RTT when it has not been met for long. */
EBB_INLINE void ebb_bbr_update_min_rtt(struct ebb_bbr_state *state,
				       const struct ebb_sender_ack *ack,
				       const struct ebb_bbr_params *params)
{
	u8 is_expired = ebb_sub_floor(ack->now_us, state->min_rtt_at_us) >
			(u64)params->min_rtt_window_ms * EBB_US_PER_MS;

	if (ack->rtt_us && (!state->min_rtt_us || ack->rtt_us < state->min_rtt_us || is_expired)) {
		state->min_rtt_us = ack->rtt_us;
		state->min_rtt_at_us = ack->now_us;
	}
	if (is_expired && !state->is_restarting && state->mode != EBB_BBR_PROBE_RTT) {
		ebb_bbr_save_window(state, state->window.cwnd_pkts);
		state->mode = EBB_BBR_PROBE_RTT;
		state->probe_rtt_until_us = 0;
		state->probed_from_pkts = ack->delivered_pkts;
	}
	if (state->mode == EBB_BBR_PROBE_RTT)
		ebb_bbr_probe_rtt(state, ack, params);
	if (ack->delivered_now_pkts)
		state->is_restarting = 0;
}

#endif /* EBB_BBR_MODES_H */
