/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How far the moves of Ebb's own laws go, whatever a law sees: packets (ebb) or counters
 * (sampled, paced). What the path looks like, and when a move is made, is each law's own.
 *
 * Source: [EBB] docs/ebb-law.md. Domain: as ebb.
 */
#ifndef EBB_MOVES_H
#define EBB_MOVES_H

#include "math.h"
#include "units.h"

/* [EBB §domain] Bounds that keep products within 64 bits. */
#define EBB_MOVES_MAX_RTT_US 60000000u
#define EBB_MOVES_MAX_CAPACITY_BYTES_PER_S 62500000000ull
#define EBB_MOVES_MAX_WINDOW_BYTES 0x3fffffffu
#define EBB_MOVES_MAX_BYTES (1ull << 40)
#define EBB_MOVES_MAX_OVER_US (1u << 20)
#define EBB_MOVES_MAX_SEGMENT_US 1000000u
/* [EBB §domain] Stands for a delay that was not seen. */
#define EBB_MOVES_NO_DELAY 0xffffffffu

/* [EBB §base] While we yield, the base is forgotten after so many times as long. */
#define EBB_MOVES_YIELDING_BASE_FACTOR 10u
/* [EBB §base] Part of the window that is left for one round trip, to see an empty queue. */
#define EBB_MOVES_DRAIN_X4 3u
/* [EBB §thresholds] What the sender does not use is not granted: W is at most so many times what
 * arrived in a round trip, and so many segments. */
#define EBB_MOVES_GRANT_ROUNDS 2u
#define EBB_MOVES_GRANT_SEGMENTS 4u
/* [EBB §In numbers] W grows if so many times what arrived, and so many segments, are W at least. */
#define EBB_MOVES_USED_X2 3u
#define EBB_MOVES_USED_SEGMENTS 4u
/* [EBB §In numbers] With a queue between low and target, and before a shrink, W is at most what
 * arrived and so many segments. */
#define EBB_MOVES_NEAR_SEGMENTS 2u
/* [EBB §In numbers] Least of the window that fills the link with a queue of the target. */
#define EBB_MOVES_CAP_SEGMENTS 4u
/* [EBB §thresholds] Growth beyond saturation doubles in so many round trips, so many at the most. */
#define EBB_MOVES_DOUBLING_ROUNDS 2u
#define EBB_MOVES_MAX_STEPS 16u
/* [EBB §fairness] Our flows grow by the same share of the path, so that they converge. */
#define EBB_MOVES_GROWTH_DIVISOR 32u
/* [EBB §thresholds] A shrink takes W x (q - target) / RTT, so many times. */
#define EBB_MOVES_SHRINK_X2 3u
/* [EBB §In numbers] Part that is left, at the next cut, of W at which the link was full. */
#define EBB_MOVES_SATURATION_X10 8u
/* [EBB §yield] While yielding the window falls to this part. */
#define EBB_MOVES_PROBE_DIVISOR 2u
/* [EBB §In numbers] A yield so many RTT and a hold after the last makes the hold longer: so many
 * times the last and this. */
#define EBB_MOVES_SOON_RTTS 8u
#define EBB_MOVES_HOLD_FACTOR 2u
#define EBB_MOVES_HOLD_STEP_US 300000u
/* [EBB §In numbers] After an overshoot W is less by this queue, too. */
#define EBB_MOVES_RETREAT_US 2000u
/* [EBB §In numbers] Blindness after a cut ends so long, and some RTT, after it at the latest. */
#define EBB_MOVES_BLIND_US 20000u
/* [EBB §loss] A hole is congestion if the queue was above this part of the longest seen. */
#define EBB_MOVES_USUAL_QUEUE_X4 3u
/* [EBB §loss] What a loss leaves of the window. */
#define EBB_MOVES_LOSS_DIVISOR 2u
/* [RFC5681 §3.1] The least that a loss leaves. */
#define EBB_MOVES_LOSS_SEGMENTS 2u

/* ---- the path ---- */

/* Bytes that the link carries in a time. Capacity < 2^36 B/s, time < 2^26 us. */
EBB_INLINE u64 ebb_moves_bytes_in(u64 capacity_bytes_per_s, u64 time_us)
{
	return capacity_bytes_per_s * ebb_min(time_us, EBB_MOVES_MAX_RTT_US) / EBB_US_PER_S;
}

/* Time that the link needs for so many bytes; 0 while its capacity is not known. */
EBB_INLINE u64 ebb_moves_time_us(u64 capacity_bytes_per_s, u64 bytes)
{
	return ebb_div(ebb_min(bytes, EBB_MOVES_MAX_BYTES) * EBB_US_PER_S, capacity_bytes_per_s, 0);
}

/* How long the least delay counts; time passes slowly while yielding. */
EBB_INLINE u64 ebb_moves_base_window_us(u32 base_window_us, u8 is_yielding)
{
	return is_yielding ? (u64)base_window_us * EBB_MOVES_YIELDING_BASE_FACTOR : base_window_us;
}

/* ---- the window ---- */

EBB_INLINE u32 ebb_moves_window_bytes(u64 bytes, u32 mss_bytes)
{
	return (u32)ebb_clamp(bytes, mss_bytes, EBB_MOVES_MAX_WINDOW_BYTES);
}

/* Never grant what the sender does not use: it cannot be taken back. */
EBB_INLINE u64 ebb_moves_grant_bytes(u32 round_bytes, u32 mss_bytes)
{
	return (u64)round_bytes * EBB_MOVES_GRANT_ROUNDS +
	       (u64)mss_bytes * EBB_MOVES_GRANT_SEGMENTS;
}

EBB_INLINE u8 ebb_moves_is_used(u32 round_bytes, u32 mss_bytes, u32 round_rwnd_bytes)
{
	u64 used_bytes = (u64)round_bytes * EBB_MOVES_USED_X2 / EBB_ONE_X2;

	return used_bytes + (u64)mss_bytes * EBB_MOVES_USED_SEGMENTS >= round_rwnd_bytes;
}

/* What arrived, and little more: where a queue stands. */
EBB_INLINE u64 ebb_moves_near_bytes(u32 round_bytes, u32 mss_bytes)
{
	return (u64)round_bytes + (u64)mss_bytes * EBB_MOVES_NEAR_SEGMENTS;
}

/* Growth beyond saturation, after so many round trips without a queue. */
EBB_INLINE u64 ebb_moves_step_bytes(u32 mss_bytes, u32 clear_rounds)
{
	return (u64)mss_bytes << (ebb_min(clear_rounds, EBB_MOVES_MAX_STEPS) /
				  EBB_MOVES_DOUBLING_ROUNDS);
}

/* Growth is spread over the round trip: what so many bytes of it bring, of what is left of it. */
EBB_INLINE u32 ebb_moves_share_bytes(u32 growth_bytes, u32 left_bytes, u32 payload_bytes,
				     u32 round_rwnd_bytes)
{
	u64 share_bytes = ebb_div((u64)growth_bytes * payload_bytes, round_rwnd_bytes, 0);

	return (u32)ebb_min(share_bytes, left_bytes);
}

/* ---- cuts ---- */

/* W at which the link was full, as it is remembered when it was full at another W. */
EBB_INLINE u32 ebb_moves_saturation_bytes(u64 bytes, u32 last_bytes)
{
	return (u32)ebb_max(bytes, (u64)last_bytes * EBB_MOVES_SATURATION_X10 / EBB_ONE_X10);
}

/* Others want the link: give it all if we had it, else a share of the excess. */
EBB_INLINE u64 ebb_moves_yield_bytes(u64 window_bytes, u64 over_us, u32 span_us, u64 least_bytes,
				     u8 had_link)
{
	window_bytes -= ebb_div(window_bytes * ebb_min(over_us, span_us), span_us, window_bytes);
	return had_link ? least_bytes : ebb_max(window_bytes, least_bytes);
}

/* The wait before probing again, when yields follow one another. */
EBB_INLINE u8 ebb_moves_is_soon(u64 since_last_us, u32 rtt_us, u32 hold_us)
{
	return since_last_us < (u64)rtt_us * EBB_MOVES_SOON_RTTS + hold_us;
}

EBB_INLINE u32 ebb_moves_longer_hold_us(u32 hold_us, u32 most_us)
{
	return (u32)ebb_min((u64)hold_us * EBB_MOVES_HOLD_FACTOR + EBB_MOVES_HOLD_STEP_US, most_us);
}

/* We overshot ourselves: back to what the link and the target hold. */
EBB_INLINE u64 ebb_moves_retreat_bytes(u32 rwnd_bytes, u32 base_us, u64 over_us)
{
	u64 longer_us = base_us + over_us + EBB_MOVES_RETREAT_US;

	return ebb_div((u64)rwnd_bytes * base_us, longer_us, rwnd_bytes);
}

/* The queue is above the target: take back what makes it, a part of the window at the least. */
EBB_INLINE u64 ebb_moves_shrink_bytes(u64 window_bytes, u64 over_us, u32 rtt_us, u32 divisor)
{
	u64 excess = window_bytes * ebb_min(over_us, EBB_MOVES_MAX_OVER_US);
	u64 step_bytes = ebb_div(excess * EBB_MOVES_SHRINK_X2 / EBB_ONE_X2, rtt_us, 0);

	step_bytes = ebb_max(step_bytes, ebb_div(window_bytes, divisor, 0));
	return ebb_sub_floor(window_bytes, step_bytes);
}

EBB_INLINE u64 ebb_moves_drain_bytes(u32 rwnd_bytes)
{
	return (u64)rwnd_bytes * EBB_MOVES_DRAIN_X4 / EBB_ONE_X4;
}

/* ---- losses ---- */

/* The queue above which a hole in the sequence means congestion. */
EBB_INLINE u32 ebb_moves_usual_us(u32 target_us, u32 longest_queue_us)
{
	return (u32)ebb_min(target_us, longest_queue_us / EBB_ONE_X4 * EBB_MOVES_USUAL_QUEUE_X4);
}

EBB_INLINE u64 ebb_moves_loss_bytes(u32 rwnd_bytes, u32 mss_bytes)
{
	return ebb_max(rwnd_bytes / EBB_MOVES_LOSS_DIVISOR,
		       (u64)mss_bytes * EBB_MOVES_LOSS_SEGMENTS);
}

#endif /* EBB_MOVES_H */
