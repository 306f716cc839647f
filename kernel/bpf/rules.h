/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which rule a connection is under: by its cgroup, its user, its ports and the program that made
 * its socket. The tables are the owner's, and the same for the programs of all rules.
 */
#ifndef EBB_RULES_H
#define EBB_RULES_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "control.h"
#include "held.h"
#include "kernel_types.h"

#define EBB_RULE_BITS ((1ull << EBB_MAX_RULES) - 1)
/* The number of none. */
#define EBB_NO_RULE EBB_MAX_HELD

/* Cgroups that concern a rule, by their numbers; programs without rules have one entry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBB_MAX_GROUPS);
	__type(key, u64);
	__type(value, u64);
} ebb_groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBB_MAX_USERS);
	__type(key, u32);
	__type(value, u64);
} ebb_users SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBB_MAX_PORTS);
	__type(key, u32);
	__type(value, u64);
} ebb_ports SEC(".maps");

/* Rules that hold for the program that made a socket; accepted sockets inherit it. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, u64);
} ebb_makers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ebb_ruling);
} ebb_ruling SEC(".maps");

/* What users have claimed, by number from 0; their owner writes through a mapping. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EBB_MAX_CLAIMS);
	__type(key, u32);
	__type(value, struct ebb_claim);
} ebb_claims SEC(".maps");

/* Sockets that members of a claim have made; accepted sockets inherit it. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct ebb_claimed);
} ebb_claimed_sk SEC(".maps");

/* Cgroups that are claimed, and those below them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBB_MAX_GROUPS);
	__type(key, u64);
	__type(value, struct ebb_claimed);
} ebb_claimed_cg SEC(".maps");

EBB_INLINE u64 ebb_number_of_group(struct cgroup *cgroup)
{
	return BPF_CORE_READ(cgroup, kn, id);
}

/* What is known of a cgroup: the rules whose condition on cgroups holds, and flags. */
EBB_INLINE u64 ebb_rules_of_group(u64 group)
{
	u64 *rules = bpf_map_lookup_elem(&ebb_groups, &group);

	return rules ? *rules : 0;
}

EBB_INLINE struct ebb_claim *ebb_claim_at(u32 number)
{
	return bpf_map_lookup_elem(&ebb_claims, &number);
}

/*
 * The number of a user's claim, if it stands. Nobody claims what is another user's: neither what a
 * program with other privileges has made, nor what was handed over.
 */
EBB_INLINE u32 ebb_standing(const struct ebb_claimed *claimed, struct sock *sk)
{
	struct ebb_claim *claim;

	if (!claimed)
		return EBB_NO_RULE;
	claim = ebb_claim_at(claimed->claim);
	if (!claim || claim->turn != claimed->turn || claim->user != BPF_CORE_READ(sk, sk_uid.val))
		return EBB_NO_RULE;
	return EBB_FIRST_CLAIM + claimed->claim;
}

/* The claim on a connection, or EBB_NO_RULE. */
EBB_INLINE u32 ebb_claim_on(struct sock *sk, u64 group, void *storage_of)
{
	u32 number = ebb_standing(bpf_sk_storage_get(&ebb_claimed_sk, storage_of, 0, 0), sk);

	if (number < EBB_NO_RULE)
		return number;
	return ebb_standing(bpf_map_lookup_elem(&ebb_claimed_cg, &group), sk);
}

EBB_INLINE u64 ebb_rules_of_user(struct sock *sk, const struct ebb_ruling *ruling)
{
	u32 user = BPF_CORE_READ(sk, sk_uid.val);
	u64 *rules = bpf_map_lookup_elem(&ebb_users, &user);

	return ruling->any_user | (rules ? *rules : 0);
}

EBB_INLINE u64 ebb_rules_of_ports(struct sock *sk, const struct ebb_ruling *ruling)
{
	u32 local = BPF_CORE_READ(sk, __sk_common.skc_num);
	u32 peer = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	u64 *of_local = bpf_map_lookup_elem(&ebb_ports, &local);
	u64 *of_peer = bpf_map_lookup_elem(&ebb_ports, &peer);

	return ruling->any_port | (of_local ? *of_local : 0) | (of_peer ? *of_peer : 0);
}

/*
 * The first of some rules. A function of its own: what follows is verified once, and not for each
 * rule that it may be.
 */
__attribute__((noinline)) int ebb_first_rule(u64 rules)
{
	struct ebb_ruling *ruling;
	u32 zero = 0;

	ruling = bpf_map_lookup_elem(&ebb_ruling, &zero);
	if (!ruling)
		return EBB_NO_RULE;
	for (u32 rule = 0; rule < EBB_MAX_RULES; rule++)
		if ((rules >> rule & 1) && !(rules & ruling->before[rule]))
			return rule;
	return EBB_NO_RULE;
}

/*
 * The rule that a connection is under, the first of those that hold, or, where none does, the claim:
 * if it is among those that are `held`.
 */
EBB_INLINE u32 ebb_rule_among(const u64 *held, struct tcp_sock *tp, void *storage_of)
{
	struct sock *sk = (struct sock *)tp;
	u64 group = ebb_number_of_group(BPF_CORE_READ(sk, sk_cgrp_data.cgroup));
	u64 rules = ebb_rules_of_group(group), *of_maker;
	struct ebb_ruling *ruling;
	u32 zero = 0, number;

	ruling = bpf_map_lookup_elem(&ebb_ruling, &zero);
	if (!ruling || rules >> EBB_EXEMPT_BIT & 1)
		return EBB_NO_RULE;
	rules = ruling->any_group | (rules & EBB_RULE_BITS);
	number = ebb_claim_on(sk, group, storage_of);
	/* Most connections are neither. */
	if (!(rules & held[0]) && number >= EBB_NO_RULE)
		return EBB_NO_RULE;
	rules &= ebb_rules_of_user(sk, ruling) & ebb_rules_of_ports(sk, ruling);
	of_maker = bpf_sk_storage_get(&ebb_makers, storage_of, 0, 0);
	rules &= ruling->any_executable | (of_maker ? *of_maker : 0);
	if (rules)
		number = ebb_first_rule(rules);
	return number < EBB_NO_RULE && ebb_has_rule(held, number) ? number : EBB_NO_RULE;
}

#endif /* EBB_RULES_H */
