/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the receiver's programs know of each connection. */
#ifndef EBB_MAPS_H
#define EBB_MAPS_H

#include "common.h"
#include "ceiling.h"
#include "receiver_dispatch.h"

/*
 * One governed connection. Arriving packets and outgoing segments may be handled on two
 * CPUs at once: what each of them writes lies in cache lines of its own.
 */
struct ebb_flow {
	/* Outgoing segments. The kernel's pointer in front of it fills the cache line. */
	u64 cookie;
	u64 adopted_ns;
	u64 asked_ns; /* when the law was asked last */
	u64 acks;
	u32 clamp_bytes;       /* what TCP was left with then */
	u32 guessed_mss_bytes; /* from the handshake, until packets tell */
	u8 is_ready;           /* the law is initialised */
	u8 is_clamped;
	u8 is_loopback; /* packets came through lo: left alone */
	u8 wish;        /* what it was switched to by itself: EBB_AS_ALL, … */
	u16 rule;       /* that it is under, from 0; 0 without rules */
	u8 reserved[2];
	u64 told_acked_bytes; /* tp->bytes_acked when it was counted last */

	/* Arriving packets. */
	u32 order;          /* of the law's calls */
	u32 seen_mss_bytes; /* largest payload of one segment so far */
	u64 payload_bytes;
	u64 segments;
	struct ebb_segment segment; /* what the law is told of, see ebb_flow_on_packet */
	struct ebb_floor_member floor;
	union ebb_law_state law;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ebb_flow);
} ebb_flows SEC(".maps");

/* What all connections of a rule have in common, for laws that take them for one flow. */
struct ebb_bundle {
	struct bpf_spin_lock lock; /* of the laws' state, of every connection */
	u32 reserved;
	struct ebb_floor floor;
	union ebb_law_bundle law;
};

/* Of each rule; the owner makes it larger where there are some. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ebb_bundle);
} ebb_bundles SEC(".maps");

EBB_INLINE struct ebb_bundle *ebb_bundle_of(u32 rule)
{
	return bpf_map_lookup_elem(&ebb_bundles, &rule);
}

/* For the account at the end: connections may be short. The value means nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBB_MAX_PEERS);
	__type(key, struct ebb_peer);
	__type(value, u32);
} ebb_peers SEC(".maps");

#endif /* EBB_MAPS_H */
