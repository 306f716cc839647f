/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ebb-sender: Ebb's own law for uploads. It judges as ebb does whose queue stands at the
 * bottleneck, by what the sender sees itself: every acknowledgement, exact round trips, its own
 * sending times, losses and marks.
 *
 * Sources: [EBBSENDER] docs/laws/ebb-sender.md; the judgement and the moves are those of [EBB]
 * docs/ebb-law.md.
 *
 * Differences from ebb:
 * 1. The delay is the round trip less the queue on the way back (forward_delay.h), in us: ticks of
 *    timestamps set no thresholds, and these are lower.
 * 2. Slow start begins with the first acknowledgement, not a round trip later.
 * 3. While it yields it sends a pair in each round trip; to others who stay mostly one segment.
 * 4. A loss without a queue takes three tenths of the window, since nobody else answers it; after
 *    a time-out the window comes back by slow start.
 * 5. The delay of a lone segment counts only if it shows no queue: its acknowledgement may be late.
 * 6. A connection taken over begins with the first window; what was in flight before is not judged.
 * 7. Others who have a queue of their own are found by a train of segments (train.h).
 * 8. It comes out of YIELD with nine segments; a cut to four is YIELD.
 * 9. Slow start that meets a queue ends at what the path delivers.
 *
 * Domain: as ebb.
 */
#ifndef EBB_EBB_SENDER_H
#define EBB_EBB_SENDER_H

#include "ebb_sender/start.h"
#include "ebb_sender/train.h"

/* ---- helpers: what the host is told ---- */

/*
 * W in segments; in YIELD a pair, after a lone segment once nothing is in flight, or one of the
 * lone segments that are sent while others stay.
 */
EBB_INLINE u64 ebb_ebb_sender_pkts(const struct ebb_ebb_sender_state *state, u32 inflight_pkts)
{
	const struct ebb_ebb_state *s = &state->own;

	if (s->is_yielding)
		return state->lone_left || (state->is_pairing && inflight_pkts)
			       ? 1
			       : EBB_EBB_SENDER_PAIR;
	return ebb_max(ebb_div(s->rwnd_bytes, s->mss_bytes, 0), EBB_EBB_SENDER_PAIR);
}

EBB_INLINE void ebb_ebb_sender_answer(struct ebb_ebb_sender_state *state, u32 inflight_pkts,
				      u64 most_pkts)
{
	u64 pkts = ebb_min(ebb_ebb_sender_pkts(state, inflight_pkts), most_pkts);

	state->window.cwnd_pkts = (u32)ebb_clamp(pkts, 1, EBB_SENDER_MAX_CWND_PKTS);
}

/* ---- helpers: an acknowledgement ---- */

/*
 * As a segment of ebb's: what is acknowledged has arrived, what was sent is what was granted. A
 * round trip ends with an acknowledgement of what was sent after its beginning.
 */
EBB_INLINE void ebb_ebb_sender_describe(struct ebb_segment *segment, u64 now_us, u32 ack_seq,
					u32 snd_nxt)
{
	segment->now_us = now_us;
	segment->seq = ack_seq;
	segment->rcv_nxt = ack_seq;
	segment->right_edge_seq = snd_nxt;
	segment->tsecr = ack_seq;
	segment->local_ts = snd_nxt;
	segment->segments = 1;
	segment->has_timestamps = 1;
}

/*
 * While it yields, arrivals show how rarely pairs are sent; in a window of few segments no run of
 * them is long enough, and what else there is counts only where windows are larger (16 arrivals are
 * remembered: so many less are the same ones).
 */
EBB_INLINE void ebb_ebb_sender_take_arrival(struct ebb_ebb_sender_state *state,
					    const struct ebb_sender_ack *ack, u32 bytes)
{
	struct ebb_ebb_state *s = &state->own;
	u64 trains_bytes = (u64)s->mss_bytes * EBB_EBB_SENDER_PAIR * EBB_EBB_TRAINS_ARRIVALS;

	if (s->is_yielding)
		return;
	if (s->rwnd_bytes < trains_bytes && s->arrival_count > EBB_EBB_ARRIVALS * EBB_ONE_X2)
		s->arrival_count -= EBB_EBB_ARRIVALS;
	ebb_ebb_take_arrival(s, ack->now_us, bytes);
}

/* One segment alone: nothing makes the receiver acknowledge it at once. */
EBB_INLINE u8 ebb_ebb_sender_is_lone(const struct ebb_ebb_state *s,
				     const struct ebb_sender_ack *ack)
{
	return ack->delivered_now_pkts <= 1 && (s->is_yielding || ack->prior_inflight_pkts <= 1);
}

/*
 * Where others stay, of a few round trips one has a pair, whose delay tells; the rest has a lone
 * segment. They end as soon as it may have met no queue, with an acknowledgement that was held.
 * While a round trip is like the last that was told, a route may have become longer: less of them.
 */
EBB_INLINE void ebb_ebb_sender_count_lone(struct ebb_ebb_sender_state *state,
					  const struct ebb_sender_ack *ack, u32 queue_us)
{
	const struct ebb_ebb_state *s = &state->own;
	u32 apart_us = (u32)ebb_max(s->calm_least_us, s->round_rtt_us) -
		       (u32)ebb_min(s->calm_least_us, s->round_rtt_us);
	u8 is_long = s->is_yielding && !state->test &&
		     ack->now_us - s->yield_since_us >= EBB_EBB_PROBE_ONE_AFTER_US;

	if (!is_long || queue_us < s->target_us + EBB_EBB_SENDER_HELD_US)
		state->lone_left = 0;
	else if (ack->inflight_pkts)
		return;
	else if (state->lone_left)
		state->lone_left--;
	else
		state->lone_left =
			apart_us > s->low_us ? EBB_EBB_SENDER_LONE : EBB_EBB_SENDER_LONE_CALM;
}

/*
 * The base is the least round trip: a peer whose clock lies can hide a queue on the way there for a
 * while, but leaves nothing behind. What is not sure of the way back is a tick of each side: drift
 * beyond it hides a queue of 3 ms at the most.
 */
EBB_INLINE void ebb_ebb_sender_take_delay(struct ebb_ebb_sender_state *state,
					  const struct ebb_sender_ack *ack, u32 bytes,
					  const struct ebb_ebb_sender_params *params)
{
	struct ebb_ebb_state *s = &state->own;
	u32 rtt_us = (u32)ebb_min(ack->rtt_us, EBB_MOVES_MAX_RTT_US);
	u64 unsure_us = (u64)state->peer.tick.tick_us + EBB_TICK_USUAL_US;
	u32 delay_us, queue_us;

	ebb_forward_on_ack(&state->peer, ack);
	ebb_end_step();
	state->is_late = 0;
	if (!rtt_us)
		return;
	ebb_ebb_update_base(s, &params->own, ack->now_us, rtt_us, rtt_us);
	ebb_end_step();
	delay_us =
		(u32)ebb_sub_floor(rtt_us, ebb_forward_way_back_us(&state->peer, ack, unsure_us));
	s->clock.sender_us = ack->now_us - rtt_us;
	queue_us = (u32)ebb_sub_floor(delay_us, ebb_moves_base_us(&s->moves));
	state->is_pairing = ebb_ebb_sender_is_lone(s, ack);
	state->is_late = state->is_pairing && queue_us >= s->target_us;
	state->was_lone = state->lone_left > 0;
	ebb_end_step();
	if (!state->is_late || !state->was_lone)
		s->round_rtt_us = (u32)ebb_min(s->round_rtt_us, rtt_us);
	if (!state->is_late)
		ebb_ebb_take_queue(s, ack->now_us, delay_us, bytes);
	/* Of an unknown C nothing has drained: our own queue would be all that we ever sent. */
	if (!s->capacity_bytes_per_s)
		s->virtual_queue_bytes = 0;
	ebb_end_step();
	ebb_ebb_sender_count_lone(state, ack, queue_us);
}

/* Judges as ebb does; where others were or may be without a queue for us to see, a train tells. */
EBB_INLINE void ebb_ebb_sender_decide(struct ebb_ebb_sender_state *state,
				      const struct ebb_sender_ack *ack,
				      const struct ebb_segment *segment,
				      const struct ebb_ebb_sender_params *params)
{
	struct ebb_ebb_state *s = &state->own;

	state->was_yielding = s->is_yielding;
	state->was_blind = s->is_blind;
	ebb_end_step();
	ebb_ebb_sender_end_start(state, ack);
	ebb_end_step();
	ebb_ebb_sender_settle(state, ack);
	ebb_end_step();
	ebb_ebb_decide(s, segment, &params->own);
	ebb_end_step();
	if (!state->was_blind && ebb_ebb_sender_is_suspect(s))
		state->is_suspicious = 1;
	ebb_end_step();
	if (state->was_yielding && !s->is_yielding && s->capacity_bytes_per_s)
		ebb_ebb_sender_send_train(state, ack);
	else if (state->is_suspicious && !s->is_yielding && ack->phase == EBB_SENDER_OPEN &&
		 s->excess_us <= s->high_us && ack->now_us >= state->suspect_at_us)
		ebb_ebb_sender_hold_train(state, ack->now_us);
}

EBB_INLINE void ebb_ebb_sender_answer_ack(struct ebb_ebb_sender_state *state,
					  const struct ebb_sender_ack *ack)
{
	const struct ebb_ebb_state *s = &state->own;
	u64 most_pkts = EBB_SENDER_MAX_CWND_PKTS;

	if (ack->phase <= EBB_SENDER_DISORDER)
		state->window.ssthresh_pkts = EBB_SENDER_NO_SSTHRESH_PKTS;
	if (state->is_restarting)
		most_pkts = (u64)ack->cwnd_pkts + ack->acked_pkts;
	ebb_end_step();
	ebb_ebb_sender_answer(state, ack->inflight_pkts, most_pkts);
	ebb_end_step();
	if (state->test)
		state->window.cwnd_pkts = (u32)ebb_clamp(ebb_ebb_sender_test_pkts(state, ack), 1,
							 EBB_SENDER_MAX_CWND_PKTS);
	if ((u64)state->window.cwnd_pkts * s->mss_bytes >= s->rwnd_bytes || s->is_yielding)
		state->is_restarting = 0;
}

/* ---- helpers: a loss ---- */

/* A loss that counts by its queue, or a mark; else one that nothing explains. */
EBB_INLINE void ebb_ebb_sender_lose(struct ebb_ebb_sender_state *state,
				    const struct ebb_sender_event *event,
				    const struct ebb_ebb_sender_params *params)
{
	struct ebb_ebb_state *s = &state->own;
	struct ebb_segment segment = {.is_ce = event->is_ecn};
	u8 was_blind = s->is_blind || s->is_yielding;
	u32 before_bytes = s->rwnd_bytes;

	ebb_ebb_sender_describe(&segment, event->now_us, event->ack_seq, event->snd_nxt);
	state->prior_bytes = before_bytes;
	ebb_ebb_sender_end_test(state, event->now_us);
	if (!event->is_ecn) {
		s->hole_since_us = ebb_max(ebb_sub_floor(event->now_us, (u64)s->rtt_us + 1), 1);
		s->hole_queue_us = s->queue_us;
		s->has_lost = 0;
		ebb_ebb_learn_full(s, &segment);
	}
	ebb_end_step();
	ebb_ebb_take_loss(s, &segment, &params->own);
	ebb_end_step();
	s->hole_since_us = 0;
	if (!was_blind && ebb_ebb_sender_is_suspect(s))
		state->is_suspicious = 1;
	if (was_blind || s->is_blind || s->rwnd_bytes < before_bytes)
		return;
	ebb_moves_set_window(&s->moves, (u64)before_bytes * EBB_EBB_SENDER_NOISE_X10 / EBB_ONE_X10);
	s->saturation_bytes = s->rwnd_bytes;
	s->is_starting = 0;
}

/* ---- the hooks ---- */

EBB_INLINE void ebb_ebb_sender_init(struct ebb_ebb_sender_state *state,
				    const struct ebb_sender_start *start,
				    const struct ebb_ebb_sender_params *params)
{
	struct ebb_start own = {.now_us = start->now_us, .mss_bytes = start->mss_bytes};
	u64 first_pkts = ebb_clamp(start->cwnd_pkts, 1, params->own.start_segments);

	ebb_ebb_init(&state->own, &own, &params->own);
	ebb_sender_begin(&state->window, start);
	ebb_moves_set_window(&state->own.moves, first_pkts * state->own.mss_bytes);
	state->own.last_rwnd_bytes = state->own.rwnd_bytes;
	state->window.cwnd_pkts = (u32)first_pkts;
}

EBB_INLINE void ebb_ebb_sender_on_ack(struct ebb_ebb_sender_state *state,
				      const struct ebb_sender_ack *ack,
				      const struct ebb_ebb_sender_params *params)
{
	struct ebb_ebb_state *s = &state->own;
	struct ebb_segment *segment = &state->segment;

	s->mss_bytes = ebb_bound_mss_bytes(ack->mss_bytes);
	state->bytes = (u32)ebb_min((u64)ack->delivered_now_pkts * s->mss_bytes,
				    EBB_MOVES_MAX_WINDOW_BYTES);
	__builtin_memset(segment, 0, sizeof(*segment));
	ebb_ebb_sender_describe(segment, ack->now_us, ack->ack_seq, ack->snd_nxt);
	ebb_end_step();
	ebb_ebb_sender_take_delay(state, ack, state->bytes, params);
	ebb_end_step();
	ebb_ebb_sender_take_arrival(state, ack, state->bytes);
	ebb_end_step();
	s->round_bytes =
		(u32)ebb_min((u64)s->round_bytes + state->bytes, EBB_MOVES_MAX_WINDOW_BYTES);
	ebb_ebb_set_thresholds(s, &params->own);
	ebb_end_step();
	if (!s->is_begun)
		ebb_ebb_sender_begin(s, segment, ack->prior_inflight_pkts);
	/* What is acknowledged while a loss is repaired makes no window larger. */
	if (ack->acked_pkts) {
		segment->payload_bytes = state->bytes;
		segment->seq -= state->bytes;
	}
	ebb_end_step();
	ebb_ebb_sender_double(s, segment->payload_bytes);
	ebb_end_step();
	if (state->test)
		ebb_ebb_sender_test(state, ack, segment, params);
	else if (!state->was_lone || !state->is_late)
		ebb_ebb_sender_decide(state, ack, segment, params);
	ebb_end_step();
	ebb_ebb_sender_answer_ack(state, ack);
}

EBB_INLINE void ebb_ebb_sender_on_loss(struct ebb_ebb_sender_state *state,
				       const struct ebb_sender_event *event,
				       const struct ebb_ebb_sender_params *params)
{
	ebb_ebb_sender_lose(state, event, params);
	ebb_end_step();
	ebb_ebb_sender_answer(state, 0, event->cwnd_pkts);
	state->window.ssthresh_pkts = state->window.cwnd_pkts;
}

/* The host starts again from one segment; the threshold is W. */
EBB_INLINE void ebb_ebb_sender_on_timeout(struct ebb_ebb_sender_state *state,
					  const struct ebb_sender_event *event,
					  const struct ebb_ebb_sender_params *params)
{
	ebb_ebb_sender_on_loss(state, event, params);
	state->is_restarting = 1;
}

/* It was no loss. */
EBB_INLINE void ebb_ebb_sender_on_undo(struct ebb_ebb_sender_state *state,
				       const struct ebb_sender_event *event,
				       const struct ebb_ebb_sender_params *params)
{
	struct ebb_ebb_state *s = &state->own;

	(void)event;
	(void)params;
	if (!s->is_yielding)
		ebb_moves_set_window(&s->moves, ebb_max(s->rwnd_bytes, state->prior_bytes));
	state->is_restarting = 0;
	state->window.ssthresh_pkts = EBB_SENDER_NO_SSTHRESH_PKTS;
	ebb_ebb_sender_answer(state, 0, EBB_SENDER_MAX_CWND_PKTS);
}

/* The host has taken back what was not used for long: W comes back by slow start. */
EBB_INLINE void ebb_ebb_sender_on_idle(struct ebb_ebb_sender_state *state,
				       const struct ebb_sender_event *event,
				       const struct ebb_ebb_sender_params *params)
{
	if (event->cwnd_pkts >= state->window.cwnd_pkts)
		return;
	state->is_restarting = 1;
	ebb_ebb_sender_answer(state, 0, ebb_max(event->cwnd_pkts, params->own.start_segments));
}

#endif /* EBB_EBB_SENDER_H */
