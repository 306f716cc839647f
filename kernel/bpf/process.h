/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes as /proc tells of them. */
#ifndef EBB_PROCESS_H
#define EBB_PROCESS_H

#include "kernel_types.h"

/* A tick of /proc (USER_HZ). */
#define EBB_NS_PER_TICK 10000000u

/* When a process started: numbers are used again, number and start together are not. */
EBB_INLINE u64 ebb_started_ticks(struct task_struct *task)
{
	return task->group_leader->start_boottime / EBB_NS_PER_TICK;
}

#endif /* EBB_PROCESS_H */
