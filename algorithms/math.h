/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Integer arithmetic that means the same in eBPF and natively.
 *
 * eBPF answers 0 for x / 0 where a CPU traps, and has no signed division: laws
 * divide by a variable through ebb_div alone, and only unsigned.
 */
#ifndef EBB_MATH_H
#define EBB_MATH_H

#include "types.h"

EBB_INLINE u64 ebb_div(u64 dividend, u64 divisor, u64 if_zero)
{
	return divisor ? dividend / divisor : if_zero;
}

EBB_INLINE u64 ebb_mod(u64 dividend, u64 divisor)
{
	return divisor ? dividend % divisor : 0;
}

EBB_INLINE u64 ebb_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

EBB_INLINE u64 ebb_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

EBB_INLINE u64 ebb_clamp(u64 value, u64 low, u64 high)
{
	return value < low ? low : value > high ? high : value;
}

/* a - b, or 0 where that would be negative. */
EBB_INLINE u64 ebb_sub_floor(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/*
 * The second least of a row of values, which begins with *least at its greatest: one that lies
 * does not make it less, two have to agree. Takes a value; second is what was answered last.
 */
EBB_INLINE u32 ebb_second_least(u32 *least, u32 second, u32 value)
{
	u32 higher = (u32)ebb_max(*least, value);

	*least = (u32)ebb_min(*least, value);
	return (u32)ebb_min(second, higher);
}

/* The second greatest likewise, of a row that begins with *greatest at its least. */
EBB_INLINE u32 ebb_second_greatest(u32 *greatest, u32 second, u32 value)
{
	u32 lower = (u32)ebb_min(*greatest, value);

	*greatest = (u32)ebb_max(*greatest, value);
	return (u32)ebb_max(second, lower);
}

/* [RFC7323 §5.2] Half of the circle of a 32-bit counter: what is further on lies behind. */
#define EBB_HALF_CIRCLE 0x7fffffffu

/* a comes before b on a 32-bit counter that wraps (sequence numbers, timestamps). */
EBB_INLINE u8 ebb_before32(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

#endif /* EBB_MATH_H */
