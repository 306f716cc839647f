/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What clients send. The queue is between here and the receiver, so the law is told what a
 * receiver would tell it: when data passed here stands for when it was sent, and the receiver's
 * timestamp in the acknowledgement for when it arrived. The way of the acknowledgement back
 * enters the round trip and not the delay, as with downloads. The window that the law wants
 * becomes that of what comes back to the client.
 */
#ifndef EBB_GATEWAY_UPLOAD_H
#define EBB_GATEWAY_UPLOAD_H

#include "half.h"

/* [RFC6928 §2] A sender's first flight: less is no upload, and needs no state of a law. */
#define EBB_UPLOAD_FROM_SEGMENTS 10u

EBB_INLINE u32 ebb_is_upload(const struct ebb_seen *seen)
{
	if (seen->flags & EBB_HAS_UPLOAD)
		return 1;
	return seen->sent_bytes >= (u64)EBB_UPLOAD_FROM_SEGMENTS * seen->remote_mss_bytes;
}

/* Data of the client's passes. */
EBB_INLINE void ebb_on_upload_data(struct ebb_scratch *scratch)
{
	struct ebb_packet *packet = &scratch->packet;
	u32 end_seq = packet->seq + packet->payload_bytes;
	struct ebb_bundle *bundle = ebb_bundle_of(scratch->bundle, 1);
	struct ebb_half *half;

	ebb_look_at(scratch, 1);
	half = bpf_map_lookup_elem(&ebb_halves, &scratch->number);
	ebb_look_at(scratch, 0);
	if (!half || !bundle)
		return;
	bpf_spin_lock(&bundle->lock);
	half->head.heard_ns = scratch->now_ns;
	half->head.is_ending |= (packet->flags & EBB_TCP_FLAG_FIN) != 0;
	if (packet->has_timestamps)
		ebb_echoes_note(&half->echoes, scratch->now_ns / EBB_NS_PER_US, packet->tsval);
	if (ebb_before32(half->sent_seq, end_seq))
		half->sent_seq = end_seq;
	bpf_spin_unlock(&bundle->lock);
}

/* The receiver's clock at its timestamp, in us of an arbitrary zero; never moved by a new tick. */
EBB_INLINE u64 ebb_remote_us(struct ebb_half *half, u64 now_us, u32 tsval)
{
	u64 elapsed_us = now_us - half->remote.heard_us;

	if (ebb_clock_hear(&half->remote, now_us, tsval))
		half->remote_shift_us = half->remote_last_us + elapsed_us - half->remote.sender_us;
	half->remote_last_us = half->remote.sender_us + half->remote_shift_us;
	return half->remote_last_us;
}

/* What the receiver's law would be told of the data that is acknowledged. */
EBB_INLINE void ebb_describe_arrival(struct ebb_half *half, const struct ebb_packet *packet,
				     u64 now_us, u32 newly_bytes, u32 mss_bytes)
{
	struct ebb_segment *told = &half->segment;
	u32 passed_us = 0, since_us = 0;
	u64 remote_us;

	/* What is acknowledged again says that something else arrived, behind a hole. */
	told->seq = newly_bytes ? half->head.next_seq : half->head.next_seq + mss_bytes;
	told->payload_bytes = newly_bytes ? newly_bytes : mss_bytes;
	told->segments = (u32)ebb_div(newly_bytes + mss_bytes - 1, mss_bytes, 1);
	/* [RFC1122 §4.2.3.2] Two need not have come together: so many are acknowledged together. */
	if (told->segments <= EBB_UPLOAD_LEAST_SEGMENTS)
		told->segments = 1;
	told->has_timestamps = 0;
	told->is_ce = half->head.uses_ecn && packet->flags & EBB_TCP_FLAG_ECE;
	if (!packet->has_timestamps)
		return;
	passed_us = ebb_echoes_find(&half->echoes, now_us, packet->tsecr);
	remote_us = ebb_remote_us(half, now_us, packet->tsval);
	if (!passed_us)
		return;
	since_us = (u32)now_us - passed_us;
	told->has_timestamps = 1;
	told->tsecr = passed_us;
	/* Sent so long before now as it was under way to the receiver. */
	told->tsval = (u32)((2 * now_us - since_us - remote_us) / EBB_US_PER_MS);
}

/* Answers whether anything has arrived, and has the law's input ready then. */
EBB_INLINE u32 ebb_describe_upload(struct ebb_half *half, const struct ebb_scratch *scratch)
{
	const struct ebb_packet *packet = &scratch->packet;
	u32 newly_bytes = packet->ack_seq - half->head.next_seq;
	u32 mss_bytes = half->head.guessed_mss_bytes;

	if (ebb_before32(packet->ack_seq, half->head.next_seq) ||
	    ebb_before32(half->sent_seq, packet->ack_seq))
		return 0;
	if (!newly_bytes &&
	    (packet->payload_bytes || half->sent_seq == half->head.next_seq ||
	     (u32)packet->window << (half->head.scale & 15) != half->head.own_bytes))
		return 0;
	ebb_describe_arrival(half, packet, scratch->now_ns / EBB_NS_PER_US, newly_bytes, mss_bytes);
	if (newly_bytes)
		ebb_half_note_size(half, newly_bytes, half->segment.segments, mss_bytes);
	return 1;
}

#endif /* EBB_GATEWAY_UPLOAD_H */
