/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * vulture: a receiver law that reads congestion from how the intervals between packets
 * vary on their way, and tells by the sign of the variations whether others take part.
 * It halves, keeps, raises or doubles the window, spread over a round trip's
 * acknowledgements, and judges again when the first segment shows the new window.
 *
 * Sources: [VULTURE §0.3] (algorithms 1 to 6); docs/vulture.md for the readings.
 *
 * Differences from the paper:
 * 1. The sender's tick is measured, not known to be a jiffy; its clock is converted to
 *    jiffies of jiffy_us. While it stands still, there are no pairs.
 * 2. No pivQue: each variation is counted for both modes as it is found, which gives
 *    the same counts at the end of the round trip.
 * 3. packetQue holds 86 packets (queue_packets), at the most the 512 of its ring; packets
 *    that come faster than 128 per PSI are thinned out, and what comes while it is full is
 *    not queued.
 * 4. A packet that was sent before the head of packetQue is queued, not paired; if it
 *    was sent more than PSI before, the queue begins anew.
 * 5. A variation counts as a million jiffies at most.
 * 6. ackQue is a ring of 64 groups; acknowledgements within one jiffy share a group,
 *    and further ones join the last group when the ring is full.
 * 7. A segment longer than what is left of its acknowledgement empties it, and its rest
 *    is added to the estimate at once (the paper's test for zero would miss).
 * 8. The estimate never falls below zero; a segment discards 8 groups at most.
 * 9. The window has a least size, and stays below 2^30 bytes.
 * 10. A round trip or a pause that does not end within 10 s ends by itself.
 * 11. Losses halve at most once per round trip (loss_guard), also after a halving that
 *    the variations asked for; congestion marks count as losses (ce_is_loss).
 * 12. Without timestamps nothing is known of sending times: round trips last as long as
 *    the host's estimate, the window rises by a segment in each (no_timestamps_increases),
 *    losses halve, and the congestion window is what arrived in the last round trip.
 *
 * Domain: RTT from 1 ms to 10 s, MSS to 64 KiB, windows below 2^30 bytes.
 */
#ifndef EBB_VULTURE_H
#define EBB_VULTURE_H

#include "vulture/state.h"

/* [VULTURE §0.3.4] Algorithm 5: the window that halving and doubling lead to. */
#define EBB_VULTURE_HALVE_DIVISOR 2u
#define EBB_VULTURE_DOUBLE_FACTOR 2u
/* [VULTURE §0.3.4] halve_stop 2: part of what is acknowledged that the window loses. */
#define EBB_VULTURE_SLOW_DIVISOR 2u

/* ---- helpers: the first window ---- */

/* First window and first threshold of a flow that becomes less than best effort. */
EBB_INLINE void ebb_vulture_set_first_window(struct ebb_vulture_state *state, u64 bytes,
					     const struct ebb_vulture_params *params)
{
	ebb_vulture_set_window(state, bytes, params);
	state->thresh_bytes = EBB_NO_LIMIT_BYTES;
	if (params->first_thresh_x1024)
		state->thresh_bytes = (u32)ebb_min(
			(u64)state->rwnd_bytes * params->first_thresh_x1024 / EBB_ONE_X1024,
			EBB_NO_LIMIT_BYTES);
	state->policy = EBB_VULTURE_FIX;
}

/* ---- helpers: round trips ---- */

EBB_INLINE void ebb_vulture_begin_round(struct ebb_vulture_state *state,
					const struct ebb_segment *segment)
{
	ebb_vulture_mark_set(&state->round, segment);
	state->is_pausing = 0;
	state->has_round = 1;
}

EBB_INLINE void ebb_vulture_begin_pause(struct ebb_vulture_state *state,
					const struct ebb_segment *segment,
					const struct ebb_vulture_params *params)
{
	ebb_vulture_counts_clear(&state->pairs.counts);
	ebb_vulture_begin_round(state, segment);
	if (params->pause_rule == EBB_VULTURE_PAUSE_NONE)
		return;
	if (params->pause_packets == EBB_VULTURE_PAUSE_EMPTY)
		ebb_vulture_packets_clear(&state->pairs);
	state->pauses_left = params->pause_rule == EBB_VULTURE_PAUSE_TWICE;
	state->is_pausing = 1;
}

/* Is this the first segment that reflects the policy? */
EBB_INLINE u8 ebb_vulture_is_pause_over(struct ebb_vulture_state *state,
					const struct ebb_segment *segment,
					const struct ebb_vulture_params *params)
{
	u32 end_seq = segment->seq + segment->payload_bytes;
	u64 elapsed_us = ebb_sub_floor(segment->now_us, state->round.at_us);

	if (params->pause_rule == EBB_VULTURE_PAUSE_EDGE)
		return ebb_before32(state->round.edge_seq, end_seq) ||
		       elapsed_us > EBB_VULTURE_ROUND_LIMIT_US;
	if (!ebb_vulture_mark_is_passed(&state->round, segment, params))
		return 0;
	if (!state->pauses_left)
		return 1;
	state->pauses_left--;
	ebb_vulture_mark_set(&state->round, segment);
	return 0;
}

/* ---- helpers: policies ---- */

EBB_INLINE void ebb_vulture_remember_thresh(struct ebb_vulture_state *state, u8 is_loss,
					    const struct ebb_vulture_params *params)
{
	u8 is_in_a_row = state->policy == EBB_VULTURE_HALVE;

	if (is_loss && !params->thresh_on_loss)
		return;
	if (params->thresh_rule == EBB_VULTURE_THRESH_AFTER)
		state->thresh_bytes = state->rwnd_bytes / EBB_VULTURE_HALVE_DIVISOR;
	else if (params->thresh_rule == EBB_VULTURE_THRESH_BEFORE || !is_in_a_row)
		state->thresh_bytes = state->rwnd_bytes;
}

EBB_INLINE void ebb_vulture_set_policy(struct ebb_vulture_state *state, u8 policy, u8 is_loss,
				       const struct ebb_segment *segment,
				       const struct ebb_vulture_params *params)
{
	u8 has_changed = state->policy != policy;

	if (policy == EBB_VULTURE_HALVE) {
		ebb_vulture_remember_thresh(state, is_loss, params);
		state->target_bytes = state->rwnd_bytes / EBB_VULTURE_HALVE_DIVISOR;
		ebb_vulture_mark_set(&state->halved, segment);
		state->has_halved = 1;
	} else if (policy == EBB_VULTURE_DOUBLE) {
		state->target_bytes = (u32)ebb_min(
			(u64)state->rwnd_bytes * EBB_VULTURE_DOUBLE_FACTOR,
			params->double_to_thresh ? state->thresh_bytes : EBB_NO_LIMIT_BYTES);
	} else if (policy == EBB_VULTURE_INCREASE) {
		state->has_increased = 0;
	}
	state->policy = policy;

	if ((params->pause_scope == EBB_VULTURE_SCOPE_NOT_FIX && policy == EBB_VULTURE_FIX) ||
	    (params->pause_scope == EBB_VULTURE_SCOPE_CHANGED && !has_changed && !is_loss)) {
		ebb_vulture_counts_clear(&state->pairs.counts);
		ebb_vulture_begin_round(state, segment);
	} else {
		ebb_vulture_begin_pause(state, segment, params);
	}
}

/* A round trip is over: the flow that has no timestamps knows what came in it. */
EBB_INLINE void ebb_vulture_end_round_bytes(struct ebb_vulture_state *state,
					    const struct ebb_segment *segment)
{
	if (!segment->has_timestamps)
		state->estimate.bytes = state->round_bytes;
	state->round_bytes = 0;
}

/* At the end of a round trip. */
EBB_INLINE void ebb_vulture_decide(struct ebb_vulture_state *state,
				   const struct ebb_segment *segment,
				   const struct ebb_vulture_params *params)
{
	u8 policy = ebb_vulture_choose(&state->pairs.counts,
				       state->rwnd_bytes < state->thresh_bytes, params);

	ebb_vulture_end_round_bytes(state, segment);
	if (!segment->has_timestamps)
		policy = params->no_timestamps_increases ? EBB_VULTURE_INCREASE : EBB_VULTURE_FIX;
	else if (!state->pairs.counts.all && params->no_piv_rule == EBB_VULTURE_NO_PIV_WAIT)
		return;
	else if (!state->pairs.counts.all && params->no_piv_rule == EBB_VULTURE_NO_PIV_KEEP)
		policy = state->policy;
	ebb_vulture_set_policy(state, policy, 0, segment, params);
}

/* ---- helpers: losses ---- */

/* Does a segment show that data is missing, or came out of order? */
EBB_INLINE u8 ebb_vulture_shows_loss(struct ebb_vulture_state *state,
				     const struct ebb_segment *segment,
				     const struct ebb_vulture_params *params)
{
	u32 end_seq = segment->seq + segment->payload_bytes;
	u8 is_new = ebb_before32(segment->rcv_nxt, end_seq);
	u8 is_hole = ebb_before32(state->highest_seq, segment->seq);
	u8 is_late = is_new && ebb_before32(segment->seq, state->highest_seq);
	u8 is_out_of_order = is_new && segment->seq != segment->rcv_nxt;

	state->highest_seq = ebb_highest_seq(state->highest_seq, segment);
	if (segment->is_ce && params->ce_is_loss)
		return 1;
	if (params->loss_rule == EBB_VULTURE_LOSS_ANY)
		return is_out_of_order || is_late;
	return is_hole || (is_late && params->loss_rule == EBB_VULTURE_LOSS_LATE);
}

EBB_INLINE void ebb_vulture_take_loss(struct ebb_vulture_state *state,
				      const struct ebb_segment *segment,
				      const struct ebb_vulture_params *params)
{
	if (params->loss_guard != EBB_VULTURE_GUARD_NONE && state->has_halved)
		return;
	if (params->loss_guard == EBB_VULTURE_GUARD_RECOVERY && state->is_recovering)
		return;
	state->loss_seq = state->highest_seq;
	state->is_recovering = 1;
	ebb_vulture_set_policy(state, EBB_VULTURE_HALVE, 1, segment, params);
}

/* Lets go what holds for a round trip, or until a loss is repaired. */
EBB_INLINE void ebb_vulture_forget(struct ebb_vulture_state *state,
				   const struct ebb_segment *segment,
				   const struct ebb_vulture_params *params)
{
	if (ebb_vulture_mark_is_passed(&state->increased, segment, params))
		state->has_increased &= params->increase_rule == EBB_VULTURE_INCREASE_PER_DECISION;
	if (ebb_vulture_mark_is_passed(&state->halved, segment, params))
		state->has_halved = 0;
	if (!ebb_before32(segment->rcv_nxt, state->loss_seq))
		state->is_recovering = 0;
}

/* ---- helpers: segments ---- */

EBB_INLINE void ebb_vulture_take_packet(struct ebb_vulture_state *state,
					const struct ebb_segment *segment,
					const struct ebb_vulture_params *params)
{
	struct ebb_vulture_packet times;
	u8 has_times;

	has_times = ebb_vulture_pairs_clock(&state->pairs, segment->now_us, segment->tsval, params,
					    &times);
	if (!has_times || !state->is_acting)
		return;
	if (state->is_pausing && (params->pause_packets == EBB_VULTURE_PAUSE_STAND ||
				  params->pause_packets == EBB_VULTURE_PAUSE_EMPTY))
		return;
	if (state->is_pausing && params->pause_packets == EBB_VULTURE_PAUSE_QUEUE)
		ebb_vulture_packets_push(&state->pairs, segment->now_us, times.sent, times.arrived,
					 params);
	else
		ebb_vulture_pairs_take(&state->pairs, segment->now_us, times.sent, times.arrived,
				       params);
}

/* Keeps the estimate of the congestion window, observing or not. */
EBB_INLINE void ebb_vulture_take_bytes(struct ebb_vulture_state *state,
				       const struct ebb_segment *segment)
{
	state->round_bytes = (u32)ebb_min((u64)state->round_bytes + segment->payload_bytes,
					  EBB_VULTURE_MAX_WINDOW_BYTES);
	if (segment->has_timestamps)
		ebb_vulture_estimate_on_segment(&state->estimate, segment->tsecr,
						segment->payload_bytes);
}

EBB_INLINE void ebb_vulture_observe(struct ebb_vulture_state *state,
				    const struct ebb_segment *segment,
				    const struct ebb_vulture_params *params)
{
	state->is_acting = 0;
	state->rwnd_bytes = EBB_NO_LIMIT_BYTES;
	if (state->has_round && !ebb_vulture_mark_is_passed(&state->round, segment, params))
		return;
	ebb_vulture_end_round_bytes(state, segment);
	ebb_vulture_begin_round(state, segment);
}

EBB_INLINE void ebb_vulture_start_acting(struct ebb_vulture_state *state,
					 const struct ebb_segment *segment,
					 const struct ebb_vulture_params *params)
{
	u64 first_bytes = (u64)state->estimate.bytes * params->first_window_x1024 / EBB_ONE_X1024;

	if (!first_bytes)
		first_bytes = (u64)state->mss_bytes * params->first_window_mss;
	state->is_acting = 1;
	ebb_vulture_packets_clear(&state->pairs);
	ebb_vulture_counts_clear(&state->pairs.counts);
	if (state->rwnd_bytes == EBB_NO_LIMIT_BYTES)
		ebb_vulture_set_first_window(state, first_bytes, params);
	ebb_vulture_begin_round(state, segment);
}

/* Does the limit of growth, if there is one, allow a larger window? */
EBB_INLINE u8 ebb_vulture_may_grow(const struct ebb_vulture_state *state,
				   const struct ebb_vulture_params *params)
{
	u64 limit_bytes = (u64)state->estimate.bytes * params->growth_limit_x1024 / EBB_ONE_X1024;

	return !params->growth_limit_x1024 || state->rwnd_bytes < limit_bytes;
}

/* ---- the hooks ---- */

EBB_INLINE void ebb_vulture_init(struct ebb_vulture_state *state, const struct ebb_start *start,
				 const struct ebb_vulture_params *params)
{
	ebb_vulture_set_mss(state, start->mss_bytes);
	state->highest_seq = start->rcv_nxt;
	ebb_vulture_set_first_window(state, (u64)state->mss_bytes * params->first_window_mss,
				     params);
}

EBB_INLINE void ebb_vulture_on_segment(struct ebb_vulture_state *state,
				       const struct ebb_segment *segment,
				       const struct ebb_vulture_params *params)
{
	u8 has_loss;

	ebb_vulture_set_mss(state, segment->mss_bytes);
	ebb_vulture_take_bytes(state, segment);
	has_loss = ebb_vulture_shows_loss(state, segment, params);
	ebb_end_step();
	if (segment->is_observing)
		ebb_vulture_observe(state, segment, params);
	else if (!state->is_acting)
		ebb_vulture_start_acting(state, segment, params);

	ebb_vulture_forget(state, segment, params);
	ebb_end_step();
	if (state->is_acting && state->is_pausing &&
	    ebb_vulture_is_pause_over(state, segment, params)) {
		if (params->pause_packets != EBB_VULTURE_PAUSE_COUNT)
			ebb_vulture_counts_clear(&state->pairs.counts);
		ebb_vulture_begin_round(state, segment);
	}
	if (segment->has_timestamps)
		ebb_vulture_take_packet(state, segment, params);
	ebb_end_step();
	if (segment->is_observing)
		return;
	if (has_loss)
		ebb_vulture_take_loss(state, segment, params);
	else if (!state->is_pausing && ebb_vulture_mark_is_passed(&state->round, segment, params))
		ebb_vulture_decide(state, segment, params);
}

/* Algorithm 5. */
EBB_INLINE void ebb_vulture_on_ack(struct ebb_vulture_state *state, const struct ebb_ack *ack,
				   const struct ebb_vulture_params *params)
{
	u32 merge_ticks = (u32)ebb_div(params->jiffy_us, ack->local_tick_us, 1);
	u32 acked_bytes = ebb_vulture_estimate_on_ack(&state->estimate, ack->ack_seq, ack->local_ts,
						      merge_ticks);
	u64 rwnd_bytes = state->rwnd_bytes;

	if (ack->is_observing || !state->is_acting)
		return;
	if (state->policy == EBB_VULTURE_DOUBLE && ebb_vulture_may_grow(state, params)) {
		rwnd_bytes += acked_bytes;
		if (params->double_stop == EBB_VULTURE_STOP_AT_TARGET)
			rwnd_bytes = ebb_max(state->rwnd_bytes,
					     ebb_min(rwnd_bytes, state->target_bytes));
	} else if (state->policy == EBB_VULTURE_INCREASE && !state->has_increased &&
		   ebb_vulture_may_grow(state, params)) {
		rwnd_bytes += state->mss_bytes;
		state->has_increased = 1;
		state->increased.at_us = ack->now_us;
		state->increased.local_ts = ack->local_ts;
	} else if (state->policy == EBB_VULTURE_HALVE) {
		if (params->halve_stop == EBB_VULTURE_STOP_SLOW)
			acked_bytes /= EBB_VULTURE_SLOW_DIVISOR;
		rwnd_bytes = ebb_sub_floor(rwnd_bytes, acked_bytes);
		if (params->halve_stop != EBB_VULTURE_STOP_NEVER)
			rwnd_bytes = ebb_max(rwnd_bytes,
					     ebb_min(state->rwnd_bytes, state->target_bytes));
	}
	ebb_vulture_set_window(state, rwnd_bytes, params);
}

/* Optional: what it takes the sender's congestion window for. */
EBB_INLINE u32 ebb_vulture_estimate_bytes(const struct ebb_vulture_state *state)
{
	return state->estimate.bytes;
}

#endif /* EBB_VULTURE_H */
