/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The window of LEDBAT++, whoever applies it: the sender (ledbat_pp/) as the congestion
 * window, or the receiver (rledbat/) as the advertised one. See ledbat_pp/ledbat_pp.h for
 * sources.
 */
#ifndef EBB_LEDBAT_PP_WINDOW_H
#define EBB_LEDBAT_PP_WINDOW_H

#include "ledbat_delay.h"

#define EBB_LEDBAT_PP_WINDOW_PARAMS(P)                                                        \
	P(target_us, 60000, 1000, 100000, "us", "[LEDBATPP]", "queueing delay not to exceed") \
	P(most_gain_divisor, 16, 1, 1000, "1", "[LEDBATPP]",                                  \
	  "a short path's growth is divided by so much at the most")                          \
	P(exit_x1024, 768, 1, 1024, "1/1024", "[LEDBATPP]",                                   \
	  "part of the target at which the first slow start ends")                            \
	P(decrease_x1024, 1024, 1, 16384, "1/1024", "[LEDBATPP]",                             \
	  "C: weight of what exceeds the target in a decrease")                               \
	P(least_pkts, 2, 1, 1000, "segments", "[LEDBATPP]",                                   \
	  "least window, and that of a slowdown")                                             \
	P(slowdown_interval, 9, 0, 1000, "1", "[LEDBATPP]",                                   \
	  "from a slowdown to the next, in its length; 0: no slowdowns")                      \
	P(slowdown_rtts, 2, 1, 100, "round trips", "[LEDBATPP]",                              \
	  "wait before the first slowdown, and length of its least window")

struct ebb_ledbat_pp_window_params {
	EBB_LEDBAT_PP_WINDOW_PARAMS(EBB_PARAM_FIELD)
};

/* [LEDBATPP] Bounds that keep products within 64 bits. */
#define EBB_LEDBAT_PP_MAX_QUEUE_US 0x3ffffffu
#define EBB_LEDBAT_PP_MAX_RTT_US 60000000u
#define EBB_LEDBAT_PP_MAX_SLOWDOWN_US (1ull << 40)
/* [LEDBATPP] Growth is divided by so many targets in a least RTT. */
#define EBB_LEDBAT_PP_PATH_TARGETS 2u
/* [LEDBATPP] A round trip takes this part of the window at the most, and a loss leaves it. */
#define EBB_LEDBAT_PP_DECREASE_DIVISOR 2u
/* [RFC5681 §3.1] The threshold of a flow that knows no limit yet. */
#define EBB_LEDBAT_PP_NO_SSTHRESH_PKTS 0x7fffffffu

enum ebb_ledbat_pp_stage {
	EBB_LEDBAT_PP_FIRST, /* the initial slow start */
	EBB_LEDBAT_PP_STEADY,
	EBB_LEDBAT_PP_HOLD,   /* a slowdown: at the least window */
	EBB_LEDBAT_PP_RETURN, /* slow start back to where the slowdown began */
};

struct ebb_ledbat_pp_window {
	u64 cwnd_x65536;
	u64 slowdown_at_us;    /* when the next one begins; 0: none */
	u64 slowdown_since_us; /* when the last one began */
	u64 hold_until_us;
	u32 ssthresh_pkts;
	u8 stage; /* enum ebb_ledbat_pp_stage */
	u8 reserved[3];
};

/* What an acknowledgement, or its like, brings. */
struct ebb_ledbat_pp_step {
	u64 now_us;
	u64 acked_x65536; /* segments, in parts of 1/65536 */
	u32 queue_us;     /* EBB_LEDBAT_NO_DELAY: not known */
	u32 base_us;      /* least RTT */
	u32 rtt_us;
	u32 may_grow;
};

EBB_INLINE u32 ebb_ledbat_pp_pkts(const struct ebb_ledbat_pp_window *w)
{
	return (u32)(w->cwnd_x65536 >> EBB_LEDBAT_SEGMENT_SHIFT);
}

EBB_INLINE void ebb_ledbat_pp_set_pkts(struct ebb_ledbat_pp_window *w, u32 pkts)
{
	w->cwnd_x65536 = ebb_ledbat_window_x65536(0, pkts);
}

EBB_INLINE void ebb_ledbat_pp_begin(struct ebb_ledbat_pp_window *w, u32 pkts)
{
	ebb_ledbat_pp_set_pkts(w, pkts);
	w->ssthresh_pkts = EBB_LEDBAT_PP_NO_SSTHRESH_PKTS;
}

/* F = min(16, ceil(2 T / base)): the divisor of growth; GAIN = 1 / F. */
EBB_INLINE u32 ebb_ledbat_pp_gain_divisor(u32 base_us, const struct ebb_ledbat_pp_window_params *p)
{
	u64 most = ebb_max(p->most_gain_divisor, 1);
	u64 twice_us = (u64)p->target_us * EBB_LEDBAT_PP_PATH_TARGETS;

	return (u32)ebb_clamp(ebb_div(twice_us + base_us - 1, base_us, most), 1, most);
}

/* Slow start has ended: a slowdown is over, or the first one comes soon. */
EBB_INLINE void ebb_ledbat_pp_end_slow_start(struct ebb_ledbat_pp_window *w, u64 now_us, u64 rtt_us,
					     const struct ebb_ledbat_pp_window_params *p)
{
	u64 lasted_us =
		ebb_min(ebb_sub_floor(now_us, w->slowdown_since_us), EBB_LEDBAT_PP_MAX_SLOWDOWN_US);

	if (w->stage == EBB_LEDBAT_PP_RETURN && p->slowdown_interval)
		w->slowdown_at_us = now_us + lasted_us * p->slowdown_interval;
	else if (w->stage == EBB_LEDBAT_PP_FIRST && p->slowdown_interval)
		w->slowdown_at_us = now_us + rtt_us * p->slowdown_rtts;
	w->stage = EBB_LEDBAT_PP_STEADY;
}

/* Begins a slowdown when its time has come, and ends the least window's time. */
EBB_INLINE void ebb_ledbat_pp_keep_time(struct ebb_ledbat_pp_window *w,
					const struct ebb_ledbat_pp_step *step,
					const struct ebb_ledbat_pp_window_params *p)
{
	u64 rtt_us = ebb_min(step->rtt_us, EBB_LEDBAT_PP_MAX_RTT_US);

	if (w->stage == EBB_LEDBAT_PP_STEADY && w->slowdown_at_us && p->slowdown_interval &&
	    step->now_us >= w->slowdown_at_us) {
		w->ssthresh_pkts = ebb_ledbat_pp_pkts(w);
		ebb_ledbat_pp_set_pkts(w, p->least_pkts);
		w->slowdown_at_us = 0;
		w->slowdown_since_us = step->now_us;
		w->hold_until_us = step->now_us + rtt_us * p->slowdown_rtts;
		w->stage = EBB_LEDBAT_PP_HOLD;
	} else if (w->stage == EBB_LEDBAT_PP_HOLD && step->now_us >= w->hold_until_us) {
		w->stage = EBB_LEDBAT_PP_RETURN;
	}
}

/* Slow start by acked / F; answers whether the window is still in it. */
EBB_INLINE u8 ebb_ledbat_pp_slow_start(struct ebb_ledbat_pp_window *w,
				       const struct ebb_ledbat_pp_step *step, u32 divisor,
				       const struct ebb_ledbat_pp_window_params *p)
{
	u64 limit_us = (u64)p->target_us * p->exit_x1024 / EBB_ONE_X1024;

	if (w->stage == EBB_LEDBAT_PP_FIRST && step->queue_us != EBB_LEDBAT_NO_DELAY &&
	    step->queue_us > limit_us)
		w->ssthresh_pkts = ebb_ledbat_pp_pkts(w);
	if (ebb_ledbat_pp_pkts(w) < w->ssthresh_pkts && step->may_grow)
		w->cwnd_x65536 = ebb_ledbat_bound_x65536(
			w->cwnd_x65536 + ebb_div(step->acked_x65536, divisor, 0), 1,
			w->ssthresh_pkts);
	return ebb_ledbat_pp_pkts(w) < w->ssthresh_pkts;
}

/*
 * GAIN per round trip up to the target; above it max(GAIN - C W (q / T - 1), -W / 2).
 * Per acknowledged segment W drops out: GAIN / W, C (q / T - 1) and 1 / 2.
 * Bounds: 2^28 (acked) * 2^6; 2^26 (queue) * 2^14 (C); 2^28 * 2^30 (share).
 */
EBB_INLINE void ebb_ledbat_pp_steer(struct ebb_ledbat_pp_window *w,
				    const struct ebb_ledbat_pp_step *step, u32 divisor,
				    const struct ebb_ledbat_pp_window_params *p)
{
	u64 cwnd_x64 = ebb_max(w->cwnd_x65536 / EBB_LEDBAT_X65536_PER_X64, 1);
	u64 most_x65536 = step->acked_x65536 / EBB_LEDBAT_PP_DECREASE_DIVISOR;
	u64 least_x65536 = ebb_sub_floor(w->cwnd_x65536, most_x65536);
	u64 next_x65536 = w->cwnd_x65536, over_us, share_x1024;

	if (step->queue_us == EBB_LEDBAT_NO_DELAY)
		return;
	over_us = ebb_min(ebb_sub_floor(step->queue_us, p->target_us), EBB_LEDBAT_PP_MAX_QUEUE_US);
	if (over_us || step->may_grow)
		next_x65536 += ebb_div(step->acked_x65536 * EBB_ONE_X64, cwnd_x64 * divisor, 0);
	share_x1024 = ebb_div(over_us * p->decrease_x1024, p->target_us, 0);
	next_x65536 = ebb_sub_floor(next_x65536, step->acked_x65536 * share_x1024 / EBB_ONE_X1024);
	w->cwnd_x65536 = ebb_ledbat_bound_x65536(ebb_max(next_x65536, least_x65536), p->least_pkts,
						 EBB_LEDBAT_MAX_CWND_PKTS);
	/* Slow start does not undo a decrease. */
	w->ssthresh_pkts = (u32)ebb_min(w->ssthresh_pkts, ebb_ledbat_pp_pkts(w));
}

/* An acknowledgement, or its like. */
EBB_INLINE void ebb_ledbat_pp_take(struct ebb_ledbat_pp_window *w,
				   const struct ebb_ledbat_pp_step *step,
				   const struct ebb_ledbat_pp_window_params *p)
{
	u32 divisor = ebb_ledbat_pp_gain_divisor(step->base_us, p);
	u8 was_in_slow_start;

	ebb_ledbat_pp_keep_time(w, step, p);
	ebb_end_step();
	if (w->stage == EBB_LEDBAT_PP_HOLD) {
		ebb_ledbat_pp_set_pkts(w, p->least_pkts);
		return;
	}
	was_in_slow_start =
		w->stage != EBB_LEDBAT_PP_STEADY || ebb_ledbat_pp_pkts(w) < w->ssthresh_pkts;
	if (was_in_slow_start && ebb_ledbat_pp_slow_start(w, step, divisor, p))
		return;
	if (w->stage != EBB_LEDBAT_PP_STEADY)
		ebb_ledbat_pp_end_slow_start(w, step->now_us,
					     ebb_min(step->rtt_us, EBB_LEDBAT_PP_MAX_RTT_US), p);
	if (!was_in_slow_start)
		ebb_ledbat_pp_steer(w, step, divisor, p);
}

/*
 * A loss: ssthresh = max(W / 2, 2), which ends the initial slow start. At the beginning of
 * a slowdown it is of the window that was: half of that to come back to.
 */
EBB_INLINE void ebb_ledbat_pp_lose(struct ebb_ledbat_pp_window *w, u64 now_us, u64 rtt_us,
				   const struct ebb_ledbat_pp_window_params *p)
{
	u32 from_pkts = w->stage == EBB_LEDBAT_PP_HOLD ? w->ssthresh_pkts : ebb_ledbat_pp_pkts(w);

	w->ssthresh_pkts = (u32)ebb_max(from_pkts / EBB_LEDBAT_PP_DECREASE_DIVISOR, p->least_pkts);
	if (w->stage == EBB_LEDBAT_PP_FIRST)
		ebb_ledbat_pp_end_slow_start(w, now_us, ebb_min(rtt_us, EBB_LEDBAT_PP_MAX_RTT_US),
					     p);
}

#endif /* EBB_LEDBAT_PP_WINDOW_H */
