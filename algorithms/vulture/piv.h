/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Vulture's packet interval variations: pairs of packets (algorithm 1), the count of
 * their variations (algorithm 2) and what the counts mean in each mode (algorithm 3).
 *
 * Source: [VULTURE §0.3.2]. Differences are listed in vulture.h (1 to 5).
 */
#ifndef EBB_VULTURE_PIV_H
#define EBB_VULTURE_PIV_H

#include "timestamps.h"
#include "vulture/params.h"

/* [READING §search] packetQue's room: what a full queue of 10 Mbit/s has in two round trips. */
#define EBB_VULTURE_PACKETS 512u
#define EBB_VULTURE_PACKET_MASK (EBB_VULTURE_PACKETS - 1)
/* [READING §additions] Packets are queued so often within a PSI at most. */
#define EBB_VULTURE_PACKETS_PER_PSI 128u
/* [READING §additions] Partners that one packet may pass over. */
#define EBB_VULTURE_PACKET_STEPS 8
/* [READING §additions] Bounds one variation, and so the sum of a round trip's. */
#define EBB_VULTURE_MAX_PIV_JIFFIES 1000000u

/* [VULTURE §0.3.3] Most variations are positive if they are above this part of all. */
#define EBB_VULTURE_MOST_DIVISOR 2u
/* [VULTURE §0.3.2] Packets that make a pair. */
#define EBB_VULTURE_PAIR_PACKETS 2u
/* [READING §additions] Rounding to the nearest jiffy adds this part of one. */
#define EBB_VULTURE_NEAREST_DIVISOR 2u

/* [VULTURE §0.3.3] The policies. */
#define EBB_VULTURE_FIX 0u
#define EBB_VULTURE_DOUBLE 1u
#define EBB_VULTURE_INCREASE 2u
#define EBB_VULTURE_HALVE 3u

struct ebb_vulture_packet {
	u32 sent; /* in jiffies or in us: see piv_clock */
	u32 arrived;
};

/* What a round trip's variations amount to; middle is what neither high nor low is. */
struct ebb_vulture_counts {
	s64 sum_jiffies; /* pivSum */
	u32 all;         /* pivCount */
	u32 negative;
	u32 positive;
	u32 conservative_high;
	u32 conservative_low;
	u32 aggressive_high;
	u32 aggressive_low;
	u32 reserved;
};

struct ebb_vulture_pairs {
	struct ebb_clock clock; /* the sender's, on our scale */
	struct ebb_vulture_counts counts;
	u64 queued_us; /* when a packet was queued last */
	u16 head;
	u16 count;
	u32 reserved;
	struct ebb_vulture_packet packets[EBB_VULTURE_PACKETS];
};

EBB_INLINE void ebb_vulture_counts_clear(struct ebb_vulture_counts *counts)
{
	counts->sum_jiffies = 0;
	counts->all = 0;
	counts->negative = 0;
	counts->positive = 0;
	counts->conservative_high = 0;
	counts->conservative_low = 0;
	counts->aggressive_high = 0;
	counts->aggressive_low = 0;
}

/* One variation enters the counts of both modes, as the mode is not known yet. */
EBB_INLINE void ebb_vulture_counts_add(struct ebb_vulture_counts *counts, u32 size_jiffies,
				       u8 is_negative, const struct ebb_vulture_params *params)
{
	counts->all++;
	if (size_jiffies && is_negative) {
		counts->negative++;
		counts->sum_jiffies -= size_jiffies;
	} else if (size_jiffies) {
		counts->positive++;
		counts->sum_jiffies += size_jiffies;
	}

	if (size_jiffies >= params->conservative_high_jiffies)
		counts->conservative_high++;
	else if (size_jiffies != params->conservative_low_jiffies)
		counts->conservative_low++;

	if (size_jiffies >= params->aggressive_high_jiffies)
		counts->aggressive_high++;
	else if (size_jiffies <= params->aggressive_low_jiffies)
		counts->aggressive_low++;
}

/* Algorithm 3's test: do others use the link as well? */
EBB_INLINE u8 ebb_vulture_is_conservative(const struct ebb_vulture_counts *counts,
					  const struct ebb_vulture_params *params)
{
	u8 has_positive_sum = counts->sum_jiffies > 0;
	u8 is_mostly_positive = counts->positive > counts->all / EBB_VULTURE_MOST_DIVISOR;

	if (params->mode_rule == EBB_VULTURE_MODE_SUM)
		return has_positive_sum;
	if (params->mode_rule == EBB_VULTURE_MODE_BOTH)
		return has_positive_sum && is_mostly_positive;
	return has_positive_sum || is_mostly_positive;
}

/* Algorithm 4's test: does the share reach alpha? Counts are below 2^32. */
EBB_INLINE u8 ebb_vulture_is_most(u32 part, u32 all, const struct ebb_vulture_params *params)
{
	u64 part_x1024 = (u64)part * EBB_ONE_X1024;
	u64 needed_x1024 = (u64)all * params->alpha_x1024;

	return part_x1024 > needed_x1024 ||
	       (params->alpha_is_enough && all && part_x1024 == needed_x1024);
}

/* Algorithms 3 and 4: the policy that a finished round trip asks for. */
EBB_INLINE u8 ebb_vulture_choose(const struct ebb_vulture_counts *counts, u8 is_below_thresh,
				 const struct ebb_vulture_params *params)
{
	u8 is_conservative = ebb_vulture_is_conservative(counts, params);
	u32 high = is_conservative ? counts->conservative_high : counts->aggressive_high;
	u32 low = is_conservative ? counts->conservative_low : counts->aggressive_low;

	if (ebb_vulture_is_most(high, counts->all, params))
		return EBB_VULTURE_HALVE;
	if (!ebb_vulture_is_most(low, counts->all, params))
		return EBB_VULTURE_FIX;
	return is_below_thresh ? EBB_VULTURE_DOUBLE : EBB_VULTURE_INCREASE;
}

EBB_INLINE u64 ebb_vulture_unit_us(const struct ebb_vulture_params *params)
{
	return params->piv_clock == EBB_VULTURE_CLOCK_JIFFIES ? params->jiffy_us : 1;
}

/* A number of jiffies in the unit of the packets' times. */
EBB_INLINE u64 ebb_vulture_span(const struct ebb_vulture_params *params, u32 jiffies)
{
	return params->piv_clock == EBB_VULTURE_CLOCK_JIFFIES ? jiffies
							      : (u64)jiffies * params->jiffy_us;
}

EBB_INLINE void ebb_vulture_packets_clear(struct ebb_vulture_pairs *pairs)
{
	pairs->head = 0;
	pairs->count = 0;
}

EBB_INLINE void ebb_vulture_packets_pop(struct ebb_vulture_pairs *pairs)
{
	pairs->head = (pairs->head + 1u) & EBB_VULTURE_PACKET_MASK;
	pairs->count--;
}

/* Queues a packet; thins out what comes faster than the ring could hold for a PSI. */
EBB_INLINE void ebb_vulture_packets_push(struct ebb_vulture_pairs *pairs, u64 now_us, u32 sent,
					 u32 arrived, const struct ebb_vulture_params *params)
{
	struct ebb_vulture_packet *packet;
	u64 spacing_us = (u64)params->psi_jiffies * params->jiffy_us / EBB_VULTURE_PACKETS_PER_PSI;

	if (pairs->count >= EBB_VULTURE_PACKETS || pairs->count >= params->queue_packets)
		return;
	if (pairs->count && now_us - pairs->queued_us < spacing_us)
		return;
	packet = &pairs->packets[(pairs->head + pairs->count) & EBB_VULTURE_PACKET_MASK];
	packet->sent = sent;
	packet->arrived = arrived;
	pairs->queued_us = now_us;
	pairs->count++;
}

/* The pair of a packet with its partner: arrival interval less sending interval. */
EBB_INLINE void ebb_vulture_pair_count(struct ebb_vulture_pairs *pairs,
				       const struct ebb_vulture_packet *partner, u32 sent,
				       u32 arrived, const struct ebb_vulture_params *params)
{
	u32 psi = sent - partner->sent;
	u32 pai = arrived - partner->arrived;
	u8 is_negative = ebb_before32(pai, psi);
	u64 size = is_negative ? psi - pai : pai - psi;

	if (params->piv_clock == EBB_VULTURE_CLOCK_NEAREST)
		size += params->jiffy_us / EBB_VULTURE_NEAREST_DIVISOR;
	if (params->piv_clock != EBB_VULTURE_CLOCK_JIFFIES)
		size = ebb_div(size, params->jiffy_us, 0);
	ebb_vulture_counts_add(&pairs->counts, (u32)ebb_min(size, EBB_VULTURE_MAX_PIV_JIFFIES),
			       is_negative, params);
}

/* Drops partners that are too old, or that a younger one replaces. */
EBB_INLINE void ebb_vulture_packets_pass_over(struct ebb_vulture_pairs *pairs, u32 sent,
					      const struct ebb_vulture_params *params)
{
	const struct ebb_vulture_packet *head, *second;
	u64 psi_limit = ebb_vulture_span(params, params->psi_jiffies);
	u64 age_limit = ebb_vulture_span(params, params->max_psi_jiffies);
	int step;

	for (step = 0; step < EBB_VULTURE_PACKET_STEPS; step++) {
		head = &pairs->packets[pairs->head & EBB_VULTURE_PACKET_MASK];
		second = &pairs->packets[(pairs->head + 1u) & EBB_VULTURE_PACKET_MASK];
		if (!pairs->count)
			return;
		if (age_limit && (s32)(sent - head->sent) > 0 && sent - head->sent > age_limit) {
			ebb_vulture_packets_pop(pairs);
			continue;
		}
		if (params->pair_rule != EBB_VULTURE_PAIR_NEAREST ||
		    pairs->count < EBB_VULTURE_PAIR_PACKETS)
			return;
		if ((s32)(sent - second->sent) < 0 || sent - second->sent < psi_limit)
			return;
		ebb_vulture_packets_pop(pairs);
	}
}

/* Algorithm 1: pairs a packet with the head of the queue, or queues it. */
EBB_INLINE void ebb_vulture_pairs_take(struct ebb_vulture_pairs *pairs, u64 now_us, u32 sent,
				       u32 arrived, const struct ebb_vulture_params *params)
{
	u64 psi_limit = ebb_vulture_span(params, params->psi_jiffies);
	struct ebb_vulture_packet *head;
	u32 psi;

	ebb_vulture_packets_pass_over(pairs, sent, params);
	ebb_end_step();
	head = &pairs->packets[pairs->head & EBB_VULTURE_PACKET_MASK];
	psi = sent - head->sent;
	/* Sent before the head by more than reordering explains: another clock. */
	if ((s32)psi < 0 && 0 - psi > psi_limit)
		ebb_vulture_packets_clear(pairs);
	if (!pairs->count || (s32)psi < 0 || psi < psi_limit) {
		ebb_vulture_packets_push(pairs, now_us, sent, arrived, params);
		return;
	}
	ebb_vulture_pair_count(pairs, head, sent, arrived, params);
	ebb_end_step();
	if (params->pair_rule == EBB_VULTURE_PAIR_CHAIN)
		ebb_vulture_packets_clear(pairs);
	else if (params->pair_rule != EBB_VULTURE_PAIR_NEAREST)
		ebb_vulture_packets_pop(pairs);
	if (params->pair_rule != EBB_VULTURE_PAIR_LITERAL)
		ebb_vulture_packets_push(pairs, now_us, sent, arrived, params);
}

/* Takes a segment's timestamp and sets its times; returns 0 if they mean nothing. */
EBB_INLINE u8 ebb_vulture_pairs_clock(struct ebb_vulture_pairs *pairs, u64 now_us, u32 tsval,
				      const struct ebb_vulture_params *params,
				      struct ebb_vulture_packet *times)
{
	u64 unit_us = ebb_vulture_unit_us(params);

	if (ebb_clock_on_segment(&pairs->clock, now_us, tsval, 0))
		ebb_vulture_packets_clear(pairs);
	times->sent = (u32)ebb_div(pairs->clock.sender_us, unit_us, 0);
	times->arrived = (u32)ebb_div(now_us, unit_us, 0);
	return pairs->clock.tick.tick_us != 0 && !pairs->clock.is_leaping;
}

/* ---- optional hooks: the pairs by themselves, for whoever only wants to look at them ---- */

EBB_INLINE void ebb_vulture_pairs_on_segment(struct ebb_vulture_pairs *pairs, u64 now_us, u32 tsval,
					     const struct ebb_vulture_params *params)
{
	struct ebb_vulture_packet times;

	if (ebb_vulture_pairs_clock(pairs, now_us, tsval, params, &times))
		ebb_vulture_pairs_take(pairs, now_us, times.sent, times.arrived, params);
}

EBB_INLINE void ebb_vulture_pairs_end_round(struct ebb_vulture_pairs *pairs,
					    struct ebb_variations *variations)
{
	variations->sum_jiffies = pairs->counts.sum_jiffies;
	variations->all = pairs->counts.all;
	variations->positive = pairs->counts.positive;
	ebb_vulture_counts_clear(&pairs->counts);
}

#endif /* EBB_VULTURE_PIV_H */
