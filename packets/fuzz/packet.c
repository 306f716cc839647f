/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The parser of packets, led by a fuzzer: it must read nothing that is not the packet's, and find
 * what is found here in another way. The bytes become a packet, mostly one that looks like TCP.
 *
 * A program of eBPF has the first part of a packet before it (data to data_end) and asks a helper
 * for the rest. That part ends here where a page ends that nobody may read behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "packet.h"

#define PAGE_BYTES 4096u
#define MOST_PACKET_BYTES 1600u

/* What faults the fuzzer is to find, by the environment: that it does is tested. */
enum planted { NOTHING, END_TOO_FAR, WRONG_BYTE };

struct source {
	const u8 *at;
	size_t left;
};

/* What is in a packet, as found byte by byte. */
struct expected {
	u32 seq;
	u32 ack_seq;
	u32 window;
	u32 payload_bytes;
	u32 tsval;
	u32 tsecr;
	u8 is_known; /* the kernel would deliver it, and the parser promises to read it */
	u8 is_ce;
	u8 is_data;
	u8 has_timestamps;
};

static u8 *linear_end; /* what is behind may not be read */
static const u8 *packet_bytes;
static u32 packet_length, link_length; /* of the packet, and of the header in front of it */
static enum planted planted;

long bpf_skb_load_bytes(const struct __sk_buff *skb, __u32 offset, void *to, __u32 length)
{
	(void)skb;
	offset -= link_length;
	if (offset > packet_length || length > packet_length - offset)
		return -14;
	memcpy(to, packet_bytes + offset, length);
	if (planted == WRONG_BYTE && length == 10)
		((u8 *)to)[9] ^= 1;
	return 0;
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
	const char *wanted = getenv("EBB_FUZZ_PLANTED");
	/* Of a packet's place a program has 32 bits. */
	u8 *pages = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	(void)count;
	(void)arguments;
	if (pages == MAP_FAILED || mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_NONE))
		abort();
	linear_end = pages + PAGE_BYTES;
	if (wanted)
		planted = !strcmp(wanted, "end") ? END_TOO_FAR : WRONG_BYTE;
	return 0;
}

static u8 take(struct source *source)
{
	if (!source->left)
		return 0;
	source->left--;
	return *source->at++;
}

/* Headers of IPv6 up to TCP's; answers how long they are. */
static u32 build_ipv6(u8 *to, struct source *source)
{
	static const u8 kinds[] = {0, 43, 60, 6, 44, 59};
	u32 length = 40, count = take(source) % 9;
	u8 *next = &to[6];

	to[0] = 0x60 | (take(source) & 15);
	to[1] = take(source);
	while (count--) {
		*next = kinds[take(source) % sizeof(kinds)];
		next = &to[length];
		to[length + 1] = take(source) % 3;
		length += (to[length + 1] + 1) * 8;
	}
	*next = 6;
	return length;
}

static u32 build_ipv4(u8 *to, struct source *source)
{
	u32 words = 5 + take(source) % 11;

	to[0] = 0x40 | words;
	to[1] = take(source);
	to[9] = take(source) % 16 ? 6 : 17;
	return words * 4;
}

static u32 build_options(u8 *to, struct source *source)
{
	static const u8 usual[] = {1, 1, 8, 10};
	u32 length = 0, words = take(source) % 11;
	u8 kind = take(source), at = kind % 4;

	/* Of what fills up there may be more than anybody sends. */
	while (length < words * 4)
		to[length++] = kind & 4 ? 1 : take(source);
	if (at && words >= 3)
		memcpy(to + (at - 1) * 2 % (words * 4 - 11), usual, sizeof(usual));
	return words * 4;
}

static u32 build(u8 *to, struct source *source)
{
	u8 shape = take(source);
	u32 at, options_bytes, payload_bytes, length = 0;

	if (shape & 1) {
		while (source->left && length < MOST_PACKET_BYTES)
			to[length++] = take(source);
		return length;
	}
	at = shape & 2 ? build_ipv6(to, source) : build_ipv4(to, source);
	for (length = 4; length < 12; length++)
		to[at + length] = take(source);
	to[at + 13] = shape & 4 ? take(source) : 0x10;
	options_bytes = build_options(to + at + 20, source);
	to[at + 12] = shape & 8 ? take(source) : (20 + options_bytes) << 2;
	payload_bytes = shape & 16 ? 0 : take(source) * 4;
	if (shape & 32)
		to[shape & 2 ? 5 : 3] = take(source);
	return at + 20 + options_bytes + payload_bytes;
}

static u32 big_endian(const u8 *at)
{
	return (u32)at[0] << 24 | (u32)at[1] << 16 | (u32)at[2] << 8 | at[3];
}

/* [RFC9293 §3.1] A list of kinds, each with its length but for the end and what fills up. */
static void expect_timestamps(const u8 *options, u32 length, struct expected *expected)
{
	u32 at = 0, count = 0;

	while (at < length && options[at] != 0) {
		u32 own = options[at] == 1 ? 1 : at + 1 < length ? options[at + 1] : 0;

		if (own == 0 || (options[at] != 1 && own < 2))
			return;
		if (++count > EBB_MAX_OPTIONS) {
			expected->is_known = 0;
			return;
		}
		if (options[at] == 8 && own == 10) {
			expected->has_timestamps = at + 10 <= length;
			if (expected->has_timestamps) {
				expected->tsval = big_endian(options + at + 2);
				expected->tsecr = big_endian(options + at + 6);
			}
			return;
		}
		at += own;
	}
}

/* Where TCP's header is; 0: there is none, or the parser does not look so far. */
static u32 transport_at(const u8 *bytes, u32 length)
{
	u32 at = 40, count = 0;
	u8 kind;

	if (length < 40)
		return 0;
	if (bytes[0] >> 4 == 4) {
		at = (bytes[0] & 15) * 4;
		return at >= 20 && bytes[9] == 6 ? at : 0;
	}
	for (kind = bytes[6]; kind != 6; kind = bytes[at], at += (bytes[at + 1] + 1) * 8) {
		if ((kind != 0 && kind != 43 && kind != 60) || ++count >= EBB_MAX_EXTENSIONS)
			return 0;
		if (at > 512 || at + 2 > length)
			return 0;
	}
	return at <= 512 ? at : 0;
}

/* Where the packet ends: a frame may be longer. */
static u32 end_of(const u8 *bytes, u32 length)
{
	u32 told = bytes[0] >> 4 == 4 ? bytes[2] << 8 | bytes[3] : bytes[4] << 8 | bytes[5];

	if (told && bytes[0] >> 4 != 4)
		told += 40;
	return told && told < length ? told : length;
}

static struct expected expect(const u8 *bytes, u32 length, u32 linear_bytes)
{
	struct expected expected = {};
	u32 at = transport_at(bytes, length), header_bytes;
	u8 flags;

	if (!at || at + 20 > linear_bytes)
		return expected;
	header_bytes = (bytes[at + 12] >> 4) * 4;
	if (header_bytes < 20 || at + header_bytes > end_of(bytes, length))
		return expected;
	expected.is_known = 1;
	/* [RFC3168 §5] Both bits. */
	expected.is_ce = bytes[0] >> 4 == 4 ? (bytes[1] & 3) == 3 : (bytes[1] >> 4 & 3) == 3;
	expected.seq = big_endian(bytes + at + 4);
	expected.ack_seq = big_endian(bytes + at + 8);
	expected.window = bytes[at + 14] << 8 | bytes[at + 15];
	expected.payload_bytes = end_of(bytes, length) - at - header_bytes;
	flags = bytes[at + 13];
	expected.is_data = expected.payload_bytes && !(flags & 2) && !(flags & 4);
	if (expected.is_data)
		expect_timestamps(bytes + at + 20, header_bytes - 20, &expected);
	return expected;
}

static void must(int is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "finding: %s\n", what);
	abort();
}

static void compare(int is_read, const struct ebb_packet *found, const struct expected *expected)
{
	if (!expected->is_known)
		return;
	must(is_read, "a packet of TCP is not read");
	must(found->seq == expected->seq, "another sequence number");
	must(found->ack_seq == expected->ack_seq, "another acknowledgement");
	must(found->window == expected->window, "another window");
	must(found->payload_bytes == expected->payload_bytes, "another length");
	must(found->is_ce == expected->is_ce, "another mark of congestion");
	must(found->is_data == expected->is_data, "data or none");
	must(found->has_timestamps == expected->has_timestamps, "timestamps or none");
	must(found->tsval == expected->tsval, "another TSval");
	must(found->tsecr == expected->tsecr, "another TSecr");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 bytes[MOST_PACKET_BYTES] = {};
	struct source source = {data, size};
	struct ebb_packet found = {};
	struct __sk_buff skb = {};
	struct expected expected;
	u32 nonlinear_bytes = take(&source) * 8, linear_bytes;
	int is_read;

	packet_bytes = bytes;
	link_length = take(&source) % 2 ? take(&source) % EBB_MOST_LINK_BYTES : 0;
	packet_length = build(bytes, &source);
	linear_bytes = packet_length > nonlinear_bytes ? packet_length - nonlinear_bytes : 0;
	if (!linear_bytes)
		linear_bytes = packet_length;
	memcpy(linear_end - linear_bytes, bytes, linear_bytes);
	skb.len = link_length + packet_length;
	skb.data = (u32)(unsigned long)(linear_end - linear_bytes - link_length);
	skb.data_end = (u32)(unsigned long)linear_end;
	if (planted == END_TOO_FAR)
		skb.data_end += 12;
	is_read = ebb_read_packet(&skb, link_length, &found);
	must(!is_read || found.payload_bytes <= packet_length, "more payload than packet");
	expected = expect(bytes, packet_length, linear_bytes);
	compare(is_read, &found, &expected);
	return 0;
}
