/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One connection under one law, whose state lies between guards.
 */
#ifndef EBB_FUZZ_SUBJECT_H
#define EBB_FUZZ_SUBJECT_H

#include "checks.h"
#include "receiver_contract.h"
#include "input.h"
#include "native.h"

#define GUARD_WORDS 8u
#define GUARD_WORD 0xa5a55a5a0ff0c33cull
#define MAX_STATE_BYTES 8192u

struct subject {
	const struct ebb_native_param *param_list;
	const char *name;
	u32 param_count;
	u32 state_bytes;
	u8 stack_byte;  /* what the stack holds before each call */
	u8 is_spoilt;   /* the host has said something absurd */
	u8 is_observed; /* the last segment was observed only */
	u32 params[EBB_MAX_PARAMS];
	u64 before[GUARD_WORDS];
	u64 state[MAX_STATE_BYTES / sizeof(u64)];
};

/* A zeroed state, default parameters with some of them changed. */
void subject_begin(struct subject *subject, struct input *in);
/* Changes up to seven parameters within their bounds. */
void subject_take_params(struct subject *subject, struct input *in);
/* To be called before and after each hook. */
void subject_before(struct subject *subject);
void subject_after(const struct subject *subject);

/* Runs the sequence that the bytes stand for. */
void run_receiver(const struct ebb_native_receiver_law *law, struct subject *subject,
		  struct input *in);
void run_sender(const struct ebb_native_sender_law *law, struct subject *subject, struct input *in);

#endif /* EBB_FUZZ_SUBJECT_H */
