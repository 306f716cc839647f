/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The laws as tables of ordinary functions: for the Rust face in src/, which mirrors these
 * structs, and for the fuzzer.
 */
#ifndef EBB_NATIVE_H
#define EBB_NATIVE_H

#include "receiver_contract.h"
#include "sender_contract.h"

struct ebb_native_param {
	const char *name;
	const char *unit;
	const char *source;
	const char *what;
	u32 default_value;
	u32 min;
	u32 max;
};

/* Packet interval variations by themselves. */
struct ebb_native_pairs {
	u32 state_bytes;
	u32 reserved;
	void (*on_segment)(void *pairs, u64 now_us, u32 tsval, const void *params);
	void (*end_round)(void *pairs, struct ebb_variations *variations);
};

/* All connections of a policy as one. */
struct ebb_native_bundle {
	u32 state_bytes;
	u32 reserved;
	void (*init)(void *bundle, void *state, const struct ebb_start *start, const void *params);
	void (*on_segment)(void *bundle, void *state, const struct ebb_segment *segment,
			   const void *params);
	void (*on_ack)(void *bundle, void *state, const struct ebb_ack *ack, const void *params);
	u32 (*wait_us)(const void *state);
};

struct ebb_native_receiver_law {
	u32 number;
	u32 state_bytes;
	u32 param_count;
	u32 sees_counters; /* it does with what the host counts; else it has to see every packet */
	const char *name;
	const char *summary;
	const struct ebb_native_param *params;
	void (*init)(void *state, const struct ebb_start *start, const void *params);
	void (*on_segment)(void *state, const struct ebb_segment *segment, const void *params);
	u32 (*rwnd_bytes)(const void *state);
	/* Optional, 0 where the law has none (receiver_laws.h). */
	void (*on_ack)(void *state, const struct ebb_ack *ack, const void *params);
	u32 (*ack_delay_us)(const void *state);
	u32 (*estimate_bytes)(const void *state);
	const struct ebb_native_pairs *pairs;
	const struct ebb_native_bundle *bundle;
};

struct ebb_native_sender_law {
	u32 number;
	u32 state_bytes;
	u32 param_count;
	u32 sees_counters;
	u32 has_full_control; /* sets the window in recovery, too, and its own pace */
	u32 needs_ecn;        /* its connections negotiate ECN */
	const char *name;
	const char *summary;
	const struct ebb_native_param *params;
	void (*init)(void *state, const struct ebb_sender_start *start, const void *params);
	void (*on_ack)(void *state, const struct ebb_sender_ack *ack, const void *params);
	void (*on_loss)(void *state, const struct ebb_sender_event *event, const void *params);
	void (*on_timeout)(void *state, const struct ebb_sender_event *event, const void *params);
	void (*on_undo)(void *state, const struct ebb_sender_event *event, const void *params);
	void (*on_idle)(void *state, const struct ebb_sender_event *event, const void *params);
};

/* What a shared object with laws of one's own exports (own_law.c). */
struct ebb_native_own {
	u64 layout;
	u32 receiver_count;
	u32 sender_count;
	const struct ebb_native_receiver_law *receivers;
	const struct ebb_native_sender_law *senders;
};

extern const struct ebb_native_receiver_law ebb_native_receiver_laws[];
extern const u32 ebb_native_receiver_law_count;
extern const struct ebb_native_sender_law ebb_native_sender_laws[];
extern const u32 ebb_native_sender_law_count;

#endif /* EBB_NATIVE_H */
