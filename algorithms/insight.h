/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a law's state says to a person: the queue it sees, and what it is about. */
#ifndef EBB_INSIGHT_H
#define EBB_INSIGHT_H

#include "types.h"

/* What a law is about; src/insight.rs has the words. */
#define EBB_DOING_UNKNOWN 0u
#define EBB_DOING_START 1u /* doubling: from the beginning, or since others have gone */
#define EBB_DOING_GROW 2u  /* by and by: there is room */
#define EBB_DOING_HOLD 3u  /* the queue is as long as it may be */
#define EBB_DOING_YIELD 4u /* others want the link */
#define EBB_DOING_LOOK 5u  /* sends little for a moment, to see the path without its queue */
#define EBB_DOING_WAIT 6u  /* until what was granted before the law came is used up */

#define EBB_NO_INSIGHT 0xffffffffu

struct ebb_insight {
	u32 queue_us; /* queueing delay; EBB_NO_INSIGHT: the law does not see it */
	u32 doing;    /* EBB_DOING_… */
};

void ebb_native_insight(u32 number, const void *state, const void *params,
			struct ebb_insight *insight);

#endif /* EBB_INSIGHT_H */
