/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Marks the sockets of chosen processes (ebb attach --pid). */
#ifndef EBB_MARKING_H
#define EBB_MARKING_H

#include "common.h"
#include "kernel_types.h"
#include "process.h"

/* Of those that are deeper the owner tells us, as of those whose parents have ended. */
#define EBB_MAX_ANCESTORS 64

/* Whether a process is chosen, and is not another one of the same number. */
EBB_INLINE int ebb_is_chosen_process(struct task_struct *task)
{
	u32 tgid = task->tgid;
	u64 *started_ticks = bpf_map_lookup_elem(&ebb_processes, &tgid);

	return started_ticks && *started_ticks == ebb_started_ticks(task);
}

SEC("cgroup/sock_create")
int ebb_sock_create(struct bpf_sock *sk)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();

	if (sk->type != EBB_SOCK_STREAM ||
	    (sk->family != EBB_AF_INET && sk->family != EBB_AF_INET6))
		return 1;
	if (control.is_released)
		return 1;
	for (int i = 0; i <= EBB_MAX_ANCESTORS; i++) {
		if (ebb_is_chosen_process(task)) {
			bpf_sk_storage_get(&ebb_marks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
			return 1;
		}
		if (task->tgid <= 1)
			return 1;
		task = task->real_parent;
	}
	return 1;
}

#endif /* EBB_MARKING_H */
