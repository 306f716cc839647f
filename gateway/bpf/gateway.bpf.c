// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The gateway's programs: on an interface behind which clients are, a law is told of the data of
 * their background connections as it passes, and the windows in their acknowledgements are made
 * smaller as it says.
 *
 * They drop, delay and redirect nothing, leave every packet to the programs behind them, and act
 * only while the owner's lease lasts.
 */
#include "half.h"
#include "seen.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- windows ---- */

/* Puts another window into a packet's header, and mends the checksum. */
EBB_INLINE void ebb_rewrite(struct __sk_buff *skb, u32 tcp_offset, u32 old_window, u32 new_window)
{
	u16 old = bpf_htons((u16)old_window), new = bpf_htons((u16)new_window);
	u32 at = tcp_offset + __builtin_offsetof(struct ebb_tcp, window);

	if (bpf_l4_csum_replace(skb, tcp_offset + __builtin_offsetof(struct ebb_tcp, checksum), old,
				new, sizeof(new)))
		return;
	bpf_skb_store_bytes(skb, at, &new, sizeof(new), 0);
}

EBB_INLINE void ebb_apply(struct __sk_buff *skb, const struct ebb_packet *packet, u32 window)
{
	EBB_COUNT(windows, 1);
	if (window == packet->window)
		return;
	EBB_COUNT(rewritten, 1);
	ebb_rewrite(skb, packet->tcp_offset, packet->window, window);
}

/* ---- states of laws ---- */

/* A new one at the scratch's key, with nothing in it; none if there is no room. */
EBB_INLINE struct ebb_half *ebb_make_half(struct ebb_scratch *scratch)
{
	u32 zero = 0;
	struct ebb_blank *blank = bpf_map_lookup_elem(&ebb_blanks, &zero);

	if (!blank)
		return 0;
	if (bpf_map_update_elem(&ebb_halves, &scratch->key, blank, BPF_ANY)) {
		EBB_COUNT(without_room, 1);
		return 0;
	}
	EBB_COUNT(governed, 1);
	return bpf_map_lookup_elem(&ebb_halves, &scratch->key);
}

EBB_INLINE u32 ebb_scale(const struct ebb_seen *seen, u32 is_of_client)
{
	if (!(seen->flags & EBB_HAS_SCALES))
		return 0;
	return is_of_client ? seen->client_scale : seen->remote_scale;
}

/*
 * Begins a law by an acknowledgement of the receiving end's. The other end sends no more than
 * both can take.
 */
EBB_INLINE struct ebb_half *ebb_begin(struct ebb_scratch *scratch, struct ebb_seen *seen,
				      u32 is_upload, u64 now_ns)
{
	struct ebb_packet *packet = &scratch->packet;
	struct ebb_start *start = &scratch->start;
	struct ebb_half *half;

	if (seen->flags & EBB_HAS_NO_ROOM)
		return 0;
	half = ebb_make_half(scratch);
	if (!half) {
		seen->flags |= EBB_HAS_NO_ROOM;
		return 0;
	}
	seen->flags |= is_upload ? EBB_HAS_UPLOAD : EBB_HAS_DOWNLOAD;
	start->mss_bytes = (u32)ebb_min(seen->client_mss_bytes, seen->remote_mss_bytes);
	start->rcv_nxt = packet->ack_seq;
	start->has_timestamps = packet->has_timestamps;
	/* Of what is sent the law is given another clock than the sender's. */
	start->tsval = is_upload ? 0 : packet->tsecr;
	bpf_spin_lock(&half->lock);
	half->head.is_upload = is_upload != 0;
	half->head.scale = ebb_scale(seen, !is_upload);
	ebb_half_begin(half, seen, start, now_ns, packet->window);
	bpf_spin_unlock(&half->lock);
	return half;
}

/* ---- what clients receive ---- */

/* The client acknowledges: its window is what the law says. */
EBB_INLINE void ebb_on_download_ack(struct __sk_buff *skb, struct ebb_scratch *scratch,
				    struct ebb_seen *seen, u64 now_ns)
{
	struct ebb_packet *packet = &scratch->packet;
	struct ebb_half *half = 0;
	u32 window;

	if (seen->flags & EBB_HAS_DOWNLOAD)
		half = bpf_map_lookup_elem(&ebb_halves, &scratch->key);
	if (!half)
		half = ebb_begin(scratch, seen, 0, now_ns);
	if (!half)
		return;
	bpf_spin_lock(&half->lock);
	half->head.heard_ns = now_ns;
	if (packet->has_timestamps)
		ebb_echoes_note(&half->echoes, now_ns / 1000, packet->tsval);
	if (ebb_before32(half->head.next_seq, packet->ack_seq))
		half->head.next_seq = packet->ack_seq;
	half->head.is_ending |= (packet->flags & EBB_TCP_FLAG_FIN) != 0;
	ebb_end_step();
	window = ebb_half_ask(half, &scratch->ack, now_ns / 1000, packet->ack_seq, packet->window);
	bpf_spin_unlock(&half->lock);
	ebb_apply(skb, packet, window);
}

/* Data for the client. */
EBB_INLINE void ebb_on_download_data(struct __sk_buff *skb, struct ebb_scratch *scratch, u64 now_ns)
{
	struct ebb_packet *packet = &scratch->packet;
	struct ebb_half *half = bpf_map_lookup_elem(&ebb_halves, &scratch->key);
	u32 bytes = packet->payload_bytes, end_seq = packet->seq + bytes;
	u32 segment_bytes, segments;
	struct ebb_segment *told;

	if (!half || !bytes)
		return;
	segment_bytes = ebb_segment_bytes(half->head.guessed_mss_bytes, bytes, skb->gso_size);
	segments = ebb_segments(bytes, segment_bytes, skb->gso_segs);
	EBB_COUNT(received_bytes, bytes);
	bpf_spin_lock(&half->lock);
	half->head.heard_ns = now_ns;
	half->head.is_ending |= (packet->flags & EBB_TCP_FLAG_FIN) != 0;
	if (!ebb_half_expects(half, packet->seq, bytes)) {
		bpf_spin_unlock(&half->lock);
		return;
	}
	ebb_half_note_size(half, bytes, segments, segment_bytes);
	told = &half->segment;
	told->seq = packet->seq;
	told->payload_bytes = bytes;
	told->segments = segments;
	told->tsval = packet->tsval;
	told->tsecr = ebb_echoes_find(&half->echoes, now_ns / 1000, packet->tsecr);
	told->has_timestamps = packet->has_timestamps;
	told->is_ce = packet->is_ce && half->head.uses_ecn;
	ebb_end_step();
	ebb_half_tell(half, now_ns / 1000);
	ebb_end_step();
	/* What fills a hole is followed by what the client acknowledges. */
	if (!ebb_before32(half->head.next_seq, packet->seq) &&
	    ebb_before32(half->head.next_seq, end_seq))
		half->head.next_seq = end_seq;
	bpf_spin_unlock(&half->lock);
}

#include "upload.h"

/* ---- both directions ---- */

EBB_INLINE void ebb_govern(struct __sk_buff *skb, struct ebb_scratch *scratch,
			   struct ebb_seen *seen, u32 is_from_client)
{
	struct ebb_packet *packet = &scratch->packet;
	u64 now_ns = bpf_ktime_get_ns();

	if (!ebb_is_leased(now_ns))
		return;
	packet->tsval = 0;
	packet->tsecr = 0;
	packet->has_timestamps = 0;
	ebb_read_timestamps(skb, packet);
	ebb_end_step();
	if (is_from_client) {
		if (packet->is_data && seen->flags & EBB_HAS_UPLOAD)
			ebb_on_upload_data(scratch, now_ns);
		if (packet->flags & EBB_TCP_FLAG_ACK)
			ebb_on_download_ack(skb, scratch, seen, now_ns);
		return;
	}
	if (seen->flags & EBB_HAS_DOWNLOAD)
		ebb_on_download_data(skb, scratch, now_ns);
	if (ebb_is_upload(seen) && packet->flags & EBB_TCP_FLAG_ACK)
		ebb_on_upload_ack(skb, scratch, seen, now_ns);
}

EBB_INLINE void ebb_pass(struct __sk_buff *skb, u32 is_from_client)
{
	const u8 both = EBB_SYN_OF_CLIENT | EBB_SYN_OF_REMOTE;
	struct ebb_scratch *scratch;
	struct ebb_seen *seen;
	u32 zero = 0;

	scratch = bpf_map_lookup_elem(&ebb_scratches, &zero);
	if (!scratch)
		return;
	ebb_pull_headers(skb);
	if (!ebb_read_frame(skb, is_from_client, scratch))
		return;
	ebb_end_step();
	seen = bpf_map_lookup_elem(&ebb_connections, &scratch->key);
	if (scratch->packet.flags & EBB_TCP_FLAG_SYN) {
		ebb_on_syn(skb, scratch, seen, is_from_client);
		return;
	}
	if (!seen) {
		ebb_leave_alone(scratch);
		return;
	}
	if ((seen->flags & both) != both)
		return;
	if (scratch->packet.flags & EBB_TCP_FLAG_RST) {
		ebb_forget_halves(scratch, seen);
		return;
	}
	if (ebb_note_packet(skb, &scratch->packet, seen, is_from_client))
		ebb_ask_rules(skb, scratch, seen);
	ebb_end_step();
	if (seen->is_background)
		ebb_govern(skb, scratch, seen, is_from_client);
}

SEC("tc")
int ebb_from_lan(struct __sk_buff *skb)
{
	ebb_pass(skb, 1);
	return -1;
}

SEC("tc")
int ebb_to_lan(struct __sk_buff *skb)
{
	ebb_pass(skb, 0);
	return -1;
}
