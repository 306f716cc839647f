/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the packet in a frame, and whose it is. */
#ifndef EBB_LINK_H
#define EBB_LINK_H

#include "maps.h"

#define EBB_ETHERNET_BYTES 14u
#define EBB_ETHERNET_KIND 12u
#define EBB_TAG_BYTES 4u
#define EBB_MOST_TAGS 2u
#define EBB_KIND_IPV4 0x0800u
#define EBB_KIND_IPV6 0x86ddu
#define EBB_KIND_TAG 0x8100u
#define EBB_KIND_OUTER_TAG 0x88a8u

#define EBB_IPPROTO_UDP 17
#define EBB_QUIC_PORT 443u
/* [RFC791 §3.1] More fragments follow, or this one is not the first. */
#define EBB_IS_FRAGMENT 0x3fffu
#define EBB_IPPROTO_FRAGMENT 44
/* ::ffff:a.b.c.d */
#define EBB_MAPPED_WORD 2u
#define EBB_MAPPED 0xffffu
/* Headers of a link, IP and TCP as long as they usually are. */
#define EBB_HEADERS_BYTES 128u

/* The packet's offset in the frame, behind its tags; 0xffff where there is none of IP. */
EBB_INLINE u32 ebb_network_offset(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	u32 offset = EBB_ETHERNET_BYTES;
	u16 *kind;

	if (!config.link_bytes)
		return 0;
	kind = data + EBB_ETHERNET_KIND;
	if ((void *)(kind + 1) > end)
		return 0xffff;
	for (u32 i = 0; i < EBB_MOST_TAGS; i++) {
		if (*kind != bpf_htons(EBB_KIND_TAG) && *kind != bpf_htons(EBB_KIND_OUTER_TAG))
			break;
		kind += EBB_TAG_BYTES / sizeof(*kind);
		offset += EBB_TAG_BYTES;
		if ((void *)(kind + 1) > end)
			return 0xffff;
	}
	return *kind == bpf_htons(EBB_KIND_IPV4) || *kind == bpf_htons(EBB_KIND_IPV6) ? offset
										      : 0xffff;
}

/* What may be looked at is the first part of a packet alone: makes that long enough. */
EBB_INLINE void ebb_pull_headers(struct __sk_buff *skb)
{
	u32 wanted_bytes = skb->len < EBB_HEADERS_BYTES ? skb->len : EBB_HEADERS_BYTES;

	if (skb->data_end - skb->data < wanted_bytes)
		bpf_skb_pull_data(skb, wanted_bytes);
}

EBB_INLINE void ebb_map_address(u32 *words, u32 address)
{
	words[0] = 0;
	words[1] = 0;
	words[EBB_MAPPED_WORD] = bpf_htonl(EBB_MAPPED);
	words[EBB_MAPPED_WORD + 1] = address;
}

EBB_INLINE u32 ebb_is_mapped(const u32 *words)
{
	return !(words[0] | words[1] | (words[EBB_MAPPED_WORD] ^ bpf_htonl(EBB_MAPPED)));
}

/* Counts what is no TCP; the transport header's first bytes are its ports. */
EBB_INLINE void ebb_count_other(struct __sk_buff *skb, u32 protocol, u32 offset)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	u16 *ports;

	if (protocol != EBB_IPPROTO_UDP || offset > EBB_HEADERS_BYTES)
		return;
	ports = data + offset;
	if ((void *)(ports + 2) > end)
		return;
	EBB_COUNT(udp_bytes, skb->len);
	if (ports[0] == bpf_htons(EBB_QUIC_PORT) || ports[1] == bpf_htons(EBB_QUIC_PORT))
		EBB_COUNT(quic_bytes, skb->len);
}

/*
 * The ends' addresses; 0 if it is no whole packet of TCP.
 * Long because both kinds of addresses are read behind the same look at the packet's end.
 */
EBB_INLINE int ebb_read_addresses(struct __sk_buff *skb, u32 offset, u32 is_from_client,
				  struct ebb_connection *key)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	u32 *source = is_from_client ? key->client : key->remote;
	u32 *destination = is_from_client ? key->remote : key->client;
	struct ebb_ipv4 *ipv4;
	struct ebb_ipv6 *ipv6;

	if (offset > EBB_MOST_LINK_BYTES)
		return 0;
	ipv4 = data + offset;
	ipv6 = data + offset;
	if ((void *)(ipv4 + 1) > end)
		return 0;
	if (ipv4->version_length >> 4 == 4) {
		if (ipv4->protocol != EBB_IPPROTO_TCP) {
			ebb_count_other(skb, ipv4->protocol,
					offset + (ipv4->version_length & 15) * 4);
			return 0;
		}
		if (ipv4->fragment & bpf_htons(EBB_IS_FRAGMENT)) {
			EBB_COUNT(fragments, 1);
			return 0;
		}
		ebb_map_address(source, ipv4->source);
		ebb_map_address(destination, ipv4->destination);
		return 1;
	}
	if ((void *)(ipv6 + 1) > end || ipv4->version_length >> 4 != 6)
		return 0;
	if (ipv6->next_header == EBB_IPPROTO_FRAGMENT) {
		/* The header behind it says first what is in pieces. */
		const u8 *protocol = (const u8 *)(ipv6 + 1);

		if ((void *)(protocol + 1) <= end && *protocol == EBB_IPPROTO_TCP)
			EBB_COUNT(fragments, 1);
	}
	if (ipv6->next_header == EBB_IPPROTO_UDP) {
		ebb_count_other(skb, EBB_IPPROTO_UDP, offset + sizeof(*ipv6));
		return 0;
	}
	for (u32 i = 0; i < EBB_ADDRESS_WORDS; i++) {
		source[i] = ipv6->source[i];
		destination[i] = ipv6->destination[i];
	}
	return 1;
}

/* Reads the packet and whose connection it is of; 0 if it is none of TCP. */
EBB_INLINE int ebb_read_frame(struct __sk_buff *skb, u32 is_from_client,
			      struct ebb_scratch *scratch)
{
	struct ebb_packet *packet = &scratch->packet;
	struct ebb_tcp *tcp;
	u32 offset = ebb_network_offset(skb), client_port;

	if (offset == 0xffff)
		return 0;
	if (!ebb_read_addresses(skb, offset, is_from_client, &scratch->ends))
		return 0;
	if (!ebb_read_headers(skb, offset, packet))
		return 0;
	offset = packet->tcp_offset;
	if (offset > EBB_HEADERS_BYTES)
		return 0;
	tcp = (void *)(long)skb->data + offset;
	if ((void *)(tcp + 1) > (void *)(long)skb->data_end)
		return 0;
	client_port = bpf_ntohs(is_from_client ? tcp->source : tcp->destination);
	scratch->ends.ports =
		client_port << 16 | bpf_ntohs(is_from_client ? tcp->destination : tcp->source);
	scratch->ends.interface = skb->ifindex;
	scratch->number = ebb_connection_number(&scratch->ends, config.secret);
	return 1;
}

#endif /* EBB_LINK_H */
