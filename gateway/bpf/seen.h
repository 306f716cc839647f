/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is known of every connection that passes: its handshake, and which rule is for it. */
#ifndef EBB_SEEN_H
#define EBB_SEEN_H

#include "link.h"

#define EBB_OPTION_MSS 2u
#define EBB_OPTION_SCALE 3u
/* [RFC7323 §2.3] The largest; more is taken for it. */
#define EBB_MOST_SCALE 14u
/* [RFC9293 §3.7.1] Where no option says. */
#define EBB_USUAL_MSS_BYTES 536u
/* Without data for so long a transfer has paused. */
#define EBB_PAUSE_S 10u

struct ebb_syn_options {
	u32 mss_bytes;
	u32 scale;
	u32 has_scale;
};

static __noinline int ebb_read_syn(struct __sk_buff *skb, u32 offset, u32 end_offset,
				   struct ebb_syn_options *found)
{
	u8 option[4];

	if (!found)
		return 0;
	for (int i = 0; i < EBB_MAX_OPTIONS; i++) {
		u32 bytes = ebb_read_option(skb, offset, end_offset, option);

		if (!bytes)
			return 0;
		if (option[0] == EBB_OPTION_MSS && bytes == 4 &&
		    !bpf_skb_load_bytes(skb, offset, option, 4))
			found->mss_bytes = (u32)option[2] << 8 | option[3];
		if (option[0] == EBB_OPTION_SCALE && bytes == 3 &&
		    !bpf_skb_load_bytes(skb, offset, option, 3)) {
			found->scale = option[2] < EBB_MOST_SCALE ? option[2] : EBB_MOST_SCALE;
			found->has_scale = 1;
		}
		offset += bytes;
	}
	return 0;
}

/* Lets a connection's laws go. */
EBB_INLINE void ebb_forget_halves(struct ebb_scratch *scratch, struct ebb_seen *seen)
{
	if (!(seen->flags & (EBB_HAS_DOWNLOAD | EBB_HAS_UPLOAD)))
		return;
	bpf_map_delete_elem(&ebb_halves, &scratch->number);
	ebb_look_at(scratch, 1);
	bpf_map_delete_elem(&ebb_halves, &scratch->number);
	ebb_look_at(scratch, 0);
	seen->flags &= ~(EBB_HAS_DOWNLOAD | EBB_HAS_UPLOAD);
}

EBB_INLINE void ebb_end_half(const u64 *number)
{
	struct ebb_half *half = bpf_map_lookup_elem(&ebb_halves, number);

	if (half)
		half->head.is_ending = 1;
}

/*
 * Of a connection that was reset, what is under way may come still, and would begin its laws anew: they
 * stay until nothing has come for a while. Where the reset was forged, it goes on under them.
 */
EBB_INLINE void ebb_end_halves(struct ebb_scratch *scratch)
{
	ebb_end_half(&scratch->number);
	ebb_look_at(scratch, 1);
	ebb_end_half(&scratch->number);
	ebb_look_at(scratch, 0);
}

EBB_INLINE void ebb_note_syn(struct __sk_buff *skb, struct ebb_packet *packet,
			     struct ebb_seen *seen, u32 is_from_client)
{
	struct ebb_syn_options options = {};
	u32 offset = packet->tcp_offset + sizeof(struct ebb_tcp);
	u32 is_first = !(packet->flags & EBB_TCP_FLAG_ACK);

	/* An initial value would be a section without a variable, which Linux 5.10 refuses. */
	options.mss_bytes = EBB_USUAL_MSS_BYTES;
	ebb_read_syn(skb, offset, packet->tcp_offset + packet->header_bytes, &options);
	if (is_from_client) {
		seen->client_mss_bytes = (u16)options.mss_bytes;
		seen->client_scale = (u8)options.scale;
		seen->flags |= EBB_SYN_OF_CLIENT;
	} else {
		seen->remote_mss_bytes = (u16)options.mss_bytes;
		seen->remote_scale = (u8)options.scale;
		seen->flags |= EBB_SYN_OF_REMOTE;
	}
	/* The first one says whether it can, the other one whether both do. */
	if (is_first && options.has_scale)
		seen->flags |= EBB_HAS_SCALES;
	if (!is_first && !options.has_scale)
		seen->flags &= ~EBB_HAS_SCALES;
	if (!is_first && (packet->flags & EBB_TCP_FLAG_ECE))
		seen->flags |= EBB_USES_ECN;
}

#define EBB_SYN_OF_BOTH (EBB_SYN_OF_CLIENT | EBB_SYN_OF_REMOTE)

/* What was asked for again is answered: another connection has its ends from now on. */
EBB_INLINE struct ebb_seen *ebb_answer_again(struct ebb_scratch *scratch, struct ebb_seen *seen,
					     u32 asked)
{
	struct ebb_seen *again = bpf_map_lookup_elem(&ebb_asked_again, &scratch->number);

	if (!again || !ebb_is_same(&again->ends, &scratch->ends) ||
	    (again->flags & EBB_SYN_OF_BOTH) != asked)
		return seen;
	ebb_forget_halves(scratch, seen);
	bpf_map_update_elem(&ebb_connections, &scratch->number, again, BPF_ANY);
	bpf_map_delete_elem(&ebb_asked_again, &scratch->number);
	return bpf_map_lookup_elem(&ebb_connections, &scratch->number);
}

/*
 * A connection's first packets. An answer counts only to a question that was seen. A question that
 * comes again, or is forged, ends nothing before it is answered. What has its number and is not
 * itself makes room.
 */
EBB_INLINE void ebb_on_syn(struct __sk_buff *skb, struct ebb_scratch *scratch,
			   struct ebb_seen *seen, u32 is_its, u32 is_from_client)
{
	u32 asked = is_from_client ? EBB_SYN_OF_REMOTE : EBB_SYN_OF_CLIENT;
	struct ebb_seen fresh = {.ends = scratch->ends};

	if (scratch->packet.flags & EBB_TCP_FLAG_ACK) {
		/* One that comes again, or is forged, changes nothing. */
		if (!is_its)
			return;
		if ((seen->flags & EBB_SYN_OF_BOTH) == EBB_SYN_OF_BOTH)
			seen = ebb_answer_again(scratch, seen, asked);
		if (!seen || (seen->flags & EBB_SYN_OF_BOTH) != asked)
			return;
		EBB_COUNT(connections, 1);
		ebb_note_syn(skb, &scratch->packet, seen, is_from_client);
		return;
	}
	ebb_note_syn(skb, &scratch->packet, &fresh, is_from_client);
	if (is_its && (seen->flags & EBB_SYN_OF_BOTH) == EBB_SYN_OF_BOTH) {
		bpf_map_update_elem(&ebb_asked_again, &scratch->number, &fresh, BPF_ANY);
		return;
	}
	if (seen)
		ebb_forget_halves(scratch, seen);
	bpf_map_update_elem(&ebb_connections, &scratch->number, &fresh, BPF_ANY);
}

/* One that began before us, or was forgotten. */
EBB_INLINE void ebb_leave_alone(struct ebb_scratch *scratch)
{
	struct ebb_seen fresh = {.ends = scratch->ends, .flags = EBB_IS_LEFT_ALONE};

	if (!bpf_map_update_elem(&ebb_connections, &scratch->number, &fresh, BPF_NOEXIST))
		EBB_COUNT(without_scale, 1);
}

EBB_INLINE void ebb_read_mac(struct __sk_buff *skb, u32 is_from_client, u8 *mac)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	u8 *ethernet = data;

	if (!config.link_bytes || data + EBB_ETHERNET_BYTES > end)
		return;
	for (u32 i = 0; i < EBB_MAC_BYTES; i++)
		mac[i] = ethernet[(is_from_client ? EBB_MAC_BYTES : 0) + i];
}

/* Asks the rules, in a function that the verifier checks once. */
__attribute__((noinline)) int ebb_judge(u32 rule_count)
{
	struct ebb_scratch *scratch = ebb_scratch();

	if (!scratch)
		return 0;
	for (u32 place = 0; place < EBB_MAX_RULES; place++) {
		if (place >= rule_count)
			break;
		if (ebb_judge_by(&control.rules[place], place, &scratch->subject,
				 &scratch->verdict))
			break;
	}
	return 0;
}

EBB_INLINE void ebb_ask_rules(struct __sk_buff *skb, struct ebb_scratch *scratch,
			      struct ebb_seen *seen)
{
	struct ebb_subject *subject = &scratch->subject;
	struct ebb_verdict *verdict = &scratch->verdict;
	u8 bundle;

	for (u32 i = 0; i < EBB_ADDRESS_WORDS; i++) {
		subject->client[i] = scratch->ends.client[i];
		subject->remote[i] = scratch->ends.remote[i];
	}
	subject->code_points = seen->code_points;
	subject->moved_bytes = seen->moved_bytes;
	subject->mark = seen->mark;
	subject->interface = scratch->ends.interface;
	subject->remote_port = (u16)scratch->ends.ports;
	subject->unmet_flags = ebb_is_mapped(scratch->ends.client) ? EBB_RULE_IS_IPV6 : 0;
	for (u32 i = 0; i < EBB_MAC_BYTES; i++)
		subject->mac[i] = seen->mac[i];
	verdict->again_at_bytes = EBB_NEVER_BYTES;
	verdict->rule = 0;
	verdict->is_background = 0;
	seen->epoch = control.epoch;
	ebb_judge(control.rule_count);
	seen->again_at_bytes = verdict->again_at_bytes;
	seen->is_background = (u8)verdict->is_background;
	bundle = control.bundles[(verdict->rule - 1) & (EBB_MAX_RULES - 1)];
	/* Under another rule its law begins anew. */
	if (!seen->is_background || seen->bundle != bundle)
		ebb_forget_halves(scratch, seen);
	seen->bundle = bundle;
}

/* What a packet changes of what rules go by; answers whether they are to be asked again. */
EBB_INLINE u32 ebb_note_packet(struct __sk_buff *skb, struct ebb_packet *packet,
			       struct ebb_seen *seen, u32 is_from_client)
{
	u64 code_point = 1ull << (packet->tos >> 2), now = bpf_jiffies64();
	u32 is_new = seen->epoch != control.epoch;

	if (!seen->epoch)
		ebb_read_mac(skb, is_from_client, seen->mac);
	if (!(seen->code_points & code_point)) {
		seen->code_points |= code_point;
		is_new = 1;
	}
	if (skb->mark && skb->mark != seen->mark) {
		seen->mark = skb->mark;
		is_new = 1;
	}
	if (!packet->is_data)
		return is_new;
	if (now - seen->moved_at > (u64)config.jiffies_per_s * EBB_PAUSE_S) {
		is_new |= seen->moved_bytes != 0;
		seen->moved_bytes = 0;
	}
	seen->moved_at = now;
	seen->moved_bytes += packet->payload_bytes;
	if (is_from_client)
		seen->sent_bytes += packet->payload_bytes;
	return is_new || seen->moved_bytes >= seen->again_at_bytes;
}

#endif /* EBB_SEEN_H */
