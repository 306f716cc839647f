/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What clients receive: what the law is told of data, and what acknowledgements tell. */
#ifndef EBB_GATEWAY_DOWNLOAD_H
#define EBB_GATEWAY_DOWNLOAD_H

#include "half.h"

/* Data for the client; answers whether the law is to hear of it, and has its input ready then. */
EBB_INLINE u32 ebb_describe_download(struct ebb_half *half, const struct ebb_scratch *scratch)
{
	const struct ebb_packet *packet = &scratch->packet;
	u32 bytes = packet->payload_bytes;
	u32 segment_bytes =
		ebb_segment_bytes(half->head.guessed_mss_bytes, bytes, scratch->gso_size);
	u32 segments = ebb_segments(bytes, segment_bytes, scratch->gso_segs);
	struct ebb_segment *told = &half->segment;

	if (!ebb_half_expects(half, packet->seq, bytes))
		return 0;
	ebb_half_note_size(half, bytes, segments, segment_bytes);
	told->seq = packet->seq;
	told->payload_bytes = bytes;
	told->segments = segments;
	told->tsval = packet->tsval;
	told->tsecr =
		ebb_echoes_find(&half->echoes, scratch->now_ns / EBB_NS_PER_US, packet->tsecr);
	told->has_timestamps = packet->has_timestamps;
	told->is_ce = packet->is_ce && half->head.uses_ecn;
	return 1;
}

/* What fills a hole is followed by what the client acknowledges. */
EBB_INLINE void ebb_follow_download(struct ebb_half *half, const struct ebb_packet *packet)
{
	u32 end_seq = packet->seq + packet->payload_bytes;

	if (!ebb_before32(half->head.next_seq, packet->seq) &&
	    ebb_before32(half->head.next_seq, end_seq))
		half->head.next_seq = end_seq;
}

/* The client acknowledges. */
EBB_INLINE void ebb_note_download_ack(struct ebb_half *half, const struct ebb_scratch *scratch)
{
	const struct ebb_packet *packet = &scratch->packet;

	if (packet->has_timestamps)
		ebb_echoes_note(&half->echoes, scratch->now_ns / EBB_NS_PER_US, packet->tsval);
	if (ebb_before32(half->head.next_seq, packet->ack_seq))
		half->head.next_seq = packet->ack_seq;
}

#endif /* EBB_GATEWAY_DOWNLOAD_H */
