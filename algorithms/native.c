/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The laws as ordinary functions, for the Rust face in src/. */
#include "laws.h"

struct ebb_native_param {
	const char *name;
	const char *unit;
	const char *source;
	const char *what;
	u32 default_value;
	u32 min;
	u32 max;
};

struct ebb_native_law {
	u32 number;
	u32 state_bytes;
	u32 param_count;
	const char *name;
	const char *summary;
	const struct ebb_native_param *params;
	void (*init)(void *state, const struct ebb_start *start, const void *params);
	void (*on_segment)(void *state, const struct ebb_segment *segment, const void *params);
	void (*on_ack)(void *state, const struct ebb_ack *ack, const void *params);
	u32 (*rwnd_bytes)(const void *state);
};

#define EBB_PARAM_ENTRY(name, default_value, min, max, unit, source, what) \
	{#name, unit, source, what, default_value, min, max},

#define EBB_NATIVE_LAW(number, name, PARAMS, summary)                                           \
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
	static void name##_on_ack(void *state, const struct ebb_ack *ack, const void *params)   \
	{                                                                                       \
		ebb_##name##_on_ack(state, ack, params);                                        \
	}                                                                                       \
	static u32 name##_rwnd_bytes(const void *state)                                         \
	{                                                                                       \
		return ((const struct ebb_##name##_state *)state)->rwnd_bytes;                  \
	}
EBB_RECEIVER_LAWS(EBB_NATIVE_LAW)

#define EBB_NATIVE_ENTRY(number, name, PARAMS, summary)            \
	{number,                                                   \
	 sizeof(struct ebb_##name##_state),                        \
	 sizeof(name##_param_list) / sizeof(name##_param_list[0]), \
	 #name,                                                    \
	 summary,                                                  \
	 name##_param_list,                                        \
	 name##_init,                                              \
	 name##_on_segment,                                        \
	 name##_on_ack,                                            \
	 name##_rwnd_bytes},

const struct ebb_native_law ebb_native_laws[] = {EBB_RECEIVER_LAWS(EBB_NATIVE_ENTRY)};
const u32 ebb_native_law_count = sizeof(ebb_native_laws) / sizeof(ebb_native_laws[0]);

/* For Rust to hold its mirrors against. */
const u32 ebb_native_start_bytes = sizeof(struct ebb_start);
const u32 ebb_native_segment_bytes = sizeof(struct ebb_segment);
const u32 ebb_native_ack_bytes = sizeof(struct ebb_ack);
