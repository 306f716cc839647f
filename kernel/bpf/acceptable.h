/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether TCP will take a packet for its connection's. Programs of ingress run
 * before it asks: anybody who knows addresses and ports could tell the law
 * whatever he wants.
 */
#ifndef EBB_ACCEPTABLE_H
#define EBB_ACCEPTABLE_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "kernel_types.h"
#include "math.h"
#include "packet.h"

/* What is sent again lies behind, by the window of a round trip ago at the
 * most: this at least. */
#define EBB_LEAST_BEHIND_BYTES (1u << 20)
/* [RFC7323 §5.5] A timestamp that is older than this is not compared: the clock
 * may have wrapped. */
#define EBB_PAWS_S (24u * 24u * 60u * 60u)
/* [RFC7323 §5.3] Linux lets the clock be behind by so much. */
#define EBB_PAWS_TICKS 1
#define EBB_NS_PER_S 1000000000ull

/* A step of the sum, and how many of them the longest packet has that is
 * summed: 9000 and more. */
#define EBB_CHECKSUM_STEP_BYTES 64u
#define EBB_CHECKSUM_STEPS 144u
/* What a right checksum makes of the sum. */
#define EBB_CHECKSUM_RIGHT 0xffffu

/* Between what may come again and the right edge of what we have advertised. */
EBB_INLINE int ebb_is_in_window(const struct tcp_sock *tp, const struct ebb_packet *packet)
{
	u32 end_seq = packet->seq + packet->payload_bytes;
	u32 behind_bytes = (u32)ebb_max(tp->rcv_wnd, EBB_LEAST_BEHIND_BYTES);

	return !ebb_before32(packet->seq, tp->rcv_nxt - behind_bytes) &&
	       !ebb_before32(tp->rcv_wup + tp->rcv_wnd, end_seq);
}

/* Protection against wrapped sequence numbers: a timestamp before the last that
 * counted. */
EBB_INLINE int ebb_fails_paws(const struct tcp_sock *tp, const struct ebb_packet *packet,
			      u64 now_ns)
{
	u32 recent = tp->rx_opt.ts_recent, heard_s = tp->rx_opt.ts_recent_stamp;

	if (!packet->has_timestamps || !recent || (s32)(recent - packet->tsval) <= EBB_PAWS_TICKS)
		return 0;
	return (u32)(now_ns / EBB_NS_PER_S) - heard_s < EBB_PAWS_S;
}

EBB_INLINE u64 ebb_sum_words(const u32 *words)
{
	u64 sum = 0;

	for (u32 i = 0; i < EBB_CHECKSUM_STEP_BYTES / sizeof(u32); i++)
		sum += words[i];
	return sum;
}

EBB_INLINE u32 ebb_fold(u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32 & 0xffff) + (sum >> 48);
	sum = (sum & 0xffff) + (sum >> 16);
	return (u32)((sum & 0xffff) + (sum >> 16));
}

/*
 * Adds what stands from an offset to the packet's end to a sum, as 16 bits
 * each: the order of bytes cancels. Right, if it cannot be read. A function
 * that the verifier checks once.
 */
__attribute__((noinline)) u32 ebb_sum_packet(struct __sk_buff *skb, u32 offset, u64 sum)
{
	u32 words[EBB_CHECKSUM_STEP_BYTES / sizeof(u32)] = {};
	u32 left_bytes;

	for (u32 step = 0; step < EBB_CHECKSUM_STEPS; step++) {
		if (skb->len < offset + EBB_CHECKSUM_STEP_BYTES)
			break;
		if (bpf_skb_load_bytes(skb, offset, words, sizeof(words)))
			return EBB_CHECKSUM_RIGHT;
		sum += ebb_sum_words(words);
		offset += EBB_CHECKSUM_STEP_BYTES;
	}
	__builtin_memset(words, 0, sizeof(words));
	left_bytes = (skb->len - offset) & (EBB_CHECKSUM_STEP_BYTES - 1);
	if (left_bytes) {
		/* The verifier of 6.1 forgets that it is not 0; the compiler would leave this out. */
		asm volatile("" : "+r"(left_bytes));
		left_bytes = ((left_bytes - 1) & (EBB_CHECKSUM_STEP_BYTES - 1)) + 1;
		if (bpf_skb_load_bytes(skb, offset, words, left_bytes))
			return EBB_CHECKSUM_RIGHT;
	}
	return ebb_fold(sum + ebb_sum_words(words));
}

/* [RFC9293 §3.1] The checksum of the segment with its pseudo-header. */
EBB_INLINE int ebb_has_right_checksum(struct __sk_buff *skb, const struct ebb_packet *packet)
{
	u32 tcp_bytes = skb->len - packet->tcp_offset;
	u64 sum = packet->addresses_sum + bpf_htons(EBB_IPPROTO_TCP);

	if (tcp_bytes >= EBB_CHECKSUM_STEPS * EBB_CHECKSUM_STEP_BYTES)
		return 1;
	sum += bpf_htons((u16)tcp_bytes);
	return ebb_sum_packet(skb, packet->tcp_offset, sum) == EBB_CHECKSUM_RIGHT;
}

/*
 * What a device, GRO, or TCP on its way here has checked is not checked again.
 * Of the rest, what is too long for us to add up counts as right: devices that
 * put together that much have checked it.
 */
EBB_INLINE int ebb_is_undamaged(struct __sk_buff *skb, const struct ebb_packet *packet)
{
	const struct sk_buff *whole = (const struct sk_buff *)skb;
	u32 summed = (u32)BPF_CORE_READ_BITFIELD_PROBED(whole, ip_summed);

	if (summed == EBB_CHECKSUM_UNNECESSARY || summed == EBB_CHECKSUM_PARTIAL)
		return 1;
	if (BPF_CORE_READ_BITFIELD_PROBED(whole, csum_valid))
		return 1;
	return ebb_has_right_checksum(skb, packet);
}

/* Cheapest first; a checksum is only computed for what is in the window. */
EBB_INLINE int ebb_is_acceptable(struct __sk_buff *skb, const struct tcp_sock *tp,
				 const struct ebb_packet *packet, u64 now_ns)
{
	return ebb_is_in_window(tp, packet) && !ebb_fails_paws(tp, packet, now_ns) &&
	       ebb_is_undamaged(skb, packet);
}

#endif /* EBB_ACCEPTABLE_H */
