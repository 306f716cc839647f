/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rledbat: LEDBAT++ at the receiving end. The window that it advertises is LEDBAT++'s;
 * round-trip times come from the echoes of its own timestamps, losses from segments that
 * arrive again.
 *
 * Sources: [RLEDBAT] what implementations do that follow the drafts of RFC 9840, which
 * itself was not read: no conformance to it is claimed. [LEDBATPP] for the window.
 *
 * Differences from the source:
 * 1. A decrease is the host's to spread: TCP never moves the right edge back, so that the
 *    advertised window falls by no more than the bytes that arrive. The window scale is
 *    the host's, too; the implementations want it below 12.
 * 2. An echo's round trip begins with its tick, so that a sample is too long by one tick
 *    at the most; in 1 ms it does not matter at a target of 60 ms.
 * 3. Without timestamps the host's own estimate of the RTT is taken once per its length,
 *    and every segment that fills a hole counts as a loss.
 * 4. The window stays below twice what arrived in the last round trip, and four segments:
 *    what the sender cannot use is not granted, since it could not be taken back. The
 *    same is not growth while the sender is limited by its own window.
 * 5. A window that was not limited before (observing) begins with what arrived in the
 *    last round trip.
 *
 * Domain: RTT from 1 ms to 60 s, MSS to 64 KiB, windows below 2^30 bytes.
 */
#ifndef EBB_RLEDBAT_H
#define EBB_RLEDBAT_H

#include "ledbat_pp_window.h"

#define EBB_RLEDBAT_OWN_PARAMS(P)                                            \
	P(start_pkts, 2, 1, 64, "segments", "[RLEDBAT]", "first window")     \
	P(unused_x1024, 2048, 1024, 65536, "1/1024", "[DELAYLAWS §rledbat]", \
	  "the window stays below so much of what arrived in the last round trip")

#define EBB_RLEDBAT_PARAMS(P)          \
	EBB_LEDBAT_DELAY_PARAMS(P)     \
	EBB_LEDBAT_PP_WINDOW_PARAMS(P) \
	EBB_RLEDBAT_OWN_PARAMS(P)

struct ebb_rledbat_params {
	struct ebb_ledbat_delay_params delay;
	struct ebb_ledbat_pp_window_params window;
	EBB_RLEDBAT_OWN_PARAMS(EBB_PARAM_FIELD)
};

/* [RFC6817 §2.4.2] Bounds that keep products within 64 bits. */
#define EBB_RLEDBAT_MAX_WINDOW_BYTES 0x3fffffffu
#define EBB_RLEDBAT_MAX_RTT_US 60000000u
/* [DELAYLAWS §rledbat] What the last round trip may be exceeded by at least. */
#define EBB_RLEDBAT_SPARE_PKTS 4u
/* [DELAYLAWS §rledbat] A round trip that does not end ends by itself. */
#define EBB_RLEDBAT_ROUND_LIMIT_US 10000000u
/* [RFC6298 §2] Weight of a sample in the smoothed RTT. */
#define EBB_RLEDBAT_SRTT_DIVISOR 8u

struct ebb_rledbat_state {
	u32 rwnd_bytes;
	u32 mss_bytes;
	struct ebb_ledbat_delays delays;
	struct ebb_ledbat_pp_window own;
	u64 round_since_us;
	u64 halved_at_us;
	u32 round_local_ts;   /* the round trip ends with the echo of a later one */
	u32 round_bytes;      /* arrived in this round trip */
	u32 last_round_bytes; /* arrived in the last */
	u32 last_tsecr;       /* the last echo that was sampled */
	u32 highest_seq;      /* behind the last byte that arrived */
	u32 highest_tsval;    /* timestamp of the segment that brought it */
	u32 rtt_us;           /* smoothed; 0: none yet */
	u8 has_tsecr;
	u8 has_round;
	u8 has_halved;
	u8 is_acting;
};

/* ---- helpers ---- */

EBB_INLINE void ebb_rledbat_set_mss(struct ebb_rledbat_state *s, u32 mss_bytes)
{
	s->mss_bytes = ebb_bound_mss_bytes(mss_bytes ? mss_bytes : s->mss_bytes);
}

EBB_INLINE void ebb_rledbat_answer(struct ebb_rledbat_state *s)
{
	u64 cwnd_x256 = s->own.cwnd_x65536 >> (EBB_X65536_BITS - EBB_X256_BITS);
	u64 bytes = cwnd_x256 * s->mss_bytes >> EBB_X256_BITS;

	s->rwnd_bytes = (u32)ebb_clamp(bytes, s->mss_bytes, EBB_RLEDBAT_MAX_WINDOW_BYTES);
}

/* Arrival less when the acknowledgement with this TSval was sent, once per echo; 0: none. */
EBB_INLINE u32 ebb_rledbat_sample_us(struct ebb_rledbat_state *s, const struct ebb_segment *segment)
{
	u32 echo_age = segment->local_ts - segment->tsecr;
	u64 rtt_us;

	if (!segment->has_timestamps)
		return segment->now_us - s->round_since_us >= s->rtt_us ? segment->kernel_rtt_us
									: 0;
	if (!segment->tsecr || echo_age > EBB_HALF_CIRCLE ||
	    (s->has_tsecr && segment->tsecr == s->last_tsecr))
		return 0;
	s->last_tsecr = segment->tsecr;
	s->has_tsecr = 1;
	rtt_us = (u64)echo_age * segment->local_tick_us +
		 ebb_mod(segment->now_us, segment->local_tick_us);
	return (u32)ebb_clamp(rtt_us, ebb_max(segment->local_tick_us, 1), EBB_RLEDBAT_MAX_RTT_US);
}

EBB_INLINE void ebb_rledbat_take_rtt(struct ebb_rledbat_state *s, u64 now_us, u32 sample_us)
{
	if (!sample_us)
		return;
	sample_us = (u32)ebb_min(sample_us, EBB_RLEDBAT_MAX_RTT_US);
	ebb_ledbat_delays_take(&s->delays, now_us, sample_us);
	if (s->rtt_us)
		sample_us = s->rtt_us - s->rtt_us / EBB_RLEDBAT_SRTT_DIVISOR +
			    sample_us / EBB_RLEDBAT_SRTT_DIVISOR;
	s->rtt_us = sample_us;
}

/* Counts what arrives in each round trip. */
EBB_INLINE void ebb_rledbat_take_round(struct ebb_rledbat_state *s,
				       const struct ebb_segment *segment)
{
	u64 elapsed_us = ebb_sub_floor(segment->now_us, s->round_since_us);
	u8 is_over = elapsed_us > EBB_RLEDBAT_ROUND_LIMIT_US;

	s->round_bytes = (u32)ebb_min((u64)s->round_bytes + segment->payload_bytes,
				      EBB_RLEDBAT_MAX_WINDOW_BYTES);
	if (segment->has_timestamps)
		is_over |= !ebb_before32(segment->tsecr, s->round_local_ts) &&
			   segment->tsecr != s->round_local_ts;
	else
		is_over |= elapsed_us >= ebb_max(s->rtt_us, segment->kernel_rtt_us);
	if (s->has_round && !is_over)
		return;
	s->last_round_bytes = s->round_bytes;
	s->round_bytes = 0;
	s->round_since_us = segment->now_us;
	s->round_local_ts = segment->local_ts;
	s->has_round = 1;
}

/* Was the segment sent again? Below the highest byte, and stamped later than that. */
EBB_INLINE u8 ebb_rledbat_is_repeated(struct ebb_rledbat_state *s,
				      const struct ebb_segment *segment)
{
	u32 end_seq = segment->seq + segment->payload_bytes;
	u32 highest_seq = ebb_highest_seq(s->highest_seq, segment);

	if (ebb_before32(s->highest_seq, end_seq)) {
		if (highest_seq != s->highest_seq)
			s->highest_tsval = segment->tsval;
		s->highest_seq = highest_seq;
		return 0;
	}
	if (segment->has_timestamps)
		return ebb_before32(s->highest_tsval, segment->tsval);
	return ebb_before32(segment->rcv_nxt, end_seq);
}

/* Halves, at most once per round trip. */
EBB_INLINE void ebb_rledbat_lose(struct ebb_rledbat_state *s, u64 now_us,
				 const struct ebb_rledbat_params *params)
{
	if (s->has_halved && ebb_sub_floor(now_us, s->halved_at_us) < s->rtt_us)
		return;
	s->has_halved = 1;
	s->halved_at_us = now_us;
	ebb_ledbat_pp_lose(&s->own, now_us, s->rtt_us, &params->window);
	if (s->own.stage != EBB_LEDBAT_PP_HOLD)
		ebb_ledbat_pp_set_pkts(&s->own, s->own.ssthresh_pkts);
}

/* No more than the sender uses. */
EBB_INLINE u8 ebb_rledbat_is_used(const struct ebb_rledbat_state *s,
				  const struct ebb_rledbat_params *params)
{
	u64 bytes = ebb_max(s->round_bytes, s->last_round_bytes);
	u64 spare_bytes = (u64)s->mss_bytes * EBB_RLEDBAT_SPARE_PKTS;

	return s->rwnd_bytes <= bytes * params->unused_x1024 / EBB_ONE_X1024 + spare_bytes;
}

EBB_INLINE void ebb_rledbat_observe(struct ebb_rledbat_state *s)
{
	s->is_acting = 0;
	s->rwnd_bytes = EBB_NO_LIMIT_BYTES;
}

EBB_INLINE void ebb_rledbat_act(struct ebb_rledbat_state *s,
				const struct ebb_rledbat_params *params)
{
	u64 pkts = ebb_div(s->last_round_bytes, s->mss_bytes, 0);

	if (s->is_acting)
		return;
	s->is_acting = 1;
	if (s->rwnd_bytes == EBB_NO_LIMIT_BYTES)
		ebb_ledbat_pp_begin(&s->own, (u32)ebb_max(pkts, params->start_pkts));
	ebb_rledbat_answer(s);
}

/* ---- the hooks ---- */

EBB_INLINE void ebb_rledbat_init(struct ebb_rledbat_state *s, const struct ebb_start *start,
				 const struct ebb_rledbat_params *params)
{
	ebb_rledbat_set_mss(s, start->mss_bytes);
	s->highest_seq = start->rcv_nxt;
	s->highest_tsval = start->tsval;
	ebb_ledbat_pp_begin(&s->own, params->start_pkts);
	ebb_rledbat_answer(s);
}

EBB_INLINE void ebb_rledbat_on_segment(struct ebb_rledbat_state *s,
				       const struct ebb_segment *segment,
				       const struct ebb_rledbat_params *params)
{
	u64 payload_bytes = ebb_min(segment->payload_bytes, EBB_RLEDBAT_MAX_WINDOW_BYTES);
	struct ebb_ledbat_pp_step step = {.now_us = segment->now_us};
	u8 is_repeated;

	ebb_rledbat_set_mss(s, segment->mss_bytes);
	ebb_rledbat_take_rtt(s, segment->now_us, ebb_rledbat_sample_us(s, segment));
	ebb_rledbat_take_round(s, segment);
	is_repeated = ebb_rledbat_is_repeated(s, segment);
	if (segment->is_observing) {
		ebb_rledbat_observe(s);
		return;
	}
	ebb_rledbat_act(s, params);
	if (is_repeated || segment->is_ce)
		ebb_rledbat_lose(s, segment->now_us, params);
	if (!is_repeated) {
		step.acked_x65536 =
			ebb_min(ebb_div(payload_bytes << EBB_X65536_BITS, s->mss_bytes, 0),
				(u64)EBB_LEDBAT_MAX_ACKED_PKTS << EBB_X65536_BITS);
		step.queue_us = ebb_ledbat_queue_us(&s->delays, s->rtt_us, &params->delay);
		step.base_us = ebb_ledbat_base_us(&s->delays, &params->delay);
		step.rtt_us = s->rtt_us;
		step.may_grow = ebb_rledbat_is_used(s, params);
		ebb_ledbat_pp_take(&s->own, &step, &params->window);
	}
	ebb_rledbat_answer(s);
}

#endif /* EBB_RLEDBAT_H */
