/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "subject.h"

static void set_params(struct subject *subject)
{
	u32 i;

	for (i = 0; i < subject->param_count; i++)
		subject->params[i] = subject->param_list[i].default_value;
}

void subject_begin(struct subject *subject, struct input *in)
{
	u32 i;

	memset(subject->state, 0, sizeof(subject->state));
	for (i = 0; i < GUARD_WORDS; i++)
		subject->before[i] = GUARD_WORD;
	for (i = subject->state_bytes / sizeof(u64); i < MAX_STATE_BYTES / sizeof(u64); i++)
		subject->state[i] = GUARD_WORD;
	subject->is_spoilt = 0;
	subject->is_observed = 0;
	set_params(subject);
	subject_take_params(subject, in);
}

void subject_take_params(struct subject *subject, struct input *in)
{
	u32 changes = take_byte(in) % 8;

	while (changes-- && subject->param_count) {
		u32 index = take_byte(in) % subject->param_count;
		const struct ebb_native_param *param = &subject->param_list[index];
		u32 value = take_any(in);

		subject->params[index] = value < param->min   ? param->min
					 : value > param->max ? param->max
							      : value;
	}
}

void subject_before(struct subject *subject)
{
	fill_stack(subject->stack_byte);
}

void subject_after(const struct subject *subject)
{
	u32 i;

	for (i = 0; i < GUARD_WORDS; i++)
		REQUIRE(subject->before[i] == GUARD_WORD, "%s wrote in front of its state",
			subject->name);
	for (i = 0; i < GUARD_WORDS; i++)
		REQUIRE(subject->state[subject->state_bytes / sizeof(u64) + i] == GUARD_WORD,
			"%s wrote behind its state", subject->name);
}
