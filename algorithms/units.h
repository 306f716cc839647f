/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The units of the laws' numbers, what 1 is in each fixed point, and bounds that are TCP's or the
 * machine's own.
 */
#ifndef EBB_UNITS_H
#define EBB_UNITS_H

#define EBB_US_PER_MS 1000u
#define EBB_US_PER_S 1000000u
#define EBB_BYTES_PER_KBIT 125u

#define EBB_ONE_X2 2u
#define EBB_ONE_X4 4u
#define EBB_ONE_X8 8u
#define EBB_ONE_X10 10u
#define EBB_ONE_X16 16u
#define EBB_ONE_X32 32u
#define EBB_ONE_X64 64u
#define EBB_ONE_X100 100u
#define EBB_ONE_X128 128u
#define EBB_ONE_X1000 1000u
#define EBB_ONE_X1024 1024u
#define EBB_ONE_PPM 1000000u
#define EBB_ONE_X65536 65536u
#define EBB_ONE_X1M 1048576u /* 2^20 */

/* The same as shifts. */
#define EBB_X64_BITS 6
#define EBB_X256_BITS 8
#define EBB_X1024_BITS 10
#define EBB_X65536_BITS 16
#define EBB_X1M_BITS 20

/* What a segment's payload can be: an MSS option has 16 bits. */
#define EBB_MOST_MSS_BYTES 65535u

/* The bits of a u32, and the one of a u64 that is set where a difference is negative. */
#define EBB_U32_BITS 32
#define EBB_U64_SIGN_BIT 63

#endif /* EBB_UNITS_H */
