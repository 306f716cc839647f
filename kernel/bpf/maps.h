/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the receiver's programs share with each other and with their owner. */
#ifndef EBB_MAPS_H
#define EBB_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "control.h"
#include "dispatch.h"

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
	u8 is_loopback; /* packets came through lo: to be let go */
	u8 reserved_flag;
	u32 reserved[3];

	/* Arriving packets. */
	struct bpf_spin_lock lock; /* of the law's state */
	u32 order;                 /* of the law's calls */
	u64 payload_bytes;
	u64 segments;
	u32 seen_mss_bytes; /* largest payload of one segment so far */
	u32 also_reserved;
	union ebb_law_state law;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ebb_flow);
} ebb_flows SEC(".maps");

/* Sockets that a marked-only attachment acts on; accepted sockets inherit it. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, u32);
} ebb_marks SEC(".maps");

/* Processes whose new sockets, and whose descendants' new sockets, are marked. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u32);
} ebb_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ebb_counters);
} ebb_counters SEC(".maps");

/* Grown by the owner when it traces. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ebb_trace SEC(".maps");

struct ebb_control control SEC(".data.control") = {};
const volatile struct ebb_config config SEC(".rodata.config") = {};

#define EBB_COUNT(field, amount)                                                               \
	do {                                                                                   \
		u32 zero_key = 0;                                                              \
		struct ebb_counters *counters = bpf_map_lookup_elem(&ebb_counters, &zero_key); \
		if (counters)                                                                  \
			counters->field += (amount);                                           \
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

#endif /* EBB_MAPS_H */
