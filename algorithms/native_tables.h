/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What makes ordinary functions of a list of laws, and the entries of a table of native.h. */
#ifndef EBB_NATIVE_TABLES_H
#define EBB_NATIVE_TABLES_H

#include "native.h"

/* ---- functions of a receiver law, for X(number, name, PARAMS, summary) ---- */

#define EBB_PARAM_ENTRY(name, default_value, min, max, unit, source, what) \
	{#name, unit, source, what, default_value, min, max},

#define EBB_NATIVE_RECEIVER_LAW(number, name, PARAMS, summary)                                  \
	EBB_BUILD_ASSERT(sizeof(struct ebb_##name##_params) <= EBB_MAX_PARAMS * sizeof(u32),    \
			 #name " has too many parameters");                                     \
	static const struct ebb_native_param name##_param_list[] = {PARAMS(EBB_PARAM_ENTRY)};   \
	static void name##_init(void *state, const struct ebb_start *start, const void *params) \
	{                                                                                       \
		ebb_##name##_init(state, start, params);                                        \
	}                                                                                       \
	static void name##_on_segment(void *state, const struct ebb_segment *segment,           \
				      const void *params)                                       \
	{                                                                                       \
		ebb_##name##_on_segment(state, segment, params);                                \
	}                                                                                       \
	static u32 name##_rwnd_bytes(const void *state)                                         \
	{                                                                                       \
		return ((const struct ebb_##name##_state *)state)->rwnd_bytes;                  \
	}

/* ---- of what some receiver laws have, for X(name) ---- */

#define EBB_NATIVE_ON_ACK(name)                                                               \
	static void name##_on_ack(void *state, const struct ebb_ack *ack, const void *params) \
	{                                                                                     \
		ebb_##name##_on_ack(state, ack, params);                                      \
	}

#define EBB_NATIVE_ACK_DELAY(name)                                               \
	static u32 name##_ack_delay_us(const void *state)                        \
	{                                                                        \
		return ((const struct ebb_##name##_state *)state)->ack_delay_us; \
	}

#define EBB_NATIVE_ESTIMATE(name)                           \
	static u32 name##_estimate_bytes(const void *state) \
	{                                                   \
		return ebb_##name##_estimate_bytes(state);  \
	}

#define EBB_NATIVE_PAIRS(name)                                                             \
	static void name##_pairs_on_segment(void *pairs, u64 now_us, u32 tsval,            \
					    const void *params)                            \
	{                                                                                  \
		ebb_##name##_pairs_on_segment(pairs, now_us, tsval, params);               \
	}                                                                                  \
	static void name##_pairs_end_round(void *pairs, struct ebb_variations *variations) \
	{                                                                                  \
		ebb_##name##_pairs_end_round(pairs, variations);                           \
	}                                                                                  \
	static const struct ebb_native_pairs name##_pairs = {                              \
		.state_bytes = sizeof(struct ebb_##name##_pairs),                          \
		.on_segment = name##_pairs_on_segment,                                     \
		.end_round = name##_pairs_end_round,                                       \
	};

#define EBB_NATIVE_BUNDLE(name)                                                                   \
	static void name##_bundle_init(void *bundle, void *state, const struct ebb_start *start,  \
				       const void *params)                                        \
	{                                                                                         \
		ebb_##name##_bundle_init(bundle, state, start, params);                           \
	}                                                                                         \
	static void name##_bundle_on_segment(                                                     \
		void *bundle, void *state, const struct ebb_segment *segment, const void *params) \
	{                                                                                         \
		ebb_##name##_bundle_on_segment(bundle, state, segment, params);                   \
	}                                                                                         \
	static void name##_bundle_on_ack(void *bundle, void *state, const struct ebb_ack *ack,    \
					 const void *params)                                      \
	{                                                                                         \
		ebb_##name##_bundle_on_ack(bundle, state, ack, params);                           \
	}                                                                                         \
	static u32 name##_bundle_wait_us(const void *state)                                       \
	{                                                                                         \
		return ((const struct ebb_##name##_state *)state)->member.wait_us;                \
	}                                                                                         \
	static const struct ebb_native_bundle name##_bundle = {                                   \
		.state_bytes = sizeof(struct ebb_##name##_bundle),                                \
		.init = name##_bundle_init,                                                       \
		.on_segment = name##_bundle_on_segment,                                           \
		.on_ack = name##_bundle_on_ack,                                                   \
		.wait_us = name##_bundle_wait_us,                                                 \
	};

/* ---- entries of the table of receiver laws ---- */

#define EBB_NATIVE_AT(number, name, ...) AT_##name,

#define EBB_NATIVE_RECEIVER_ENTRY(of_number, of_name, of_summary, of_counters)                 \
	[AT_##of_name] = {                                                                     \
		.number = of_number,                                                           \
		.state_bytes = sizeof(struct ebb_##of_name##_state),                           \
		.param_count = sizeof(of_name##_param_list) / sizeof(of_name##_param_list[0]), \
		.sees_counters = of_counters,                                                  \
		.name = #of_name,                                                              \
		.summary = of_summary,                                                         \
		.params = of_name##_param_list,                                                \
		.init = of_name##_init,                                                        \
		.on_segment = of_name##_on_segment,                                            \
		.rwnd_bytes = of_name##_rwnd_bytes,                                            \
	},
#define EBB_NATIVE_OF_PACKETS(number, name, PARAMS, summary) \
	EBB_NATIVE_RECEIVER_ENTRY(number, name, summary, 0)
#define EBB_NATIVE_OF_COUNTERS(number, name, PARAMS, summary) \
	EBB_NATIVE_RECEIVER_ENTRY(number, name, summary, 1)
#define EBB_NATIVE_HAS_ON_ACK(name) [AT_##name].on_ack = name##_on_ack,
#define EBB_NATIVE_HAS_ACK_DELAY(name) [AT_##name].ack_delay_us = name##_ack_delay_us,
#define EBB_NATIVE_HAS_ESTIMATE(name) [AT_##name].estimate_bytes = name##_estimate_bytes,
#define EBB_NATIVE_HAS_PAIRS(name) [AT_##name].pairs = &name##_pairs,
#define EBB_NATIVE_HAS_BUNDLE(name) [AT_##name].bundle = &name##_bundle,

/* ---- sender laws, for X(number, identifier, "name", PARAMS, flags, summary) ---- */

#define EBB_NATIVE_SENDER_HOOK(law, hook, input)                                            \
	static void law##_##hook(void *state, const struct input *what, const void *params) \
	{                                                                                   \
		ebb_##law##_##hook(state, what, params);                                    \
	}

#define EBB_NATIVE_SENDER_LAW(number, law, name, PARAMS, flags, summary)                     \
	EBB_BUILD_ASSERT(sizeof(struct ebb_##law##_params) <= EBB_MAX_PARAMS * sizeof(u32),  \
			 name " has too many parameters");                                   \
	EBB_BUILD_ASSERT(__builtin_offsetof(struct ebb_##law##_state, window) == 0,          \
			 name "'s state must begin with its window");                        \
	EBB_BUILD_ASSERT(sizeof(name) + 5 <= 16, name " is too long for the kernel");        \
	static const struct ebb_native_param law##_param_list[] = {PARAMS(EBB_PARAM_ENTRY)}; \
	EBB_NATIVE_SENDER_HOOK(law, init, ebb_sender_start)                                  \
	EBB_NATIVE_SENDER_HOOK(law, on_ack, ebb_sender_ack)                                  \
	EBB_NATIVE_SENDER_HOOK(law, on_loss, ebb_sender_event)                               \
	EBB_NATIVE_SENDER_HOOK(law, on_timeout, ebb_sender_event)                            \
	EBB_NATIVE_SENDER_HOOK(law, on_undo, ebb_sender_event)                               \
	EBB_NATIVE_SENDER_HOOK(law, on_idle, ebb_sender_event)

#define EBB_NATIVE_SENDER_ENTRY(of_number, law, of_name, flags, of_summary, of_counters) \
	{                                                                                \
		.number = of_number,                                                     \
		.state_bytes = sizeof(struct ebb_##law##_state),                         \
		.param_count = sizeof(law##_param_list) / sizeof(law##_param_list[0]),   \
		.sees_counters = of_counters,                                            \
		.has_full_control = ((flags)&EBB_SENDER_FULL_CONTROL) != 0,              \
		.needs_ecn = ((flags)&EBB_SENDER_NEEDS_ECN) != 0,                        \
		.name = of_name,                                                         \
		.summary = of_summary,                                                   \
		.params = law##_param_list,                                              \
		.init = law##_init,                                                      \
		.on_ack = law##_on_ack,                                                  \
		.on_loss = law##_on_loss,                                                \
		.on_timeout = law##_on_timeout,                                          \
		.on_undo = law##_on_undo,                                                \
		.on_idle = law##_on_idle,                                                \
	},
#define EBB_NATIVE_SENDER_OF_PACKETS(number, law, name, PARAMS, flags, summary) \
	EBB_NATIVE_SENDER_ENTRY(number, law, name, flags, summary, 0)
#define EBB_NATIVE_SENDER_OF_COUNTERS(number, law, name, PARAMS, flags, summary) \
	EBB_NATIVE_SENDER_ENTRY(number, law, name, flags, summary, 1)

#endif /* EBB_NATIVE_TABLES_H */
