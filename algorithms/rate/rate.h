/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rate: holds a flow at a target rate by the advertised window, and by a delay of the
 * acknowledgements where a window of whole segments is too coarse. The flow control
 * system (FCS) of the bandwidth sharing system (BWSS).
 *
 * Sources: [BWSS §III] the regulation, [BWSS §A] the measurements.
 *
 * Differences from the paper:
 * 1. A delay needs a host that can hold acknowledgements back (can_delay_acks). On others
 *    the delay stays 0, as in the paper's own prototype: an excess below the hysteresis
 *    remains, a larger one is taken from the window.
 * 2. Inside [(1 - alpha) T, (1 + alpha) T] nothing is done, outside the paper's steps
 *    2 to 5 are (it writes R < T and R > T for both).
 * 3. A window of one segment cannot shrink: the delay takes the excess, whatever the
 *    flag D says.
 * 4. When the window shrinks in step 5 the delay is reset, as its arithmetic assumes, and
 *    D is cleared.
 * 5. The window is at most twice what T needs: a flow that its sender or the path
 *    limits does not gather a window that would burst later.
 * 6. The delay grows by 100 ms at once at the most, so that the sender's timer can
 *    follow, and never exceeds most_delay_us.
 * 7. phi is a round trip at least; a window of 2/5 I below that measures nothing.
 * 8. exp(-c/I') is a fit within 0.3 %; intervals count to 71 minutes.
 * 9. Before the RTT is known the window is that of a new connection.
 *
 * Domain: targets from 1 kbit/s to 34 Gbit/s, RTT from 1 ms to 8 s, windows below 2^30
 * bytes.
 */
#ifndef EBB_RATE_H
#define EBB_RATE_H

#include "rate/measure.h"

/* [DELAYLAWS §rate] Greatest growth of the delay at once. */
#define EBB_RATE_DELAY_STEP_US 100000u
/* [DELAYLAWS §rate] The window, in windows that the target needs, at the most. */
#define EBB_RATE_MOST_WINDOWS 2u
/* [DELAYLAWS §rate] A bound that keeps products within 64 bits. */
#define EBB_RATE_MAX_ROUND_US (1ull << 24)
/* [BWSS §III.A] Half a segment, for rounding. */
#define EBB_RATE_HALF_X1024 512u

struct ebb_rate_state {
	u32 rwnd_bytes;
	u32 ack_delay_us; /* d */
	u32 mss_bytes;    /* p_size */
	u32 window_pkts;  /* w */
	u64 adjust_at_us; /* no adjustment before */
	struct ebb_rate_measure measure;
	u8 has_risen; /* D: a smaller window gave less than the target */
	u8 is_regulating;
	u8 is_acting;
	u8 can_delay;
	u8 reserved[4];
};

/* ---- helpers ---- */

EBB_INLINE u64 ebb_rate_target_bytes_per_s(const struct ebb_rate_params *params)
{
	return ebb_min((u64)params->target_kbit_per_s * EBB_BYTES_PER_KBIT,
		       EBB_RATE_MAX_BYTES_PER_S);
}

/* RTT + d */
EBB_INLINE u64 ebb_rate_round_us(const struct ebb_rate_state *s)
{
	return ebb_clamp((u64)s->measure.srtt_us + s->ack_delay_us, 1, EBB_RATE_MAX_ROUND_US);
}

EBB_INLINE void ebb_rate_set_window(struct ebb_rate_state *s, u64 pkts,
				    const struct ebb_rate_params *params)
{
	u64 needed_bytes = ebb_rate_target_bytes_per_s(params) * ebb_rate_round_us(s) /
			   EBB_US_PER_S * EBB_RATE_MOST_WINDOWS;
	u64 most_pkts = ebb_max(ebb_div(needed_bytes, s->mss_bytes, 0), params->start_pkts);

	if (s->measure.srtt_us)
		pkts = ebb_min(pkts, most_pkts);
	s->window_pkts = (u32)ebb_clamp(pkts, 1, EBB_RATE_MAX_WINDOW_BYTES / s->mss_bytes);
	s->rwnd_bytes = s->window_pkts * s->mss_bytes;
}

EBB_INLINE void ebb_rate_set_mss(struct ebb_rate_state *s, u32 mss_bytes,
				 const struct ebb_rate_params *params)
{
	mss_bytes = ebb_bound_mss_bytes(mss_bytes ? mss_bytes : s->mss_bytes);
	if (mss_bytes == s->mss_bytes)
		return;
	s->mss_bytes = mss_bytes;
	ebb_rate_set_window(s, s->window_pkts, params);
}

/* A difference of rates in segments of window, by (2), in 1/1024. */
EBB_INLINE u64 ebb_rate_in_pkts_x1024(const struct ebb_rate_state *s, u64 bytes_per_s)
{
	u64 bytes = bytes_per_s * ebb_rate_round_us(s) / EBB_US_PER_S;

	return ebb_div(bytes * EBB_ONE_X1024, s->mss_bytes, 0);
}

/*
 * A difference of rates in delay, by (3): (RTT + d)^2 / (w p_size) each. Bounds: 2^32 * 2^24
 * / 10^6 < 2^37; 2^37 * 2^24.
 */
EBB_INLINE u64 ebb_rate_in_delay_us(const struct ebb_rate_state *s, u64 bytes_per_s)
{
	u64 round_us = ebb_rate_round_us(s);
	u64 bytes = bytes_per_s * round_us / EBB_US_PER_S;

	return ebb_div(bytes * round_us, (u64)s->window_pkts * s->mss_bytes, 0);
}

/* Step 2: the least window whose rate exceeds the target, by careful increases. */
EBB_INLINE void ebb_rate_widen(struct ebb_rate_state *s, u64 missing_bytes_per_s,
			       const struct ebb_rate_params *params)
{
	u64 missing_x1024 = ebb_rate_in_pkts_x1024(s, missing_bytes_per_s);
	u64 more_x1024 = missing_x1024 * params->stability_x1024 / EBB_ONE_X1024;

	s->has_risen = 1;
	ebb_rate_set_window(s, s->window_pkts + ebb_max(more_x1024 / EBB_ONE_X1024, 1), params);
}

/* Step 3. */
EBB_INLINE void ebb_rate_hasten(struct ebb_rate_state *s, u64 missing_bytes_per_s)
{
	u64 less_us = ebb_max(ebb_rate_in_delay_us(s, missing_bytes_per_s), 1);

	s->ack_delay_us = (u32)ebb_sub_floor(s->ack_delay_us, less_us);
}

/* Step 4. */
EBB_INLINE void ebb_rate_narrow(struct ebb_rate_state *s, u64 less_pkts,
				const struct ebb_rate_params *params)
{
	ebb_rate_set_window(s, ebb_sub_floor(s->window_pkts, ebb_max(less_pkts, 1)), params);
}

/* Step 5: the delay grows, unless the window is too large by more than the hysteresis. */
EBB_INLINE u8 ebb_rate_slow(struct ebb_rate_state *s, u64 excess_bytes_per_s,
			    const struct ebb_rate_params *params)
{
	u64 undelayed_x1024 = ebb_div((u64)s->ack_delay_us * s->window_pkts * EBB_ONE_X1024,
				      ebb_rate_round_us(s), 0);
	u64 less_pkts = (ebb_rate_in_pkts_x1024(s, excess_bytes_per_s) + undelayed_x1024 +
			 EBB_RATE_HALF_X1024) /
			EBB_ONE_X1024;
	u64 more_us = ebb_rate_in_delay_us(s, excess_bytes_per_s);

	if (less_pkts > params->hysteresis_pkts && s->window_pkts > 1) {
		s->ack_delay_us = 0;
		s->has_risen = 0;
		ebb_rate_narrow(s, less_pkts, params);
		return 1;
	}
	if (!s->can_delay || s->ack_delay_us >= params->most_delay_us)
		return 0;
	more_us = ebb_clamp(more_us, 1, EBB_RATE_DELAY_STEP_US);
	s->ack_delay_us = (u32)ebb_min(s->ack_delay_us + more_us, params->most_delay_us);
	return 1;
}

/* The algorithm of figure 3; answers whether anything was changed. */
EBB_INLINE u8 ebb_rate_adjust(struct ebb_rate_state *s, const struct ebb_rate_params *params)
{
	u64 target = ebb_rate_target_bytes_per_s(params), rate = s->measure.bytes_per_s;
	u64 slack = target * params->slack_x1024 / EBB_ONE_X1024;
	u32 window_pkts = s->window_pkts;

	if (rate + slack >= target && rate <= target + slack)
		return 0;
	if (rate < target) {
		if (s->ack_delay_us) {
			ebb_rate_hasten(s, target - rate);
			return 1;
		}
		ebb_rate_widen(s, target - rate, params);
		return s->window_pkts != window_pkts;
	}
	if (s->has_risen || s->window_pkts <= 1)
		return ebb_rate_slow(s, rate - target, params);
	ebb_rate_narrow(s, ebb_rate_in_pkts_x1024(s, rate - target) / EBB_ONE_X1024, params);
	return 1;
}

/* d = 0, w = T RTT / p_size. */
EBB_INLINE void ebb_rate_begin(struct ebb_rate_state *s, u64 now_us,
			       const struct ebb_rate_params *params)
{
	u64 pkts_x1024 = ebb_rate_in_pkts_x1024(s, ebb_rate_target_bytes_per_s(params));

	s->is_regulating = 1;
	ebb_rate_set_window(s, pkts_x1024 / EBB_ONE_X1024, params);
	s->adjust_at_us = now_us;
	ebb_rate_restart(&s->measure, now_us + s->measure.srtt_us);
}

/* A period is over: R is known; adjusts if the last adjustment has had its time. */
EBB_INLINE void ebb_rate_regulate(struct ebb_rate_state *s, u64 now_us, u64 period_us,
				  const struct ebb_rate_params *params)
{
	if (now_us < s->adjust_at_us || !ebb_rate_adjust(s, params))
		return;
	s->adjust_at_us = now_us + ebb_rate_round_us(s) + period_us * params->wait_periods;
	ebb_rate_restart(&s->measure, now_us + ebb_rate_round_us(s));
}

/* ---- the hooks ---- */

EBB_INLINE void ebb_rate_init(struct ebb_rate_state *s, const struct ebb_start *start,
			      const struct ebb_rate_params *params)
{
	s->mss_bytes = ebb_bound_mss_bytes(start->mss_bytes);
	s->measure.highest_seq = start->rcv_nxt;
	ebb_rate_set_window(s, params->start_pkts, params);
}

EBB_INLINE void ebb_rate_on_segment(struct ebb_rate_state *s, const struct ebb_segment *segment,
				    const struct ebb_rate_params *params)
{
	u64 period_us;

	ebb_rate_set_mss(s, segment->mss_bytes, params);
	if (!s->measure.has_begun) {
		s->measure.loss_at_us = segment->now_us;
		s->measure.rtt_seen_at_us = segment->now_us;
		s->measure.has_begun = 1;
	}
	s->can_delay = segment->can_delay_acks;
	if (!s->can_delay)
		s->ack_delay_us = 0;
	ebb_rate_take_rtt(&s->measure, segment);
	ebb_rate_take_loss(&s->measure, segment);
	if (segment->is_observing) {
		s->is_regulating = 0;
		s->ack_delay_us = 0;
		s->rwnd_bytes = EBB_NO_LIMIT_BYTES;
		return;
	}
	if (!s->is_regulating) {
		if (s->measure.srtt_us)
			ebb_rate_begin(s, segment->now_us, params);
		else
			ebb_rate_set_window(s, params->start_pkts, params);
		return;
	}
	period_us = ebb_rate_period_us(&s->measure, segment->now_us, s->window_pkts, params);
	if (ebb_rate_take_bytes(&s->measure, segment, period_us, params))
		ebb_rate_regulate(s, segment->now_us, period_us, params);
}

#endif /* EBB_RATE_H */
