/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What counts as a finding: a rule that a law broke, and what the compiler's checks find.
 */
#ifndef EBB_FUZZ_CHECKS_H
#define EBB_FUZZ_CHECKS_H

#include <stdio.h>
#include <stdlib.h>

#include "types.h"

#define REQUIRE(condition, ...)                                                \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "finding: broken rule: " __VA_ARGS__); \
			fputc('\n', stderr);                                   \
			abort();                                               \
		}                                                              \
	} while (0)

/*
 * Leaves the same byte wherever the next call's locals will be: a law that reads one
 * which it did not set answers differently when the run is repeated with another byte.
 */
void fill_stack(u8 byte);

#endif /* EBB_FUZZ_CHECKS_H */
