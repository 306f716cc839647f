/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * When two runs are the same: see recovery.h.
 *
 * Laws saw, and some double and halve without end: a run that was pushed out of step by a single
 * segment stays out of step, whether the segment was bad or only a little late. So the measure is
 * how far honest runs lie apart, and to spare a part of what the link carries, a quarter of the
 * queue and what may be one's own. A law that has lost its sight is far outside: it stays at
 * a segment a round trip, or never steps aside. A shorter queue with the same goodput is no harm.
 */
#include "recovery.h"

/* A tenth; a third for the papers' laws, whose cycles take longer than a phase. */
#define SPARE_LINK_DIVISOR 10u
#define SPARE_LINK_DIVISOR_OF_CYCLES 3u
#define SPARE_QUEUE_DIVISOR 4u
/* [EBB §thresholds] high_us: from here on our own law takes a queue for others'. */
#define SPARE_QUEUE_US 10000u

/* A law that believes the least delay of a time, which is shorter here, so that it is over. */
struct memory {
	const char *law;
	const char *param;
	u32 value;
	u32 recovery_us;
};

static const struct memory memories[] = {
	{"sampled", "base_window_us", RECOVERY_BASE_WINDOW_US, RECOVERY_SMOOTHED_US},
	{"paced", "base_window_us", RECOVERY_BASE_WINDOW_US, RECOVERY_SMOOTHED_US},
	{"ledbat", "base_history", RECOVERY_HISTORY_MINUTES, RECOVERY_HISTORY_US},
	{"ledbat++", "base_history", RECOVERY_HISTORY_MINUTES, RECOVERY_HISTORY_US},
	{"rledbat", "base_history", RECOVERY_HISTORY_MINUTES, RECOVERY_HISTORY_US},
};

static const struct memory *memory_of(const char *law)
{
	u32 i;

	for (i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
		if (!strcmp(memories[i].law, law))
			return &memories[i];
	return 0;
}

u64 recovery_us(const char *name)
{
	const struct memory *memory = memory_of(name);

	return memory ? memory->recovery_us : RECOVERY_US;
}

void set_recovery_params(struct subject *subject)
{
	const struct memory *memory = memory_of(subject->name);
	u32 i;

	for (i = 0; i < subject->param_count; i++) {
		const struct ebb_native_param *param = &subject->param_list[i];
		u8 is_memory = memory && !strcmp(param->name, memory->param);

		subject->params[i] = is_memory ? memory->value : param->default_value;
	}
}

static u64 queue_of(const struct recovery_phase *phase)
{
	return phase->queue_us_us / RECOVERY_PHASE_US;
}

static void widen(struct recovery_bounds *bounds, u64 value, u8 is_first)
{
	if (is_first || value < bounds->least)
		bounds->least = value;
	if (is_first || value > bounds->most)
		bounds->most = value;
}

void widen_range(struct recovery_range *range, const struct recovery_phase *phases)
{
	u32 i;

	for (i = 0; i < RECOVERY_PHASES; i++) {
		widen(&range->bytes[i], phases[i].bytes, !range->runs);
		widen(&range->queue_us[i], queue_of(&phases[i]), !range->runs);
	}
	range->runs++;
}

/* Ours, and rate, come to rest. */
static u32 spare_divisor(const char *name)
{
	static const char *const resting[] = {"ebb", "ebb-sender", "sampled", "paced", "rate"};
	u32 i;

	for (i = 0; i < sizeof(resting) / sizeof(resting[0]); i++)
		if (!strcmp(name, resting[i]))
			return SPARE_LINK_DIVISOR;
	return SPARE_LINK_DIVISOR_OF_CYCLES;
}

/* These fill the buffer, again and again: their queue says when, and nothing else. */
static u8 is_judged_by_queue(const char *name)
{
	return strcmp(name, "bbr") && strcmp(name, "cubic") && strcmp(name, "reno");
}

static u8 is_within(const struct recovery_bounds *bounds, u64 value, u64 spare)
{
	return value + spare >= bounds->least && value <= bounds->most + spare;
}

void require_recovered(const char *name, const struct recovery_range *range,
		       const struct recovery_phase *phases, u32 bytes_per_s)
{
	static const char *const words[RECOVERY_PHASES] = {"alone", "with others", "alone again"};
	u64 spare_bytes = (u64)bytes_per_s * (RECOVERY_PHASE_US / 1000000) / spare_divisor(name);
	u32 i;

	for (i = 0; i < RECOVERY_PHASES; i++) {
		const struct recovery_bounds *bytes = &range->bytes[i],
					     *queue = &range->queue_us[i];
		u64 spare_us = SPARE_QUEUE_US + queue->most / SPARE_QUEUE_DIVISOR;

		REQUIRE(is_within(bytes, phases[i].bytes, spare_bytes),
			"%s, %s: %llu bytes after a bad segment, else %llu to %llu", name, words[i],
			phases[i].bytes, bytes->least, bytes->most);
		REQUIRE(!is_judged_by_queue(name) || queue_of(&phases[i]) <= queue->most + spare_us,
			"%s, %s: a queue of %llu us after a bad segment, else of %llu us at the "
			"most",
			name, words[i], queue_of(&phases[i]), queue->most);
	}
}
