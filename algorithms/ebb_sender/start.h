/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The slow start of ebb-sender: how it begins, doubles, and ends where the path is full. See
 * ebb_sender.h.
 */
#ifndef EBB_EBB_SENDER_START_H
#define EBB_EBB_SENDER_START_H

#include "ebb_sender/state.h"

/* The first acknowledgement: slow start goes on with it, unless more than the law allowed is out. */
EBB_INLINE void ebb_ebb_sender_begin(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				     u32 inflight_pkts)
{
	u64 most_bytes = (u64)s->rwnd_bytes * EBB_EBB_SENDER_OLDER_WINDOWS;

	s->is_begun = 1;
	if ((u64)inflight_pkts * s->mss_bytes > most_bytes) {
		ebb_moves_go_blind(&s->moves, segment, EBB_EBB_BLIND_RTTS);
		s->is_awaiting = 1;
		s->blind_until_us = EBB_EBB_NEVER_US;
		return;
	}
	ebb_ebb_begin_round(s, segment);
	s->growth_bytes = s->rwnd_bytes;
	s->growth_left_bytes = s->growth_bytes;
}

/* Each segment that is acknowledged is one more, up to where the link is full. */
EBB_INLINE void ebb_ebb_sender_double(struct ebb_ebb_state *s, u32 bytes)
{
	u64 room_bytes = ebb_sub_floor(ebb_ebb_cap_bytes(s), s->rwnd_bytes);

	if (!s->is_starting || s->is_blind || !s->growth_bytes)
		return;
	s->growth_left_bytes = 0;
	ebb_moves_set_window(&s->moves, s->rwnd_bytes + ebb_min(bytes, room_bytes));
}

/* What the path delivered in a round trip without its queue; W if that is not known. */
EBB_INLINE u64 ebb_ebb_sender_delivered_bytes(const struct ebb_ebb_state *s,
					      const struct ebb_sender_ack *ack)
{
	u64 rate_bytes = (u64)ack->rate_delivered_pkts * s->mss_bytes;

	if (!ack->rate_interval_us)
		return s->rwnd_bytes;
	/* < 2^30 bytes, RTT < 2^26 us. Nothing is delivered in less than a round trip. */
	rate_bytes = ebb_min(rate_bytes, EBB_MOVES_MAX_WINDOW_BYTES);
	return ebb_div(rate_bytes * s->rtt_us, ebb_max(ack->rate_interval_us, s->rtt_us),
		       s->rwnd_bytes);
}

/*
 * Acknowledgements of two segments each tell C a round trip later than segments do, and slow start
 * may have gone too far: its queue is ours. It is also where others leave us less than C.
 */
EBB_INLINE void ebb_ebb_sender_end_start(struct ebb_ebb_sender_state *state,
					 const struct ebb_sender_ack *ack)
{
	struct ebb_ebb_state *s = &state->own;
	u64 most_bytes = ebb_ebb_cap_bytes(s);
	u8 is_beyond = s->queue_us > s->high_us && s->rwnd_bytes > most_bytes;
	u8 is_queueing = s->look_segments >= EBB_EBB_SENDER_START_ACKS &&
			 s->look_excess_us != EBB_MOVES_NO_DELAY && s->look_excess_us > s->high_us;

	if (!s->is_starting || s->is_blind || !s->is_round_open || (!is_beyond && !is_queueing))
		return;
	if (is_queueing)
		most_bytes = ebb_min(ebb_min(most_bytes, s->rwnd_bytes / EBB_ONE_X2),
				     ebb_ebb_sender_delivered_bytes(s, ack));
	ebb_moves_set_window(&s->moves, ebb_min(s->rwnd_bytes, most_bytes));
	s->saturation_bytes = s->rwnd_bytes;
	ebb_moves_stop_growing(&s->moves, &state->segment, EBB_EBB_BLIND_RTTS);
	state->settle_bytes = is_queueing ? s->rwnd_bytes : 0;
}

/*
 * The last flight of slow start fills the path: what comes back of it tells more. It is too much,
 * since others wait behind that flight, as the flight before was too little: W is half-way.
 */
EBB_INLINE void ebb_ebb_sender_settle(struct ebb_ebb_sender_state *state,
				      const struct ebb_sender_ack *ack)
{
	struct ebb_ebb_state *s = &state->own;
	u64 bytes = ebb_min(ebb_ebb_sender_delivered_bytes(s, ack), ebb_ebb_cap_bytes(s));

	if (!s->is_blind)
		state->settle_bytes = 0;
	bytes = (bytes + state->settle_bytes) / EBB_ONE_X2;
	if (!state->settle_bytes || bytes <= s->rwnd_bytes)
		return;
	ebb_moves_set_window(&s->moves, bytes);
	s->last_rwnd_bytes = s->rwnd_bytes;
	s->saturation_bytes = s->rwnd_bytes;
}

#endif /* EBB_EBB_SENDER_START_H */
