// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The gateway's programs: on an interface behind which clients are, a law is told of the data of
 * their background connections as it passes, and the windows in their acknowledgements are made
 * smaller as it says.
 *
 * They drop, delay and redirect nothing, leave every packet to the programs behind them, and act
 * only while the owner's lease lasts.
 */
#include "calls.h"
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

/* ---- laws ---- */

EBB_INLINE u32 ebb_scale(const struct ebb_seen *seen, u32 is_of_client)
{
	if (!(seen->flags & EBB_HAS_SCALES))
		return 0;
	return is_of_client ? seen->client_scale : seen->remote_scale;
}

/*
 * Begins a law by an acknowledgement of the receiving end's; answers whether there was room. The
 * other end sends no more than both can take.
 */
EBB_INLINE int ebb_begin(struct ebb_scratch *scratch, struct ebb_seen *seen, u32 is_upload)
{
	struct ebb_packet *packet = &scratch->packet;
	struct ebb_start *start = &scratch->start;

	if (seen->flags & EBB_HAS_NO_ROOM)
		return 0;
	start->now_us = scratch->now_ns / EBB_NS_PER_US;
	start->mss_bytes = (u32)ebb_min(seen->client_mss_bytes, seen->remote_mss_bytes);
	start->rcv_nxt = packet->ack_seq;
	start->has_timestamps = packet->has_timestamps;
	/* Of what is sent the law is given another clock than the sender's. */
	start->tsval = is_upload ? 0 : packet->tsecr;
	scratch->scale = ebb_scale(seen, !is_upload);
	scratch->uses_ecn = (seen->flags & EBB_USES_ECN) != 0;
	if (!ebb_call_begin(is_upload)) {
		seen->flags |= EBB_HAS_NO_ROOM;
		return 0;
	}
	seen->flags |= is_upload ? EBB_HAS_UPLOAD : EBB_HAS_DOWNLOAD;
	return 1;
}

/* The client acknowledges: its window is what the law says. */
EBB_INLINE void ebb_on_download_ack(struct __sk_buff *skb, struct ebb_scratch *scratch,
				    struct ebb_seen *seen)
{
	int window = EBB_NO_HALF;

	if (seen->flags & EBB_HAS_DOWNLOAD)
		window = ebb_call_answer(0);
	if (window == EBB_NO_HALF && ebb_begin(scratch, seen, 0))
		window = ebb_call_answer(0);
	if (window != EBB_NO_HALF)
		ebb_apply(skb, &scratch->packet, (u32)window);
}

/* Data for the client. */
EBB_INLINE void ebb_on_download_data(struct __sk_buff *skb, struct ebb_scratch *scratch)
{
	if (!scratch->packet.payload_bytes)
		return;
	scratch->gso_size = skb->gso_size;
	scratch->gso_segs = skb->gso_segs;
	if (ebb_call_hear(0) == EBB_NO_HALF)
		return;
	EBB_COUNT(received_bytes, scratch->packet.payload_bytes);
	EBB_COUNT_OF_RULE(scratch->bundle, received_bytes, scratch->packet.payload_bytes);
}

/* An acknowledgement for the client: the law hears what it tells, and says its window. */
EBB_INLINE void ebb_on_upload_ack(struct __sk_buff *skb, struct ebb_scratch *scratch,
				  struct ebb_seen *seen)
{
	int window = EBB_NO_HALF;

	ebb_look_at(scratch, 1);
	if (seen->flags & EBB_HAS_UPLOAD)
		window = ebb_call_hear(1);
	if (window == EBB_NO_HALF && ebb_begin(scratch, seen, 1))
		window = ebb_call_hear(1);
	ebb_look_at(scratch, 0);
	if (window == EBB_NO_HALF)
		return;
	EBB_COUNT(sent_bytes, scratch->newly_bytes);
	EBB_COUNT_OF_RULE(scratch->bundle, sent_bytes, scratch->newly_bytes);
	ebb_apply(skb, &scratch->packet, (u32)window);
}

/* ---- both directions ---- */

EBB_INLINE void ebb_govern(struct __sk_buff *skb, struct ebb_scratch *scratch,
			   struct ebb_seen *seen, u32 is_from_client)
{
	struct ebb_packet *packet = &scratch->packet;

	scratch->now_ns = bpf_ktime_get_ns();
	if (!ebb_is_leased(scratch->now_ns))
		return;
	packet->tsval = 0;
	packet->tsecr = 0;
	packet->has_timestamps = 0;
	ebb_read_timestamps(skb, packet);
	scratch->bundle = seen->bundle;
	scratch->is_upload = 0;
	ebb_end_step();
	if (is_from_client) {
		if (packet->is_data && seen->flags & EBB_HAS_UPLOAD)
			ebb_on_upload_data(scratch);
		if (packet->flags & EBB_TCP_FLAG_ACK)
			ebb_on_download_ack(skb, scratch, seen);
		return;
	}
	if (seen->flags & EBB_HAS_DOWNLOAD)
		ebb_on_download_data(skb, scratch);
	if (ebb_is_upload(seen) && packet->flags & EBB_TCP_FLAG_ACK)
		ebb_on_upload_ack(skb, scratch, seen);
}

EBB_INLINE void ebb_pass(struct __sk_buff *skb, u32 is_from_client)
{
	const u8 both = EBB_SYN_OF_CLIENT | EBB_SYN_OF_REMOTE;
	struct ebb_scratch *scratch = ebb_scratch();
	struct ebb_seen *seen;
	u32 is_its;

	if (!scratch)
		return;
	ebb_pull_headers(skb);
	if (!ebb_read_frame(skb, is_from_client, scratch))
		return;
	ebb_end_step();
	seen = bpf_map_lookup_elem(&ebb_connections, &scratch->number);
	is_its = seen && ebb_is_same(&seen->ends, &scratch->ends);
	if (scratch->packet.flags & EBB_TCP_FLAG_SYN) {
		ebb_on_syn(skb, scratch, seen, is_its, is_from_client);
		return;
	}
	if (!seen) {
		ebb_leave_alone(scratch);
		return;
	}
	if (!is_its || (seen->flags & both) != both)
		return;
	if (scratch->packet.flags & EBB_TCP_FLAG_RST) {
		ebb_end_halves(scratch);
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
