// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* As replay_receiver.bpf.c, for sender laws. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "control.h"
#include "sender_dispatch.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct ebb_replay_step {
	u32 kind; /* EBB_TRACE_…; before a start the caller clears the state */
	u32 reserved;
	union ebb_sender_input input;
	u32 params[EBB_MAX_PARAMS];
};

const volatile struct ebb_config config SEC(".rodata.config") = {};
union ebb_sender_state state SEC(".data.state") = {};
/* Some laws index their parameters, which the context does not allow. */
struct ebb_replay_step current SEC(".data.step") = {};

SEC("syscall")
int ebb_replay(struct ebb_replay_step *step)
{
	u32 law = config.law_number;

	__builtin_memcpy(&current, step, sizeof(current));
	switch (current.kind) {
	case EBB_TRACE_SENDER_START:
		ebb_sender_law_init(law, &state, &current.input.start, current.params);
		return 1;
	case EBB_TRACE_SENDER_ACK:
		ebb_sender_law_on_ack(law, &state, &current.input.ack, current.params);
		return 1;
	case EBB_TRACE_LOSS:
		ebb_sender_law_on_loss(law, &state, &current.input.event, current.params);
		return 1;
	case EBB_TRACE_TIMEOUT:
		ebb_sender_law_on_timeout(law, &state, &current.input.event, current.params);
		return 1;
	case EBB_TRACE_UNDO:
		ebb_sender_law_on_undo(law, &state, &current.input.event, current.params);
		return 1;
	case EBB_TRACE_IDLE:
		ebb_sender_law_on_idle(law, &state, &current.input.event, current.params);
		return 1;
	}
	return 0;
}
