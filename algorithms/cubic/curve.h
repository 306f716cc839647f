/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The curve of `cubic` [RFC9438 §4.2]: W(t) = C (t - K)^3 + W_max, in integers. Times are
 * in s/1024 up to 2048 s, windows in segments/1024.
 */
#ifndef EBB_CUBIC_CURVE_H
#define EBB_CUBIC_CURVE_H

#include "cubic/state.h"

/* [RFC9438 §4.2] Time that the curve knows, in s/1024: its cube fits 64 bits. */
#define EBB_CUBIC_MAX_TIME_X1024 0x1fffffu

/*
 * The greatest integer whose cube is not above x: one binary digit of the root for
 * three of x, from the top. Where y is the root so far, taking another digit 1 costs
 * (2y + 1)^3 - (2y)^3 = 3 (2y) (2y + 1) + 1 of what is left. Without a branch, for the
 * eBPF verifier would follow both ways at each digit; all numbers compared are below 2^63.
 */
EBB_INLINE u32 ebb_cubic_root(u64 x)
{
	u64 root = 0;
	u64 cost;
	u64 digit;
	u32 i;
	u32 shift;

	for (i = 0; i < 22; i++) {
		shift = 63 - 3 * i;
		root <<= 1;
		cost = 3 * root * (root + 1) + 1;
		digit = (cost - 1 - (x >> shift)) >> 63;
		x -= (cost * digit) << shift;
		root += digit;
	}
	return (u32)root;
}

/* Microseconds as s/1024: 1024 / 1 000 000 is 16 / 15 625. */
EBB_INLINE u32 ebb_cubic_time_x1024(u64 time_us)
{
	u64 most_us = (u64)EBB_CUBIC_MAX_TIME_X1024 * 1000;

	return (u32)ebb_min(ebb_min(time_us, most_us) * 16 / 15625, EBB_CUBIC_MAX_TIME_X1024);
}

/*
 * K [RFC9438 §4.2]: cbrt((W_max - cwnd_epoch) / C). The cube of s/1024 is 2^30 times the
 * cube of s. Products: 2^30 segments at the most, over C of 0.1 at the least: below 2^64.
 * Rounded up, so that the curve starts at the window, or a little below.
 */
EBB_INLINE u32 ebb_cubic_k_x1024(u32 gap_pkts, u32 c_x1000)
{
	u64 gap = ebb_min(gap_pkts, EBB_SENDER_MAX_CWND_PKTS);
	u64 cube = ebb_div(gap << 30, c_x1000, 0) * 1000;

	if (!cube)
		return 0;
	return (u32)ebb_min(ebb_cubic_root(cube - 1) + 1, EBB_CUBIC_MAX_TIME_X1024);
}

/* W_cubic(t) in segments/1024; 0 where the curve lies below. */
EBB_INLINE u64 ebb_cubic_window_x1024(const struct ebb_cubic_stage *stage, u32 t_x1024, u32 c_x1000)
{
	u64 origin_x1024 = (u64)stage->origin_pkts << 10;
	u64 off = t_x1024 < stage->k_x1024 ? stage->k_x1024 - t_x1024 : t_x1024 - stage->k_x1024;
	/* Below 2^63 / 2^20 * 10 000. */
	u64 distance_x1024 = (off * off * off >> 20) * c_x1000 / 1000;

	if (t_x1024 < stage->k_x1024)
		return ebb_sub_floor(origin_x1024, distance_x1024);
	return origin_x1024 + distance_x1024;
}

#endif /* EBB_CUBIC_CURVE_H */
