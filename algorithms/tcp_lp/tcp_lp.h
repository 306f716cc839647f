/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tcp-lp: TCP Low Priority. Takes a one-way delay that rises into the first part of its
 * range as a sign of others, halves the window, and leaves a single segment if the sign
 * comes again within three round trips; grows as Reno does otherwise.
 *
 * Sources: [TCPLP §III] for all of it, [RFC5681 §3.1] for what it takes from TCP.
 *
 * Differences from the paper:
 * 1. The one-way delay is the RTT less the queue on the way back (forward_delay.h), and
 *    the RTT where timestamps tell nothing.
 * 2. At most one reaction per round trip: a round trip ends with the acknowledgement of
 *    what was next to be sent at the reaction, not with a timer. The reaction to a loss
 *    lasts until it is repaired: the host leads the window down meanwhile.
 * 3. Delays that a receiver's delayed acknowledgement may have stretched, by 40 ms or
 *    more, do not count (lone_samples): of a segment that was alone in flight, and of one
 *    that was acknowledged alone 30 ms or more after the acknowledgement before, unless
 *    the last eight came like that, or the last 32 alone and none of them looked held.
 * 4. dmin is the least delay of this and the last three minutes. dmax is remembered as
 *    the distance from it: a reset leaves all of it up to 100 ms, and half of what is
 *    more (kept_range_x1024). Early indications keep the queue far from full, so what a
 *    reset forgets would not be seen again, and a part of nothing is nothing.
 * 5. After an idle time and after a reaction smoothing starts anew, with the first segment
 *    that was sent since. Else the memory of the flow's own queue counts as the second
 *    indication, always so where receivers acknowledge every second segment.
 * 6. An inference phase without a second indication shows that the queue was our own:
 *    four fifths of the window before come back at once, paced over a round trip
 *    (resume_x1024). With half the window and one segment per round trip a flow alone
 *    leaves up to a sixth of the link unused where the queue is shorter than the paper's
 *    2.5 BDP. Set to 0, it is the paper's.
 * 7. No growth while the application does not fill the window [RFC7661 §4.1].
 * 8. An indication that comes with the end of an inference phase is a first one; it halves
 *    the window in use, and nothing comes back of what was before.
 * 9. dmin and dmax are delays that two samples agree on, the second least and the second greatest
 *    of their three minutes. One that lies would make a queue of the path itself, or hide any
 *    queue, until it is forgotten (lone_extremes=1, as in the paper).
 * 10. A tick of the peer's clock that turns out to be another than was measured makes all delays
 *    before worthless: dmin and dmax are estimated from the beginning.
 *
 * Domain: windows below 2^30 segments, RTT below 35 minutes. Small segments need a host
 * that can send them: not each can. State: 248 bytes.
 */
#ifndef EBB_TCP_LP_H
#define EBB_TCP_LP_H

#include "forward_delay.h"
#include "tcp_lp_policy.h"

#define EBB_TCP_LP_DELAY_PARAMS(P)                                           \
	P(delta_x1024, 154, 1, 1024, "1/1024", "[TCPLP §III.D.2]",           \
	  "part of the delay's range above which there is congestion: 0.15") \
	P(gamma_x1024, 128, 1, 1024, "1/1024", "[TCPLP §III.D.1]",           \
	  "weight of a new delay in the smoothed one: 1/8")                  \
	P(reset_ms, 180000, 1000, 86400000, "ms", "[TCPLP §VI.A]",           \
	  "how often the least and the greatest delay are measured anew")    \
	P(kept_range_x1024, 512, 0, 1024, "1/1024", "[DELAYLAWS §tcp-lp]",   \
	  "part of the delay's range above 100 ms that a reset keeps")       \
	P(lone_samples, 0, 0, 1, "choice", "[DELAYLAWS §tcp-lp]",            \
	  "1: delays that a delayed acknowledgement may have stretched "     \
	  "count, too")                                                      \
	P(lone_extremes, 0, 0, 1, "choice", "[DELAYLAWS §two samples]",      \
	  "1: a least and a greatest delay that only one sample showed "     \
	  "count, too, as in the paper")

#define EBB_TCP_LP_PARAMS(P)        \
	EBB_TCP_LP_POLICY_PARAMS(P) \
	EBB_TCP_LP_DELAY_PARAMS(P)

struct ebb_tcp_lp_params {
	struct ebb_tcp_lp_policy_params policy;
	EBB_TCP_LP_DELAY_PARAMS(EBB_PARAM_FIELD)
};

/* [TCPLP §III.A.1] Stands for a least delay that was not seen. */
#define EBB_TCP_LP_NO_DELAY 0xffffffffu
/* [DELAYLAWS §tcp-lp] What comes sooner after the acknowledgement before was not held back. */
#define EBB_TCP_LP_LEAST_HOLD_US 30000u
/* [DELAYLAWS §tcp-lp] So many late ones in a row: all come so, held or not, and count. */
#define EBB_TCP_LP_LATE_ACKS 8u
/* [DELAYLAWS §tcp-lp] So many single ones in a row, none as if it was held: none is. */
#define EBB_TCP_LP_SINGLE_ACKS 32u
/* [DELAYLAWS §tcp-lp] Range that resets leave alone. */
#define EBB_TCP_LP_KEPT_RANGE_US 100000u

struct ebb_tcp_lp_state {
	struct ebb_sender_window window;
	struct ebb_tcp_lp_policy policy;
	struct ebb_clock clock;
	u64 smoothed_us_x1024; /* sd */
	u64 window_since_us;   /* of the current three minutes */
	u64 last_ack_us;       /* when the acknowledgement before came, */
	u64 last_peer_us;      /* and left: the peer's clock, on our scale */
	u32 least_us[2];       /* d_min of the current and the last three minutes */
	u32 greatest_us;       /* d_max of the current three minutes */
	u32 lowest_us;         /* least and greatest of one sample in them */
	u32 highest_us;
	u32 range_us;      /* d_max - d_min that earlier ones left */
	u32 last_delay_us; /* of the acknowledgement before; 0: none */
	u8 has_smoothed;
	u8 has_window;
	u8 has_lost;    /* the first loss ends the initial estimation of d_min and d_max */
	u8 late_acks;   /* in a row that the receiver may have held back */
	u8 single_acks; /* in a row, of one segment's delay each, none as if it was held back */
	u8 reserved[7];
};

/* ---- helpers ---- */

EBB_INLINE u32 ebb_tcp_lp_least_us(const struct ebb_tcp_lp_state *state)
{
	u32 least_us = (u32)ebb_min(state->least_us[0], state->least_us[1]);

	return least_us == EBB_TCP_LP_NO_DELAY ? state->lowest_us : least_us;
}

EBB_INLINE u32 ebb_tcp_lp_range_us(const struct ebb_tcp_lp_state *state)
{
	return (u32)ebb_max(state->range_us,
			    ebb_sub_floor(state->greatest_us, ebb_tcp_lp_least_us(state)));
}

/* Begins to measure d_min and d_max anew, every three minutes. */
EBB_INLINE void ebb_tcp_lp_reset_extremes(struct ebb_tcp_lp_state *state, u64 now_us,
					  const struct ebb_tcp_lp_params *params)
{
	u64 range_us = ebb_tcp_lp_range_us(state), spare_us, seen_us = 0;

	if (!state->has_window) {
		state->least_us[0] = EBB_TCP_LP_NO_DELAY;
		range_us = 0;
	} else if (ebb_sub_floor(now_us, state->window_since_us) <
		   (u64)params->reset_ms * EBB_US_PER_MS) {
		return;
	}
	spare_us = ebb_sub_floor(range_us, EBB_TCP_LP_KEPT_RANGE_US);
	range_us -= spare_us - spare_us * params->kept_range_x1024 / EBB_ONE_X1024;
	if (state->has_window)
		seen_us = ebb_sub_floor(state->greatest_us, ebb_tcp_lp_least_us(state));
	state->range_us = (u32)ebb_max(range_us, seen_us);
	state->least_us[1] = state->least_us[0];
	state->least_us[0] = EBB_TCP_LP_NO_DELAY;
	state->lowest_us = EBB_TCP_LP_NO_DELAY;
	state->greatest_us = 0;
	state->highest_us = 0;
	state->window_since_us = now_us;
	state->has_window = 1;
}

/* Takes a delay into d_min and d_max. */
EBB_INLINE void ebb_tcp_lp_take_extremes(struct ebb_tcp_lp_state *state, u32 delay_us,
					 const struct ebb_tcp_lp_params *params)
{
	state->least_us[0] = ebb_second_least(&state->lowest_us, state->least_us[0], delay_us);
	state->greatest_us = ebb_second_greatest(&state->highest_us, state->greatest_us, delay_us);
	if (!params->lone_extremes)
		return;
	state->least_us[0] = state->lowest_us;
	state->greatest_us = state->highest_us;
}

/* Takes a one-way delay d_i; equation (1). */
EBB_INLINE void ebb_tcp_lp_take_delay(struct ebb_tcp_lp_state *state, u64 now_us, u32 delay_us,
				      const struct ebb_tcp_lp_params *params)
{
	u64 gamma_x1024 = params->gamma_x1024;

	ebb_tcp_lp_reset_extremes(state, now_us, params);
	ebb_end_step();
	ebb_tcp_lp_take_extremes(state, delay_us, params);
	if (!state->has_smoothed)
		state->smoothed_us_x1024 = (u64)delay_us * EBB_ONE_X1024;
	else
		state->smoothed_us_x1024 = state->smoothed_us_x1024 -
					   state->smoothed_us_x1024 * gamma_x1024 / EBB_ONE_X1024 +
					   delay_us * gamma_x1024;
	state->has_smoothed = 1;
}

/* The early congestion indication, condition (2). */
EBB_INLINE u8 ebb_tcp_lp_is_congested(const struct ebb_tcp_lp_state *state,
				      const struct ebb_tcp_lp_params *params)
{
	u64 least_us_x1024 = (u64)ebb_tcp_lp_least_us(state) * EBB_ONE_X1024;
	u64 threshold_us_x1024 = (u64)ebb_tcp_lp_range_us(state) * params->delta_x1024;

	return state->has_smoothed && state->has_lost &&
	       state->smoothed_us_x1024 > least_us_x1024 + threshold_us_x1024;
}

/*
 * Takes when the acknowledgement came and left, and answers how long after the one before it
 * left, or came if that is longer: a queue on the way back may have brought them closer, and
 * a tick of the peer's clock hidden a silence. After ebb_forward_on_ack.
 */
EBB_INLINE u64 ebb_tcp_lp_take_gap_us(struct ebb_tcp_lp_state *state,
				      const struct ebb_sender_ack *ack)
{
	u64 came_us = ebb_sub_floor(ack->now_us, state->last_ack_us), left_us = 0;

	if (ack->has_timestamps && state->clock.tick.is_measured)
		left_us = ebb_sub_floor(state->clock.sender_us, state->last_peer_us);
	state->last_ack_us = ack->now_us;
	state->last_peer_us = state->clock.sender_us;
	return ebb_max(came_us, left_us);
}

/*
 * Takes the silence before the acknowledgement into the rows of late and of single ones, and
 * answers whether it is as late as the receiver's timer would have made it.
 */
EBB_INLINE u8 ebb_tcp_lp_take_silence(struct ebb_tcp_lp_state *state,
				      const struct ebb_sender_ack *ack, u32 delay_us)
{
	u64 gap_us = ebb_tcp_lp_take_gap_us(state, ack);
	u64 held_us = (u64)state->last_delay_us + EBB_TCP_LP_LEAST_HOLD_US;
	u8 is_late = ack->delivered_now_pkts <= 1 && gap_us >= EBB_TCP_LP_LEAST_HOLD_US;
	u8 is_held = is_late && delay_us >= held_us;
	u8 is_alone = ack->prior_inflight_pkts <= 1;
	u8 is_single = ack->delivered_now_pkts == 1 && delay_us && !is_alone;

	if (delay_us)
		state->last_delay_us = delay_us;
	if (ack->delivered_now_pkts > 1 || ack->phase != EBB_SENDER_OPEN || is_held)
		state->single_acks = 0;
	else if (is_single && state->single_acks < EBB_TCP_LP_SINGLE_ACKS)
		state->single_acks++;
	if (is_alone)
		return is_late;
	if (!is_late || ack->phase != EBB_SENDER_OPEN)
		state->late_acks = 0;
	else if (state->late_acks < EBB_TCP_LP_LATE_ACKS)
		state->late_acks++;
	return is_late;
}

/* May the acknowledgement have been delayed at the receiver? After its silence was taken. */
EBB_INLINE u8 ebb_tcp_lp_may_be_held(const struct ebb_tcp_lp_state *state,
				     const struct ebb_sender_ack *ack, u8 is_late)
{
	if (ack->prior_inflight_pkts <= 1)
		return 1;
	return is_late && state->late_acks < EBB_TCP_LP_LATE_ACKS &&
	       state->single_acks < EBB_TCP_LP_SINGLE_ACKS;
}

/* Takes the acknowledgement's timestamp; d_min and d_max of a wrong tick are forgotten. */
EBB_INLINE void ebb_tcp_lp_take_clock(struct ebb_tcp_lp_state *state,
				      const struct ebb_sender_ack *ack)
{
	u32 tick_us = state->clock.tick.is_measured ? state->clock.tick.tick_us : 0;

	ebb_forward_on_ack(&state->clock, ack);
	if (!tick_us || tick_us == state->clock.tick.tick_us)
		return;
	state->has_window = 0;
	state->has_lost = 0;
	state->has_smoothed = 0;
}

/* Takes what the acknowledgement tells of the delay, and answers whether it is too long. */
EBB_INLINE u8 ebb_tcp_lp_senses(struct ebb_tcp_lp_state *state, const struct ebb_sender_ack *ack,
				const struct ebb_tcp_lp_params *params)
{
	u8 is_late, may_be_held, is_congested;
	u32 delay_us;

	ebb_tcp_lp_take_clock(state, ack);
	ebb_end_step();
	delay_us = ebb_forward_delay_us(&state->clock, ack);
	is_late = ebb_tcp_lp_take_silence(state, ack, delay_us);
	may_be_held = ebb_tcp_lp_may_be_held(state, ack, is_late) && !params->lone_samples;
	ebb_end_step();
	if (ack->phase > EBB_SENDER_DISORDER)
		ebb_tcp_lp_stay_quiet(&state->policy, ack->snd_nxt);
	if (state->policy.is_quiet)
		state->has_smoothed = 0;
	if (!delay_us || may_be_held)
		return 0;
	ebb_tcp_lp_take_delay(state, ack->now_us, delay_us, params);
	ebb_end_step();
	is_congested = ebb_tcp_lp_is_congested(state, params);
	/* The last delay before the first that shows what the reaction did is forgotten, too. */
	if (state->policy.is_quiet)
		state->has_smoothed = 0;
	return is_congested;
}

/* ---- the hooks ---- */

EBB_INLINE void ebb_tcp_lp_init(struct ebb_tcp_lp_state *state,
				const struct ebb_sender_start *start,
				const struct ebb_tcp_lp_params *params)
{
	ebb_tcp_lp_begin(&state->window, start, &params->policy);
}

EBB_INLINE void ebb_tcp_lp_on_ack(struct ebb_tcp_lp_state *state, const struct ebb_sender_ack *ack,
				  const struct ebb_tcp_lp_params *params)
{
	struct ebb_tcp_lp_moment at = EBB_TCP_LP_MOMENT(ack);
	u8 is_congested;

	ebb_sender_follow(&state->window, ack->cwnd_pkts, ack->ssthresh_pkts);
	ebb_tcp_lp_expire(&state->window, &state->policy, &at);
	ebb_end_step();
	is_congested = ebb_tcp_lp_senses(state, ack, params);
	ebb_end_step();
	if (is_congested)
		ebb_tcp_lp_indicate(&state->window, &state->policy, &at, &params->policy);
	if (!is_congested && ack->is_cwnd_limited)
		ebb_tcp_lp_grow(&state->window, &state->policy, ack->acked_pkts);
	ebb_end_step();
	ebb_tcp_lp_pace(&state->window, &state->policy, &at, ack->mss_bytes);
	ebb_tcp_lp_size_segments(&state->window, &params->policy);
}

EBB_INLINE void ebb_tcp_lp_on_loss(struct ebb_tcp_lp_state *state,
				   const struct ebb_sender_event *event,
				   const struct ebb_tcp_lp_params *params)
{
	(void)params;
	state->has_lost = 1;
	ebb_tcp_lp_lose(&state->window, &state->policy, event);
}

EBB_INLINE void ebb_tcp_lp_on_timeout(struct ebb_tcp_lp_state *state,
				      const struct ebb_sender_event *event,
				      const struct ebb_tcp_lp_params *params)
{
	state->has_lost = 1;
	ebb_tcp_lp_lose_all(&state->window, &state->policy, event, &params->policy);
}

EBB_INLINE void ebb_tcp_lp_on_undo(struct ebb_tcp_lp_state *state,
				   const struct ebb_sender_event *event,
				   const struct ebb_tcp_lp_params *params)
{
	ebb_tcp_lp_undo(&state->window, &state->policy, event, &params->policy);
}

EBB_INLINE void ebb_tcp_lp_on_idle(struct ebb_tcp_lp_state *state,
				   const struct ebb_sender_event *event,
				   const struct ebb_tcp_lp_params *params)
{
	state->has_smoothed = 0;
	ebb_tcp_lp_restart(&state->window, event, &params->policy);
}

#endif /* EBB_TCP_LP_H */
