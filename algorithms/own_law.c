/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A law of one's own as a shared object: `ebb law build` compiles this with the header as
 * EBB_OWN_LAW. docs/laws/own-law.md says what the header has to have. EBB_OWN_LAYOUT tells
 * with which headers it was compiled.
 */
#include "native_tables.h"

#include "own_laws.h"

EBB_OWN_RECEIVER_LAWS(EBB_NATIVE_RECEIVER_LAW)
EBB_OWN_ON_ACK_LAWS(EBB_NATIVE_ON_ACK)
EBB_OWN_ACK_DELAY_LAWS(EBB_NATIVE_ACK_DELAY)
EBB_OWN_BUNDLE_LAWS(EBB_NATIVE_BUNDLE)
EBB_OWN_SENDER_LAWS(EBB_NATIVE_SENDER_LAW)

enum { EBB_OWN_RECEIVER_LAWS(EBB_NATIVE_AT) RECEIVERS };

/* One more than there are: C has no empty array. */
static const struct ebb_native_receiver_law receivers[RECEIVERS + 1] = {
	EBB_OWN_RECEIVER_LAWS(EBB_NATIVE_OF_PACKETS) EBB_OWN_ON_ACK_LAWS(EBB_NATIVE_HAS_ON_ACK)
		EBB_OWN_ACK_DELAY_LAWS(EBB_NATIVE_HAS_ACK_DELAY)
			EBB_OWN_BUNDLE_LAWS(EBB_NATIVE_HAS_BUNDLE)[RECEIVERS] = {0},
};
static const struct ebb_native_sender_law senders[] = {
	EBB_OWN_SENDER_LAWS(EBB_NATIVE_SENDER_OF_PACKETS){0},
};

extern const struct ebb_native_own ebb_native_own;
__attribute__((visibility("default"))) const struct ebb_native_own ebb_native_own = {
	.layout = EBB_OWN_LAYOUT,
	.receiver_count = RECEIVERS,
	.sender_count = sizeof(senders) / sizeof(senders[0]) - 1,
	.receivers = receivers,
	.senders = senders,
};
