/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a sender law can know of how long its segments were under way to the receiver:
 * the round-trip time without what the way back took longer than its least. Cross
 * traffic on the way back does not enter.
 *
 * Sources: [TCPLP §III.A.2] one-way delays from timestamps; [RFC7323 §5.4] their tick.
 *
 * Differences from the source:
 * 1. Not TSval less TSecr, which holds the offset of two clocks and their drift, but the
 *    RTT less the queue on the way back (what an acknowledgement's TSval shows of it).
 *    Both differ from the one-way delay by a constant only; this one is the RTT where
 *    there is no queue on the way back, drift is followed, and our own tick and delayed
 *    acknowledgements' older TSecr do not enter.
 * 2. Of a queue on the way back up to three of the peer's ticks and 5 ms are taken for one
 *    in front: what ticks, rounding and drift may feign must not make delays short.
 * 3. Without timestamps, or while the peer's tick is not measured yet (2 s), or where its
 *    clock stands still, the delay is the RTT.
 *
 * Domain: RTT below 35 minutes; see timestamps.h for ticks, drift and silences.
 */
#ifndef EBB_FORWARD_DELAY_H
#define EBB_FORWARD_DELAY_H

#include "sender_contract.h"
#include "timestamps.h"

/* [RFC7323 §5.4] Greatest delay: keeps sums of delays within 32 bits. */
#define EBB_FORWARD_MAX_DELAY_US 0x7fffffffu
/* [EBB §clock] What drift adds until an offset of two windows ago is forgotten. */
#define EBB_FORWARD_DRIFT_US 3000u
/* [EBB §clock] The peer's ticks that an offset and a delay are cut to: one each. */
#define EBB_FORWARD_TICKS 2u
EBB_BUILD_ASSERT(EBB_FORWARD_DRIFT_US ==
			 2ull * EBB_CLOCK_WINDOW_US * EBB_CLOCK_DRIFT_PPM / EBB_ONE_PPM,
		 "drift of two windows");

/* How much longer than its least the way back took: minus the clocks' offset, biased. */
EBB_INLINE u64 ebb_forward_offset_us(const struct ebb_clock *clock, u64 now_us)
{
	return EBB_CLOCK_BIAS_US + clock->sender_us - now_us;
}

/* Takes an acknowledgement's timestamp. */
EBB_INLINE void ebb_forward_on_ack(struct ebb_clock *clock, const struct ebb_sender_ack *ack)
{
	if (!ack->has_timestamps || ebb_clock_hear(clock, ack->now_us, ack->tsval) ||
	    clock->is_leaping)
		return;
	ebb_clock_learn_offset(clock, ack->now_us, ebb_forward_offset_us(clock, ack->now_us));
}

/*
 * How much longer than its least the way back of the acknowledgement taken last was, less what is
 * not sure of it; 0 where timestamps do not tell.
 */
EBB_INLINE u64 ebb_forward_way_back_us(const struct ebb_clock *clock,
				       const struct ebb_sender_ack *ack, u64 unsure_us)
{
	u64 way_back_us;

	if (!ack->has_timestamps || !clock->has_offset || !clock->tick.is_measured ||
	    !clock->tick.tick_us || clock->is_leaping)
		return 0;
	way_back_us = ebb_sub_floor(clock->offset_us, ebb_forward_offset_us(clock, ack->now_us));
	return ebb_sub_floor(way_back_us, unsure_us);
}

/* The delay of the segment that the acknowledgement taken last is about; 0: not known. */
EBB_INLINE u32 ebb_forward_delay_us(const struct ebb_clock *clock, const struct ebb_sender_ack *ack)
{
	u64 unsure_us = (u64)clock->tick.tick_us * EBB_FORWARD_TICKS + EBB_TICK_USUAL_US +
			EBB_FORWARD_DRIFT_US;
	u64 way_back_us = ebb_forward_way_back_us(clock, ack, unsure_us);

	if (!ack->rtt_us)
		return 0;
	return (u32)ebb_clamp(ebb_sub_floor(ack->rtt_us, way_back_us), 1, EBB_FORWARD_MAX_DELAY_US);
}

#endif /* EBB_FORWARD_DELAY_H */
