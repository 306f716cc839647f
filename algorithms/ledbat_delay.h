/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The queueing delay as the laws of the LEDBAT family see it: the least of the last
 * delays, less the least of the last minutes. And a window that counts parts of segments.
 */
#ifndef EBB_LEDBAT_DELAY_H
#define EBB_LEDBAT_DELAY_H

#include "math.h"
#include "params.h"
#include "units.h"

#define EBB_LEDBAT_DELAY_PARAMS(P)                              \
	P(base_history, 10, 1, 10, "minutes", "[RFC6817 §2.5]", \
	  "for how long the least delay is remembered")         \
	P(current_filter, 4, 1, 8, "samples", "[RFC6817 §2.5]", \
	  "so many last delays count, the least of them, if not older than a round trip")

struct ebb_ledbat_delay_params {
	EBB_LEDBAT_DELAY_PARAMS(EBB_PARAM_FIELD)
};

/* [RFC6817 §2.5] Room for the longest BASE_HISTORY and CURRENT_FILTER. */
#define EBB_LEDBAT_MINUTES 10u
#define EBB_LEDBAT_SAMPLES 8u
/* [RFC6817 §2.4.2] Each minimum is of so much time. */
#define EBB_LEDBAT_MINUTE_US 60000000u
/* [RFC6817 §2.4.2] +INFINITY, and the greatest delay that is one. */
#define EBB_LEDBAT_NO_DELAY 0xffffffffu
#define EBB_LEDBAT_MAX_DELAY_US 0x7fffffffu
/* [RFC6817 §2.4.2] What makes of a window in 1/65536 one in 1/64, that products may be divided by,
 * and of a part in 1/1024 one in 1/65536. */
#define EBB_LEDBAT_X65536_PER_X64 1024u
#define EBB_LEDBAT_X65536_PER_X1024 64u

struct ebb_ledbat_delays {
	u64 minute;                         /* number of the minute of base_us[0] */
	u32 base_us[EBB_LEDBAT_MINUTES];    /* base_delays: least delay of each, latest first */
	u32 current_us[EBB_LEDBAT_SAMPLES]; /* current_delays: the last ones, latest first */
	u32 current_at[EBB_LEDBAT_SAMPLES]; /* when, low 32 bits of us */
	u8 is_started;
	u8 reserved[7];
};

EBB_INLINE void ebb_ledbat_delays_clear(struct ebb_ledbat_delays *delays, u64 now_us)
{
	u32 i;

	for (i = 0; i < EBB_LEDBAT_MINUTES; i++)
		delays->base_us[i] = EBB_LEDBAT_NO_DELAY;
	for (i = 0; i < EBB_LEDBAT_SAMPLES; i++)
		delays->current_us[i] = EBB_LEDBAT_NO_DELAY;
	delays->minute = now_us / EBB_LEDBAT_MINUTE_US;
	delays->is_started = 1;
}

/* A minute is over; one without a sample leaves +INFINITY. */
EBB_INLINE void ebb_ledbat_delays_roll(struct ebb_ledbat_delays *delays)
{
	u32 i;

	for (i = EBB_LEDBAT_MINUTES - 1; i > 0; i--)
		delays->base_us[i] = delays->base_us[i - 1];
	delays->base_us[0] = EBB_LEDBAT_NO_DELAY;
}

/* update_base_delay and update_current_delay [RFC6817 §2.4.2]. */
EBB_INLINE void ebb_ledbat_delays_take(struct ebb_ledbat_delays *delays, u64 now_us, u32 delay_us)
{
	u64 minute = now_us / EBB_LEDBAT_MINUTE_US;
	u32 i;

	if (!delays->is_started || minute < delays->minute ||
	    minute - delays->minute >= EBB_LEDBAT_MINUTES)
		ebb_ledbat_delays_clear(delays, now_us);
	for (i = 0; i < EBB_LEDBAT_MINUTES && delays->minute < minute; i++) {
		ebb_ledbat_delays_roll(delays);
		delays->minute++;
	}
	ebb_end_step();
	delay_us = (u32)ebb_min(delay_us, EBB_LEDBAT_MAX_DELAY_US);
	delays->base_us[0] = (u32)ebb_min(delays->base_us[0], delay_us);

	for (i = EBB_LEDBAT_SAMPLES - 1; i > 0; i--) {
		delays->current_us[i] = delays->current_us[i - 1];
		delays->current_at[i] = delays->current_at[i - 1];
	}
	delays->current_us[0] = delay_us;
	delays->current_at[0] = (u32)now_us;
	ebb_end_step();
}

EBB_INLINE u32 ebb_ledbat_base_us(const struct ebb_ledbat_delays *delays,
				  const struct ebb_ledbat_delay_params *params)
{
	u32 least_us = EBB_LEDBAT_NO_DELAY, i;

	if (!delays->is_started)
		return least_us;
	for (i = 0; i < EBB_LEDBAT_MINUTES && i < params->base_history; i++)
		least_us = (u32)ebb_min(delays->base_us[i], least_us);
	return least_us;
}

/* FILTER: the least of the last samples, the latest one and those of the last round trip. */
EBB_INLINE u32 ebb_ledbat_current_us(const struct ebb_ledbat_delays *delays, u32 rtt_us,
				     const struct ebb_ledbat_delay_params *params)
{
	u32 least_us = EBB_LEDBAT_NO_DELAY, i;

	if (!delays->is_started)
		return least_us;
	for (i = 0; i < EBB_LEDBAT_SAMPLES && i < params->current_filter; i++)
		if (!i || delays->current_at[0] - delays->current_at[i] <= rtt_us)
			least_us = (u32)ebb_min(delays->current_us[i], least_us);
	return least_us;
}

/* FILTER(current_delays) - MIN(base_delays); EBB_LEDBAT_NO_DELAY: nothing is known. */
EBB_INLINE u32 ebb_ledbat_queue_us(const struct ebb_ledbat_delays *delays, u32 rtt_us,
				   const struct ebb_ledbat_delay_params *params)
{
	u32 base_us = ebb_ledbat_base_us(delays, params);
	u32 current_us = ebb_ledbat_current_us(delays, rtt_us, params);

	if (base_us == EBB_LEDBAT_NO_DELAY || current_us == EBB_LEDBAT_NO_DELAY)
		return EBB_LEDBAT_NO_DELAY;
	return (u32)ebb_sub_floor(current_us, base_us);
}

/* ---- windows in parts of a segment ---- */

/* [RFC6817 §2.4.2] The window moves by less than a segment at a time: 1/65536 of one. */
#define EBB_LEDBAT_SEGMENT_SHIFT 16
/* [RFC6817 §2.4.2] Bounds that keep products within 64 bits. */
#define EBB_LEDBAT_MAX_CWND_PKTS 0x3fffffffu
#define EBB_LEDBAT_MAX_ACKED_PKTS 4096u

/* A window of whole segments; the host's one where it has changed since. */
EBB_INLINE u64 ebb_ledbat_window_x65536(u64 own_x65536, u32 cwnd_pkts)
{
	cwnd_pkts = (u32)ebb_clamp(cwnd_pkts, 1, EBB_LEDBAT_MAX_CWND_PKTS);
	if (own_x65536 >> EBB_LEDBAT_SEGMENT_SHIFT == cwnd_pkts)
		return own_x65536;
	return (u64)cwnd_pkts << EBB_LEDBAT_SEGMENT_SHIFT;
}

/* value + delta within bounds that are segments. */
EBB_INLINE u64 ebb_ledbat_bound_x65536(u64 value_x65536, u32 least_pkts, u64 most_pkts)
{
	most_pkts = ebb_clamp(most_pkts, least_pkts, EBB_LEDBAT_MAX_CWND_PKTS);
	return ebb_clamp(value_x65536, (u64)least_pkts << EBB_LEDBAT_SEGMENT_SHIFT,
			 most_pkts << EBB_LEDBAT_SEGMENT_SHIFT);
}

#endif /* EBB_LEDBAT_DELAY_H */
