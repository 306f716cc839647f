// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs a law on inputs from user space, one call at a time, so that a test can compare
 * its state with that of the law compiled natively, byte by byte.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "control.h"
#include "receiver_dispatch.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct ebb_replay_step {
	u32 kind; /* EBB_TRACE_…; before a start the caller clears the state */
	u32 reserved;
	union ebb_law_input input;
	u32 params[EBB_MAX_PARAMS];
};

const volatile struct ebb_config config SEC(".rodata.config") = {};
union ebb_law_state state SEC(".data.state") = {};
/* Some laws index their parameters, which the context does not allow. */
struct ebb_replay_step current SEC(".data.step") = {};

SEC("syscall")
int ebb_replay(struct ebb_replay_step *step)
{
	__builtin_memcpy(&current, step, sizeof(current));
	switch (current.kind) {
	case EBB_TRACE_START:
		ebb_law_init(config.law_number, &state, &current.input.start, current.params);
		return 1;
	case EBB_TRACE_SEGMENT:
		ebb_law_on_segment(config.law_number, &state, &current.input.segment,
				   current.params);
		return 1;
	case EBB_TRACE_ACK:
		ebb_law_on_ack(config.law_number, &state, &current.input.ack, current.params);
		return 1;
	}
	return 0;
}
