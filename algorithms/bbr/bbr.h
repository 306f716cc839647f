/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bbr: BBR version 1. Paces at the greatest rate at which the path has delivered lately,
 * with at most about two bandwidth-delay products in flight, and takes no loss for a sign
 * of congestion: the opponent that many servers send with.
 *
 * Sources: [BBRDRAFT]; what the draft leaves to code (policers, aggregation, the pacing
 * margin), as Linux has it: [LINUXBBR] (behaviour, no code).
 *
 * Differences from the sources:
 * 1. The bandwidth filter keeps the greatest sample of each of the last ten round trips,
 *    where Linux keeps the three best of them: the same maximum, or a truer one.
 * 2. The flight at the bottleneck is the one that the host counts; Linux corrects it for
 *    what its pacing has scheduled but not sent.
 * 3. After RTprop expires, any RTT sample replaces it: hosts do not say which were delayed.
 * 4. Rates count payload; Linux's pace counts headers, so that there it is a little faster
 *    where TCP itself paces.
 * 5. The first phase of PROBE_BW is drawn from seven of eight, as in the draft, by the
 *    host's random number.
 * 6. After a time-out the window is what is in flight and one segment; [BBRDRAFT §4.2.3].
 * 7. Samples of its own PROBE_RTT are lower bounds, which Linux has its host say.
 * 8. An RTT that equals RTprop does not renew it, as in Linux; in the draft it does.
 *
 * Domain: up to 1 Tbit/s and 67 s of RTT; windows below 2^30 segments.
 */
#ifndef EBB_BBR_H
#define EBB_BBR_H

#include "bbr/modes.h"

/* [LINUXBBR] The margin of the pace is less than all of it. */
#define EBB_BBR_MAX_MARGIN_X1000 999u
/* [BBRDRAFT §4.2.1] RTT to pace by before there is one: 1 ms. */
#define EBB_BBR_FIRST_RTT_US 1000u

/* The pace before there is a rate: the window in an RTT, times the gain of STARTUP. */
EBB_INLINE void ebb_bbr_first_pace(struct ebb_bbr_state *state, u32 rtt_us,
				   const struct ebb_bbr_params *params)
{
	u64 rate = ebb_bbr_rate(state->window.cwnd_pkts, rtt_us, state->mss_bytes);

	state->window.pacing_bytes_per_s =
		ebb_max(rate * params->high_gain_x1024 / EBB_ONE_X1024, 1);
}

EBB_INLINE void ebb_bbr_init(struct ebb_bbr_state *state, const struct ebb_sender_start *start,
			     const struct ebb_bbr_params *params)
{
	ebb_sender_begin(&state->window, start);
	state->mss_bytes = (u32)ebb_clamp(start->mss_bytes, 1, EBB_MOST_MSS_BYTES);
	state->first_cwnd_pkts = state->window.cwnd_pkts;
	state->min_rtt_at_us = start->now_us;
	state->extra_at_us = start->now_us;
	state->policer_at_us = start->now_us;
	ebb_bbr_first_pace(state, EBB_BBR_FIRST_RTT_US, params);
}

/* [BBRDRAFT §4.2.1] A pace only rises until the bandwidth is known. */
EBB_INLINE void ebb_bbr_set_pace(struct ebb_bbr_state *state, u32 gain_x1024,
				 const struct ebb_bbr_params *params)
{
	/* Below 2^37 x 2^14, then 2^41 x 2^10. */
	u64 rate = ebb_bbr_bytes_per_s(state) * gain_x1024 / EBB_ONE_X1024;
	u64 margin_x1000 = ebb_min(params->pacing_margin_x1000, EBB_BBR_MAX_MARGIN_X1000);

	rate = rate * (EBB_ONE_X1000 - margin_x1000) / EBB_ONE_X1000;
	if (state->is_full || rate > state->window.pacing_bytes_per_s)
		state->window.pacing_bytes_per_s = ebb_max(rate, 1);
}

/* Losses, packet conservation, and the way back [BBRDRAFT §4.2.3]; answers if that is all. */
EBB_INLINE u8 ebb_bbr_modulate_window(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack,
				      const struct ebb_bbr_params *params)
{
	u64 cwnd_pkts = state->window.cwnd_pkts;
	u64 conserved_pkts = (u64)ack->inflight_pkts + ack->delivered_now_pkts;
	u8 was_repairing = state->host_phase >= EBB_SENDER_RECOVERY;

	cwnd_pkts = ebb_max(ebb_sub_floor(cwnd_pkts, ack->lost_now_pkts), 1);
	if (params->conserves && ack->phase == EBB_SENDER_RECOVERY &&
	    state->host_phase != EBB_SENDER_RECOVERY) {
		state->is_conserving = 1;
		state->round_end_pkts = ack->delivered_pkts;
		cwnd_pkts = ebb_min(cwnd_pkts, conserved_pkts);
	} else if (was_repairing && ack->phase < EBB_SENDER_RECOVERY) {
		cwnd_pkts = ebb_max(cwnd_pkts, state->prior_cwnd_pkts);
		state->is_conserving = 0;
	}
	state->host_phase = ack->phase;
	if (state->is_conserving)
		cwnd_pkts = ebb_max(cwnd_pkts, conserved_pkts);
	state->window.cwnd_pkts = (u32)ebb_clamp(cwnd_pkts, 1, EBB_SENDER_MAX_CWND_PKTS);
	return state->is_conserving;
}

/* The window [BBRDRAFT §4.2.3]: towards the target, by what is delivered. */
EBB_INLINE void ebb_bbr_set_window(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack,
				   const struct ebb_bbr_params *params)
{
	u64 target_pkts;
	u64 cwnd_pkts;

	if (ebb_bbr_modulate_window(state, ack, params))
		return;
	ebb_end_step();
	target_pkts = ebb_bbr_inflight_pkts(state, ebb_bbr_bytes_per_s(state),
					    ebb_bbr_cwnd_gain_x1024(state, params)) +
		      ebb_bbr_extra_pkts(state, params);
	cwnd_pkts = state->window.cwnd_pkts;
	if (state->is_full)
		cwnd_pkts = ebb_min(cwnd_pkts + ack->delivered_now_pkts, target_pkts);
	else if (cwnd_pkts < target_pkts || ack->delivered_pkts < state->first_cwnd_pkts)
		cwnd_pkts += ack->delivered_now_pkts;
	cwnd_pkts = ebb_max(cwnd_pkts, params->least_cwnd_pkts);
	state->window.cwnd_pkts = (u32)ebb_clamp(cwnd_pkts, 1, EBB_SENDER_MAX_CWND_PKTS);
}

/* Bandwidth, rounds, policers, aggregation: what an acknowledgement with a sample tells. */
EBB_INLINE void ebb_bbr_take_sample(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack,
				    const struct ebb_bbr_params *params)
{
	state->is_round_start = 0;
	if (!ack->rate_interval_us || !ack->rate_delivered_pkts)
		return;
	ebb_bbr_count_rounds(state, ack);
	ebb_end_step();
	if (state->is_policed) {
		if (ebb_bbr_use_policer(state, ack->now_us, params))
			ebb_bbr_enter_probe_bw(state, ack->now_us, ack->random);
	} else if (params->detects_policer) {
		ebb_bbr_measure_policer(state, ack->now_us, ack->lost_now_pkts,
					ebb_bbr_is_lower_bound(state, ack), params);
	}
	ebb_end_step();
	ebb_bbr_sample_rate(state, ack, params);
	ebb_end_step();
	ebb_bbr_sample_extra(state, ack, params);
}

EBB_INLINE void ebb_bbr_on_ack(struct ebb_bbr_state *state, const struct ebb_sender_ack *ack,
			       const struct ebb_bbr_params *params)
{
	ebb_sender_follow(&state->window, ack->cwnd_pkts, EBB_SENDER_NO_SSTHRESH_PKTS);
	state->mss_bytes = (u32)ebb_clamp(ack->mss_bytes, 1, EBB_MOST_MSS_BYTES);
	state->delivered_pkts = ack->delivered_pkts;
	state->lost_pkts += ack->lost_now_pkts;
	ebb_bbr_take_sample(state, ack, params);
	ebb_end_step();
	ebb_bbr_advance_phase(state, ack, params);
	ebb_end_step();
	ebb_bbr_check_full(state, ack, params);
	ebb_end_step();
	ebb_bbr_check_drain(state, ack);
	ebb_end_step();
	ebb_bbr_update_min_rtt(state, ack, params);
	ebb_end_step();

	if (!state->has_seen_rtt && ack->srtt_us) {
		state->has_seen_rtt = 1;
		ebb_bbr_first_pace(state, ack->srtt_us, params);
	}
	ebb_end_step();
	ebb_bbr_set_pace(state, ebb_bbr_pacing_gain_x1024(state, params), params);
	ebb_end_step();
	if (ack->delivered_now_pkts)
		ebb_bbr_set_window(state, ack, params);
	if (state->mode == EBB_BBR_PROBE_RTT)
		state->window.cwnd_pkts =
			(u32)ebb_min(state->window.cwnd_pkts, ebb_max(params->least_cwnd_pkts, 1));
}

/* A loss is no order to slow down: the window is remembered, on_ack does the rest. */
EBB_INLINE void ebb_bbr_on_loss(struct ebb_bbr_state *state, const struct ebb_sender_event *event,
				const struct ebb_bbr_params *params)
{
	(void)params;
	ebb_sender_follow(&state->window, event->cwnd_pkts, EBB_SENDER_NO_SSTHRESH_PKTS);
	ebb_bbr_save_window(state, event->cwnd_pkts);
}

EBB_INLINE void ebb_bbr_on_timeout(struct ebb_bbr_state *state,
				   const struct ebb_sender_event *event,
				   const struct ebb_bbr_params *params)
{
	u64 cwnd_pkts = (u64)event->inflight_pkts + 1;

	ebb_sender_follow(&state->window, event->cwnd_pkts, EBB_SENDER_NO_SSTHRESH_PKTS);
	ebb_bbr_save_window(state, event->cwnd_pkts);
	state->host_phase = EBB_SENDER_LOSS;
	state->full_bytes_per_s = 0;
	state->is_round_start = 1;
	state->is_conserving = 0;
	if (params->detects_policer && !state->is_policed)
		ebb_bbr_measure_policer(state, event->now_us, 1, 0, params);
	state->window.cwnd_pkts = (u32)ebb_min(state->window.cwnd_pkts, cwnd_pkts);
}

/* The bandwidth may have been underrated: look for it again. */
EBB_INLINE void ebb_bbr_on_undo(struct ebb_bbr_state *state, const struct ebb_sender_event *event,
				const struct ebb_bbr_params *params)
{
	(void)params;
	ebb_sender_follow(&state->window, (u32)ebb_max(event->cwnd_pkts, state->prior_cwnd_pkts),
			  EBB_SENDER_NO_SSTHRESH_PKTS);
	state->full_bytes_per_s = 0;
	state->full_rounds = 0;
	ebb_bbr_forget_policer(state, event->now_us);
}

/* From idle it goes on at the bandwidth that it knows [BBRDRAFT §4.3.4]. */
EBB_INLINE void ebb_bbr_on_idle(struct ebb_bbr_state *state, const struct ebb_sender_event *event,
				const struct ebb_bbr_params *params)
{
	ebb_sender_follow(&state->window, event->cwnd_pkts, EBB_SENDER_NO_SSTHRESH_PKTS);
	state->is_restarting = 1;
	ebb_bbr_begin_extra(state, event->now_us);
	if (state->mode == EBB_BBR_PROBE_BW)
		ebb_bbr_set_pace(state, EBB_ONE_X1024, params);
	else if (state->mode == EBB_BBR_PROBE_RTT && state->probe_rtt_until_us &&
		 event->now_us > state->probe_rtt_until_us)
		ebb_bbr_leave_probe_rtt(state, event->now_us, event->random);
}

#endif /* EBB_BBR_H */
