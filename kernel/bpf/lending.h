/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Puts connections under the law, remembering the congestion control that they had, and
 * gives them back.
 */
#ifndef EBB_LENDING_H
#define EBB_LENDING_H

#include "connections.h"
#include "lower_effort.h"
#include "upload.h"

struct ebb_origin {
	u64 cookie;
	u64 adopted_ns;
	u64 acked_bytes; /* tp->bytes_acked then */
	char congestion_name[16];
	u32 is_marked; /* as Lower Effort, by us */
	u32 is_lent;   /* under the law, not free */
	u32 rule;      /* that it is under, from 0; 0 without rules */
	u32 reserved;
};

/* sockops is called once a round trip, and before each segment. */
#define EBB_CALLBACKS (BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG)

/* The connections that are the policy's: under the law, or free for now. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ebb_origin);
} ebb_origins SEC(".maps");

#define EBB_SET_CONGESTION(socket, name) \
	bpf_setsockopt(socket, EBB_SOL_TCP, EBB_TCP_CONGESTION, name, sizeof(name))

/* No string: clang 14 would put it where libbpf does not look. */
EBB_INLINE void ebb_name_reno(char name[16])
{
	__builtin_memset(name, 0, 16);
	name[0] = 'r';
	name[1] = 'e';
	name[2] = 'n';
	name[3] = 'o';
}

EBB_INLINE void ebb_give_back_pace(void *caller, struct tcp_sock *tp)
{
	struct ebb_upload *upload = bpf_sk_storage_get(&ebb_uploads, tp, 0, 0);
	u32 limit;

	if (!upload || !upload->pace_bytes_per_s)
		return;
	limit = upload->own_pace_bytes_per_s;
	bpf_setsockopt(caller, EBB_SOL_SOCKET, EBB_SO_MAX_PACING_RATE, &limit, sizeof(limit));
}

/*
 * Gives a connection its own congestion control back; it stays ours. A small threshold is
 * no use to it: it was the law's. `caller` is what the caller's helpers take for it.
 */
EBB_INLINE void ebb_set_free(void *caller, struct tcp_sock *tp)
{
	struct ebb_origin *origin = bpf_sk_storage_get(&ebb_origins, tp, 0, 0);
	u32 family = ((struct sock *)tp)->__sk_common.skc_family;
	int no_threshold = EBB_TCP_INFINITE_SSTHRESH;
	char name[16];

	if (!origin || !origin->is_lent)
		return;
	if (origin->is_marked)
		ebb_unmark_lower_effort(caller, family);
	__builtin_memcpy(name, origin->congestion_name, sizeof(name));
	origin->is_marked = 0;
	origin->is_lent = 0;
	ebb_give_back_pace(caller, tp);
	if (!ebb_is_reducing(ebb_phase(tp)))
		bpf_setsockopt(caller, EBB_SOL_TCP, EBB_TCP_BPF_SNDCWND_CLAMP, &no_threshold,
			       sizeof(no_threshold));
	/* It may have been removed meanwhile; reno never is. */
	if (EBB_SET_CONGESTION(caller, name)) {
		ebb_name_reno(name);
		EBB_SET_CONGESTION(caller, name);
	}
}

/* Lets a connection go that has been set free. */
EBB_INLINE void ebb_forget(struct tcp_sock *tp, u32 has_lapsed)
{
	struct ebb_origin *origin = bpf_sk_storage_get(&ebb_origins, tp, 0, 0);
	struct ebb_counters *counters = ebb_counters_of(origin ? origin->rule : 0);

	if (bpf_sk_storage_delete(&ebb_origins, tp) || !counters)
		return;
	counters->released++;
	counters->lapsed += has_lapsed;
}

/* The owner is alive, and not to watch only: a sender law cannot watch without acting. */
EBB_INLINE int ebb_may_lend(u64 now_ns, u32 rule, u32 wish)
{
	return ebb_is_held(rule, now_ns) && !ebb_is_free(rule, wish);
}

/* Whether a name is one of those that Ebb registers for itself: "ebb", a letter, "_". */
EBB_INLINE int ebb_is_ours(const char *name)
{
	return name[0] == 'e' && name[1] == 'b' && name[2] == 'b' && name[3] != '_' &&
	       name[4] == '_';
}

/* Makes a connection ours; `caller` is what the caller's helpers take for it. */
EBB_INLINE struct ebb_origin *ebb_take(void *caller, void *storage_of, const struct tcp_sock *tp,
				       u32 rule)
{
	struct ebb_origin *origin;

	origin = bpf_sk_storage_get(&ebb_origins, storage_of, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!origin) {
		EBB_COUNT_OF(rule, skipped_no_memory, 1);
		return 0;
	}
	if (!origin->cookie) {
		origin->rule = rule;
		origin->cookie = bpf_get_socket_cookie(caller);
		origin->adopted_ns = bpf_ktime_get_ns();
		origin->acked_bytes = tp->bytes_acked;
	}
	return origin;
}

/*
 * Puts a connection of ours under the law. Its own congestion control is remembered, but
 * not one that another policy lent it. The name is our owner's while that lives: past its death
 * another Ebb may have it, whose law has no state of ours.
 */
EBB_INLINE int ebb_lend(void *caller, void *storage_of, struct ebb_origin *origin)
{
	char name[16] = {};

	bpf_getsockopt(caller, EBB_SOL_TCP, EBB_TCP_CONGESTION, name, sizeof(name));
	if (!origin->congestion_name[0] || !ebb_is_ours(name))
		__builtin_memcpy(origin->congestion_name, name, sizeof(name));
	for (u32 i = 0; i < sizeof(name); i++)
		name[i] = config.congestion_name[i];
	if (!EBB_SET_CONGESTION(caller, name)) {
		origin->is_lent = bpf_sk_storage_get(&ebb_uploads, storage_of, 0, 0) != 0;
		if (origin->is_lent)
			return 1;
		__builtin_memcpy(name, origin->congestion_name, sizeof(name));
		EBB_SET_CONGESTION(caller, name);
	}
	bpf_sk_storage_delete(&ebb_origins, storage_of);
	return 0;
}

/* ---- connections as they begin ---- */

/* Why a connection is left alone is counted once, when it is established. */
#define EBB_COUNT_IF(is_counted, rule, field)         \
	do {                                          \
		if (is_counted)                       \
			EBB_COUNT_OF(rule, field, 1); \
	} while (0)

/* What an established connection sends is marked, unless it is already. */
EBB_INLINE void ebb_mark(void *caller, void *storage_of, u32 family)
{
	struct ebb_origin *origin = bpf_sk_storage_get(&ebb_origins, storage_of, 0, 0);

	if (origin && origin->is_lent && !origin->is_marked)
		origin->is_marked = ebb_mark_lower_effort(caller, family);
}

/* Selects the law for the connection unless it is free; answers whether it is ours. */
EBB_INLINE int ebb_select(struct bpf_sock_ops *ops, int is_established)
{
	struct bpf_sock *sk = ops->sk;
	struct ebb_origin *origin;
	struct tcp_sock *tp;
	u32 rule;

	if (!sk || !ebb_is_leased(bpf_ktime_get_ns()))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	rule = ebb_rule_of(tp, sk);
	if (rule >= EBB_NO_RULE)
		return 0;
	if (ebb_is_loopback(ops)) {
		EBB_COUNT_IF(is_established, rule, skipped_loopback);
		return 0;
	}
	if (ebb_is_mptcp(tp)) {
		EBB_COUNT_IF(is_established, rule, skipped_mptcp);
		return 0;
	}
	if (config.is_marked_only && !bpf_sk_storage_get(&ebb_marks, sk, 0, 0)) {
		EBB_COUNT_IF(is_established, rule, skipped_unmarked);
		return 0;
	}
	origin = ebb_take(ops, sk, tp, rule);
	if (!origin || ebb_is_free(rule, ebb_wish_of(sk, rule)))
		return origin != 0;
	return ebb_lend(ops, sk, origin);
}

EBB_INLINE void ebb_begin(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct ebb_origin *origin;

	if (!sk || !ebb_select(ops, 1))
		return;
	ebb_mark(ops, sk, ops->family);
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | EBB_CALLBACKS);
	origin = bpf_sk_storage_get(&ebb_origins, sk, 0, 0);
	if (origin)
		EBB_COUNT_OF(origin->rule, adopted_new, 1);
}

/*
 * A connection asks for ECN in its SYN when BPF_SOCK_OPS_NEEDS_ECN says so, but then the
 * SYN is marked as ECN-capable itself, which the other end refuses [RFC3168 §6.1.1]. To
 * select a congestion control without such wishes takes the mark off: in the last callback
 * before the SYN leaves.
 */
EBB_INLINE void ebb_before_syn(struct bpf_sock_ops *ops)
{
	if (config.needs_ecn && ops->state == EBB_TCP_SYN_SENT &&
	    ops->args[0] != BPF_WRITE_HDR_TCP_CURRENT_MSS)
		ebb_select(ops, 0);
}

/*
 * Past the lease a connection is let go before its next segment: the law's own hooks do not hear
 * of one that only receives, nor, until all is repaired, of one that repairs losses.
 */
EBB_INLINE void ebb_before_outgoing(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	u64 now_ns = bpf_ktime_get_ns();
	struct ebb_origin *origin;
	struct tcp_sock *tp;

	if (!sk || ops->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	origin = bpf_sk_storage_get(&ebb_origins, tp, 0, 0);
	if (!origin || ebb_is_held(origin->rule, now_ns))
		return;
	ebb_set_free(ops, tp);
	ebb_forget(tp, ebb_has_lapsed(now_ns));
}

/*
 * Once a round trip: the program itself may have chosen another congestion control, and who governed
 * the connection before may have taken its own mark off after we came.
 */
EBB_INLINE void ebb_select_again(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct ebb_origin *origin;

	if (!sk)
		return;
	origin = bpf_sk_storage_get(&ebb_origins, sk, 0, 0);
	if (!origin)
		return;
	if (!ebb_may_lend(bpf_ktime_get_ns(), origin->rule, ebb_wish_of(sk, origin->rule)))
		return;
	if (!bpf_sk_storage_get(&ebb_uploads, sk, 0, 0))
		ebb_lend(ops, sk, origin);
	ebb_mark(ops, sk, ops->family);
}

SEC("sockops")
int ebb_sockops(struct bpf_sock_ops *ops)
{
	switch (ops->op) {
	case BPF_SOCK_OPS_NEEDS_ECN:
		ops->reply = config.needs_ecn && ebb_is_leased(bpf_ktime_get_ns());
		break;
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		if (config.needs_ecn)
			bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags |
							       BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		ebb_before_syn(ops);
		ebb_before_outgoing(ops);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		ebb_begin(ops);
		break;
	case BPF_SOCK_OPS_RTT_CB:
		ebb_select_again(ops);
		break;
	}
	return 1;
}

#endif /* EBB_LENDING_H */
