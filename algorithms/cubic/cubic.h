/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cubic: the window follows a cubic of the time since the last loss, flat around the
 * window at which that came, whatever the RTT. What most of the Internet sends with.
 *
 * Sources: [RFC9438]; slow start: [RFC9406], [RFC5681 §3.1]; the alternative rules and
 * HyStart as Linux has them: [LINUXCUBIC] (behaviour, no code).
 *
 * Differences from the RFC:
 * 1. Windows count whole segments; parts of one are kept as credit. Time is in s/1024.
 * 2. The threshold is beta times the window, not the flight (§4.6 allows it where the
 *    window does not grow while it is not filled: difference 3).
 * 3. A window that the application does not fill does not grow, and the curve's clock
 *    stands meanwhile [RFC9438 §5.8].
 * 4. After an undo the window is at least what the host has by then.
 * 5. An RTT of 0 in the host's smoothed RTT makes the curve be read at t, not t + RTT.
 * 6. Reno's window starts again from a window that others have lowered.
 * 7. HyStart++ is for the first slow start only, as [RFC9406 §4.3] recommends.
 *
 * Differences of rules=1 (Linux 6.18) from the RFC:
 * 8. The curve is read at t plus the least RTT; what it asks for is reckoned 32 times a
 *    second or when the window has changed, as a whole number of acknowledged segments.
 *    Its distance from the plateau is cut to whole segments.
 * 9. Reno's window grows by 3 (1 - beta) / (1 + beta) per round trip at all times, not by
 *    1 beyond the last maximum; it shortens the steps and never sets the window.
 * 10. Before the first loss the window grows by at least a 20th per round trip; beyond the
 *    curve it still grows by a 100th of a segment per round trip.
 * 11. An undo restores the window alone. An application that does not fill the window stops
 *    the clock only when nothing is outstanding. A time-out forgets the least RTT.
 *
 * Domain: windows below 2^30 segments, 2048 s between losses, RTT below 1 h.
 */
#ifndef EBB_CUBIC_H
#define EBB_CUBIC_H

#include "cubic/curve.h"
#include "cubic/hystart.h"

/* [LINUXCUBIC] How long the steps of rules=1 stand: 1/32 s. */
#define EBB_CUBIC_UPDATE_US 31250u
/* [LINUXCUBIC] Segments that earn one at the most before the first loss: rules=1. */
#define EBB_CUBIC_START_PER_PKTS 20u
/* [LINUXCUBIC] Windows that earn a segment beyond the curve: rules=1. */
#define EBB_CUBIC_FLAT_WINDOWS 100u
/* [RFC9438 §4.4] The window grows by half a window per round trip at the most. */
#define EBB_CUBIC_LEAST_PER_PKTS 2u
/* [RFC9438 §4.3] Reno's alpha is so many times (1 - beta) / (1 + beta). */
#define EBB_CUBIC_RENO_X1024 3072u
/* [RFC9438 §4.7] Fast convergence leaves (1 + beta) of so many parts of the window. */
#define EBB_CUBIC_CONVERGENCE_PARTS 2u
/* [RFC9438 §4.2] A bound on times: sums of two do not wrap. */
#define EBB_CUBIC_MAX_SUM_US (1ull << 62)

EBB_INLINE void ebb_cubic_init(struct ebb_cubic_state *state, const struct ebb_sender_start *start,
			       const struct ebb_cubic_params *params)
{
	(void)params;
	ebb_sender_begin(&state->window, start);
}

/*
 * Takes over the host's window. Where others have lowered it (an idle time, a wrapper) Reno
 * would have to start from there, too.
 */
EBB_INLINE void ebb_cubic_follow(struct ebb_cubic_state *state, u32 cwnd_pkts, u32 ssthresh_pkts)
{
	u8 is_lower = cwnd_pkts < state->window.cwnd_pkts;

	ebb_sender_follow(&state->window, cwnd_pkts, ssthresh_pkts);
	if (!is_lower || state->now.w_est_pkts <= state->window.cwnd_pkts)
		return;
	state->now.w_est_pkts = state->window.cwnd_pkts;
	state->now.w_est_acked_x1m = 0;
}

/* A stage of congestion avoidance begins [RFC9438 §4.2, §4.8, §4.10]. */
EBB_INLINE void ebb_cubic_begin_stage(struct ebb_cubic_state *state, u64 now_us,
				      const struct ebb_cubic_params *params)
{
	struct ebb_cubic_stage *stage = &state->now;
	u32 cwnd_pkts = state->window.cwnd_pkts;

	stage->has_epoch = 1;
	stage->epoch_us = now_us;
	stage->w_est_pkts = cwnd_pkts;
	stage->w_est_acked_x1m = 0;
	state->credit_x65536 = 0;
	if (stage->w_max_pkts > cwnd_pkts) {
		stage->origin_pkts = stage->w_max_pkts;
		stage->k_x1024 = ebb_cubic_k_x1024(stage->w_max_pkts - cwnd_pkts, params->c_x1000);
	} else {
		stage->origin_pkts = cwnd_pkts;
		stage->k_x1024 = 0;
	}
}

/* Reno's window [RFC9438 §4.3]: alpha segments more for a window's worth acknowledged. */
EBB_INLINE void ebb_cubic_estimate_reno(struct ebb_cubic_state *state, u32 acked_pkts,
					const struct ebb_cubic_params *params)
{
	struct ebb_cubic_stage *stage = &state->now;
	/* Finer than the rest: an error of a 1024th is one of a segment after a thousand. */
	u64 reno_x1m = (u64)EBB_CUBIC_RENO_X1024 << EBB_X1024_BITS;
	u64 beta_x1024 = params->beta_x1024;
	u64 alpha_x1m = ebb_div(reno_x1m * (EBB_ONE_X1024 - ebb_min(beta_x1024, EBB_ONE_X1024)),
				EBB_ONE_X1024 + beta_x1024, 0);
	u64 window_x1m = (u64)state->window.cwnd_pkts << EBB_X1M_BITS;
	u64 more;

	if (params->rules == EBB_CUBIC_RULES_RFC && stage->w_est_pkts >= stage->prior_cwnd_pkts)
		alpha_x1m = EBB_ONE_X1M;
	stage->w_est_acked_x1m += acked_pkts * alpha_x1m;
	more = ebb_div(stage->w_est_acked_x1m, window_x1m, 0);
	stage->w_est_acked_x1m -= more * window_x1m;
	stage->w_est_pkts = (u32)ebb_min(stage->w_est_pkts + more, EBB_SENDER_MAX_CWND_PKTS);
}

/* Towards the curve as it will be a round trip later, half a window at most [§4.4, §4.5]. */
EBB_INLINE void ebb_cubic_avoid_rfc(struct ebb_cubic_state *state, const struct ebb_sender_ack *ack,
				    u32 acked_pkts, const struct ebb_cubic_params *params)
{
	u64 t_us = ebb_sub_floor(ack->now_us, state->now.epoch_us);
	u64 cwnd_pkts = ebb_max(state->window.cwnd_pkts, 1);
	u64 cwnd_x1024 = (cwnd_pkts << EBB_X1024_BITS) +
			 (state->credit_x65536 >> (EBB_X65536_BITS - EBB_X1024_BITS));
	u64 curve_x1024 =
		ebb_cubic_window_x1024(&state->now, ebb_cubic_time_x1024(t_us), params->c_x1000);
	u64 reno_x1024 = ((u64)state->now.w_est_pkts << EBB_X1024_BITS) +
			 ebb_div(state->now.w_est_acked_x1m >> (EBB_X1M_BITS - EBB_X1024_BITS),
				 cwnd_pkts, 0);
	u64 target_x1024, most_x1024, per_x65536, credit;

	if (params->reno_friendly && curve_x1024 < reno_x1024) {
		state->window.cwnd_pkts = (u32)ebb_max(cwnd_pkts, state->now.w_est_pkts);
		return;
	}
	/* Sums do not wrap: a later t is cut at 2^32 us more. */
	t_us = ebb_min(t_us, EBB_CUBIC_MAX_SUM_US) + ack->srtt_us;
	target_x1024 =
		ebb_cubic_window_x1024(&state->now, ebb_cubic_time_x1024(t_us), params->c_x1000);
	most_x1024 = cwnd_x1024 + (cwnd_pkts << EBB_X1024_BITS) / EBB_CUBIC_LEAST_PER_PKTS;
	target_x1024 = ebb_clamp(target_x1024, cwnd_x1024, most_x1024);
	/* At most 2^15 per segment, for 2^32 segments. */
	per_x65536 =
		((target_x1024 - cwnd_x1024) << (EBB_X65536_BITS - EBB_X1024_BITS)) / cwnd_pkts;
	credit = state->credit_x65536 + acked_pkts * per_x65536;
	state->credit_x65536 = (u32)(credit & (EBB_ONE_X65536 - 1));
	state->window.cwnd_pkts =
		(u32)ebb_min(cwnd_pkts + (credit >> EBB_X65536_BITS), EBB_SENDER_MAX_CWND_PKTS);
}

/* How many acknowledged segments earn one under rules=1. */
EBB_INLINE u32 ebb_cubic_per_pkts(const struct ebb_cubic_state *state, u64 now_us,
				  const struct ebb_cubic_params *params)
{
	u64 t_us = ebb_min(ebb_sub_floor(now_us, state->now.epoch_us), EBB_CUBIC_MAX_SUM_US);
	u32 t_x1024 = ebb_cubic_time_x1024(t_us + state->min_rtt_us);
	u64 target_x1024 = ebb_cubic_window_x1024(&state->now, t_x1024, params->c_x1000);
	u64 cwnd_pkts = state->window.cwnd_pkts;
	u64 target_pkts;
	u64 per_pkts;

	/* The distance from the plateau is cut to whole segments. */
	target_pkts = (target_x1024 + (t_x1024 < state->now.k_x1024 ? EBB_ONE_X1024 - 1 : 0)) >>
		      EBB_X1024_BITS;
	per_pkts = ebb_div(cwnd_pkts, ebb_sub_floor(target_pkts, cwnd_pkts),
			   EBB_CUBIC_FLAT_WINDOWS * cwnd_pkts);
	if (!state->now.w_max_pkts)
		per_pkts = ebb_min(per_pkts, EBB_CUBIC_START_PER_PKTS);
	if (params->reno_friendly)
		per_pkts =
			ebb_min(per_pkts,
				ebb_div(cwnd_pkts, ebb_sub_floor(state->now.w_est_pkts, cwnd_pkts),
					per_pkts));
	return (u32)ebb_clamp(per_pkts, EBB_CUBIC_LEAST_PER_PKTS, ~0u);
}

EBB_INLINE void ebb_cubic_avoid_linux(struct ebb_cubic_state *state,
				      const struct ebb_sender_ack *ack, u32 acked_pkts,
				      const struct ebb_cubic_params *params)
{
	u64 age_us = ebb_sub_floor(ack->now_us, state->update_us);

	if (state->per_pkts == 0 || state->update_cwnd_pkts != state->window.cwnd_pkts ||
	    age_us > EBB_CUBIC_UPDATE_US) {
		state->per_pkts = ebb_cubic_per_pkts(state, ack->now_us, params);
		state->update_cwnd_pkts = state->window.cwnd_pkts;
		state->update_us = ack->now_us;
	}
	/* What was saved up under longer steps is worth one segment. */
	if (state->credit_pkts >= state->per_pkts) {
		state->credit_pkts = 0;
		ebb_sender_add_per(&state->window, &state->credit_pkts, 1, 1);
	}
	ebb_sender_add_per(&state->window, &state->credit_pkts, acked_pkts, state->per_pkts);
}

EBB_INLINE void ebb_cubic_avoid(struct ebb_cubic_state *state, const struct ebb_sender_ack *ack,
				u32 acked_pkts, const struct ebb_cubic_params *params)
{
	if (!state->now.has_epoch) {
		ebb_cubic_begin_stage(state, ack->now_us, params);
		state->per_pkts = 0;
	}
	ebb_cubic_estimate_reno(state, acked_pkts, params);
	ebb_end_step();
	if (params->rules == EBB_CUBIC_RULES_LINUX)
		ebb_cubic_avoid_linux(state, ack, acked_pkts, params);
	else
		ebb_cubic_avoid_rfc(state, ack, acked_pkts, params);
}

/* Time that the application wasted is no time of the curve [RFC9438 §5.8]. */
EBB_INLINE void ebb_cubic_stop_clock(struct ebb_cubic_state *state, u64 now_us, u64 for_us)
{
	u64 known_us = ebb_sub_floor(now_us, state->now.epoch_us);

	state->now.epoch_us += ebb_min(for_us, known_us);
}

EBB_INLINE void ebb_cubic_on_ack(struct ebb_cubic_state *state, const struct ebb_sender_ack *ack,
				 const struct ebb_cubic_params *params)
{
	u64 since_us = ebb_sub_floor(ack->now_us, state->last_ack_us);
	u32 acked_pkts = ack->acked_pkts;

	ebb_cubic_follow(state, ack->cwnd_pkts, ack->ssthresh_pkts);
	ebb_end_step();
	if (ack->rtt_us && (!state->min_rtt_us || ack->rtt_us < state->min_rtt_us))
		state->min_rtt_us = ack->rtt_us;
	state->last_ack_us = ack->now_us;
	if (params->hystart == EBB_CUBIC_HYSTART_LINUX)
		ebb_cubic_hystart_linux(state, ack, params);
	ebb_end_step();
	if (!acked_pkts)
		return;
	if (!ack->is_cwnd_limited) {
		if (state->now.has_epoch && params->rules == EBB_CUBIC_RULES_RFC)
			ebb_cubic_stop_clock(state, ack->now_us, since_us);
		return;
	}
	if (ebb_sender_in_slow_start(&state->window)) {
		acked_pkts = ebb_cubic_slow_start(state, acked_pkts, params);
		if (params->hystart == EBB_CUBIC_HYSTART_PLUS && !state->has_reduced)
			ebb_cubic_hystart_plus(state, ack, params);
	}
	ebb_end_step();
	if (acked_pkts && !ebb_sender_in_slow_start(&state->window))
		ebb_cubic_avoid(state, ack, acked_pkts, params);
}

/* Multiplicative decrease and fast convergence [RFC9438 §4.6, §4.7]. */
EBB_INLINE void ebb_cubic_reduce(struct ebb_cubic_state *state, u32 cwnd_pkts,
				 const struct ebb_cubic_params *params)
{
	struct ebb_cubic_stage *stage = &state->now;
	u64 beta_x1024 = params->beta_x1024;

	ebb_cubic_follow(state, cwnd_pkts, state->window.ssthresh_pkts);
	cwnd_pkts = state->window.cwnd_pkts;
	state->undo = state->now;
	state->undo_cwnd_pkts = cwnd_pkts;
	stage->prior_cwnd_pkts = cwnd_pkts;
	if (params->fast_convergence && cwnd_pkts < stage->w_max_pkts)
		stage->w_max_pkts = (u32)(cwnd_pkts * (EBB_ONE_X1024 + beta_x1024) /
					  (EBB_ONE_X1024 * EBB_CUBIC_CONVERGENCE_PARTS));
	else
		stage->w_max_pkts = cwnd_pkts;
	stage->has_epoch = 0;
	state->has_reduced = 1;
	state->css_base_rtt_us = 0;
	state->window.ssthresh_pkts =
		(u32)ebb_max(cwnd_pkts * beta_x1024 / EBB_ONE_X1024, params->least_ssthresh_pkts);
}

EBB_INLINE void ebb_cubic_on_loss(struct ebb_cubic_state *state,
				  const struct ebb_sender_event *event,
				  const struct ebb_cubic_params *params)
{
	ebb_cubic_reduce(state, event->cwnd_pkts, params);
}

/* The stage after a time-out begins at its own plateau [RFC9438 §4.8]. */
EBB_INLINE void ebb_cubic_on_timeout(struct ebb_cubic_state *state,
				     const struct ebb_sender_event *event,
				     const struct ebb_cubic_params *params)
{
	ebb_cubic_reduce(state, event->cwnd_pkts, params);
	state->now.w_max_pkts = 0;
	state->window.cwnd_pkts = 1;
	state->credit_pkts = 0;
	state->has_round = 0;
	state->round_rtt_us = 0;
	if (params->rules == EBB_CUBIC_RULES_LINUX)
		state->min_rtt_us = 0;
}

/* [RFC9438 §4.9] */
EBB_INLINE void ebb_cubic_on_undo(struct ebb_cubic_state *state,
				  const struct ebb_sender_event *event,
				  const struct ebb_cubic_params *params)
{
	if (params->rules == EBB_CUBIC_RULES_RFC)
		state->now = state->undo;
	ebb_sender_follow(&state->window, (u32)ebb_max(event->cwnd_pkts, state->undo_cwnd_pkts),
			  event->ssthresh_pkts);
}

EBB_INLINE void ebb_cubic_on_idle(struct ebb_cubic_state *state,
				  const struct ebb_sender_event *event,
				  const struct ebb_cubic_params *params)
{
	(void)params;
	ebb_cubic_follow(state, event->cwnd_pkts, event->ssthresh_pkts);
	if (state->now.has_epoch)
		ebb_cubic_stop_clock(state, event->now_us, event->idle_us);
	state->last_ack_us = event->now_us;
}

#endif /* EBB_CUBIC_H */
