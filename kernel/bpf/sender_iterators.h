/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* As receiver_iterators.h, for the connections that are put under a sender law; by the same names. */
#ifndef EBB_SENDER_ITERATORS_H
#define EBB_SENDER_ITERATORS_H

#include "lending.h"

EBB_INLINE int ebb_may_send(struct sock_common *common)
{
	u8 state = common->skc_state;

	return state == EBB_TCP_ESTABLISHED || state == EBB_TCP_FIN_WAIT1 ||
	       state == EBB_TCP_CLOSE_WAIT;
}

SEC("iter/tcp")
int ebb_adopt(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct tcp_sock *tp = ebb_visited(common);
	struct ebb_origin *origin;
	int is_free;
	u32 rule;

	if (!tp || !ebb_is_leased(bpf_ktime_get_ns()) || !ebb_may_send(common))
		return 0;
	rule = ebb_chosen_rule(common, tp);
	if (rule >= EBB_NO_RULE)
		return 0;
	is_free = ebb_is_free(rule, ebb_wish_of(tp, rule));
	if (bpf_sk_storage_get(&ebb_uploads, tp, 0, 0))
		return 0;
	/* Ours already. */
	if (is_free && bpf_sk_storage_get(&ebb_origins, tp, 0, 0))
		return 0;
	origin = ebb_take(tp, tp, tp, rule);
	if (!origin || (!is_free && !ebb_lend(tp, tp, origin)))
		return 0;
	ebb_mark(tp, tp, common->skc_family);
	/*
	 * Otherwise the law stays off should the program choose for itself later, and past the lease
	 * only the law's own hook gives the connection back.
	 */
	ebb_is_called_for(tp, EBB_CALLBACKS);
	EBB_COUNT_OF(rule, adopted_established, 1);
	return 0;
}

/* Its congestion control as it is to be now, whenever its next acknowledgement comes. */
EBB_INLINE void ebb_upload_switch(struct tcp_sock *tp, struct ebb_origin *origin, u32 wish)
{
	struct ebb_upload *upload = bpf_sk_storage_get(&ebb_uploads, tp, 0, 0);

	if (upload)
		upload->wish = wish;
	if (ebb_is_free(origin->rule, wish)) {
		ebb_set_free(tp, tp);
		return;
	}
	if (!origin->is_lent && ebb_lend(tp, tp, origin))
		ebb_mark(tp, tp, ((struct sock *)tp)->__sk_common.skc_family);
}

/* One byte for each connection that was switched. */
SEC("iter/tcp")
int ebb_switch(struct bpf_iter__tcp *context)
{
	struct tcp_sock *tp = ebb_visited(context->sk_common);
	struct ebb_origin *origin;
	u32 *wish;
	u8 one = 1;

	if (!tp || !ebb_is_leased(bpf_ktime_get_ns()))
		return 0;
	origin = bpf_sk_storage_get(&ebb_origins, tp, 0, 0);
	if (origin ? ebb_is_passed(origin->rule) : config.is_ruled)
		return 0;
	wish = ebb_choose(tp, origin != 0, origin ? origin->rule : 0);
	if (!wish || !origin)
		return 0;
	ebb_upload_switch(tp, origin, *wish);
	bpf_seq_write(context->meta->seq, &one, sizeof(one));
	return 0;
}

SEC("iter/tcp")
int ebb_release(struct bpf_iter__tcp *context)
{
	struct tcp_sock *tp = ebb_visited(context->sk_common);
	struct ebb_origin *origin;

	if (!tp)
		return 0;
	origin = bpf_sk_storage_get(&ebb_origins, tp, 0, 0);
	if (!origin || ebb_is_passed(origin->rule))
		return 0;
	ebb_set_free(tp, tp);
	ebb_forget(tp, 0);
	return 0;
}

/* Gives back what is under another rule now, or under none of ours. */
SEC("iter/tcp")
int ebb_leave(struct bpf_iter__tcp *context)
{
	struct tcp_sock *tp = ebb_visited(context->sk_common);
	struct ebb_origin *origin;

	if (!tp)
		return 0;
	origin = bpf_sk_storage_get(&ebb_origins, tp, 0, 0);
	if (!origin || ebb_rule_of(tp, tp) == origin->rule)
		return 0;
	ebb_set_free(tp, tp);
	ebb_forget(tp, 0);
	return 0;
}

EBB_INLINE void ebb_describe(struct ebb_flow_record *record, const struct ebb_origin *origin,
			     struct sock_common *common, struct tcp_sock *tp)
{
	ebb_describe_ends(record, common);
	record->cookie = origin->cookie;
	record->adopted_ns = origin->adopted_ns;
	record->payload_bytes = tp->bytes_acked - origin->acked_bytes;
	record->window_bytes = tp->snd_cwnd * tp->mss_cache;
	record->mss_bytes = tp->mss_cache;
	record->rtt_us = tp->srtt_us >> 3;
	record->law_number = config.law_number;
	record->is_clamped = origin->is_lent;
	record->rule = origin->rule;
	record->process = ebb_process_of(tp);
}

SEC("iter/tcp")
int ebb_show(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct tcp_sock *tp = ebb_visited(common);
	struct ebb_flow_record record = {};
	struct ebb_origin *origin;
	struct ebb_upload *upload;

	if (!tp)
		return 0;
	origin = bpf_sk_storage_get(&ebb_origins, tp, 0, 0);
	if (!origin)
		return 0;
	ebb_describe(&record, origin, common, tp);
	upload = bpf_sk_storage_get(&ebb_uploads, tp, 0, 0);
	/* Free, it has no law, and so no state. */
	if (!upload) {
		bpf_seq_write(context->meta->seq, &record, sizeof(record));
		return 0;
	}
	record.segments = upload->delivered_pkts;
	record.acks = upload->acks;
	record.rwnd_bytes = upload->law.window.cwnd_pkts * tp->mss_cache;
	record.state_bytes = sizeof(upload->law);
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	bpf_seq_write(context->meta->seq, &upload->law, sizeof(upload->law));
	return 0;
}

#endif /* EBB_SENDER_ITERATORS_H */
