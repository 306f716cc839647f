/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks over the TCP sockets of the network namespace of the thread that opens
 * them: to adopt connections that exist, to switch some, to let go, to tell about them.
 */
#ifndef EBB_RECEIVER_ITERATORS_H
#define EBB_RECEIVER_ITERATORS_H

#include "flow.h"

EBB_INLINE int ebb_may_receive(struct sock_common *common)
{
	u8 state = common->skc_state;

	return state == EBB_TCP_ESTABLISHED || state == EBB_TCP_FIN_WAIT1 ||
	       state == EBB_TCP_FIN_WAIT2;
}

EBB_INLINE void ebb_socket_clamp(struct tcp_sock *tp, u32 window_bytes)
{
	bpf_setsockopt(tp, EBB_SOL_TCP, EBB_TCP_WINDOW_CLAMP, &window_bytes, sizeof(window_bytes));
}

/* The rule of a connection that we act on and do not hold yet, or EBB_NO_RULE. */
EBB_INLINE u32 ebb_wanted_rule(struct sock_common *common, struct tcp_sock *tp)
{
	u32 rule = ebb_may_receive(common) ? ebb_chosen_rule(common, tp) : EBB_NO_RULE;

	return bpf_sk_storage_get(&ebb_flows, tp, 0, 0) ? EBB_NO_RULE : rule;
}

SEC("iter/tcp")
int ebb_adopt(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct tcp_sock *tp = ebb_visited(common);
	u64 now_ns = bpf_ktime_get_ns();
	struct ebb_flow *flow;
	u32 rule;

	if (!tp || !ebb_is_leased(now_ns))
		return 0;
	rule = ebb_wanted_rule(common, tp);
	if (rule >= EBB_NO_RULE)
		return 0;
	/* Its window would be set now and never again. */
	if (!ebb_is_called_for(tp, EBB_CALLBACKS)) {
		EBB_COUNT_OF(rule, skipped_established, 1);
		return 0;
	}
	flow = bpf_sk_storage_get(&ebb_flows, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow) {
		EBB_COUNT_OF(rule, skipped_no_memory, 1);
		return 0;
	}
	flow->rule = rule;
	flow->wish = ebb_wish_of(tp, rule);
	ebb_flow_begin(flow, tp, bpf_get_socket_cookie(tp), now_ns);
	EBB_COUNT_OF(rule, adopted_established, 1);
	if (!ebb_is_free(rule, flow->wish)) {
		flow->is_clamped = 1;
		ebb_socket_clamp(tp, flow->law.rwnd_bytes);
	}
	return 0;
}

/* Its clamp as it is to be now, whenever its next segment goes out. */
EBB_INLINE void ebb_flow_switch(struct ebb_flow *flow, struct tcp_sock *tp, u32 wish)
{
	int is_free = ebb_is_free(flow->rule, wish);

	flow->wish = wish;
	if (is_free != flow->is_clamped)
		return;
	ebb_socket_clamp(tp, is_free ? EBB_LARGEST_WINDOW_BYTES : flow->law.rwnd_bytes);
	flow->is_clamped = !is_free;
}

/* One byte for each connection that was switched. */
SEC("iter/tcp")
int ebb_switch(struct bpf_iter__tcp *context)
{
	struct tcp_sock *tp = ebb_visited(context->sk_common);
	struct ebb_flow *flow;
	u32 *wish;
	u8 one = 1;

	if (!tp || !ebb_is_leased(bpf_ktime_get_ns()))
		return 0;
	flow = bpf_sk_storage_get(&ebb_flows, tp, 0, 0);
	/* Among rules, of what is under none, or another one, nobody says anything. */
	if (flow ? ebb_is_passed(flow->rule) : config.is_ruled)
		return 0;
	wish = ebb_choose(tp, flow != 0, flow ? flow->rule : 0);
	if (!wish || !flow || flow->is_loopback)
		return 0;
	ebb_flow_switch(flow, tp, *wish);
	bpf_seq_write(context->meta->seq, &one, sizeof(one));
	return 0;
}

EBB_INLINE void ebb_socket_let_go(struct tcp_sock *tp)
{
	struct ebb_flow *flow = bpf_sk_storage_get(&ebb_flows, tp, 0, 0);

	u32 rule;

	if (!flow)
		return;
	rule = flow->rule;
	if (flow->is_clamped)
		ebb_socket_clamp(tp, EBB_LARGEST_WINDOW_BYTES);
	bpf_sk_storage_delete(&ebb_flows, tp);
	EBB_COUNT_OF(rule, released, 1);
}

SEC("iter/tcp")
int ebb_release(struct bpf_iter__tcp *context)
{
	struct tcp_sock *tp = ebb_visited(context->sk_common);
	struct ebb_flow *flow;

	if (!tp)
		return 0;
	flow = bpf_sk_storage_get(&ebb_flows, tp, 0, 0);
	if (flow && !ebb_is_passed(flow->rule))
		ebb_socket_let_go(tp);
	return 0;
}

/* Lets go what is under another rule now, or under none of ours. */
SEC("iter/tcp")
int ebb_leave(struct bpf_iter__tcp *context)
{
	struct tcp_sock *tp = ebb_visited(context->sk_common);
	struct ebb_flow *flow;

	if (!tp)
		return 0;
	flow = bpf_sk_storage_get(&ebb_flows, tp, 0, 0);
	if (flow && ebb_rule_of(tp, tp) != flow->rule)
		ebb_socket_let_go(tp);
	return 0;
}

EBB_INLINE void ebb_note_left(struct seq_file *seq, const struct sock *sk,
			      const struct ebb_flow *flow)
{
	u8 one = 1;

	if (flow->is_clamped && !ebb_is_passed(flow->rule) &&
	    ebb_may_receive((struct sock_common *)&sk->__sk_common))
		bpf_seq_write(seq, &one, sizeof(one));
}

/* One byte for each connection that is clamped still, in whatever network namespace it is. */
SEC("iter/bpf_sk_storage_map")
int ebb_left(struct bpf_iter__bpf_sk_storage_map *context)
{
	struct ebb_flow *flow = context->value;
	struct sock *sk = context->sk;

	if (sk && flow)
		ebb_note_left(context->meta->seq, sk, flow);
	return 0;
}

/*
 * The same, once for each descriptor of such a connection that a process has: for kernels that
 * let nobody walk over the elements of a map.
 */
SEC("?iter/task_file")
int ebb_left_open(struct bpf_iter__task_file *context)
{
	struct file *file = context->file;
	struct socket *socket;
	struct ebb_flow *flow;
	struct tcp_sock *tp;

	if (!file)
		return 0;
	socket = (struct socket *)bpf_sock_from_file(file);
	if (!socket)
		return 0;
	tp = bpf_skc_to_tcp_sock(socket->sk);
	if (!tp)
		return 0;
	flow = bpf_sk_storage_get(&ebb_flows, tp, 0, 0);
	if (flow)
		ebb_note_left(context->meta->seq, (struct sock *)tp, flow);
	return 0;
}

EBB_INLINE void ebb_describe(struct ebb_flow_record *record, const struct ebb_flow *flow,
			     struct sock_common *common, struct tcp_sock *tp)
{
	record->cookie = flow->cookie;
	record->adopted_ns = flow->adopted_ns;
	record->payload_bytes = flow->payload_bytes;
	record->segments = flow->segments;
	record->acks = flow->acks;
	record->rwnd_bytes = flow->law.rwnd_bytes;
	record->window_bytes = tp->rcv_wnd;
	record->mss_bytes = ebb_mss(flow);
	record->rtt_us = tp->rcv_rtt_est.rtt_us >> 3;
	record->law_number = config.law_number;
	record->state_bytes = sizeof(flow->law);
	record->is_clamped = flow->is_clamped;
	record->rule = flow->rule;
	record->process = ebb_process_of(tp);
	ebb_describe_ends(record, common);
}

SEC("iter/tcp")
int ebb_show(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct tcp_sock *tp = ebb_visited(common);
	struct ebb_flow_record record = {};
	struct ebb_flow *flow;

	if (!tp)
		return 0;
	flow = bpf_sk_storage_get(&ebb_flows, tp, 0, 0);
	if (!flow || flow->is_loopback)
		return 0;
	ebb_describe(&record, flow, common, tp);
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	bpf_seq_write(context->meta->seq, &flow->law, sizeof(flow->law));
	return 0;
}

#endif /* EBB_RECEIVER_ITERATORS_H */
