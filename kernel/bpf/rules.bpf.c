// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is known of a connection before it is made: a cgroup is judged by its path while it is being
 * made, when no process can be in it yet, and a socket by the program that makes it. So there is no
 * moment at which a connection of a rule could be missed. Nothing acts on a connection here.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "rules.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Two, so that one can be written while the other is read. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct ebb_paths);
} ebb_paths SEC(".maps");

struct ebb_name {
	char bytes[EBB_NAME_BYTES];
};

/* Rules by the name of a program's file. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBB_MAX_EXECUTABLES);
	__type(key, struct ebb_name);
	__type(value, u64);
} ebb_executables SEC(".maps");

/* Too large for the stack. The tracepoint is called under a lock, with interrupts off. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ebb_new_group);
} ebb_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} ebb_new_groups SEC(".maps");

/* What found no room: then the owner has to look at every cgroup. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} ebb_untold SEC(".maps");

/* ---- cgroups ---- */

EBB_INLINE u64 ebb_judge_path(const struct ebb_paths *paths, const char *path)
{
	u32 state = paths->start;

	for (u32 i = 0; i < EBB_MAX_PATH; i++) {
		u8 byte = path[i];

		if (!byte)
			break;
		state = paths->cells[(state + paths->classes[byte]) & (EBB_PATH_CELLS - 1)];
	}
	return paths->accepts[paths->cells[state & (EBB_PATH_CELLS - 1)] & (EBB_PATH_ACCEPTS - 1)];
}

/*
 * What holds for a cgroup holds for all that is below it. So paths are judged by what is new in them,
 * and the automaton need not remember which names stood in front.
 */
EBB_INLINE u64 ebb_inherited(struct cgroup *cgroup)
{
	u64 parent = ebb_number_of_group(BPF_CORE_READ(cgroup, self.parent, cgroup));
	u64 *rules = bpf_map_lookup_elem(&ebb_groups, &parent);

	return rules ? *rules : 0;
}

EBB_INLINE void ebb_count_untold(void)
{
	u32 zero = 0;
	u64 *untold = bpf_map_lookup_elem(&ebb_untold, &zero);

	if (untold)
		__sync_fetch_and_add(untold, 1);
}

EBB_INLINE u64 ebb_judge(struct cgroup *cgroup, const char *path)
{
	struct ebb_ruling *ruling;
	struct ebb_paths *paths;
	u32 zero = 0, index;
	u64 rules;

	ruling = bpf_map_lookup_elem(&ebb_ruling, &zero);
	if (!ruling)
		return 0;
	index = ruling->paths_index;
	paths = bpf_map_lookup_elem(&ebb_paths, &index);
	if (!paths)
		return 0;
	rules = ebb_judge_path(paths, path);
	/* Nobody gets out of a rule by what he calls a cgroup that is delegated to him. */
	if ((u32)bpf_get_current_uid_gid())
		rules &= ~(1ull << EBB_EXEMPT_BIT);
	rules |= ebb_inherited(cgroup);
	/* Until it is known whose it is, it is everybody's that it may be. */
	if (rules >> EBB_UNDECIDED_BIT & 1)
		rules |= ruling->container_rules;
	return rules;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(ebb_mkdir, struct cgroup *cgroup, const char *path)
{
	struct ebb_new_group *group;
	u32 zero = 0;

	/* The hierarchies of version 1 have paths and numbers of their own. */
	if (BPF_CORE_READ(cgroup, root, hierarchy_id))
		return 0;
	group = bpf_map_lookup_elem(&ebb_scratch, &zero);
	if (!group || bpf_probe_read_kernel_str(group->path, sizeof(group->path), path) < 0)
		return 0;
	group->id = ebb_number_of_group(cgroup);
	group->rules = ebb_judge(cgroup, group->path);
	if (!group->rules)
		return 0;
	if (bpf_map_update_elem(&ebb_groups, &group->id, &group->rules, BPF_ANY) ||
	    bpf_ringbuf_output(&ebb_new_groups, group, sizeof(*group), 0))
		ebb_count_untold();
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(ebb_rmdir, struct cgroup *cgroup, const char *path)
{
	u64 number;

	if (BPF_CORE_READ(cgroup, root, hierarchy_id))
		return 0;
	number = ebb_number_of_group(cgroup);
	bpf_map_delete_elem(&ebb_groups, &number);
	return 0;
}

/* ---- programs ---- */

SEC("cgroup/sock_create")
int ebb_note_maker(struct bpf_sock *sk)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct ebb_name name = {};
	const u8 *bytes;
	u64 *rules;

	if (sk->type != EBB_SOCK_STREAM ||
	    (sk->family != EBB_AF_INET && sk->family != EBB_AF_INET6))
		return 1;
	bytes = BPF_CORE_READ(task, mm, exe_file, f_path.dentry, d_name.name);
	if (bpf_probe_read_kernel_str(name.bytes, sizeof(name.bytes), bytes) < 0)
		return 1;
	rules = bpf_map_lookup_elem(&ebb_executables, &name);
	if (rules)
		bpf_sk_storage_get(&ebb_makers, sk, rules, BPF_SK_STORAGE_GET_F_CREATE);
	return 1;
}
