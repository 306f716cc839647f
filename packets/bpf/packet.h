/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads an arriving packet: IPv4 or IPv6, TCP, the timestamp option. */
#ifndef EBB_PACKET_H
#define EBB_PACKET_H

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "receiver_contract.h"

#define EBB_IPPROTO_TCP 6

#define EBB_MAX_EXTENSIONS 6
#define EBB_MAX_OPTIONS 16

#define EBB_TCP_FLAG_SYN 0x02u
#define EBB_TCP_FLAG_RST 0x04u

/* NOP, NOP, timestamps, length 10: what everybody sends on a data segment. */
#define EBB_USUAL_TIMESTAMPS 0x0101080au

struct ebb_ipv4 {
	u8 version_length;
	u8 tos;
	u16 total_length;
	u16 id;
	u16 fragment;
	u8 ttl;
	u8 protocol;
	u16 checksum;
	u32 source;
	u32 destination;
};

struct ebb_ipv6 {
	u32 version_class_label;
	u16 payload_length;
	u8 next_header;
	u8 hop_limit;
	u32 source[4];
	u32 destination[4];
};

struct ebb_tcp {
	u16 source;
	u16 destination;
	u32 seq;
	u32 ack_seq;
	u8 data_offset;
	u8 flags;
	u16 window;
	u16 checksum;
	u16 urgent;
};

struct ebb_packet {
	u64 addresses_sum; /* both ends', as the checksum takes them */
	u32 tcp_offset;
	u32 seq;
	u32 payload_bytes;
	u32 tsval;
	u32 tsecr;
	u8 has_timestamps;
	u8 is_ce;
	u8 is_data;
	u8 reserved[5];
};

/* Skips IPv6 extension headers; the answer is the offset of TCP, or 0. */
EBB_INLINE u32 ebb_skip_extensions(const struct __sk_buff *skb, u8 next_header)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	u32 offset = sizeof(struct ebb_ipv6);

	for (int i = 0; i < EBB_MAX_EXTENSIONS; i++) {
		u8 *extension;

		if (next_header == EBB_IPPROTO_TCP)
			return offset;
		/* Hop-by-hop, routing, destination options; fragments are whole here. */
		if (next_header != 0 && next_header != 43 && next_header != 60)
			return 0;
		if (offset > 512)
			return 0;
		extension = (u8 *)data + offset;
		if ((void *)(extension + 2) > end)
			return 0;
		next_header = extension[0];
		offset += ((u32)extension[1] + 1) * 8;
	}
	return 0;
}

/* Finds the timestamp option in any layout of the options. */
static __noinline int ebb_find_timestamps(struct __sk_buff *skb, u32 offset, u32 end_offset,
					  struct ebb_packet *packet)
{
	u8 option[10];

	if (!packet)
		return 0;
	for (int i = 0; i < EBB_MAX_OPTIONS; i++) {
		if (offset >= end_offset || bpf_skb_load_bytes(skb, offset, option, 1))
			return 0;
		if (option[0] == 0)
			return 0;
		if (option[0] == 1) {
			offset++;
			continue;
		}
		if (bpf_skb_load_bytes(skb, offset, option, 2) || option[1] < 2)
			return 0;
		if (option[0] == 8 && option[1] == 10) {
			if (offset + 10 > end_offset || bpf_skb_load_bytes(skb, offset, option, 10))
				return 0;
			packet->tsval = (u32)option[2] << 24 | (u32)option[3] << 16 |
					(u32)option[4] << 8 | option[5];
			packet->tsecr = (u32)option[6] << 24 | (u32)option[7] << 16 |
					(u32)option[8] << 8 | option[9];
			return 1;
		}
		offset += option[1];
	}
	return 0;
}

EBB_INLINE int ebb_read_tcp(struct __sk_buff *skb, u32 offset, struct ebb_packet *packet)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ebb_tcp *tcp;
	u32 header_bytes;
	u32 *option;

	if (offset > 1024)
		return 0;
	tcp = data + offset;
	if ((void *)(tcp + 1) > end)
		return 0;
	header_bytes = (tcp->data_offset >> 4) * 4;
	if (header_bytes < sizeof(*tcp) || skb->len < offset + header_bytes)
		return 0;
	packet->tcp_offset = offset;
	packet->seq = bpf_ntohl(tcp->seq);
	packet->payload_bytes = skb->len - offset - header_bytes;
	packet->is_data =
		packet->payload_bytes && !(tcp->flags & (EBB_TCP_FLAG_SYN | EBB_TCP_FLAG_RST));
	if (!packet->is_data || header_bytes < sizeof(*tcp) + 10)
		return 1;

	option = (u32 *)(tcp + 1);
	if ((void *)(option + 3) <= end && option[0] == bpf_htonl(EBB_USUAL_TIMESTAMPS)) {
		packet->tsval = bpf_ntohl(option[1]);
		packet->tsecr = bpf_ntohl(option[2]);
		packet->has_timestamps = 1;
		return 1;
	}
	packet->has_timestamps =
		ebb_find_timestamps(skb, offset + sizeof(*tcp), offset + header_bytes, packet);
	return 1;
}

/*
 * Reads the packet; 0 if it is no TCP or cannot be read. A function of its own, which the
 * verifier checks once: what follows does not depend on the ways through it.
 */
__attribute__((noinline)) int ebb_read_packet(struct __sk_buff *skb, struct ebb_packet *packet)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ebb_ipv4 *ipv4 = data;
	struct ebb_ipv6 *ipv6 = data;
	u32 offset;

	if (!packet || (void *)(ipv4 + 1) > end)
		return 0;
	if (ipv4->version_length >> 4 == 4) {
		if (ipv4->protocol != EBB_IPPROTO_TCP)
			return 0;
		packet->is_ce = (ipv4->tos & 3) == 3;
		packet->addresses_sum = (u64)ipv4->source + ipv4->destination;
		offset = (ipv4->version_length & 15) * 4;
	} else {
		if ((void *)(ipv6 + 1) > end)
			return 0;
		packet->is_ce = (bpf_ntohl(ipv6->version_class_label) >> 20 & 3) == 3;
		for (u32 i = 0; i < 4; i++)
			packet->addresses_sum += (u64)ipv6->source[i] + ipv6->destination[i];
		offset = ebb_skip_extensions(skb, ipv6->next_header);
	}
	return offset ? ebb_read_tcp(skb, offset, packet) : 0;
}

#endif /* EBB_PACKET_H */
