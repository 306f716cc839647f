// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who belongs to a claim: processes, and whatever they fork, from its first moment on, however far
 * down and whoever is its parent by then; the sockets that they make; cgroups that are made below a
 * claimed one. So there is no moment at which a connection could be missed. Nothing acts on a
 * connection here.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "process.h"
#include "rules.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Processes, by their numbers. Who exits is no member any more. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBB_MAX_MEMBERS);
	__type(key, u32);
	__type(value, struct ebb_claimed);
} ebb_members SEC(".maps");

/* ---- processes ---- */

EBB_INLINE struct ebb_claimed *ebb_member(struct task_struct *task)
{
	u32 number = task->tgid;
	struct ebb_claimed *member = bpf_map_lookup_elem(&ebb_members, &number);

	if (!member || member->started_ticks != ebb_started_ticks(task))
		return 0;
	return member;
}

/* The claim that a process, a socket or a cgroup belongs to, if it stands. */
EBB_INLINE struct ebb_claim *ebb_claim_of(const struct ebb_claimed *claimed)
{
	struct ebb_claim *claim = ebb_claim_at(claimed->claim);

	return claim && claim->turn == claimed->turn ? claim : 0;
}

/* Called in the parent, before the child runs. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(ebb_fork, struct task_struct *parent, struct task_struct *child)
{
	struct ebb_claimed *member, born = {};
	struct ebb_claim *claim;
	u32 number = child->tgid;

	/* Its threads are members with it. */
	if (child->tgid == parent->tgid)
		return 0;
	member = ebb_member(parent);
	if (!member)
		return 0;
	claim = ebb_claim_of(member);
	if (!claim)
		return 0;
	born.turn = member->turn;
	born.started_ticks = ebb_started_ticks(child);
	born.claim = member->claim;
	if (claim->members < EBB_MAX_MEMBERS_OF_ONE &&
	    !bpf_map_update_elem(&ebb_members, &number, &born, BPF_ANY))
		__sync_fetch_and_add(&claim->members, 1);
	else
		__sync_fetch_and_add(&claim->missed, 1);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ebb_exit, struct task_struct *task)
{
	struct ebb_claimed *member;
	struct ebb_claim *claim;
	u32 number = task->tgid;

	/* One of its threads, and others live. */
	if (task->signal->live.counter)
		return 0;
	member = ebb_member(task);
	if (!member)
		return 0;
	claim = ebb_claim_of(member);
	/* Whoever has taken it off has counted it. */
	if (!bpf_map_delete_elem(&ebb_members, &number) && claim)
		__sync_fetch_and_sub(&claim->members, 1);
	return 0;
}

/* ---- sockets ---- */

EBB_INLINE void ebb_note_member(struct ebb_claimed *noted, const struct ebb_claimed *member,
				u32 process)
{
	noted->claim = member->claim;
	noted->process = process;
	noted->turn = member->turn;
}

SEC("cgroup/sock_create")
int ebb_note_claim(struct bpf_sock *sk)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct ebb_claimed *member, *noted;

	if (sk->type != EBB_SOCK_STREAM ||
	    (sk->family != EBB_AF_INET && sk->family != EBB_AF_INET6))
		return 1;
	member = ebb_member(task);
	if (!member || !ebb_claim_of(member))
		return 1;
	noted = bpf_sk_storage_get(&ebb_claimed_sk, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (noted)
		ebb_note_member(noted, member, task->tgid);
	return 1;
}

/* A walk over the files of processes: the sockets that members have already. */
SEC("iter/task_file")
int ebb_note_files(struct bpf_iter__task_file *context)
{
	struct task_struct *task = context->task;
	struct file *file = context->file;
	struct ebb_claimed *member, *noted;
	struct socket *socket;
	struct sock *sk;

	if (!task || !file)
		return 0;
	member = ebb_member(task);
	if (!member || !ebb_claim_of(member))
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || (sk->__sk_common.skc_family != EBB_AF_INET &&
		    sk->__sk_common.skc_family != EBB_AF_INET6))
		return 0;
	noted = bpf_sk_storage_get(&ebb_claimed_sk, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	/* The claim that came first keeps it. */
	if (noted && (!noted->turn || !ebb_claim_of(noted)))
		ebb_note_member(noted, member, task->tgid);
	return 0;
}

/* ---- cgroups ---- */

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(ebb_mkdir_below, struct cgroup *cgroup, const char *path)
{
	u64 number, parent = ebb_number_of_group(BPF_CORE_READ(cgroup, self.parent, cgroup));
	struct ebb_claimed *above = bpf_map_lookup_elem(&ebb_claimed_cg, &parent);

	/* The hierarchies of version 1 have numbers of their own. */
	if (BPF_CORE_READ(cgroup, root, hierarchy_id) || !above || !ebb_claim_of(above))
		return 0;
	number = ebb_number_of_group(cgroup);
	bpf_map_update_elem(&ebb_claimed_cg, &number, above, BPF_ANY);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(ebb_rmdir_below, struct cgroup *cgroup, const char *path)
{
	u64 number = ebb_number_of_group(cgroup);

	if (!BPF_CORE_READ(cgroup, root, hierarchy_id))
		bpf_map_delete_elem(&ebb_claimed_cg, &number);
	return 0;
}
