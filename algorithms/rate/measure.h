/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the rate law measures: the flow's rate over estimation periods, the round-trip
 * time, and the time between losses. See rate.h for sources and differences.
 */
#ifndef EBB_RATE_MEASURE_H
#define EBB_RATE_MEASURE_H

#include "receiver_contract.h"

#define EBB_RATE_PARAMS(P)                                                             \
	P(target_kbit_per_s, 1000, 1, 34000000, "kbit/s", "[BWSS §III.A]",             \
	  "T: the rate to hold, of payload")                                           \
	P(slack_x1024, 102, 1, 1024, "1/1024", "[DELAYLAWS §rate]",                    \
	  "alpha: the rate may be off the target by this part of it")                  \
	P(stability_x1024, 819, 1, 1023, "1/1024", "[DELAYLAWS §rate]",                \
	  "beta: part of the wanted increase of the window that is made")              \
	P(hysteresis_pkts, 2, 0, 1000, "segments", "[BWSS §III.A]",                    \
	  "gamma: excess that leaves the delay as it is and takes the window instead") \
	P(smoothing_x1024, 307, 0, 1023, "1/1024", "[BWSS §A]",                        \
	  "epsilon: weight of the rate so far: 0.3")                                   \
	P(period_rtts, 2, 1, 100, "round trips", "[BWSS §A]",                          \
	  "phi: estimation period while losses are rare")                              \
	P(period_loss_x1024, 410, 1, 1024, "1/1024", "[BWSS §A]",                      \
	  "phi while they are not: part of the mean time between losses, 2/5")         \
	P(wait_periods, 3, 1, 100, "periods", "[BWSS §III.B]",                         \
	  "from an adjustment to the next: a round trip and so many periods")          \
	P(start_pkts, 10, 1, 64, "segments", "[RFC6928 §2]",                           \
	  "window until the round-trip time is known")                                 \
	P(most_delay_us, 2000000, 0, 10000000, "us", "[DELAYLAWS §rate]",              \
	  "longest delay of acknowledgements")

struct ebb_rate_params {
	EBB_RATE_PARAMS(EBB_PARAM_FIELD)
};

/* [BWSS §A] TFRC's number of loss intervals. */
#define EBB_RATE_INTERVALS 8u
/* [BWSS §A] Their weights: the first ones this, the others one less each. */
#define EBB_RATE_EQUAL_INTERVALS 4u
#define EBB_RATE_EQUAL_WEIGHT 5u
/* [BWSS §A] Losses are rare if this part of a window passes between them. */
#define EBB_RATE_RARE_DIVISOR 2u
/* [RFC6298 §2] Weight of the smoothed RTT when a sample comes in. */
#define EBB_RATE_SRTT_X8 7u
/* [DELAYLAWS §rate] Bounds that keep products within 64 bits. */
#define EBB_RATE_MAX_RTT_US 8000000u
#define EBB_RATE_MAX_BYTES_PER_S 0xffffffffull
#define EBB_RATE_MAX_INTERVAL_US 0xffffffffull
#define EBB_RATE_MAX_WINDOW_BYTES 0x3fffffffu
#define EBB_RATE_MAX_PERIOD_BYTES (1ull << 40)
/* [BWSS §A] exp: 1 / ln 2, the factors of f and f^2 (difference 8), and where it is 0. */
#define EBB_RATE_LOG2_E_X65536 94548u
#define EBB_RATE_EXP_LINEAR_X65536 44012u
#define EBB_RATE_EXP_SQUARE_X65536 11244u
#define EBB_RATE_EXP_END_X65536 (64ull << 16)

struct ebb_rate_measure {
	/* The estimator. */
	u64 bytes_per_s;     /* R */
	u64 period_since_us; /* start of the period under way, or when it may start */
	u64 period_bytes;
	u64 rtt_seen_at_us;
	u32 srtt_us; /* 0: none yet */
	u32 last_tsecr;

	/* Losses. */
	u64 loss_at_us;                      /* the last loss event began, or the flow */
	u64 interval_us[EBB_RATE_INTERVALS]; /* between events, latest first */
	u32 interval_count;
	u32 highest_seq;
	u8 has_tsecr;
	u8 has_rate; /* R is of periods since the last adjustment */
	u8 has_begun;
	u8 is_waiting; /* the period starts behind the next segment */
	u8 reserved[4];
};

/* ---- round trips ---- */

/* One sample per echo, smoothed as TCP does [RFC6298 §2]. */
EBB_INLINE void ebb_rate_take_rtt(struct ebb_rate_measure *m, const struct ebb_segment *segment)
{
	u32 echo_age = segment->local_ts - segment->tsecr;
	u64 sample_us = 0;

	if (!segment->has_timestamps) {
		if (ebb_sub_floor(segment->now_us, m->rtt_seen_at_us) >= m->srtt_us)
			sample_us = segment->kernel_rtt_us;
	} else if (segment->tsecr && echo_age < EBB_HALF_CIRCLE &&
		   !(m->has_tsecr && m->last_tsecr == segment->tsecr)) {
		m->last_tsecr = segment->tsecr;
		m->has_tsecr = 1;
		sample_us = ebb_max((u64)echo_age * segment->local_tick_us +
					    ebb_mod(segment->now_us, segment->local_tick_us),
				    1);
	}
	if (!sample_us)
		return;
	m->rtt_seen_at_us = segment->now_us;
	sample_us = ebb_min(sample_us, EBB_RATE_MAX_RTT_US);
	if (m->srtt_us)
		sample_us = ((u64)m->srtt_us * EBB_RATE_SRTT_X8 + sample_us) / EBB_ONE_X8;
	m->srtt_us = (u32)sample_us;
}

/* ---- losses ---- */

/*
 * exp(-x) in 1/65536, x in 1/65536: 2^-n 2^-f, the latter as 1 - 0.67157 f + 0.17157 f^2,
 * which is exact at 0, 1/2 and 1.
 */
EBB_INLINE u64 ebb_rate_exp_minus_x65536(u64 x_x65536)
{
	u64 x = ebb_min(x_x65536, EBB_RATE_EXP_END_X65536);
	u64 log2_x65536 = x * EBB_RATE_LOG2_E_X65536 >> EBB_X65536_BITS;
	u64 whole = log2_x65536 >> EBB_X65536_BITS, part = log2_x65536 & (EBB_ONE_X65536 - 1);
	u64 linear = EBB_RATE_EXP_LINEAR_X65536 * part >> EBB_X65536_BITS;
	u64 square = EBB_RATE_EXP_SQUARE_X65536 * part >> EBB_X65536_BITS;

	if (whole > EBB_X65536_BITS)
		return 0;
	return (EBB_ONE_X65536 - linear + (square * part >> EBB_X65536_BITS)) >> whole;
}

/* I': weighted mean of the last intervals, weights 5 5 5 5 4 3 2 1; 0: no loss yet. */
EBB_INLINE u64 ebb_rate_past_interval_us(const struct ebb_rate_measure *m)
{
	u64 sum_us = 0, weights = 0, weight;
	u32 i;

	for (i = 0; i < EBB_RATE_INTERVALS; i++) {
		weight = i < EBB_RATE_EQUAL_INTERVALS ? EBB_RATE_EQUAL_WEIGHT
						      : EBB_RATE_INTERVALS - i;
		if (i < m->interval_count) {
			sum_us += m->interval_us[i] * weight;
			weights += weight;
		}
	}
	return ebb_div(sum_us, weights, 0);
}

/* I = (1 - e^(-c/I')) c + e^(-c/I') I', c the time since the last loss event; 0: infinite. */
EBB_INLINE u64 ebb_rate_interval_us(const struct ebb_rate_measure *m, u64 now_us)
{
	u64 past_us = ebb_rate_past_interval_us(m);
	u64 since_us = ebb_min(ebb_sub_floor(now_us, m->loss_at_us), EBB_RATE_MAX_INTERVAL_US);
	u64 weight_x65536;

	if (!past_us)
		return 0;
	weight_x65536 = ebb_rate_exp_minus_x65536(ebb_div(since_us << EBB_X65536_BITS, past_us, 0));
	since_us = (EBB_ONE_X65536 - weight_x65536) * since_us >> EBB_X65536_BITS;
	past_us = weight_x65536 * past_us >> EBB_X65536_BITS;
	return ebb_max(since_us + past_us, 1);
}

/* A hole shows a loss; all of one round trip are one event. */
EBB_INLINE void ebb_rate_take_loss(struct ebb_rate_measure *m, const struct ebb_segment *segment)
{
	u8 is_hole = ebb_before32(m->highest_seq, segment->seq);
	u64 interval_us = ebb_sub_floor(segment->now_us, m->loss_at_us);
	u32 i;

	m->highest_seq = ebb_highest_seq(m->highest_seq, segment);
	if (!is_hole || interval_us <= m->srtt_us)
		return;
	for (i = EBB_RATE_INTERVALS - 1; i > 0; i--)
		m->interval_us[i] = m->interval_us[i - 1];
	m->interval_us[0] = ebb_clamp(interval_us, 1, EBB_RATE_MAX_INTERVAL_US);
	m->interval_count = (u32)ebb_min(m->interval_count + 1ull, EBB_RATE_INTERVALS);
	m->loss_at_us = segment->now_us;
}

/* ---- the rate ---- */

/* phi: 2 RTT where I > RTT w / 2, else 2/5 I. */
EBB_INLINE u64 ebb_rate_period_us(const struct ebb_rate_measure *m, u64 now_us, u32 window_pkts,
				  const struct ebb_rate_params *params)
{
	u64 interval_us = ebb_rate_interval_us(m, now_us);

	if (!interval_us || interval_us > (u64)m->srtt_us * window_pkts / EBB_RATE_RARE_DIVISOR)
		return (u64)m->srtt_us * params->period_rtts;
	return ebb_max(interval_us * params->period_loss_x1024 / EBB_ONE_X1024, m->srtt_us);
}

/* After an adjustment R is measured anew, from when it has taken effect. */
EBB_INLINE void ebb_rate_restart(struct ebb_rate_measure *m, u64 from_us)
{
	m->period_since_us = from_us;
	m->is_waiting = 1;
	m->period_bytes = 0;
	m->has_rate = 0;
}

/* R <- epsilon R + (1 - epsilon) R_phi at the end of a period; answers whether it was one. */
EBB_INLINE u8 ebb_rate_take_bytes(struct ebb_rate_measure *m, const struct ebb_segment *segment,
				  u64 period_us, const struct ebb_rate_params *params)
{
	u64 elapsed_us = ebb_sub_floor(segment->now_us, m->period_since_us), rate_bytes_per_s;

	if (segment->now_us < m->period_since_us)
		return 0;
	if (m->is_waiting) {
		m->period_since_us = segment->now_us;
		m->is_waiting = 0;
		return 0;
	}
	m->period_bytes =
		ebb_min(m->period_bytes + segment->payload_bytes, EBB_RATE_MAX_PERIOD_BYTES);
	if (!elapsed_us || elapsed_us < period_us)
		return 0;
	rate_bytes_per_s = ebb_min(ebb_div(m->period_bytes * EBB_US_PER_S, elapsed_us, 0),
				   EBB_RATE_MAX_BYTES_PER_S);
	if (m->has_rate)
		rate_bytes_per_s = (m->bytes_per_s * params->smoothing_x1024 +
				    rate_bytes_per_s * (EBB_ONE_X1024 - params->smoothing_x1024)) /
				   EBB_ONE_X1024;
	m->bytes_per_s = rate_bytes_per_s;
	m->has_rate = 1;
	m->period_since_us = segment->now_us;
	m->period_bytes = 0;
	return 1;
}

#endif /* EBB_RATE_MEASURE_H */
