/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules, natively: what the programs judge by is what `ebb gateway why` tells. */
#include "rules.h"

void ebb_gateway_judge(const struct ebb_rule *rules, u32 count, const struct ebb_subject *subject,
		       struct ebb_verdict *verdict);

void ebb_gateway_judge(const struct ebb_rule *rules, u32 count, const struct ebb_subject *subject,
		       struct ebb_verdict *verdict)
{
	verdict->again_at_bytes = EBB_NEVER_BYTES;
	verdict->rule = 0;
	verdict->is_background = 0;
	for (u32 place = 0; place < count; place++) {
		if (ebb_judge_by(&rules[place], place, subject, verdict))
			return;
	}
}
