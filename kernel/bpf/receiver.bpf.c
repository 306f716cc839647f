// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receiver's programs: a law is told of every arriving data packet and asked
 * for the window before every outgoing segment of the connections of a cgroup.
 *
 * They drop nothing, change no packet, and act only while the owner's lease lasts
 * (struct ebb_control): past it each connection is let go at its next segment.
 */
#include "acceptable.h"
#include "datagrams.h"
#include "flow.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* At so many segments a second the law is not asked before each, which costs too much. */
#define EBB_ASK_AGAIN_NS 50000u

/* [RFC7323 §2.2] A window is so many units of its scale at the most. */
#define EBB_TCP_MOST_UNITS 65535u
/* The largest scale that has TCP's least clamp, nine units of 128 bytes, exactly. */
#define EBB_FINEST_SCALE 7u

/* How far a window of so few segments, or less than one, may open with the next that arrives. */
#define EBB_ROOM_SEGMENTS 4u
#define EBB_SMALL_SEGMENTS 8u
/* A word of the header: so little can be reserved. */
#define EBB_HEADER_WORD_BYTES 4u

/* ---- arriving packets ---- */

/* A data packet of the connection's. */
EBB_INLINE void ebb_hear(struct ebb_flow *flow, struct tcp_sock *tp, const struct __sk_buff *skb,
			 const struct ebb_packet *packet, struct ebb_counters *counters, u64 now_ns)
{
	u32 segment_bytes = ebb_segment_bytes(tp->advmss, packet->payload_bytes, skb->gso_size);
	u32 segments = ebb_segments(packet->payload_bytes, segment_bytes, skb->gso_segs);

	counters->aggregates++;
	counters->segments += segments;
	counters->payload_bytes += packet->payload_bytes;
	ebb_flow_on_packet(flow, tp, packet, segments, segment_bytes, now_ns);
}

SEC("cgroup_skb/ingress")
int ebb_ingress(struct __sk_buff *skb)
{
	struct ebb_packet packet = {};
	struct ebb_counters *counters;
	struct bpf_sock *sk = skb->sk;
	u64 now_ns = bpf_ktime_get_ns();
	struct tcp_sock *tp;
	struct ebb_flow *flow;

	if (!sk || !ebb_is_leased(now_ns))
		return 1;
	flow = bpf_sk_storage_get(&ebb_flows, sk, 0, 0);
	if (!flow) {
		ebb_count_datagram(skb, 0);
		return 1;
	}
	tp = bpf_skc_to_tcp_sock(sk);
	counters = ebb_counters_of(flow->rule);
	if (!tp || !counters)
		return 1;
	if (skb->ifindex == EBB_LOOPBACK_IFINDEX) {
		counters->skipped_loopback += !flow->is_loopback;
		flow->is_loopback = 1;
		return 1;
	}
	if (!ebb_read_packet(skb, 0, &packet)) {
		counters->skipped_malformed++;
		return 1;
	}
	if (!packet.is_data)
		return 1;
	if (!ebb_is_acceptable(skb, tp, &packet, now_ns)) {
		counters->skipped_unacceptable++;
		return 1;
	}
	ebb_hear(flow, tp, skb, &packet, counters, now_ns);
	return 1;
}

/* ---- outgoing segments and new connections ---- */

EBB_INLINE void ebb_set_clamp(struct bpf_sock_ops *ops, u32 window_bytes)
{
	bpf_setsockopt(ops, EBB_SOL_TCP, EBB_TCP_WINDOW_CLAMP, &window_bytes, sizeof(window_bytes));
}

/* TCP rounds the window up to a multiple of its scale: less makes no difference. */
EBB_INLINE int ebb_is_same_window(const struct tcp_sock *tp, u32 a_bytes, u32 b_bytes)
{
	u32 scale = BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale) & 15;
	u32 rest = (1u << scale) - 1;

	return (a_bytes + rest) >> scale == (b_bytes + rest) >> scale;
}

/* The rule of a connection that is not to be left alone, or EBB_NO_RULE, counted if that is asked. */
EBB_INLINE u32 ebb_taken_rule(struct bpf_sock_ops *ops, struct bpf_sock *sk, struct tcp_sock *tp,
			      u32 is_counted)
{
	u32 rule = ebb_rule_of(tp, sk);

	if (rule >= EBB_NO_RULE)
		return EBB_NO_RULE;
	if (ebb_is_loopback(ops)) {
		EBB_COUNT_OF(rule, skipped_loopback, is_counted);
		return EBB_NO_RULE;
	}
	if (ebb_is_mptcp(tp)) {
		EBB_COUNT_OF(rule, skipped_mptcp, is_counted);
		return EBB_NO_RULE;
	}
	if (config.is_marked_only && !bpf_sk_storage_get(&ebb_marks, sk, 0, 0)) {
		EBB_COUNT_OF(rule, skipped_unmarked, is_counted);
		return EBB_NO_RULE;
	}
	return rule;
}

/*
 * Before our SYN, which tells the window's scale for good: from the largest window that TCP ever
 * allows it follows what one can say at the least. The largest window is bounded so that the scale
 * is EBB_FINEST_SCALE, unless it is smaller by itself. It stays so when nobody acts any more.
 */
EBB_INLINE void ebb_before_handshake(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct tcp_sock *tp;
	u32 rule;

	if (!sk || !ebb_law_is_of_bundle(config.law_number) || !ebb_is_leased(bpf_ktime_get_ns()))
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	/* What its program chose, counts. */
	if (!tp || tp->window_clamp)
		return;
	rule = ebb_taken_rule(ops, sk, tp, 0);
	if (rule < EBB_NO_RULE && !ebb_is_free(rule, ebb_wish_of(sk, rule)))
		ebb_set_clamp(ops, EBB_TCP_MOST_UNITS << EBB_FINEST_SCALE);
}

/* The connection's new state, or none if it is to be left alone. */
EBB_INLINE struct ebb_flow *ebb_take(struct bpf_sock_ops *ops, struct bpf_sock *sk,
				     struct tcp_sock *tp, u64 now_ns)
{
	u32 rule = ebb_taken_rule(ops, sk, tp, 1);
	struct ebb_flow *flow;

	if (rule >= EBB_NO_RULE)
		return 0;
	flow = bpf_sk_storage_get(&ebb_flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow) {
		EBB_COUNT_OF(rule, skipped_no_memory, 1);
		return 0;
	}
	flow->rule = rule;
	flow->wish = ebb_wish_of(sk, rule);
	ebb_flow_begin(flow, tp, bpf_get_socket_cookie(ops), now_ns);
	return flow;
}

EBB_INLINE void ebb_begin(struct bpf_sock_ops *ops)
{
	u64 now_ns = bpf_ktime_get_ns();
	struct bpf_sock *sk = ops->sk;
	struct tcp_sock *tp;
	struct ebb_flow *flow;

	if (!sk || !ebb_is_leased(now_ns))
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	flow = ebb_take(ops, sk, tp, now_ns);
	if (!flow)
		return;
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | EBB_CALLBACKS);
	EBB_COUNT_OF(flow->rule, adopted_new, 1);
	if (!ebb_is_free(flow->rule, flow->wish)) {
		flow->is_clamped = 1;
		ebb_set_clamp(ops, flow->law.rwnd_bytes);
	}
}

/*
 * The callback flags stay set: they are the socket's, and another Ebb further up the
 * hierarchy may need them to let go in its turn. Without programs they cost nothing.
 */
EBB_INLINE void ebb_let_go(struct bpf_sock_ops *ops, struct bpf_sock *sk, struct ebb_flow *flow,
			   u64 now_ns)
{
	struct ebb_counters *counters = ebb_counters_of(flow->rule);

	if (flow->is_clamped)
		ebb_set_clamp(ops, EBB_LARGEST_WINDOW_BYTES);
	bpf_sk_storage_delete(&ebb_flows, sk);
	if (counters) {
		counters->released++;
		counters->lapsed += ebb_has_lapsed(now_ns);
	}
}

/*
 * A connection whose packets come through lo though its ends have two addresses, as a port that is
 * redirected. It stays known, or it would be taken anew before each segment.
 */
EBB_INLINE void ebb_leave_alone(struct bpf_sock_ops *ops, struct ebb_flow *flow)
{
	if (flow->is_clamped)
		ebb_set_clamp(ops, EBB_LARGEST_WINDOW_BYTES);
	flow->is_clamped = 0;
}

/* Whether the clamp had to be set. */
EBB_INLINE u32 ebb_apply(struct bpf_sock_ops *ops, struct ebb_flow *flow, struct tcp_sock *tp,
			 u32 rwnd_bytes)
{
	int is_free = ebb_is_free(flow->rule, flow->wish);

	if (is_free) {
		if (!flow->is_clamped)
			return 0;
		rwnd_bytes = EBB_LARGEST_WINDOW_BYTES;
	}
	flow->is_clamped = !is_free;
	if (ebb_is_same_window(tp, tp->window_clamp, rwnd_bytes))
		return 0;
	ebb_set_clamp(ops, rwnd_bytes);
	return 1;
}

/* The law was asked a moment ago, and its window still stands. */
EBB_INLINE int ebb_is_settled(const struct ebb_flow *flow, const struct tcp_sock *tp, u64 now_ns)
{
	/* The kernel changes the clamp by itself (autotuning): compare with its own. */
	return now_ns - flow->asked_ns < EBB_ASK_AGAIN_NS && flow->clamp_bytes == tp->window_clamp;
}

EBB_INLINE void ebb_ask(struct bpf_sock_ops *ops, struct ebb_flow *flow, struct tcp_sock *tp,
			u64 now_ns)
{
	u32 rwnd_bytes = ebb_flow_on_outgoing(flow, tp, now_ns);
	u32 is_set = ebb_apply(ops, flow, tp, rwnd_bytes);
	struct ebb_counters *counters = ebb_counters_of(flow->rule);

	flow->asked_ns = now_ns;
	flow->clamp_bytes = tp->window_clamp;
	if (counters) {
		counters->acks++;
		counters->clamps += is_set;
		counters->sent_bytes += ebb_flow_newly_acked(flow, tp);
	}
}

EBB_INLINE int ebb_is_small(const struct tcp_sock *tp)
{
	return tp->window_clamp <= EBB_SMALL_SEGMENTS * tp->advmss;
}

/*
 * TCP's own bound of the window (rcv_ssthresh) grows when data comes, up to the clamp that stands
 * then. So the answer to the next segments could not be a larger window, whatever the law says, but
 * the one a round trip later; and a sender that waits for its timer would wait for it twice. So the
 * clamp is larger again as soon as a small window stands in the header. TCP calls for that only if
 * room was asked for there, which it fills with a word of no operation. With data there is none: its
 * length is chosen already.
 */
EBB_INLINE void ebb_ask_for_room(struct bpf_sock_ops *ops, const struct tcp_sock *tp)
{
	if (ebb_law_is_of_bundle(config.law_number) && ebb_is_small(tp) && !ops->skb_len)
		bpf_reserve_hdr_opt(ops, EBB_HEADER_WORD_BYTES, 0);
}

EBB_INLINE void ebb_leave_room(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct tcp_sock *tp;
	struct ebb_flow *flow;

	if (!sk || !ebb_law_is_of_bundle(config.law_number))
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || !ebb_is_small(tp))
		return;
	flow = bpf_sk_storage_get(&ebb_flows, sk, 0, 0);
	if (flow && flow->is_clamped)
		ebb_set_clamp(ops, tp->window_clamp + EBB_ROOM_SEGMENTS * tp->advmss);
}

EBB_INLINE void ebb_before_outgoing(struct bpf_sock_ops *ops)
{
	u64 now_ns = bpf_ktime_get_ns();
	struct bpf_sock *sk = ops->sk;
	struct tcp_sock *tp;
	struct ebb_flow *flow;

	/* TCP also asks for the header's length when it computes its MSS. */
	if (!sk || ops->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	flow = bpf_sk_storage_get(&ebb_flows, sk, 0, 0);
	if (flow && !ebb_is_held(flow->rule, now_ns)) {
		ebb_let_go(ops, sk, flow, now_ns);
		return;
	}
	if (!ebb_is_leased(now_ns))
		return;
	if (!flow) {
		/* The predecessor's connection, after a change of the law. */
		flow = ebb_take(ops, sk, tp, now_ns);
		if (!flow)
			return;
		EBB_COUNT_OF(flow->rule, adopted_established, 1);
	}
	if (flow->is_loopback) {
		ebb_leave_alone(ops, flow);
		return;
	}
	if (!ebb_is_settled(flow, tp, now_ns))
		ebb_ask(ops, flow, tp, now_ns);
	ebb_ask_for_room(ops, tp);
}

/* Nothing goes out after the last acknowledgements: what they tell is counted here. */
EBB_INLINE void ebb_on_state(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct tcp_sock *tp;
	struct ebb_flow *flow;

	if (!sk)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	flow = bpf_sk_storage_get(&ebb_flows, sk, 0, 0);
	if (flow)
		EBB_COUNT_OF(flow->rule, sent_bytes, ebb_flow_newly_acked(flow, tp));
}

SEC("sockops")
int ebb_sockops(struct bpf_sock_ops *ops)
{
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		ebb_before_handshake(ops);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		ebb_begin(ops);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		ebb_before_outgoing(ops);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		ebb_leave_room(ops);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		ebb_on_state(ops);
		break;
	}
	return 1;
}

#include "receiver_iterators.h"
#include "marking.h"
