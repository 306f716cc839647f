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
EBB_INLINE void ebb_on_upload_data(struct ebb_scratch *scratch, u64 now_ns)
{
	struct ebb_packet *packet = &scratch->packet;
	u32 end_seq = packet->seq + packet->payload_bytes;
	struct ebb_half *half;

	scratch->key.interface |= EBB_UPLOAD;
	half = bpf_map_lookup_elem(&ebb_halves, &scratch->key);
	scratch->key.interface &= ~EBB_UPLOAD;
	if (!half)
		return;
	bpf_spin_lock(&half->lock);
	half->head.heard_ns = now_ns;
	half->head.is_ending |= (packet->flags & EBB_TCP_FLAG_FIN) != 0;
	if (packet->has_timestamps)
		ebb_echoes_note(&half->echoes, now_ns / 1000, packet->tsval);
	if (ebb_before32(half->sent_seq, end_seq))
		half->sent_seq = end_seq;
	bpf_spin_unlock(&half->lock);
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
EBB_INLINE void ebb_describe_upload(struct ebb_half *half, const struct ebb_packet *packet,
				    u64 now_us, u32 newly_bytes, u32 mss_bytes)
{
	struct ebb_segment *told = &half->segment;
	u32 passed_us = 0, since_us = 0;
	u64 remote_us;

	/* What is acknowledged again says that something else arrived, behind a hole. */
	told->seq = newly_bytes ? half->head.next_seq : half->head.next_seq + mss_bytes;
	told->payload_bytes = newly_bytes ? newly_bytes : mss_bytes;
	told->segments = (u32)ebb_max(ebb_div(newly_bytes, mss_bytes, 1), 1);
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

/* Tells the law what has arrived, if anything has. */
EBB_INLINE void ebb_hear_upload(struct ebb_half *half, const struct ebb_packet *packet, u64 now_us)
{
	u32 newly_bytes = packet->ack_seq - half->head.next_seq;
	u32 mss_bytes = half->head.guessed_mss_bytes;

	if (ebb_before32(packet->ack_seq, half->head.next_seq) ||
	    ebb_before32(half->sent_seq, packet->ack_seq))
		return;
	if (!newly_bytes &&
	    (packet->payload_bytes || half->sent_seq == half->head.next_seq ||
	     (u32)packet->window << (half->head.scale & 15) != half->head.own_bytes))
		return;
	ebb_describe_upload(half, packet, now_us, newly_bytes, mss_bytes);
	if (newly_bytes)
		ebb_half_note_size(half, newly_bytes, half->segment.segments, mss_bytes);
	ebb_end_step();
	ebb_half_tell(half, now_us);
	ebb_end_step();
	half->head.next_seq = packet->ack_seq;
}

/* An acknowledgement for the client: the law hears what it tells, and says its window. */
EBB_INLINE void ebb_on_upload_ack(struct __sk_buff *skb, struct ebb_scratch *scratch,
				  struct ebb_seen *seen, u64 now_ns)
{
	struct ebb_packet *packet = &scratch->packet;
	struct ebb_half *half = 0;
	u64 before_bytes;
	u32 window;

	scratch->key.interface |= EBB_UPLOAD;
	if (seen->flags & EBB_HAS_UPLOAD)
		half = bpf_map_lookup_elem(&ebb_halves, &scratch->key);
	if (!half)
		half = ebb_begin(scratch, seen, 1, now_ns);
	scratch->key.interface &= ~EBB_UPLOAD;
	if (!half)
		return;
	bpf_spin_lock(&half->lock);
	before_bytes = half->head.payload_bytes;
	half->head.heard_ns = now_ns;
	half->head.is_ending |= (packet->flags & EBB_TCP_FLAG_FIN) != 0;
	ebb_hear_upload(half, packet, now_ns / 1000);
	ebb_end_step();
	window = ebb_half_ask(half, &scratch->ack, now_ns / 1000, packet->ack_seq, packet->window);
	before_bytes = half->head.payload_bytes - before_bytes;
	bpf_spin_unlock(&half->lock);
	EBB_COUNT(sent_bytes, before_bytes);
	ebb_apply(skb, packet, window);
}

#endif /* EBB_GATEWAY_UPLOAD_H */
