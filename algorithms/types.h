/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The integer types of the laws, for the kernel (eBPF) and for user space.
 *
 * A law's header includes nothing but those in this folder and its own. The typedefs
 * repeat those of vmlinux.h to the letter, which C11 allows; <stdint.h> would clash.
 */
#ifndef EBB_TYPES_H
#define EBB_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;

#define EBB_INLINE static inline __attribute__((always_inline, unused))

/*
 * Ends a step of a law: what comes next reads the state from memory. The verifier of eBPF, which
 * knows nothing of what is there, then follows it once, and not once for each of the ways that
 * led up to it; their number doubles with every branch, and so does the time that it takes to
 * load a law.
 */
EBB_INLINE void ebb_end_step(void)
{
	__asm__ volatile("" ::: "memory");
}

#define EBB_BUILD_ASSERT(condition, message) _Static_assert(condition, message)

EBB_BUILD_ASSERT(sizeof(u32) == 4, "u32 is 32 bits");
EBB_BUILD_ASSERT(sizeof(u64) == 8, "u64 is 64 bits");

#endif /* EBB_TYPES_H */
