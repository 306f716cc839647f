/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the gateway's programs keep. */
#ifndef EBB_GATEWAY_MAPS_H
#define EBB_GATEWAY_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "echoes.h"
#include "number.h"
#include "packet.h"
#include "receiver_dispatch.h"

#define EBB_NS_PER_US 1000u

#define EBB_TCP_FLAG_FIN 0x01u
#define EBB_TCP_FLAG_ACK 0x10u
#define EBB_TCP_FLAG_ECE 0x40u

/* What is known of the handshake, in ebb_seen. */
#define EBB_SYN_OF_CLIENT 1u
#define EBB_SYN_OF_REMOTE 2u
#define EBB_HAS_SCALES 4u /* both ends offered one */
#define EBB_USES_ECN 8u
#define EBB_IS_LEFT_ALONE 16u /* no scale is known */
/* There is a state of a law for what the client receives, and sends. */
#define EBB_HAS_DOWNLOAD 32u
#define EBB_HAS_UPLOAD 64u
/* There was no room for one: it is not tried again. */
#define EBB_HAS_NO_ROOM 128u

/* A connection that passes, governed or not. */
struct ebb_seen {
	struct ebb_connection ends;
	u64 moved_bytes; /* both ways, without a pause */
	u64 moved_at;    /* in jiffies */
	u64 again_at_bytes;
	u64 code_points;
	u64 sent_bytes; /* by the client */
	u32 mark;
	u32 epoch; /* of the rules that judged */
	u16 client_mss_bytes;
	u16 remote_mss_bytes;
	u8 client_scale;
	u8 remote_scale;
	u8 flags;
	u8 is_background;
	u8 bundle; /* of its rule */
	u8 mac[EBB_MAC_BYTES];
	u8 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, struct ebb_seen);
} ebb_connections SEC(".maps");

/* Connections that were asked for again, and that are there already: what the question said. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 512);
	__type(key, u64);
	__type(value, struct ebb_seen);
} ebb_asked_again SEC(".maps");

/* What the owner knows of one way of a governed connection. */
struct ebb_half_head {
	struct ebb_connection ends;
	u64 began_ns;
	u64 heard_ns;
	u64 payload_bytes;
	u64 segments;
	u64 windows;
	u64 rewritten;
	u32 bundle;            /* of its rule */
	u32 guessed_mss_bytes; /* of the handshake */
	u32 seen_mss_bytes;
	u32 scale;
	u32 next_seq;       /* next byte that the receiver expects */
	u32 right_edge_seq; /* first byte beyond what was granted */
	u32 told_edge_seq;  /* first byte beyond what the sender was told */
	u32 window_bytes;   /* granted last */
	u32 own_bytes;      /* the receiver's own window */
	u32 rtt_us;
	u32 timed_edge_seq; /* data beyond it shows that a grant of then was used */
	u32 timed_at_us;
	u8 has_timestamps;
	u8 uses_ecn;
	u8 is_ending;
	u8 is_upload;
	u32 open_bytes; /* no larger window is granted before more has come */
};

/* One way of a governed connection. Memory is taken as they come. */
struct ebb_half {
	struct ebb_half_head head;
	u32 sent_seq; /* behind the last byte that the client has sent */
	u32 reserved;
	struct ebb_clock remote; /* of an upload: the receiver's clock, ... */
	u64 remote_shift_us;     /* ... and what keeps it going where its tick turns out another */
	u64 remote_last_us;
	struct ebb_echoes echoes;
	struct ebb_segment segment; /* what the law is told of */
	union ebb_law_state law;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct ebb_half);
} ebb_halves SEC(".maps");

/* A new one, which nobody ever writes to. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ebb_half);
} ebb_blanks SEC(".maps");

/* What all connections of a rule have in common, one way, for laws that take them for one flow. */
struct ebb_bundle {
	struct bpf_spin_lock lock; /* of all that is known of each of them, too */
	u32 reserved;
	union ebb_law_bundle law;
};

/* By its number, and behind those of downloads the same again for uploads. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * EBB_MAX_RULES);
	__type(key, u32);
	__type(value, struct ebb_bundle);
} ebb_bundles SEC(".maps");

EBB_INLINE struct ebb_bundle *ebb_bundle_of(u32 bundle, u32 is_upload)
{
	u32 number = bundle + (is_upload ? EBB_MAX_RULES : 0);

	return bpf_map_lookup_elem(&ebb_bundles, &number);
}

/*
 * The packet at hand. Of what is on the stack the verifier follows every value through the law;
 * of a map it knows nothing.
 */
struct ebb_scratch {
	struct ebb_connection ends;
	u64 number; /* of the connection, with the way that is looked at */
	struct ebb_packet packet;
	struct ebb_subject subject;
	struct ebb_verdict verdict;
	struct ebb_start start;
	struct ebb_ack ack;
	u64 now_ns;
	u64 newly_bytes; /* that the law was told of */
	u32 bundle;      /* of the connection's rule */
	u32 is_upload;   /* the way that is looked at */
	u32 scale;       /* of its receiver's windows */
	u32 gso_size;
	u32 gso_segs;
	u8 uses_ecn;
	u8 is_told; /* the law is to hear of it */
	u8 reserved[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ebb_scratch);
} ebb_scratches SEC(".maps");

EBB_INLINE struct ebb_scratch *ebb_scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&ebb_scratches, &zero);
}

/* The way of the packet's connection that is looked at. */
EBB_INLINE void ebb_look_at(struct ebb_scratch *scratch, u32 is_upload)
{
	scratch->is_upload = is_upload;
	scratch->number &= ~EBB_UPLOAD;
	if (is_upload)
		scratch->number |= EBB_UPLOAD;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ebb_gateway_counters);
} ebb_counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EBB_MAX_RULES);
	__type(key, u32);
	__type(value, struct ebb_rule_counters);
} ebb_counters_of_rules SEC(".maps");

struct ebb_gateway_control control SEC(".data.control") = {};
const volatile struct ebb_gateway_config config SEC(".rodata.config") = {};

#define EBB_COUNT(field, amount)                                       \
	do {                                                           \
		u32 zero_key = 0;                                      \
		struct ebb_gateway_counters *counts =                  \
			bpf_map_lookup_elem(&ebb_counters, &zero_key); \
		if (counts)                                            \
			counts->field += (amount);                     \
	} while (0)

#define EBB_COUNT_OF_RULE(number, field, amount)                                \
	do {                                                                    \
		u32 rule_key = (number);                                        \
		struct ebb_rule_counters *of_rule =                             \
			bpf_map_lookup_elem(&ebb_counters_of_rules, &rule_key); \
		if (of_rule)                                                    \
			of_rule->field += (amount);                             \
	} while (0)

EBB_INLINE const u32 *ebb_params(void)
{
	return control.params[control.params_index & 1];
}

/* The owner is alive and wants us to act. */
EBB_INLINE int ebb_is_leased(u64 now_ns)
{
	return !control.is_released && now_ns < control.lease_until_ns;
}

#endif /* EBB_GATEWAY_MAPS_H */
