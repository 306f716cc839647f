/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One way of a governed connection: its law is told of the data, and its windows are made
 * smaller. What passes is all that is known; the ends are elsewhere.
 */
#ifndef EBB_HALF_H
#define EBB_HALF_H

#include "maps.h"

/* What is sent again lies behind, by the window of a round trip ago at the most: this at least. */
#define EBB_LEAST_BEHIND_BYTES (1u << 20)
/*
 * [RFC1122 §4.2.3.2] A receiver answers the second full segment at once, and one alone when its
 * timer ends. A client's receiver does not know that more than one may not come, and its timer would
 * look like a queue.
 */
#define EBB_UPLOAD_LEAST_SEGMENTS 2u
/* No answer to a grant comes later. */
#define EBB_LONGEST_TIMED_US 10000000u
/* [EBB §bundle] Less than a segment, as TCP's own least clamp says it. */
#define EBB_LEAST_WINDOW_BYTES 1152u
/* As Linux' bound of a window grows (tcp_grow_window). */
#define EBB_OPENS_BY_SEGMENTS 2u
/* [RFC6928 §2] Ten segments: a window is open so far at the least when its law begins. */
#define EBB_OPEN_FIRST_BYTES 14600u
/* [RFC7323 §2.2] The largest. */
#define EBB_MOST_WINDOW_BYTES (1u << 30)

/* ---- what passes ---- */

/* Between what may come again and the right edge of what the receiver itself has room for. */
EBB_INLINE u32 ebb_half_expects(const struct ebb_half *half, u32 seq, u32 bytes)
{
	u32 room_bytes = (u32)ebb_max(half->head.own_bytes, EBB_LEAST_BEHIND_BYTES);

	return !ebb_before32(seq, half->head.next_seq - room_bytes) &&
	       !ebb_before32(half->head.next_seq + room_bytes, seq + bytes);
}

EBB_INLINE void ebb_half_note_size(struct ebb_half *half, u32 bytes, u32 segments,
				   u32 segment_bytes)
{
	half->head.segments += segments;
	half->head.payload_bytes += bytes;
	if (segment_bytes > half->head.seen_mss_bytes)
		half->head.seen_mss_bytes = segment_bytes;
}

/* Data beyond the edge of a grant: a round trip has passed since then, where no clock tells. */
EBB_INLINE void ebb_half_time_grant(struct ebb_half *half, u32 now_us, u32 end_seq)
{
	if (!half->head.timed_at_us || !ebb_before32(half->head.timed_edge_seq, end_seq))
		return;
	if (now_us - half->head.timed_at_us < EBB_LONGEST_TIMED_US)
		half->head.rtt_us = now_us - half->head.timed_at_us;
	half->head.timed_at_us = 0;
}

/*
 * A window opens by two segments for each that comes, as that of Linux does. Of many connections that
 * hear of a larger window at once, each would have its part before the others' is smaller.
 */
EBB_INLINE void ebb_half_open(struct ebb_half *half)
{
	u64 more_bytes = ebb_max(half->segment.payload_bytes, half->segment.mss_bytes);

	more_bytes *= EBB_OPENS_BY_SEGMENTS;
	half->head.open_bytes =
		(u32)ebb_min(half->head.open_bytes + more_bytes, EBB_MOST_WINDOW_BYTES);
}

/* Tells the law of data; seq, bytes, segments, stamps and marks of half->segment are filled in. */
EBB_INLINE void ebb_half_tell(struct ebb_bundle *bundle, struct ebb_half *half, u64 now_us)
{
	struct ebb_segment *segment = &half->segment;

	ebb_half_time_grant(half, (u32)now_us, segment->seq + segment->payload_bytes);
	segment->now_us = now_us;
	segment->local_ts = (u32)now_us;
	segment->local_tick_us = 1;
	segment->rcv_nxt = half->head.next_seq;
	segment->right_edge_seq = half->head.told_edge_seq;
	segment->mss_bytes = ebb_known_mss(half->head.segments, half->head.guessed_mss_bytes,
					   half->head.seen_mss_bytes);
	segment->kernel_rtt_us = half->head.rtt_us;
	segment->is_observing = control.is_observing != 0;
	segment->can_delay_acks = 0;
	ebb_end_step();
	ebb_half_open(half);
	ebb_end_step();
	ebb_law_bundle_on_segment(config.law_number, &bundle->law, &half->law, segment,
				  ebb_params());
}

/* ---- windows ---- */

/*
 * What is said at the least. A law that has less than a segment for a connection of many means that
 * its sender is to wait for its timer; where a unit is no less than a segment, that cannot be said.
 */
EBB_INLINE u32 ebb_half_least_bytes(const struct ebb_half *half, u32 mss_bytes)
{
	u32 scale = half->head.scale & 15;

	if (half->head.is_upload && half->law.rwnd_bytes >= mss_bytes)
		return EBB_UPLOAD_LEAST_SEGMENTS * mss_bytes;
	return (u32)ebb_max(EBB_LEAST_WINDOW_BYTES >> scale, 1) << scale;
}

/*
 * How much of the receiver's window may pass. The right edge never goes back, as a law may
 * expect of its host; the window is never larger than the receiver's own. The header has it in units
 * of the scale: what the sender is told is up to one unit more, and that is where the law counts
 * round trips from. It is not where the next window begins, or the edge would creep by it.
 */
EBB_INLINE u32 ebb_half_grant(struct ebb_half *half, const struct ebb_ack *ack, u32 window)
{
	u32 scale = half->head.scale & 15, rest = (1u << scale) - 1;
	u32 ack_seq = ack->ack_seq, now_us = (u32)ack->now_us;
	u32 wanted_bytes = (u32)ebb_max(ebb_min(half->law.rwnd_bytes, half->head.open_bytes),
					ebb_half_least_bytes(half, ack->mss_bytes));
	u32 edge_seq = ack_seq + wanted_bytes, allowed_bytes, granted;

	half->head.own_bytes = window << scale;
	half->head.open_bytes = wanted_bytes;
	if (wanted_bytes >= half->head.own_bytes)
		edge_seq = ack_seq + half->head.own_bytes;
	if (ebb_before32(half->head.right_edge_seq, edge_seq))
		half->head.right_edge_seq = edge_seq;
	allowed_bytes = half->head.right_edge_seq - ack_seq;
	granted = (u32)ebb_min(window, ((u64)allowed_bytes + rest) >> scale);
	half->head.window_bytes = granted << scale;
	half->head.windows++;
	half->head.rewritten += granted != window;
	if (ebb_before32(half->head.told_edge_seq, ack_seq + half->head.window_bytes))
		half->head.told_edge_seq = ack_seq + half->head.window_bytes;
	if (!half->head.timed_at_us) {
		half->head.timed_edge_seq = half->head.told_edge_seq;
		half->head.timed_at_us = now_us ? now_us : 1;
	}
	return granted;
}

/* The receiver's own passes. */
EBB_INLINE u32 ebb_half_pass(struct ebb_half *half, u32 ack_seq, u32 window)
{
	half->head.own_bytes = window << (half->head.scale & 15);
	half->head.right_edge_seq = ack_seq + half->head.own_bytes;
	half->head.told_edge_seq = half->head.right_edge_seq;
	half->head.window_bytes = half->head.own_bytes;
	/* A receiver that has no room for now has not forgotten how far its window was open. */
	half->head.open_bytes = (u32)ebb_max(half->head.own_bytes, EBB_OPEN_FIRST_BYTES);
	return window;
}

/* Asks the law for the window of the packet at hand; answers what is to stand in its header. */
EBB_INLINE u32 ebb_half_ask(struct ebb_bundle *bundle, struct ebb_half *half,
			    struct ebb_scratch *scratch)
{
	struct ebb_packet *packet = &scratch->packet;
	struct ebb_ack *ack = &scratch->ack;

	ack->now_us = scratch->now_ns / EBB_NS_PER_US;
	ack->ack_seq = packet->ack_seq;
	ack->local_ts = (u32)ack->now_us;
	ack->local_tick_us = 1;
	ack->right_edge_seq = half->head.told_edge_seq;
	ack->mss_bytes = ebb_known_mss(half->head.segments, half->head.guessed_mss_bytes,
				       half->head.seen_mss_bytes);
	ack->has_timestamps = half->head.has_timestamps;
	ack->is_observing = control.is_observing != 0;
	ebb_end_step();
	ebb_law_bundle_on_ack(config.law_number, &bundle->law, &half->law, ack, ebb_params());
	ebb_end_step();
	if (control.is_observing)
		return ebb_half_pass(half, packet->ack_seq, packet->window);
	return ebb_half_grant(half, ack, packet->window);
}

/* ---- the life of a half ---- */

/*
 * Begins where the receiver has granted its own window until now: what was granted is not taken
 * back, and the law knows how to wait for that (it sees the edge).
 */
EBB_INLINE void ebb_half_begin(struct ebb_bundle *bundle, struct ebb_half *half,
			       struct ebb_scratch *scratch)
{
	struct ebb_start *start = &scratch->start;

	half->head.ends = scratch->ends;
	half->head.bundle = scratch->bundle;
	half->head.is_upload = scratch->is_upload != 0;
	half->head.scale = scratch->scale;
	half->head.uses_ecn = scratch->uses_ecn;
	half->head.began_ns = scratch->now_ns;
	half->head.heard_ns = scratch->now_ns;
	half->head.next_seq = start->rcv_nxt;
	half->sent_seq = start->rcv_nxt;
	ebb_half_pass(half, start->rcv_nxt, scratch->packet.window);
	half->head.guessed_mss_bytes = start->mss_bytes;
	half->head.has_timestamps = start->has_timestamps != 0;
	ebb_end_step();
	ebb_law_bundle_init(config.law_number, &bundle->law, &half->law, start, ebb_params());
}

#endif /* EBB_HALF_H */
