/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is not TCP: the UDP sockets of the cgroup, counted once each with the bytes that they
 * receive and send, and named where that can be told. No law acts on them.
 */
#ifndef EBB_DATAGRAMS_H
#define EBB_DATAGRAMS_H

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "common.h"
#include "kernel_types.h"
#include "packet.h"

#define EBB_IPPROTO_UDP 17
#define EBB_UDP_HEADER_BYTES 8
/* HTTP/3, which is nearly all of QUIC. */
#define EBB_QUIC_PORT 443
/* The header of uTP [BEP29]: of a SYN in version 1, and the number of its first extension. */
#define EBB_UTP_SYN 0x41
#define EBB_UTP_HEADER_BYTES 20
#define EBB_UTP_SYN_MAX_BYTES 38
#define EBB_UTP_MAX_EXTENSION 2

struct ebb_datagrams {
	u32 is_quic;
	u32 is_utp;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ebb_datagrams);
} ebb_datagrams SEC(".maps");

/* Where UDP begins, or 0 if it is something else. */
EBB_INLINE u32 ebb_udp_offset(struct __sk_buff *skb)
{
	u8 first, next;

	if (bpf_skb_load_bytes(skb, 0, &first, 1))
		return 0;
	if (first >> 4 == 4) {
		if (bpf_skb_load_bytes(skb, __builtin_offsetof(struct ebb_ipv4, protocol), &next,
				       1))
			return 0;
		return next == EBB_IPPROTO_UDP ? (first & 15) * 4 : 0;
	}
	if (bpf_skb_load_bytes(skb, __builtin_offsetof(struct ebb_ipv6, next_header), &next, 1))
		return 0;
	return next == EBB_IPPROTO_UDP ? sizeof(struct ebb_ipv6) : 0;
}

EBB_INLINE void ebb_name_datagram(struct __sk_buff *skb, u32 offset, u32 payload_bytes,
				  struct ebb_datagrams *seen)
{
	u16 ports[2];
	u8 start[2];

	if (!seen->is_quic && !bpf_skb_load_bytes(skb, offset, ports, sizeof(ports)) &&
	    (ports[0] == bpf_htons(EBB_QUIC_PORT) || ports[1] == bpf_htons(EBB_QUIC_PORT))) {
		seen->is_quic = 1;
		EBB_COUNT(quic_sockets, 1);
	}
	if (seen->is_quic || seen->is_utp || payload_bytes < EBB_UTP_HEADER_BYTES ||
	    payload_bytes > EBB_UTP_SYN_MAX_BYTES)
		return;
	if (!bpf_skb_load_bytes(skb, offset + EBB_UDP_HEADER_BYTES, start, sizeof(start)) &&
	    start[0] == EBB_UTP_SYN && start[1] <= EBB_UTP_MAX_EXTENSION) {
		seen->is_utp = 1;
		EBB_COUNT(utp_sockets, 1);
	}
}

/* Counts a packet of the cgroup if it is UDP from or to another machine. */
EBB_INLINE void ebb_count_datagram(struct __sk_buff *skb, int is_sent)
{
	struct bpf_sock *sk = skb->sk;
	struct ebb_datagrams *seen;
	u32 offset, payload_bytes;

	if (!sk || config.is_marked_only || config.is_ruled || skb->ifindex == EBB_LOOPBACK_IFINDEX)
		return;
	sk = bpf_sk_fullsock(sk);
	if (!sk || sk->protocol != EBB_IPPROTO_UDP)
		return;
	offset = ebb_udp_offset(skb);
	if (!offset || skb->len < offset + EBB_UDP_HEADER_BYTES)
		return;
	payload_bytes = skb->len - offset - EBB_UDP_HEADER_BYTES;
	seen = bpf_sk_storage_get(&ebb_datagrams, sk, 0, 0);
	if (!seen) {
		seen = bpf_sk_storage_get(&ebb_datagrams, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!seen)
			return;
		EBB_COUNT(udp_sockets, 1);
	}
	if (is_sent)
		EBB_COUNT(udp_sent_bytes, payload_bytes);
	else
		EBB_COUNT(udp_received_bytes, payload_bytes);
	ebb_name_datagram(skb, offset, payload_bytes, seen);
}

SEC("cgroup_skb/egress")
int ebb_egress(struct __sk_buff *skb)
{
	if (ebb_is_leased(bpf_ktime_get_ns()))
		ebb_count_datagram(skb, 1);
	return 1;
}

#endif /* EBB_DATAGRAMS_H */
