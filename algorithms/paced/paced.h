/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * paced: Ebb's law for uploads where only the kernel's numbers are seen and only a pace can
 * be set. What sampled does with the window at the receiver it does with the data in flight:
 * the pace is that window in each round-trip time.
 *
 * Sources: [SAMPLED] docs/laws/counter-laws.md.
 *
 * Differences from sampled:
 * 1. The round-trip time is the sender's smoothed one, a mean: a fall is undone as a rise is.
 *    The least of it is that of all samples, where the host tells a sample.
 * 2. While it yields it sends two segments at least in each round trip: a lone one is
 *    acknowledged late, which would look like a queue.
 * 3. The congestion window is left at twice the window: the pace rules.
 * 4. Its own segments come in pairs, not in flights: a pair is answered a segment's time late,
 *    and thresholds are half as many segments' times.
 *
 * Domain: as sampled.
 */
#ifndef EBB_PACED_H
#define EBB_PACED_H

#include "sampled/sampled.h"
#include "sender_contract.h"

#define EBB_PACED_PARAMS(P) EBB_SAMPLED_LIST(P, 5000, 8000, 4)

/* [SAMPLED §pace] The congestion window: so many windows, and so many segments. */
#define EBB_PACED_CWND_WINDOWS 2u
#define EBB_PACED_CWND_SEGMENTS 4u
/* [SAMPLED §pairs] Linux paces segments two by two, and each pair has one echo. */
#define EBB_PACED_PAIR_SEGMENTS 2u

struct ebb_paced_params {
	struct ebb_sampled_params own;
};

struct ebb_paced_state {
	struct ebb_sender_window window;
	struct ebb_sampled_state own;
};

/* ---- helpers ---- */

EBB_INLINE void ebb_paced_answer(struct ebb_paced_state *state, u32 mss_bytes, u32 srtt_us)
{
	u64 rwnd_bytes = state->own.rwnd_bytes;
	u64 pkts = ebb_div(rwnd_bytes * EBB_PACED_CWND_WINDOWS, mss_bytes, 0) +
		   EBB_PACED_CWND_SEGMENTS;

	state->window.cwnd_pkts = (u32)ebb_min(pkts, EBB_SENDER_MAX_CWND_PKTS);
	state->window.ssthresh_pkts = EBB_SENDER_NO_SSTHRESH_PKTS;
	state->window.pacing_bytes_per_s = ebb_div(rwnd_bytes * EBB_US_PER_S, srtt_us, 0);
}

EBB_INLINE void ebb_paced_bound(struct ebb_paced_state *state, u64 most_pkts)
{
	state->window.cwnd_pkts = (u32)ebb_min(state->window.cwnd_pkts, ebb_max(most_pkts, 1));
}

/* ---- the hooks ---- */

EBB_INLINE void ebb_paced_init(struct ebb_paced_state *state, const struct ebb_sender_start *start,
			       const struct ebb_paced_params *params)
{
	struct ebb_start own = {
		.now_us = start->now_us,
		.mss_bytes = start->mss_bytes,
		.has_timestamps = 1,
	};

	ebb_sampled_init(&state->own, &own, &params->own);
	state->own.is_mean = 1;
	ebb_sender_begin(&state->window, start);
}

EBB_INLINE void ebb_paced_on_ack(struct ebb_paced_state *state, const struct ebb_sender_ack *ack,
				 const struct ebb_paced_params *params)
{
	struct ebb_segment segment = {
		.now_us = ack->now_us,
		.seq = ack->ack_seq - ack->acked_bytes,
		.payload_bytes = ack->acked_bytes,
		.segments = (ack->acked_pkts + 1) / EBB_PACED_PAIR_SEGMENTS,
		.rcv_nxt = ack->ack_seq - ack->acked_bytes,
		.right_edge_seq = ack->snd_nxt,
		.mss_bytes = ack->mss_bytes,
		.kernel_rtt_us = ack->srtt_us,
		.has_timestamps = 1,
		.is_ce = ack->is_ece,
	};

	/* The first window leaves at once: its own queue is no others' until the mean is without it. */
	if (!state->own.is_starting)
		ebb_sampled_take_least(&state->own, ack->rtt_us);
	ebb_sampled_on_segment(&state->own, &segment, &params->own);
	ebb_paced_answer(state, ack->mss_bytes, ack->srtt_us);
	/* Where segments became shorter, the same window is many more of them. */
	ebb_paced_bound(state,
			EBB_PACED_CWND_WINDOWS * (u64)ack->cwnd_pkts + EBB_PACED_CWND_SEGMENTS);
}

/* The host repairs losses; a queue that they come from has been seen. */
EBB_INLINE void ebb_paced_on_loss(struct ebb_paced_state *state,
				  const struct ebb_sender_event *event,
				  const struct ebb_paced_params *params)
{
	struct ebb_segment segment = {
		.now_us = event->now_us,
		.seq = event->ack_seq,
		.rcv_nxt = event->ack_seq,
		.right_edge_seq = event->snd_nxt,
		.has_timestamps = 1,
		.is_ce = event->is_ecn,
	};

	state->own.has_hole = 1;
	ebb_sampled_take_loss(&state->own, &segment, &params->own);
	state->own.has_hole = 0;
	ebb_paced_answer(state, event->mss_bytes, event->srtt_us);
	/* The host's own window may be less: the first one, or one after a timeout. */
	ebb_paced_bound(state, event->cwnd_pkts);
}

EBB_INLINE void ebb_paced_on_timeout(struct ebb_paced_state *state,
				     const struct ebb_sender_event *event,
				     const struct ebb_paced_params *params)
{
	ebb_paced_on_loss(state, event, params);
}

EBB_INLINE void ebb_paced_on_undo(struct ebb_paced_state *state,
				  const struct ebb_sender_event *event,
				  const struct ebb_paced_params *params)
{
	(void)params;
	ebb_paced_answer(state, event->mss_bytes, event->srtt_us);
}

EBB_INLINE void ebb_paced_on_idle(struct ebb_paced_state *state,
				  const struct ebb_sender_event *event,
				  const struct ebb_paced_params *params)
{
	ebb_paced_on_undo(state, event, params);
}

#endif /* EBB_PACED_H */
