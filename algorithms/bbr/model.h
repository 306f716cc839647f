/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `bbr` knows of the path: bandwidth, rounds, aggregation of acknowledgements, and
 * the bandwidth-delay product that follows [BBRDRAFT §4.1].
 */
#ifndef EBB_BBR_MODEL_H
#define EBB_BBR_MODEL_H

#include "bbr/state.h"

/* [BBRDRAFT §3] Bounds within which products of the model fit 64 bits: 1.1 Tbit/s. */
#define EBB_BBR_MAX_BYTES_PER_S 137438953471ull
/* [BBRDRAFT §3] 67 s. */
#define EBB_BBR_MAX_RTT_US 67108863u
/* [BBRDRAFT §3] Segments of a sample: 2^24. */
#define EBB_BBR_MAX_SAMPLE_PKTS 16777216u
/* [LINUXBBR] The window allows for no more aggregated acknowledgements than of 100 ms. */
#define EBB_BBR_MAX_EXTRA_US 100000u
/* [LINUXBBR] A stretch of aggregated acknowledgements is over after 2^20 segments. */
#define EBB_BBR_MAX_EXTRA_PKTS 1048576u
/* [LINUXBBR] A burst of the host: a 1024th of a second of pace, bounds in bytes and segments, and
 * the pace below which one segment is enough. */
#define EBB_BBR_BURST_S_BITS 10
#define EBB_BBR_MAX_BURST_BYTES 65535u
#define EBB_BBR_MAX_BURST_PKTS 127u
#define EBB_BBR_LEAST_BURST_PKTS 2u
#define EBB_BBR_SLOW_BYTES_PER_S 150000u
/* [LINUXBBR] Bursts in flight: in the host's queue, in its device, and at the receiver. */
#define EBB_BBR_BURSTS_IN_FLIGHT 3u
/* [LINUXBBR] Segments more in the phase that probes, so that small windows probe, too. */
#define EBB_BBR_PROBE_PKTS 2u

EBB_INLINE u64 ebb_bbr_max_bytes_per_s(const struct ebb_bbr_state *state)
{
	return ebb_max(state->rates_bytes_per_s[0], state->older_bytes_per_s);
}

/* The bandwidth that it sends by: the policer's, where there is one. */
EBB_INLINE u64 ebb_bbr_bytes_per_s(const struct ebb_bbr_state *state)
{
	return state->is_policed ? state->policer_bytes_per_s : ebb_bbr_max_bytes_per_s(state);
}

/* Another round's slot is empty, and the oldest falls out of the window. */
EBB_INLINE void ebb_bbr_shift_rates(struct ebb_bbr_state *state)
{
	u32 i;

	for (i = EBB_BBR_SLOTS - 1; i > 0; i--)
		state->rates_bytes_per_s[i] = state->rates_bytes_per_s[i - 1];
	state->rates_bytes_per_s[0] = 0;
}

/*
 * The greatest rate of the rounds before this one. Without a branch, for the eBPF verifier
 * would follow both ways at each slot; all numbers compared are below 2^63.
 */
EBB_INLINE u64 ebb_bbr_older_bytes_per_s(const struct ebb_bbr_state *state,
					 const struct ebb_bbr_params *params)
{
	u64 older = 0, more, is_more, is_in_window;
	u32 i;

	for (i = 1; i < EBB_BBR_SLOTS; i++) {
		more = state->rates_bytes_per_s[i] - older;
		is_more = (more >> EBB_U64_SIGN_BIT) ^ 1;
		is_in_window = ((u64)i - params->bandwidth_rounds) >> EBB_U64_SIGN_BIT;
		older += more * (is_more * is_in_window);
	}
	return older;
}

/* pkts in interval_us, as bytes per second: below 2^24 x 2^16 x 2^20. */
EBB_INLINE u64 ebb_bbr_rate(u64 pkts, u64 interval_us, u32 mss_bytes)
{
	u64 bytes = ebb_min(pkts, EBB_BBR_MAX_SAMPLE_PKTS) * ebb_min(mss_bytes, EBB_MOST_MSS_BYTES);

	return ebb_min(ebb_div(bytes * EBB_US_PER_S, interval_us, 0), EBB_BBR_MAX_BYTES_PER_S);
}

/* A round is over when something is delivered that was sent since its start. */
EBB_INLINE void ebb_bbr_count_rounds(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack)
{
	if (ack->rate_prior_delivered_pkts < state->round_end_pkts)
		return;
	state->round_end_pkts = ack->delivered_pkts;
	state->is_round_start = 1;
	state->is_conserving = 0;
	if (state->pending_rounds < EBB_BBR_SLOTS)
		state->pending_rounds++;
}

/* Samples of the law's own PROBE_RTT are no better than those of a lazy application. */
EBB_INLINE u8 ebb_bbr_is_lower_bound(const struct ebb_bbr_state *state,
				     const struct ebb_sender_ack *ack)
{
	u64 sent_at_pkts = ack->rate_prior_delivered_pkts;

	return ack->is_app_limited ||
	       (sent_at_pkts >= state->probed_from_pkts && sent_at_pkts < state->probed_until_pkts);
}

/*
 * Rounds pass in the filter when there is a sample that counts: an application that was
 * lazy for long has not made the path slower.
 */
EBB_INLINE void ebb_bbr_sample_rate(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack,
				    const struct ebb_bbr_params *params)
{
	u64 rate = ebb_bbr_rate(ack->rate_delivered_pkts, ack->rate_interval_us, state->mss_bytes);
	u32 i;

	if (ebb_bbr_is_lower_bound(state, ack) && rate < ebb_bbr_max_bytes_per_s(state))
		return;
	/* The verifier follows every way through here: no other loop may be inside. */
	for (i = 0; i < EBB_BBR_SLOTS; i++)
		if (i < state->pending_rounds)
			ebb_bbr_shift_rates(state);
	ebb_end_step();
	state->older_bytes_per_s = ebb_bbr_older_bytes_per_s(state, params);
	state->pending_rounds = 0;
	state->rates_bytes_per_s[0] = ebb_max(state->rates_bytes_per_s[0], rate);
}

/* Gain times the bandwidth-delay product [BBRDRAFT §4.2.3], in whole segments, rounded up. */
EBB_INLINE u64 ebb_bbr_bdp_pkts(const struct ebb_bbr_state *state, u64 bytes_per_s, u32 gain_x1024)
{
	u64 rtt_us = ebb_min(state->min_rtt_us, EBB_BBR_MAX_RTT_US);
	u64 bdp_x1024;
	u64 segment_x1024 = (u64)state->mss_bytes << EBB_X1024_BITS;

	if (!rtt_us || !bytes_per_s)
		return state->first_cwnd_pkts;
	/* Below 2^37 x 2^26, then 2^44 x 2^14. */
	bdp_x1024 = bytes_per_s * rtt_us / EBB_US_PER_S * gain_x1024;
	return ebb_div(bdp_x1024 + segment_x1024 - 1, segment_x1024, 0);
}

/* Segments of a burst as the host makes them [BBRDRAFT §4.2.2]: 1 ms of pace, 1 or 2 at least. */
EBB_INLINE u64 ebb_bbr_burst_pkts(const struct ebb_bbr_state *state)
{
	u64 pace = state->window.pacing_bytes_per_s;
	u64 least_pkts = pace < EBB_BBR_SLOW_BYTES_PER_S ? 1 : EBB_BBR_LEAST_BURST_PKTS;
	u64 burst_bytes = ebb_min(pace >> EBB_BBR_BURST_S_BITS, EBB_BBR_MAX_BURST_BYTES);
	u64 burst_pkts = ebb_div(burst_bytes, state->mss_bytes, 0);

	return ebb_min(ebb_max(burst_pkts, least_pkts), EBB_BBR_MAX_BURST_PKTS);
}

/* What may be in flight to keep the path full although hosts and receivers batch. */
EBB_INLINE u64 ebb_bbr_inflight_pkts(const struct ebb_bbr_state *state, u64 bytes_per_s,
				     u32 gain_x1024)
{
	u64 pkts = ebb_bbr_bdp_pkts(state, bytes_per_s, gain_x1024);

	pkts += ebb_bbr_burst_pkts(state) * EBB_BBR_BURSTS_IN_FLIGHT;
	pkts = (pkts + 1) & ~1ull;
	if (state->mode == EBB_BBR_PROBE_BW && state->phase == 0)
		pkts += EBB_BBR_PROBE_PKTS;
	return pkts;
}

EBB_INLINE void ebb_bbr_begin_extra(struct ebb_bbr_state *state, u64 now_us)
{
	state->extra_at_us = now_us;
	state->extra_acked_pkts = 0;
}

/* How many more acknowledgements than the bandwidth gives come in a batch [LINUXBBR]. */
EBB_INLINE void ebb_bbr_sample_extra(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack,
				     const struct ebb_bbr_params *params)
{
	u64 time_us = ebb_min(ebb_sub_floor(ack->now_us, state->extra_at_us), EBB_BBR_MAX_RTT_US);
	u64 due_bytes = ebb_bbr_bytes_per_s(state) * time_us / EBB_US_PER_S;
	u64 due_pkts = ebb_div(due_bytes, state->mss_bytes, 0);
	u64 extra_pkts;

	if (!params->extra_gain_x1024 || !ack->delivered_now_pkts)
		return;
	if (state->is_round_start &&
	    ++state->extra_rounds >= (state->is_full ? params->extra_rounds : 1)) {
		state->extra_rounds = 0;
		state->extra_pkts[1] = state->extra_pkts[0];
		state->extra_pkts[0] = 0;
	}
	if (state->extra_acked_pkts <= due_pkts ||
	    state->extra_acked_pkts + ack->delivered_now_pkts >= EBB_BBR_MAX_EXTRA_PKTS) {
		ebb_bbr_begin_extra(state, ack->now_us);
		due_pkts = 0;
	}
	state->extra_acked_pkts += ack->delivered_now_pkts;
	extra_pkts =
		ebb_min(ebb_sub_floor(state->extra_acked_pkts, due_pkts), state->window.cwnd_pkts);
	state->extra_pkts[0] = (u32)ebb_max(state->extra_pkts[0], extra_pkts);
}

EBB_INLINE u64 ebb_bbr_extra_pkts(const struct ebb_bbr_state *state,
				  const struct ebb_bbr_params *params)
{
	u64 most_bytes = ebb_bbr_bytes_per_s(state) * EBB_BBR_MAX_EXTRA_US / EBB_US_PER_S;
	u64 extra_pkts = ebb_max(state->extra_pkts[0], state->extra_pkts[1]);

	if (!state->is_full)
		return 0;
	return ebb_min(extra_pkts * params->extra_gain_x1024 >> EBB_X1024_BITS,
		       ebb_div(most_bytes, state->mss_bytes, 0));
}

#endif /* EBB_BBR_MODEL_H */
