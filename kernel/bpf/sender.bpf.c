// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A sender law as a congestion control (struct_ops), and the programs that select it for
 * the connections of a cgroup.
 *
 * Connections that Ebb put under the law get their own congestion control back when the
 * owner's lease is over: before their next segment, or at their next acknowledgement from the
 * law's own hooks, which live as long as a connection uses them.
 */
#include "upload.h"

#include <bpf/bpf_tracing.h>

#include "lending.h"
#include "marking.h"
#include "sender_iterators.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- the hooks of the congestion control ---- */

/* The state of a connection on which the law has begun, or begins now. */
EBB_INLINE struct ebb_upload *ebb_upload_of(struct tcp_sock *tp)
{
	struct ebb_upload *upload = bpf_sk_storage_get(&ebb_uploads, tp, 0, 0);

	if (!upload || upload->is_ready)
		return upload;
	/* Before the handshake is over nothing is known yet. */
	if (((struct sock *)tp)->__sk_common.skc_state == EBB_TCP_SYN_SENT)
		return 0;
	ebb_upload_begin(tp, upload);
	return upload;
}

SEC("struct_ops")
void BPF_PROG(ebb_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ebb_origin *origin = bpf_sk_storage_get(&ebb_origins, tp, 0, 0);
	struct ebb_upload *upload;
	u32 rule = origin ? origin->rule : 0;
	char name[16];

	upload = bpf_sk_storage_get(&ebb_uploads, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!upload) {
		EBB_COUNT_OF(rule, skipped_no_memory, 1);
		ebb_name_reno(name);
		EBB_SET_CONGESTION(tp, name);
		return;
	}
	upload->is_lent = origin != 0;
	upload->rule = rule;
	upload->wish = ebb_wish_of(tp, rule);
	ebb_upload_of(tp);
}

SEC("struct_ops")
void BPF_PROG(ebb_done, struct sock *sk)
{
	struct ebb_upload *upload = bpf_sk_storage_get(&ebb_uploads, sk, 0, 0);

	if (upload && upload->pace_bytes_per_s)
		ebb_end_pace(sk, upload);
	bpf_sk_storage_delete(&ebb_uploads, sk);
}

/* What is acknowledged has been counted, what follows from it has not been decided. */
SEC("struct_ops")
void BPF_PROG(ebb_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ebb_upload *upload = ebb_upload_of(tp);

	if (!upload)
		return;
	/* The last one did not raise the window: it came in recovery, or out of order. */
	if (upload->has_ack) {
		ebb_upload_tell(tp, upload, 0);
		if (!ebb_is_reducing(upload->ack.phase))
			ebb_apply(tp, upload);
	}
	ebb_upload_hear(tp, upload, sample->rtt_us);
}

EBB_INLINE void ebb_after_ack(struct tcp_sock *tp, struct ebb_upload *upload)
{
	u64 now_ns = tp->tcp_mstamp * 1000;
	u32 rule = upload->rule;

	if (!upload->is_lent || ebb_may_lend(now_ns, rule, upload->wish))
		return;
	ebb_set_free(tp, tp);
	if (!ebb_is_held(rule, now_ns))
		ebb_forget(tp, ebb_has_lapsed(now_ns));
}

/* The end of an acknowledgement that may raise the window. */
SEC("struct_ops")
void BPF_PROG(ebb_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ebb_upload *upload = ebb_upload_of(tp);

	if (!upload || !upload->has_ack)
		return;
	ebb_upload_tell(tp, upload, acked);
	ebb_apply(tp, upload);
	ebb_limit_pace(tp, upload);
	ebb_after_ack(tp, upload);
}

/* The end of every acknowledgement, for a law that takes full control. */
EBB_INLINE void ebb_control(struct tcp_sock *tp, const struct rate_sample *rs)
{
	struct ebb_upload *upload = ebb_upload_of(tp);
	struct ebb_sender_ack *ack;
	int delivered_pkts;
	long interval_us;

	if (!upload)
		return;
	ebb_upload_hear(tp, upload, rs->rtt_us);
	if (!upload->has_ack)
		return;
	ack = &upload->ack;
	delivered_pkts = rs->delivered;
	interval_us = rs->interval_us;
	if (delivered_pkts > 0 && interval_us > 0) {
		ack->rate_delivered_pkts = delivered_pkts;
		ack->rate_interval_us = interval_us < 0xffffffff ? interval_us : 0xffffffff;
		ack->rate_prior_delivered_pkts =
			upload->delivered_pkts - (u32)(tp->delivered - rs->prior_delivered);
	}
	ack->prior_inflight_pkts = rs->prior_in_flight;
	ack->is_app_limited = rs->is_app_limited;
	ebb_upload_tell(tp, upload, ebb_is_reducing(ebb_phase(tp)) ? 0 : rs->acked_sacked);
	ebb_apply(tp, upload);
	ebb_apply_pace(tp, upload);
	ebb_after_ack(tp, upload);
}

SEC("struct_ops")
void BPF_PROG(ebb_cong_control, struct sock *sk, u32 ack_seq, int flag,
	      const struct rate_sample *rs)
{
	ebb_control((struct tcp_sock *)sk, rs);
}

/* The same for kernels before 6.10: the owner puts it into the table there. */
SEC("?struct_ops")
void BPF_PROG(ebb_cong_short, struct sock *sk, const struct rate_sample *rs)
{
	ebb_control((struct tcp_sock *)sk, rs);
}

/*
 * The kernel asks for a threshold when it begins to repair a loss, to answer a mark, and
 * at a time-out, and says afterwards which it was.
 */
SEC("struct_ops")
u32 BPF_PROG(ebb_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ebb_upload *upload = ebb_upload_of(tp);
	struct ebb_sender_event event;

	if (!upload)
		return tp->snd_cwnd / 2 > 2 ? tp->snd_cwnd / 2 : 2;
	ebb_upload_catch_up(tp, upload);
	ebb_describe_event(tp, upload, &upload->event);
	/* Entering CWR the kernel forgets what it would undo. */
	upload->event.is_ecn =
		!tp->prior_ssthresh && !tp->undo_marker && tp->ecn_flags & EBB_TCP_ECN_OK;
	bpf_probe_read_kernel(&upload->before, sizeof(upload->before), &upload->law);
	ebb_sender_law_on_loss(config.law_number, &upload->law, &upload->event, ebb_params());
	upload->has_event = 1;
	/* What is told of it later is the law's, so the floor has a copy. */
	event = upload->event;
	ebb_floor_event(upload, EBB_SENDER_FLOOR_LOSS, &event);
	return ebb_ssthresh_of(ebb_answer(upload));
}

SEC("struct_ops")
void BPF_PROG(ebb_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ebb_upload *upload = bpf_sk_storage_get(&ebb_uploads, tp, 0, 0);
	u32 order;

	if (!upload || !upload->has_event || !ebb_is_reducing(new_state))
		return;
	upload->has_event = 0;
	order = upload->order++;
	ebb_trace_sender(upload, EBB_TRACE_LOSS, order, &upload->event, sizeof(upload->event));
}

/* It was no loss: the law is told of a time-out in its place. */
EBB_INLINE void ebb_on_timeout(struct tcp_sock *tp, struct ebb_upload *upload)
{
	u32 order;

	if (!upload->has_event)
		return;
	upload->has_event = 0;
	upload->event.is_ecn = 0;
	bpf_probe_read_kernel(&upload->law, sizeof(upload->law), &upload->before);
	ebb_sender_law_on_timeout(config.law_number, &upload->law, &upload->event, ebb_params());
	order = upload->order++;
	ebb_trace_sender(upload, EBB_TRACE_TIMEOUT, order, &upload->event, sizeof(upload->event));
	ebb_floor_event(upload, EBB_SENDER_FLOOR_TIMEOUT, &upload->event);
	tp->snd_ssthresh = ebb_ssthresh_of(ebb_answer(upload));
}

EBB_INLINE void ebb_on_start(struct tcp_sock *tp, struct ebb_upload *upload)
{
	struct ebb_sender_event event;
	u64 idle_us = tp->tcp_mstamp - upload->heard_us;
	u32 order;

	/* Also called when all that is outstanding is taken for lost. */
	if (tp->packets_out || !upload->heard_us)
		return;
	ebb_upload_catch_up(tp, upload);
	ebb_describe_event(tp, upload, &event);
	event.idle_us = idle_us < 0xffffffff ? idle_us : 0xffffffff;
	ebb_sender_law_on_idle(config.law_number, &upload->law, &event, ebb_params());
	order = upload->order++;
	ebb_trace_sender(upload, EBB_TRACE_IDLE, order, &event, sizeof(event));
	ebb_floor_event(upload, EBB_SENDER_FLOOR_IDLE, &event);
	if (!ebb_is_reducing(event.phase))
		ebb_apply(tp, upload);
}

/* Since 7.1 the kernel tells of a start here, and not as an event. */
SEC("struct_ops")
void BPF_PROG(ebb_start, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ebb_upload *upload = ebb_upload_of(tp);

	if (upload)
		ebb_on_start(tp, upload);
}

SEC("struct_ops")
void BPF_PROG(ebb_cwnd_event, struct sock *sk, u32 event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ebb_upload *upload;

	if (event != EBB_CA_EVENT_LOSS && event != EBB_CA_EVENT_TX_START)
		return;
	upload = ebb_upload_of(tp);
	if (!upload)
		return;
	if (event == EBB_CA_EVENT_LOSS)
		ebb_on_timeout(tp, upload);
	else
		ebb_on_start(tp, upload);
}

SEC("struct_ops")
u32 BPF_PROG(ebb_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ebb_upload *upload = ebb_upload_of(tp);
	struct ebb_sender_event event;
	u32 order;

	if (!upload)
		return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
	ebb_upload_catch_up(tp, upload);
	ebb_describe_event(tp, upload, &event);
	ebb_sender_law_on_undo(config.law_number, &upload->law, &event, ebb_params());
	order = upload->order++;
	ebb_trace_sender(upload, EBB_TRACE_UNDO, order, &event, sizeof(event));
	ebb_floor_event(upload, EBB_SENDER_FLOOR_UNDO, &event);
	return ebb_cwnd_of(tp, ebb_answer(upload));
}

/* As Linux's BBR: a law with its own pace may have up to three windows in the buffer. */
SEC("struct_ops")
u32 BPF_PROG(ebb_sndbuf_expand, struct sock *sk)
{
	return 3;
}

/*
 * Name and flags are the owner's to fill in; it also takes out what the kernel has no place for.
 */
SEC(".struct_ops.link")
struct tcp_congestion_ops ebb_ordinary = {
	.name = "ebb",
	.init = (void *)ebb_init,
	.release = (void *)ebb_done,
	.ssthresh = (void *)ebb_ssthresh,
	.cong_avoid = (void *)ebb_cong_avoid,
	.set_state = (void *)ebb_set_state,
	.cwnd_event = (void *)ebb_cwnd_event,
	.cwnd_event_tx_start = (void *)ebb_start,
	.pkts_acked = (void *)ebb_pkts_acked,
	.undo_cwnd = (void *)ebb_undo_cwnd,
};

SEC(".struct_ops.link")
struct tcp_congestion_ops ebb_in_control = {
	.name = "ebb",
	.init = (void *)ebb_init,
	.release = (void *)ebb_done,
	.ssthresh = (void *)ebb_ssthresh,
	.cong_control = (void *)ebb_cong_control,
	.set_state = (void *)ebb_set_state,
	.cwnd_event = (void *)ebb_cwnd_event,
	.cwnd_event_tx_start = (void *)ebb_start,
	.undo_cwnd = (void *)ebb_undo_cwnd,
	.sndbuf_expand = (void *)ebb_sndbuf_expand,
};
