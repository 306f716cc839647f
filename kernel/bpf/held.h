/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets of what programs act for: a bit for each number of a rule or a claim. */
#ifndef EBB_HELD_H
#define EBB_HELD_H

#include "control.h"

/* Of a word of a set. */
#define EBB_BITS 64

EBB_INLINE int ebb_has_rule(const u64 *rules, u32 rule)
{
	return rules[rule / EBB_BITS & (EBB_HELD_WORDS - 1)] >> (rule & (EBB_BITS - 1)) & 1;
}

#endif /* EBB_HELD_H */
