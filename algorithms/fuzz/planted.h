/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Faulty laws, for the test of the fuzzer itself. */
#ifndef EBB_FUZZ_PLANTED_H
#define EBB_FUZZ_PLANTED_H

#include "native.h"

#define PLANTED_LAWS 4u

extern const struct ebb_native_sender_law planted_laws[PLANTED_LAWS];
/* Never forgets a timestamp from the past. */
extern const struct ebb_native_receiver_law planted_receiver_law;

#endif /* EBB_FUZZ_PLANTED_H */
