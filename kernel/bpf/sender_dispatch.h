/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* As receiver_dispatch.h, for the sender laws. */
#ifndef EBB_SENDER_DISPATCH_H
#define EBB_SENDER_DISPATCH_H

#include "own_laws.h"
#include "sender_laws.h"

/* Ebb's laws and those of one's own. */
#define EBB_EVERY_SENDER_LAW(X) EBB_SENDER_LAWS(X) EBB_OWN_SENDER_LAWS(X)

union ebb_sender_state {
	struct ebb_sender_window window; /* every law's first member (native.c asserts it) */
#define EBB_STATE_MEMBER(number, law, ...) struct ebb_##law##_state law;
	EBB_EVERY_SENDER_LAW(EBB_STATE_MEMBER)
#undef EBB_STATE_MEMBER
};

#define EBB_SENDER_CASE(number, law, hook)                                                         \
	case number:                                                                               \
		ebb_##law##_##hook(&state->law, input, (const struct ebb_##law##_params *)params); \
		break;
#define EBB_SENDER_CALL(hook, kind)                                                          \
	EBB_INLINE void ebb_sender_law_##hook(u32 law_number, union ebb_sender_state *state, \
					      const struct kind *input, const u32 *params)   \
	{                                                                                    \
		switch (law_number) {                                                        \
			EBB_EVERY_SENDER_LAW(EBB_SENDER_CASE_##hook)                         \
		}                                                                            \
	}

#define EBB_SENDER_CASE_init(number, law, ...) EBB_SENDER_CASE(number, law, init)
#define EBB_SENDER_CASE_on_ack(number, law, ...) EBB_SENDER_CASE(number, law, on_ack)
#define EBB_SENDER_CASE_on_loss(number, law, ...) EBB_SENDER_CASE(number, law, on_loss)
#define EBB_SENDER_CASE_on_timeout(number, law, ...) EBB_SENDER_CASE(number, law, on_timeout)
#define EBB_SENDER_CASE_on_undo(number, law, ...) EBB_SENDER_CASE(number, law, on_undo)
#define EBB_SENDER_CASE_on_idle(number, law, ...) EBB_SENDER_CASE(number, law, on_idle)

EBB_SENDER_CALL(init, ebb_sender_start)
EBB_SENDER_CALL(on_ack, ebb_sender_ack)
EBB_SENDER_CALL(on_loss, ebb_sender_event)
EBB_SENDER_CALL(on_timeout, ebb_sender_event)
EBB_SENDER_CALL(on_undo, ebb_sender_event)
EBB_SENDER_CALL(on_idle, ebb_sender_event)

#endif /* EBB_SENDER_DISPATCH_H */
