/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs of either end share with each other and with their owner. */
#ifndef EBB_COMMON_H
#define EBB_COMMON_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "control.h"
#include "held.h"

/* Sockets that a marked-only attachment acts on; accepted sockets inherit it. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, u32);
} ebb_marks SEC(".maps");

/*
 * Processes whose new sockets, and whose descendants' new sockets, are marked: when each started, in
 * ticks as /proc/PID/stat has it, since numbers are used again.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u64);
} ebb_processes SEC(".maps");

/*
 * What connections are to be switched to (EBB_AS_ALL, EBB_FREE, EBB_HELD), by their cookies:
 * the owner writes it before it has ebb_switch walk over them.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBB_MAX_CHOICES);
	__type(key, u64);
	__type(value, u32);
} ebb_choices SEC(".maps");

/*
 * What they were switched to: through a change of the law, or a pause of the owner's. It is of the
 * rule that they were under: under another one nobody has wished anything.
 */
struct ebb_wished {
	u32 wish;
	u32 rule;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ebb_wished);
} ebb_wishes SEC(".maps");

/* By the number of the rule; programs without rules have one entry. */
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

/* The counts of a rule; without rules its number is 0. */
EBB_INLINE struct ebb_counters *ebb_counters_of(u32 rule)
{
	return bpf_map_lookup_elem(&ebb_counters, &rule);
}

#define EBB_COUNT_OF(rule, field, amount)                              \
	do {                                                           \
		struct ebb_counters *counters = ebb_counters_of(rule); \
		if (counters)                                          \
			counters->field += (amount);                   \
	} while (0)

/* Where there are no rules. */
#define EBB_COUNT(field, amount) EBB_COUNT_OF(0, field, amount)

/* Room for a record in the trace, zeroed; none if nobody traces, or the buffer is full. */
EBB_INLINE void *ebb_trace_reserve(const u64 record_bytes)
{
	u64 *record;

	if (!config.is_tracing)
		return 0;
	record = bpf_ringbuf_reserve(&ebb_trace, record_bytes, 0);
	if (!record) {
		EBB_COUNT(trace_lost, 1);
		return 0;
	}
	__builtin_memset(record, 0, record_bytes);
	return record;
}

EBB_INLINE const u32 *ebb_params(void)
{
	return control.params[control.params_index & 1].values;
}

/* What the connections of a rule have together at the least; 0: whatever the law says. */
EBB_INLINE u64 ebb_floor_rate(u32 rule)
{
	return rule < EBB_MAX_HELD ? control.floor_bytes_per_s[rule] : 0;
}

/* What they have together at the most; 0: whatever the law says. */
EBB_INLINE u64 ebb_ceiling_rate(u32 rule)
{
	return rule < EBB_MAX_HELD ? control.ceiling_bytes_per_s[rule] : 0;
}

/* The owner is alive and wants us to act. */
EBB_INLINE int ebb_is_leased(u64 now_ns)
{
	return !control.is_released && now_ns < control.lease_until_ns;
}

/* The owner has not renewed its lease in time: it is dead, or stopped. */
EBB_INLINE int ebb_has_lapsed(u64 now_ns)
{
	return !control.is_released && now_ns >= control.lease_until_ns;
}

/* The owner is alive and holds the rule of a connection, if it is under one. */
EBB_INLINE int ebb_is_held(u32 rule, u64 now_ns)
{
	return ebb_is_leased(now_ns) && (!config.is_ruled || ebb_has_rule(control.rules, rule));
}

/* Whether a walk is not meant for a connection of this rule. */
EBB_INLINE int ebb_is_passed(u32 rule)
{
	return config.is_ruled && ebb_has_rule(control.passed_rules, rule);
}

/* Whether a connection that was switched to this is to have no limits. */
EBB_INLINE int ebb_is_free(u32 rule, u32 wish)
{
	if (wish != EBB_AS_ALL)
		return wish == EBB_FREE;
	if (config.is_ruled)
		return ebb_has_rule(control.observing_rules, rule);
	return control.is_observing != 0;
}

/* What a connection was switched to under a rule; `socket` is what the caller's helpers take for it. */
EBB_INLINE u32 ebb_wish_of(void *socket, u32 rule)
{
	struct ebb_wished *wished = bpf_sk_storage_get(&ebb_wishes, socket, 0, 0);

	return wished && wished->rule == rule ? wished->wish : EBB_AS_ALL;
}

#endif /* EBB_COMMON_H */
