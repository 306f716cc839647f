/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The code point Lower Effort [RFC8622] on what a connection sends, for networks that know
 * it, and the connection's own back.
 *
 * A program's own choice of a code point stays. IPv4 on an IPv6 socket is not marked: Linux
 * lets BPF set the field of neither there.
 */
#ifndef EBB_LOWER_EFFORT_H
#define EBB_LOWER_EFFORT_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "common.h"
#include "kernel_types.h"

/* Differentiated services fields: the code point above the two bits of ECN. */
#define EBB_LOWER_EFFORT (1 << 2)
#define EBB_CODE_POINT_MASK 0xfc

#define EBB_FIELD_LEVEL(family) ((family) == EBB_AF_INET6 ? EBB_SOL_IPV6 : EBB_SOL_IP)
#define EBB_FIELD_NAME(family) ((family) == EBB_AF_INET6 ? EBB_IPV6_TCLASS : EBB_IP_TOS)

/*
 * Takes `socket`, which is what the caller's helpers take for it, from one code point to
 * another, and answers whether it had the first.
 */
EBB_INLINE int ebb_change_code_point(void *socket, u32 family, int from, int to)
{
	int level = EBB_FIELD_LEVEL(family), name = EBB_FIELD_NAME(family), field = 0;

	if (bpf_getsockopt(socket, level, name, &field, sizeof(field)))
		return 0;
	if ((field & EBB_CODE_POINT_MASK) != from)
		return 0;
	return !bpf_setsockopt(socket, level, name, &to, sizeof(to));
}

EBB_INLINE int ebb_mark_lower_effort(void *socket, u32 family)
{
	if (config.keeps_code_point)
		return 0;
	return ebb_change_code_point(socket, family, 0, EBB_LOWER_EFFORT);
}

EBB_INLINE void ebb_unmark_lower_effort(void *socket, u32 family)
{
	ebb_change_code_point(socket, family, EBB_LOWER_EFFORT, 0);
}

#endif /* EBB_LOWER_EFFORT_H */
