/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The long-term bandwidth of `bbr`: two intervals in a row with many losses and about the
 * same rate are a policer's work, whose rate is then sent at for a while [LINUXBBR].
 */
#ifndef EBB_BBR_POLICER_H
#define EBB_BBR_POLICER_H

#include "bbr/model.h"

/* [LINUXBBR] Intervals four times the least length tell nothing. */
#define EBB_BBR_POLICER_LONGEST 4u
/* [LINUXBBR] Rates are the same within an eighth, or 4 kbit/s. */
#define EBB_BBR_POLICER_SHARE 8u
#define EBB_BBR_POLICER_BYTES_PER_S 500u
/* [LINUXBBR] The policer's rate is the mean of so many intervals', of 1 ms at the least. */
#define EBB_BBR_POLICER_INTERVALS 2u
#define EBB_BBR_POLICER_LEAST_US 1000u
/* [BBRDRAFT §3] A bound on counts that keeps products within 64 bits. */
#define EBB_BBR_POLICER_MAX_PKTS (1ull << 40)

EBB_INLINE void ebb_bbr_begin_policer_interval(struct ebb_bbr_state *state, u64 now_us)
{
	state->policer_at_us = now_us;
	state->policer_delivered_pkts = state->delivered_pkts;
	state->policer_lost_pkts = state->lost_pkts;
	state->policer_round = 0;
}

EBB_INLINE void ebb_bbr_forget_policer(struct ebb_bbr_state *state, u64 now_us)
{
	state->policer_bytes_per_s = 0;
	state->is_policed = 0;
	state->is_measuring_policer = 0;
	ebb_bbr_begin_policer_interval(state, now_us);
}

/* An interval is over: was its rate that of the one before? */
EBB_INLINE void ebb_bbr_judge_policer(struct ebb_bbr_state *state, u64 rate, u64 now_us)
{
	u64 last = state->policer_bytes_per_s;
	u64 apart = rate > last ? rate - last : last - rate;

	if (last &&
	    (apart * EBB_BBR_POLICER_SHARE <= last || apart <= EBB_BBR_POLICER_BYTES_PER_S)) {
		state->policer_bytes_per_s = (rate + last) / EBB_BBR_POLICER_INTERVALS;
		state->is_policed = state->policer_bytes_per_s > 0;
		state->policer_round = 0;
		return;
	}
	state->policer_bytes_per_s = rate;
	ebb_bbr_begin_policer_interval(state, now_us);
}

/* Answers whether a policer's rate has been used for long enough, and bandwidth is due. */
EBB_INLINE u8 ebb_bbr_use_policer(struct ebb_bbr_state *state, u64 now_us,
				  const struct ebb_bbr_params *params)
{
	if (state->mode != EBB_BBR_PROBE_BW || !state->is_round_start)
		return 0;
	if (++state->policer_round < params->policer_rounds)
		return 0;
	ebb_bbr_forget_policer(state, now_us);
	return 1;
}

/* An interval starts and ends with a loss, so that the bucket is empty at both. */
EBB_INLINE void ebb_bbr_measure_policer(struct ebb_bbr_state *state, u64 now_us, u32 lost_now_pkts,
					u8 is_app_limited, const struct ebb_bbr_params *params)
{
	u64 lost_pkts = state->lost_pkts - state->policer_lost_pkts;
	u64 delivered_pkts = ebb_sub_floor(state->delivered_pkts, state->policer_delivered_pkts);
	u64 time_us = ebb_sub_floor(now_us, state->policer_at_us);

	if (!state->is_measuring_policer) {
		if (!lost_now_pkts)
			return;
		ebb_bbr_begin_policer_interval(state, now_us);
		state->is_measuring_policer = 1;
		return;
	}
	if (is_app_limited) {
		ebb_bbr_forget_policer(state, now_us);
		return;
	}
	if (state->is_round_start && state->policer_round < ~0u)
		state->policer_round++;
	if (state->policer_round < params->policer_least_rounds)
		return;
	if (state->policer_round > EBB_BBR_POLICER_LONGEST * params->policer_least_rounds) {
		ebb_bbr_forget_policer(state, now_us);
		return;
	}
	/* At most 2^32 a call: the sums stay below 2^53 in any connection's life. */
	if (!lost_now_pkts || !delivered_pkts || time_us < EBB_BBR_POLICER_LEAST_US ||
	    ebb_min(lost_pkts, EBB_BBR_POLICER_MAX_PKTS) * EBB_ONE_X1024 <
		    ebb_min(delivered_pkts, EBB_BBR_POLICER_MAX_PKTS) * params->policer_loss_x1024)
		return;
	ebb_bbr_judge_policer(state, ebb_bbr_rate(delivered_pkts, time_us, state->mss_bytes),
			      now_us);
}

#endif /* EBB_BBR_POLICER_H */
