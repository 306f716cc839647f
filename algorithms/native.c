/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The laws as ordinary functions, for the Rust face in src/. */
#include "native.h"

#include "receiver_laws.h"
#include "sender_laws.h"

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
EBB_COUNTER_RECEIVER_LAWS(EBB_NATIVE_LAW)

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

const struct ebb_native_law ebb_native_laws[] = {
	EBB_RECEIVER_LAWS(EBB_NATIVE_ENTRY) EBB_COUNTER_RECEIVER_LAWS(EBB_NATIVE_ENTRY)};
const u32 ebb_native_law_count = sizeof(ebb_native_laws) / sizeof(ebb_native_laws[0]);

#define EBB_NATIVE_ACK_DELAY(number, name) \
	case number:                       \
		return ((const struct ebb_##name##_state *)state)->ack_delay_us;

/* How long a law wants acknowledgements held back; 0 for laws that know nothing of it. */
u32 ebb_native_ack_delay_us(u32 number, const void *state)
{
	switch (number) {
		EBB_ACK_DELAY_LAWS(EBB_NATIVE_ACK_DELAY)
	}
	return 0;
}

/* What a connection under `vulture` takes the sender's congestion window for. */
u32 ebb_native_vulture_estimate_bytes(const void *state)
{
	return ((const struct ebb_vulture_state *)state)->estimate.bytes;
}

/* Vulture's variations by themselves, for whoever only wants to look at them. */
const u32 ebb_native_pairs_bytes = sizeof(struct ebb_vulture_pairs);

void ebb_native_pairs_on_segment(void *pairs, u64 now_us, u32 tsval, const void *params)
{
	struct ebb_vulture_packet times;

	if (ebb_vulture_pairs_clock(pairs, now_us, tsval, params, &times))
		ebb_vulture_pairs_take(pairs, now_us, times.sent, times.arrived, params);
}

void ebb_native_pairs_end_round(void *pairs, struct ebb_native_variations *variations)
{
	struct ebb_vulture_counts *counts = &((struct ebb_vulture_pairs *)pairs)->counts;

	variations->sum_jiffies = counts->sum_jiffies;
	variations->all = counts->all;
	variations->positive = counts->positive;
	ebb_vulture_counts_clear(counts);
}

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
EBB_SENDER_LAWS(EBB_NATIVE_SENDER_LAW)
EBB_COUNTER_SENDER_LAWS(EBB_NATIVE_SENDER_LAW)

#define EBB_NATIVE_SENDER_ENTRY(number, law, name, PARAMS, flags, summary) \
	{number,                                                           \
	 sizeof(struct ebb_##law##_state),                                 \
	 sizeof(law##_param_list) / sizeof(law##_param_list[0]),           \
	 flags,                                                            \
	 name,                                                             \
	 summary,                                                          \
	 law##_param_list,                                                 \
	 law##_init,                                                       \
	 law##_on_ack,                                                     \
	 law##_on_loss,                                                    \
	 law##_on_timeout,                                                 \
	 law##_on_undo,                                                    \
	 law##_on_idle},

const struct ebb_native_sender_law ebb_native_sender_laws[] = {
	EBB_SENDER_LAWS(EBB_NATIVE_SENDER_ENTRY) EBB_COUNTER_SENDER_LAWS(EBB_NATIVE_SENDER_ENTRY)};
const u32 ebb_native_sender_law_count =
	sizeof(ebb_native_sender_laws) / sizeof(ebb_native_sender_laws[0]);

/* For Rust to hold its mirrors against. */
const u32 ebb_native_sender_start_bytes = sizeof(struct ebb_sender_start);
const u32 ebb_native_sender_ack_bytes = sizeof(struct ebb_sender_ack);
const u32 ebb_native_sender_event_bytes = sizeof(struct ebb_sender_event);
const u32 ebb_native_start_bytes = sizeof(struct ebb_start);
const u32 ebb_native_segment_bytes = sizeof(struct ebb_segment);
const u32 ebb_native_ack_bytes = sizeof(struct ebb_ack);
