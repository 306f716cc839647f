/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When a client's timestamps passed here. A law measures the round trip by the echo of a clock that
 * its host reads. The client's clock is not ours; but we see each timestamp leave, and its echo
 * come back, so the round trip from here is known to the microsecond.
 *
 * Timestamps fall into buckets of some 32 ms. Of each bucket the first one is kept; the others
 * follow it by the client's own ticks.
 */
#ifndef EBB_ECHOES_H
#define EBB_ECHOES_H

#include "math.h"
#include "timestamps.h"

/* A power of 2; with buckets of 32 ms, two seconds. */
#define EBB_ECHO_BUCKETS 64u
#define EBB_ECHO_BUCKET_US 32768u
#define EBB_ECHO_MOST_BITS 15u
/* What passed longer ago is another turn of the buckets'. */
#define EBB_ECHO_OLDEST_US 30000000u

struct ebb_echo {
	u32 tsval;
	u32 at_us; /* when it passed, low 32 bits */
};

struct ebb_echoes {
	struct ebb_tick tick; /* of the client's clock */
	u32 bits;             /* a bucket has so many of the timestamp's */
	u32 last_us;          /* what was found last; 0: nothing yet */
	struct ebb_echo bucket[EBB_ECHO_BUCKETS];
};

/* For ticks from a microsecond to more than a bucket. */
EBB_INLINE u32 ebb_echo_bits(u32 tick_us)
{
	u32 bits = 0;

	for (u32 i = 0; i < EBB_ECHO_MOST_BITS; i++)
		bits += ((u64)tick_us << (i + 1)) <= EBB_ECHO_BUCKET_US;
	return bits;
}

/* A timestamp of the client's passes. */
EBB_INLINE void ebb_echoes_note(struct ebb_echoes *echoes, u64 now_us, u32 tsval)
{
	struct ebb_echo *echo;
	u32 at_us = (u32)now_us;

	if (!echoes->tick.is_started || ebb_tick_on_segment(&echoes->tick, now_us, tsval)) {
		if (!echoes->tick.is_started)
			ebb_tick_start(&echoes->tick, now_us, tsval);
		echoes->bits = ebb_echo_bits(echoes->tick.tick_us);
	}
	ebb_end_step();
	echo = &echoes->bucket[(tsval >> (echoes->bits & EBB_ECHO_MOST_BITS)) &
			       (EBB_ECHO_BUCKETS - 1)];
	if (echo->at_us && at_us - echo->at_us < EBB_ECHO_OLDEST_US &&
	    (echo->tsval ^ tsval) >> (echoes->bits & EBB_ECHO_MOST_BITS) == 0)
		return;
	echo->tsval = tsval;
	echo->at_us = at_us ? at_us : 1;
}

/*
 * When the timestamp passed that is echoed now, on our clock's low 32 bits. What is not known any
 * more is taken for the echo before; 0 before there is any.
 */
EBB_INLINE u32 ebb_echoes_find(struct ebb_echoes *echoes, u64 now_us, u32 tsecr)
{
	u32 bits = echoes->bits & EBB_ECHO_MOST_BITS, at_us, now_low_us = (u32)now_us;
	struct ebb_echo *echo = &echoes->bucket[(tsecr >> bits) & (EBB_ECHO_BUCKETS - 1)];

	if (!echo->at_us || now_low_us - echo->at_us > EBB_ECHO_OLDEST_US ||
	    (echo->tsval ^ tsecr) >> bits)
		return echoes->last_us;
	at_us = echo->at_us + (tsecr - echo->tsval) * echoes->tick.tick_us;
	if (ebb_before32(now_low_us, at_us))
		at_us = now_low_us;
	echoes->last_us = at_us ? at_us : 1;
	return echoes->last_us;
}

#endif /* EBB_ECHOES_H */
