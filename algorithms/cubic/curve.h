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
/* [RFC9438 §4.2] The curve is a cubic; so many binary digits has the root of 64 bits. */
#define EBB_CUBIC_POWER 3u
#define EBB_CUBIC_ROOT_DIGITS 22u
/* [RFC9438 §4.2] 1024 / 1 000 000, cut: microseconds as s/1024. */
#define EBB_CUBIC_TIME_X1024 16u
#define EBB_CUBIC_TIME_US 15625u

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

	for (i = 0; i < EBB_CUBIC_ROOT_DIGITS; i++) {
		shift = EBB_CUBIC_POWER * (EBB_CUBIC_ROOT_DIGITS - 1 - i);
		root <<= 1;
		cost = EBB_CUBIC_POWER * root * (root + 1) + 1;
		digit = (cost - 1 - (x >> shift)) >> EBB_U64_SIGN_BIT;
		x -= (cost * digit) << shift;
		root += digit;
	}
	return (u32)root;
}

/* Microseconds as s/1024, each of which is less than a millisecond. */
EBB_INLINE u32 ebb_cubic_time_x1024(u64 time_us)
{
	u64 most_us = (u64)EBB_CUBIC_MAX_TIME_X1024 * EBB_US_PER_MS;

	time_us = ebb_min(time_us, most_us);
	return (u32)ebb_min(time_us * EBB_CUBIC_TIME_X1024 / EBB_CUBIC_TIME_US,
			    EBB_CUBIC_MAX_TIME_X1024);
}

/*
 * K [RFC9438 §4.2]: cbrt((W_max - cwnd_epoch) / C). The cube of s/1024 is 2^30 times the
 * cube of s. Products: 2^30 segments at the most, over C of 0.1 at the least: below 2^64.
 * Rounded up, so that the curve starts at the window, or a little below.
 */
EBB_INLINE u32 ebb_cubic_k_x1024(u32 gap_pkts, u32 c_x1000)
{
	u64 gap = ebb_min(gap_pkts, EBB_SENDER_MAX_CWND_PKTS);
	u64 cube = ebb_div(gap << (EBB_CUBIC_POWER * EBB_X1024_BITS), c_x1000, 0) * EBB_ONE_X1000;

	if (!cube)
		return 0;
	return (u32)ebb_min(ebb_cubic_root(cube - 1) + 1, EBB_CUBIC_MAX_TIME_X1024);
}

/* W_cubic(t) in segments/1024; 0 where the curve lies below. */
EBB_INLINE u64 ebb_cubic_window_x1024(const struct ebb_cubic_stage *stage, u32 t_x1024, u32 c_x1000)
{
	u64 origin_x1024 = (u64)stage->origin_pkts << EBB_X1024_BITS;
	u64 off = t_x1024 < stage->k_x1024 ? stage->k_x1024 - t_x1024 : t_x1024 - stage->k_x1024;
	/* Below 2^63 / 2^20 * 10 000. */
	u64 distance_x1024 = (off * off * off >> EBB_X1M_BITS) * c_x1000 / EBB_ONE_X1000;

	if (t_x1024 < stage->k_x1024)
		return ebb_sub_floor(origin_x1024, distance_x1024);
	return origin_x1024 + distance_x1024;
}

#endif /* EBB_CUBIC_CURVE_H */
