/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How ebb-sender finds others who have a queue of their own: a train of segments that leave at
 * once comes back at the rate of the link, unless others' segments came between. See ebb_sender.h.
 */
#ifndef EBB_EBB_SENDER_TRAIN_H
#define EBB_EBB_SENDER_TRAIN_H

#include "ebb_sender/state.h"

EBB_INLINE u32 ebb_ebb_sender_train_pkts(const struct ebb_ebb_state *s)
{
	u64 pkts = ebb_div(EBB_EBB_SENDER_TRAIN_US + s->segment_us - 1, s->segment_us, 0);

	pkts = ebb_clamp(pkts, EBB_EBB_SENDER_TRAIN_LEAST, EBB_EBB_SENDER_TRAIN_MOST);
	return (u32)(pkts + EBB_EBB_SENDER_PAIR);
}

/* What the window leaves while the train is held back. */
EBB_INLINE u64 ebb_ebb_sender_held_pkts(const struct ebb_ebb_sender_state *state)
{
	u64 pkts = ebb_div(state->own.rwnd_bytes, state->own.mss_bytes, 0);

	return ebb_max(ebb_sub_floor(pkts, state->train_pkts), EBB_EBB_SENDER_PAIR);
}

/* The train leaves now: what was sent before comes first. */
EBB_INLINE void ebb_ebb_sender_send_train(struct ebb_ebb_sender_state *state,
					  const struct ebb_sender_ack *ack)
{
	state->test = EBB_EBB_SENDER_TRAIN;
	state->test_seq = ack->snd_nxt;
	state->train_pkts = ebb_ebb_sender_train_pkts(&state->own);
	state->first_us = 0;
	state->test_until_us = ack->now_us + EBB_EBB_SENDER_TEST_US +
			       (u64)state->own.rtt_us * EBB_EBB_SENDER_TEST_RTTS;
}

/* A cut although we have less than the link carries: is it for others, in a queue of theirs? */
EBB_INLINE u8 ebb_ebb_sender_is_suspect(const struct ebb_ebb_state *s)
{
	u64 share_bytes = ebb_ebb_bdp_bytes(s) / EBB_ONE_X10 * EBB_EBB_SENDER_SHARE_X10;

	return s->is_blind && !s->is_yielding && !s->is_draining && !s->is_awaiting &&
	       s->capacity_bytes_per_s && s->last_round_bytes < share_bytes;
}

/* A train of the window is held back, and leaves at once. */
EBB_INLINE void ebb_ebb_sender_hold_train(struct ebb_ebb_sender_state *state, u64 now_us)
{
	u64 next_us = ebb_max((u64)state->suspect_us * EBB_ONE_X2, EBB_EBB_SENDER_SUSPECT_US);

	state->is_suspicious = 0;
	state->suspect_us = (u32)ebb_min(next_us, EBB_EBB_SENDER_SUSPECT_MOST_US);
	state->suspect_at_us = now_us + state->suspect_us;
	state->test = EBB_EBB_SENDER_HOLD;
	state->train_pkts = ebb_ebb_sender_train_pkts(&state->own);
	state->test_until_us =
		now_us + EBB_EBB_SENDER_TEST_US + (u64)state->own.rtt_us * EBB_EBB_SENDER_TEST_RTTS;
}

/* A loss: the train says nothing. The next one leaves when that has been repaired. */
EBB_INLINE void ebb_ebb_sender_end_test(struct ebb_ebb_sender_state *state, u64 now_us)
{
	if (state->test && !state->own.is_yielding) {
		state->is_suspicious = 1;
		state->suspect_us = 0;
		state->suspect_at_us = now_us;
	}
	state->test = EBB_EBB_SENDER_NO_TEST;
}

/* Whether others' segments came between ours, once all but one have been acknowledged. */
EBB_INLINE u8 ebb_ebb_sender_is_stretched(const struct ebb_ebb_sender_state *state,
					  const struct ebb_sender_ack *ack)
{
	const struct ebb_ebb_state *s = &state->own;
	u64 alone_us = ebb_moves_time_us(s->capacity_bytes_per_s, ack->ack_seq - state->first_seq);
	u64 most_us = alone_us + alone_us * EBB_EBB_SENDER_STRETCH_X10 / EBB_ONE_X10 +
		      EBB_EBB_SENDER_STRETCH_US;

	return ebb_sub_floor(ack->now_us, state->first_us) > most_us;
}

/*
 * What W begins with out of YIELD: others who come back find the link ours, and we leave it at once.
 * Not more than a part of the room in front of the link, where that is known.
 */
EBB_INLINE u64 ebb_ebb_sender_again_bytes(const struct ebb_ebb_sender_state *state)
{
	const struct ebb_ebb_state *s = &state->own;
	u64 bytes = ebb_min(ebb_moves_segments(&s->moves, EBB_EBB_SENDER_AGAIN),
			    ebb_ebb_bdp_bytes(s) / EBB_EBB_SENDER_AGAIN_DIVISOR);
	u64 room_bytes = ebb_moves_bytes_in(s->capacity_bytes_per_s, s->full_us);

	if (!s->is_reclaiming || state->stretched)
		return 0;
	return s->full_us ? ebb_min(bytes, room_bytes / EBB_EBB_SENDER_AGAIN_DIVISOR) : bytes;
}

/* Nobody is found: out of YIELD W grows from the train on, else it stays. */
EBB_INLINE void ebb_ebb_sender_pass(struct ebb_ebb_sender_state *state)
{
	struct ebb_ebb_state *s = &state->own;
	u64 bytes = ebb_moves_segments(&s->moves, state->train_pkts);

	bytes = ebb_max(bytes, ebb_ebb_sender_again_bytes(state));
	ebb_moves_set_window(&s->moves, ebb_max(s->rwnd_bytes, bytes));
	s->last_rwnd_bytes = s->rwnd_bytes;
	s->is_blind = 0;
	s->is_round_open = 0;
	state->stretched = 0;
	state->test = EBB_EBB_SENDER_NO_TEST;
}

EBB_INLINE void ebb_ebb_sender_fail(struct ebb_ebb_sender_state *state,
				    const struct ebb_segment *segment,
				    const struct ebb_ebb_sender_params *params)
{
	struct ebb_ebb_state *s = &state->own;

	state->test = EBB_EBB_SENDER_NO_TEST;
	state->stretched++;
	state->suspect_us = 0;
	ebb_moves_set_window(&s->moves, ebb_moves_segments(&s->moves, params->own.probe_segments));
	ebb_ebb_enter_yield(s, &params->own, segment->now_us);
	ebb_moves_stop_growing(&s->moves, segment, EBB_EBB_BLIND_RTTS);
}

/* The window in a test. */
EBB_INLINE u64 ebb_ebb_sender_test_pkts(const struct ebb_ebb_sender_state *state,
					const struct ebb_sender_ack *ack)
{
	const struct ebb_ebb_state *s = &state->own;
	u64 sent_pkts = ebb_div(ack->snd_nxt - state->test_seq, s->mss_bytes, 0);
	u64 left_pkts = ebb_sub_floor(state->train_pkts, sent_pkts);

	if (state->test == EBB_EBB_SENDER_HOLD)
		return ebb_ebb_sender_held_pkts(state);
	return ebb_max(ack->inflight_pkts + left_pkts, ebb_div(s->rwnd_bytes, s->mss_bytes, 0));
}

/* An acknowledgement while a test is under way. */
EBB_INLINE void ebb_ebb_sender_test(struct ebb_ebb_sender_state *state,
				    const struct ebb_sender_ack *ack,
				    const struct ebb_segment *segment,
				    const struct ebb_ebb_sender_params *params)
{
	u32 last_seq = state->test_seq + (state->train_pkts - 1) * state->own.mss_bytes;

	if (ack->now_us >= state->test_until_us) {
		ebb_ebb_sender_pass(state);
		return;
	}
	if (state->test == EBB_EBB_SENDER_HOLD) {
		if (ack->inflight_pkts <= ebb_ebb_sender_held_pkts(state))
			ebb_ebb_sender_send_train(state, ack);
		return;
	}
	if (!ebb_before32(state->test_seq, ack->ack_seq))
		return;
	if (!state->first_us) {
		state->first_us = ack->now_us;
		state->first_seq = ack->ack_seq;
	}
	ebb_end_step();
	if (ebb_before32(ack->ack_seq, last_seq))
		return;
	if (ebb_ebb_sender_is_stretched(state, ack) &&
	    state->stretched < EBB_EBB_SENDER_TRAINS_BELIEVED)
		ebb_ebb_sender_fail(state, segment, params);
	else
		ebb_ebb_sender_pass(state);
}

#endif /* EBB_EBB_SENDER_TRAIN_H */
