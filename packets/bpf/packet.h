/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a packet: IPv4 or IPv6, TCP, the timestamp option. Where the packet begins with a header of
 * its link, an offset says where that of the network is.
 */
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

/* A function of its own, which the verifier checks once, whoever calls it with what. */
#ifndef EBB_PACKET_FUNCTION
#define EBB_PACKET_FUNCTION __attribute__((noinline))
#endif

/* No link has a longer header, tags included. */
#define EBB_MOST_LINK_BYTES 64u

/* Kinds of options; only these two have no length behind them. */
#define EBB_OPTION_END 0u
#define EBB_OPTION_NOP 1u
#define EBB_OPTION_TIMESTAMPS 8u
#define EBB_TIMESTAMPS_BYTES 10u

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
	u32 ack_seq;
	u32 header_bytes; /* of TCP, options included */
	u32 payload_bytes;
	u32 tsval;
	u32 tsecr;
	u8 has_timestamps;
	u8 is_ce;
	u8 is_data;
	u8 flags;   /* of TCP */
	u16 window; /* as it stands there, not scaled */
	u8 tos;     /* of IP, or the traffic class */
	u8 reserved[5];
};

/* Skips IPv6 extension headers from an offset on; the answer is the offset of TCP, or 0. */
EBB_INLINE u32 ebb_skip_extensions(const struct __sk_buff *skb, u32 offset, u8 next_header)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	for (int i = 0; i < EBB_MAX_EXTENSIONS; i++) {
		u8 *extension;

		if (next_header == EBB_IPPROTO_TCP)
			return offset;
		/* Hop-by-hop, routing, destination options; fragments are whole here. */
		if (next_header != 0 && next_header != 43 && next_header != 60)
			return 0;
		if (offset > 512 + EBB_MOST_LINK_BYTES)
			return 0;
		extension = (u8 *)data + offset;
		if ((void *)(extension + 2) > end)
			return 0;
		next_header = extension[0];
		offset += ((u32)extension[1] + 1) * 8;
	}
	return 0;
}

/*
 * Reads the kind and the length of an option, of which NOP's is 1, into its first bytes; answers
 * the length, or 0 behind the last option and where there is none.
 */
EBB_INLINE u32 ebb_read_option(struct __sk_buff *skb, u32 offset, u32 end_offset, u8 *option)
{
	if (offset >= end_offset || bpf_skb_load_bytes(skb, offset, option, 1) ||
	    option[0] == EBB_OPTION_END)
		return 0;
	if (option[0] == EBB_OPTION_NOP)
		return 1;
	if (bpf_skb_load_bytes(skb, offset, option, 2) || option[1] < 2)
		return 0;
	return option[1];
}

/* Finds the timestamp option in any layout of the options. */
static __noinline int ebb_find_timestamps(struct __sk_buff *skb, u32 offset, u32 end_offset,
					  struct ebb_packet *packet)
{
	u8 option[EBB_TIMESTAMPS_BYTES];

	if (!packet)
		return 0;
	for (int i = 0; i < EBB_MAX_OPTIONS; i++) {
		u32 bytes = ebb_read_option(skb, offset, end_offset, option);

		if (!bytes)
			return 0;
		if (option[0] == EBB_OPTION_TIMESTAMPS && bytes == sizeof(option)) {
			if (offset + bytes > end_offset ||
			    bpf_skb_load_bytes(skb, offset, option, sizeof(option)))
				return 0;
			packet->tsval = (u32)option[2] << 24 | (u32)option[3] << 16 |
					(u32)option[4] << 8 | option[5];
			packet->tsecr = (u32)option[6] << 24 | (u32)option[7] << 16 |
					(u32)option[8] << 8 | option[9];
			return 1;
		}
		offset += bytes;
	}
	return 0;
}

/* The header of TCP at an offset, in a packet that ends at another. */
EBB_INLINE int ebb_read_tcp(struct __sk_buff *skb, u32 offset, u32 end_offset,
			    struct ebb_packet *packet)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ebb_tcp *tcp;
	u32 header_bytes;

	if (offset > 1024 + EBB_MOST_LINK_BYTES)
		return 0;
	tcp = data + offset;
	if ((void *)(tcp + 1) > end)
		return 0;
	header_bytes = (tcp->data_offset >> 4) * 4;
	if (header_bytes < sizeof(*tcp) || end_offset < offset + header_bytes)
		return 0;
	packet->tcp_offset = offset;
	packet->header_bytes = header_bytes;
	packet->seq = bpf_ntohl(tcp->seq);
	packet->ack_seq = bpf_ntohl(tcp->ack_seq);
	packet->window = bpf_ntohs(tcp->window);
	packet->flags = tcp->flags;
	packet->payload_bytes = end_offset - offset - header_bytes;
	packet->is_data =
		packet->payload_bytes && !(tcp->flags & (EBB_TCP_FLAG_SYN | EBB_TCP_FLAG_RST));
	return 1;
}

/* The timestamps of a packet whose header has been read. */
EBB_INLINE void ebb_read_timestamps(struct __sk_buff *skb, struct ebb_packet *packet)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	u32 offset = packet->tcp_offset + sizeof(struct ebb_tcp);
	u32 *option;

	if (packet->header_bytes < sizeof(struct ebb_tcp) + 10 ||
	    offset > 1024 + EBB_MOST_LINK_BYTES + sizeof(struct ebb_tcp))
		return;
	option = data + offset;
	if ((void *)(option + 3) <= end && option[0] == bpf_htonl(EBB_USUAL_TIMESTAMPS)) {
		packet->tsval = bpf_ntohl(option[1]);
		packet->tsecr = bpf_ntohl(option[2]);
		packet->has_timestamps = 1;
		return;
	}
	packet->has_timestamps =
		ebb_find_timestamps(skb, offset, packet->tcp_offset + packet->header_bytes, packet);
}

/*
 * Where a packet ends that begins at an offset: behind it a frame may be filled up. Lengths that do
 * not fit into the header are 0 there.
 */
EBB_INLINE u32 ebb_end_offset(const struct __sk_buff *skb, u32 offset, u32 told_bytes)
{
	return told_bytes && offset + told_bytes < skb->len ? offset + told_bytes : skb->len;
}

/*
 * Reads the headers of a packet whose network header is at an offset; 0 if it is no TCP or cannot
 * be read.
 */
EBB_INLINE int ebb_read_headers(struct __sk_buff *skb, u32 offset, struct ebb_packet *packet)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ebb_ipv4 *ipv4;
	struct ebb_ipv6 *ipv6;
	u32 end_offset, told_bytes;

	if (offset > EBB_MOST_LINK_BYTES)
		return 0;
	ipv4 = data + offset;
	ipv6 = data + offset;
	if ((void *)(ipv4 + 1) > end)
		return 0;
	if (ipv4->version_length >> 4 == 4) {
		if (ipv4->protocol != EBB_IPPROTO_TCP)
			return 0;
		packet->tos = ipv4->tos;
		packet->addresses_sum = (u64)ipv4->source + ipv4->destination;
		end_offset = ebb_end_offset(skb, offset, bpf_ntohs(ipv4->total_length));
		offset += (ipv4->version_length & 15) * 4;
	} else {
		if ((void *)(ipv6 + 1) > end)
			return 0;
		packet->tos = (u8)(bpf_ntohl(ipv6->version_class_label) >> 20);
		packet->addresses_sum = 0;
		for (u32 i = 0; i < 4; i++)
			packet->addresses_sum += (u64)ipv6->source[i] + ipv6->destination[i];
		told_bytes = bpf_ntohs(ipv6->payload_length);
		end_offset =
			ebb_end_offset(skb, offset, told_bytes ? told_bytes + sizeof(*ipv6) : 0);
		offset = ebb_skip_extensions(skb, offset + sizeof(*ipv6), ipv6->next_header);
	}
	packet->is_ce = (packet->tos & 3) == 3;
	return offset ? ebb_read_tcp(skb, offset, end_offset, packet) : 0;
}

/*
 * Reads a packet, and the timestamps of one that carries data; 0 if it is no TCP or cannot be read.
 */
EBB_PACKET_FUNCTION int ebb_read_packet(struct __sk_buff *skb, u32 offset,
					struct ebb_packet *packet)
{
	if (!packet || !ebb_read_headers(skb, offset, packet))
		return 0;
	if (packet->is_data)
		ebb_read_timestamps(skb, packet);
	return 1;
}

/* ---- segments of an aggregate ---- */

/*
 * Payload of one segment of an aggregate. Where nobody tells (fragments that were put together),
 * no segment is longer than the sender was told that it may be (0: nobody knows).
 */
EBB_INLINE u32 ebb_segment_bytes(u32 most_bytes, u32 payload_bytes, u32 gso_size)
{
	u32 segment_bytes = gso_size ? gso_size : payload_bytes;

	return most_bytes && segment_bytes > most_bytes ? most_bytes : segment_bytes;
}

/* Segments in it: devices with virtio's headers tell their size and not how many they are. */
EBB_INLINE u32 ebb_segments(u32 payload_bytes, u32 segment_bytes, u32 gso_segs)
{
	if (gso_segs)
		return gso_segs;
	return ebb_div(payload_bytes + segment_bytes - 1, segment_bytes, 1);
}

/* After so many segments the largest one seen is believed to be the sender's MSS. */
#define EBB_MSS_KNOWN_AFTER 10u

EBB_INLINE u32 ebb_known_mss(u64 segments, u32 guess_bytes, u32 seen_bytes)
{
	return segments < EBB_MSS_KNOWN_AFTER && seen_bytes < guess_bytes ? guess_bytes
									  : seen_bytes;
}

#endif /* EBB_PACKET_H */
