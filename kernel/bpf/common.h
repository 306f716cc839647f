/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs of either end share with each other and with their owner. */
#ifndef EBB_COMMON_H
#define EBB_COMMON_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "control.h"

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

#endif /* EBB_COMMON_H */
