/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which connections the programs act on, seen from sockops and from an iterator. */
#ifndef EBB_CONNECTIONS_H
#define EBB_CONNECTIONS_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#include "common.h"
#include "kernel_types.h"
#include "rules.h"

EBB_INLINE int ebb_is_loopback(struct bpf_sock_ops *ops)
{
	if (ops->family == EBB_AF_INET)
		return (ops->remote_ip4 & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000) ||
		       ops->remote_ip4 == ops->local_ip4;
	if (ops->remote_ip6[0] != ops->local_ip6[0] || ops->remote_ip6[1] != ops->local_ip6[1] ||
	    ops->remote_ip6[2] != ops->local_ip6[2])
		return 0;
	/* One's own address: ::1 and ::ffff:127.0.0.1 speak to themselves as well. */
	return ops->remote_ip6[3] == ops->local_ip6[3] ||
	       (ops->remote_ip6[2] == bpf_htonl(0xffff) &&
		(ops->remote_ip6[3] & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000));
}

EBB_INLINE int ebb_is_mptcp(const struct tcp_sock *tp)
{
	return bpf_core_field_exists(tp->is_mptcp) && tp->is_mptcp;
}

EBB_INLINE int ebb_speaks_to_itself(struct sock_common *common)
{
	if (common->skc_family == EBB_AF_INET)
		return (common->skc_daddr & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000) ||
		       common->skc_daddr == common->skc_rcv_saddr;
	for (int i = 0; i < 3; i++)
		if (common->skc_v6_daddr.in6_u.u6_addr32[i] !=
		    common->skc_v6_rcv_saddr.in6_u.u6_addr32[i])
			return 0;
	return common->skc_v6_daddr.in6_u.u6_addr32[3] ==
		       common->skc_v6_rcv_saddr.in6_u.u6_addr32[3] ||
	       (common->skc_v6_daddr.in6_u.u6_addr32[2] == bpf_htonl(0xffff) &&
		(common->skc_v6_daddr.in6_u.u6_addr32[3] & bpf_htonl(0xff000000)) ==
			bpf_htonl(0x7f000000));
}

/* The socket that a walk has come to: none at its end, nor where no full socket is left. */
EBB_INLINE struct tcp_sock *ebb_visited(struct sock_common *common)
{
	return common ? bpf_skc_to_tcp_sock(common) : 0;
}

/*
 * Whether sockops is called for what `callbacks` has: already, or from now on, which only newer
 * kernels let an iterator ask for.
 */
EBB_INLINE int ebb_is_called_for(struct tcp_sock *tp, u8 callbacks)
{
	int flags = tp->bpf_sock_ops_cb_flags | callbacks;

	if (tp->bpf_sock_ops_cb_flags == flags)
		return 1;
	return !bpf_setsockopt(tp, EBB_SOL_TCP, EBB_TCP_BPF_SOCK_OPS_CB_FLAGS, &flags,
			       sizeof(flags));
}

/* Which of our rules or claims a connection is under, or EBB_NO_RULE; without rules 0. */
EBB_INLINE u32 ebb_rule_of(struct tcp_sock *tp, void *storage_of)
{
	return config.is_ruled ? ebb_rule_among(control.rules, tp, storage_of) : 0;
}

#define EBB_MAX_CGROUP_DEPTH 32

/* Whether the socket belongs to the attached cgroup or one below it. */
EBB_INLINE int ebb_is_in_cgroup(struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct cgroup *cgroup = sk->sk_cgrp_data.cgroup;

	for (int i = 0; i < EBB_MAX_CGROUP_DEPTH; i++) {
		struct cgroup_subsys_state *parent;

		if (!cgroup)
			return 0;
		if (BPF_CORE_READ(cgroup, kn, id) == config.cgroup_id)
			return 1;
		parent = BPF_CORE_READ(cgroup, self.parent);
		if (!parent)
			return 0;
		cgroup = BPF_CORE_READ(parent, cgroup);
	}
	return 0;
}

/* Whether an iterator found one of those that we act on: its rule, or EBB_NO_RULE. */
EBB_INLINE u32 ebb_chosen_rule(struct sock_common *common, struct tcp_sock *tp)
{
	u32 rule = ebb_rule_of(tp, tp);

	if (config.is_ruled ? rule >= EBB_NO_RULE : !ebb_is_in_cgroup(tp))
		return EBB_NO_RULE;
	if (config.is_marked_only && !bpf_sk_storage_get(&ebb_marks, tp, 0, 0)) {
		EBB_COUNT_OF(rule, skipped_unmarked, 1);
		return EBB_NO_RULE;
	}
	if (ebb_speaks_to_itself(common)) {
		EBB_COUNT_OF(rule, skipped_loopback, 1);
		return EBB_NO_RULE;
	}
	if (ebb_is_mptcp(tp)) {
		EBB_COUNT_OF(rule, skipped_mptcp, 1);
		return EBB_NO_RULE;
	}
	return rule;
}

/*
 * What an iterator is to switch a connection to, which is remembered; none: nothing. What is
 * said of every one is said of those that are ours, which are under a rule.
 */
EBB_INLINE u32 *ebb_choose(struct tcp_sock *tp, int is_ours, u32 rule)
{
	u64 cookie = bpf_get_socket_cookie(tp), every = EBB_EVERY_COOKIE;
	u32 *choice = bpf_map_lookup_elem(&ebb_choices, &cookie);
	struct ebb_wished *wished;

	if (!choice && is_ours)
		choice = bpf_map_lookup_elem(&ebb_choices, &every);
	if (!choice)
		return 0;
	wished = bpf_sk_storage_get(&ebb_wishes, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (wished) {
		wished->wish = *choice;
		wished->rule = rule;
	}
	return choice;
}

/* The process that made a socket, where that is known; else 0. */
EBB_INLINE u32 ebb_process_of(struct tcp_sock *tp)
{
	struct ebb_claimed *claimed = bpf_sk_storage_get(&ebb_claimed_sk, tp, 0, 0);

	return claimed ? claimed->process : 0;
}

EBB_INLINE void ebb_describe_ends(struct ebb_flow_record *record, struct sock_common *common)
{
	record->family = common->skc_family;
	record->local_port = common->skc_num;
	record->peer_port = bpf_ntohs(common->skc_dport);
	if (record->family == EBB_AF_INET) {
		*(u32 *)record->local = common->skc_rcv_saddr;
		*(u32 *)record->peer = common->skc_daddr;
	} else {
		BPF_CORE_READ_INTO(&record->local, common, skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&record->peer, common, skc_v6_daddr);
	}
}

#endif /* EBB_CONNECTIONS_H */
