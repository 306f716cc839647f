/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The life of a governed connection: begin, a segment, an acknowledgement. */
#ifndef EBB_FLOW_H
#define EBB_FLOW_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel_types.h"
#include "maps.h"
#include "connections.h"
#include "packet.h"
#include "timestamp_clock.h"

/* TCP's largest window: no limit at all. */
#define EBB_LARGEST_WINDOW_BYTES (1u << 30)
/* TCP takes no smaller clamp. */
#define EBB_LEAST_CLAMP_BYTES 1152u
/* What sockops is called for: outgoing segments, and changes of the connection's state. */
#define EBB_CALLBACKS (BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG)
/* A round trip that the sender measured bounds the echoes of so long. */
#define EBB_ECHO_BOUND_US 2000000u

EBB_INLINE u32 ebb_mss(const struct ebb_flow *flow)
{
	return ebb_known_mss(flow->segments, flow->guessed_mss_bytes, flow->seen_mss_bytes);
}

EBB_INLINE void ebb_trace_call(const struct ebb_flow *flow, u32 kind, u32 order, u32 rwnd_bytes,
			       const void *input, u32 input_bytes)
{
	struct ebb_trace_record *record = ebb_trace_reserve(sizeof(*record));

	if (!record)
		return;
	record->cookie = flow->cookie;
	record->kind = kind;
	record->order = order;
	record->rwnd_bytes = rwnd_bytes;
	__builtin_memcpy(&record->input, input, input_bytes);
	bpf_ringbuf_submit(record, 0);
}

EBB_INLINE void ebb_note_peer(struct tcp_sock *tp, u32 rule)
{
	struct sock_common *common = &((struct sock *)tp)->__sk_common;
	struct ebb_peer peer = {};
	u32 known = 1;

	peer.rule = rule;
	peer.family = common->skc_family;
	if (peer.family == EBB_AF_INET)
		*(u32 *)peer.address = common->skc_daddr;
	else
		BPF_CORE_READ_INTO(&peer.address, common, skc_v6_daddr);
	/* Of very many not all are told. */
	bpf_map_update_elem(&ebb_peers, &peer, &known, BPF_ANY);
}

/* Starts the law on a connection; the caller holds the socket's lock. */
EBB_INLINE void ebb_flow_begin(struct ebb_flow *flow, struct tcp_sock *tp, u64 cookie, u64 now_ns)
{
	struct ebb_bundle *bundle = ebb_bundle_of(flow->rule);
	struct ebb_start start = {};
	u32 order, rwnd_bytes, mss_bytes = tp->mss_cache;

	if (!bundle)
		return;
	if (tp->advmss < mss_bytes)
		mss_bytes = tp->advmss;
	start.now_us = now_ns / 1000;
	start.mss_bytes = mss_bytes;
	start.rcv_nxt = tp->rcv_nxt;
	start.has_timestamps = ebb_has_timestamps(tp);
	start.tsval = tp->rx_opt.rcv_tsval;
	flow->cookie = cookie;
	flow->adopted_ns = now_ns;
	flow->guessed_mss_bytes = mss_bytes;
	flow->told_acked_bytes = tp->bytes_acked;
	ebb_note_peer(tp, flow->rule);

	bpf_spin_lock(&bundle->lock);
	ebb_law_bundle_init(config.law_number, &bundle->law, &flow->law, &start, ebb_params());
	order = flow->order++;
	rwnd_bytes = flow->law.rwnd_bytes;
	flow->is_ready = 1;
	bpf_spin_unlock(&bundle->lock);

	ebb_trace_call(flow, EBB_TRACE_START, order, rwnd_bytes, &start, sizeof(start));
}

/*
 * The echo of what this end sent. While that is held to a pace Linux stamps acknowledgements with
 * the time at which the next segment may leave (tcp_wstamp_ns), and their echo comes back that
 * much too soon. The round trip of the last segment that was acknowledged bounds it.
 */
EBB_INLINE u32 ebb_echo(const struct tcp_sock *tp, const struct ebb_packet *packet,
			const struct ebb_segment *segment)
{
	u8 is_paced = ((const struct sock *)tp)->sk_pacing_status != EBB_SK_PACING_NONE;
	u64 sent_us = tp->rack.mstamp;
	u32 rtt_ticks;

	if (!is_paced || !sent_us || segment->now_us - sent_us > EBB_ECHO_BOUND_US)
		return packet->tsecr;
	rtt_ticks = tp->rack.rtt_us / segment->local_tick_us;
	if ((s32)(segment->local_ts - packet->tsecr) >= (s32)rtt_ticks)
		return packet->tsecr;
	return segment->local_ts - rtt_ticks;
}

/* Only then does a mark come from a queue: some paths write the whole field over. */
EBB_INLINE int ebb_uses_ecn(const struct tcp_sock *tp)
{
	return (tp->ecn_flags & (EBB_TCP_ECN_OK | EBB_TCP_ECN_ACCURATE)) != 0;
}

EBB_INLINE void ebb_describe_segment(struct ebb_segment *segment, const struct tcp_sock *tp,
				     const struct ebb_packet *packet, u64 now_ns)
{
	u32 tick_us = ebb_local_tick_us(tp);

	segment->now_us = now_ns / 1000;
	segment->seq = packet->seq;
	segment->payload_bytes = packet->payload_bytes;
	segment->tsval = packet->tsval;
	segment->local_ts = ebb_local_ts(segment->now_us, tick_us) + tp->tsoffset;
	segment->local_tick_us = tick_us;
	segment->tsecr = ebb_echo(tp, packet, segment);
	segment->rcv_nxt = tp->rcv_nxt;
	segment->right_edge_seq = tp->rcv_wup + tp->rcv_wnd;
	segment->kernel_rtt_us = tp->rcv_rtt_est.rtt_us >> 3;
	segment->has_timestamps = packet->has_timestamps;
	segment->is_ce = packet->is_ce && ebb_uses_ecn(tp);
}

/*
 * By words of eight bytes: to the verifier of 6.1, less overwrites nothing that was on the stack
 * before.
 */
EBB_INLINE void ebb_copy_words(struct ebb_segment *to, const struct ebb_segment *from)
{
	EBB_BUILD_ASSERT(sizeof(*to) % sizeof(u64) == 0, "a segment is whole words");
	*to = *from;
	/* In one piece in memory, not in a register or slot for each field. */
	__asm__ volatile("" ::"r"(to) : "memory");
}

EBB_INLINE void ebb_flow_count(struct ebb_flow *flow, const struct ebb_packet *packet, u32 segments,
			       u32 segment_bytes)
{
	flow->segments += segments;
	flow->payload_bytes += packet->payload_bytes;
	if (segment_bytes > flow->seen_mss_bytes)
		flow->seen_mss_bytes = segment_bytes;
}

/* Tells floor and ceiling what has come; under the bundle's lock. */
EBB_INLINE void ebb_flow_hear(struct ebb_bundle *bundle, struct ebb_flow *flow)
{
	const struct ebb_segment *segment = &flow->segment;
	struct ebb_floor_news news = {};

	if (segment->is_observing)
		return;
	news.now_us = segment->now_us;
	news.bytes = segment->payload_bytes;
	news.rtt_us = segment->kernel_rtt_us;
	news.mss_bytes = segment->mss_bytes;
	ebb_floor_hear(&bundle->floor, &flow->floor, &news, ebb_floor_rate(flow->rule),
		       ebb_ceiling_rate(flow->rule));
}

EBB_INLINE void ebb_flow_on_packet(struct ebb_flow *flow, struct tcp_sock *tp,
				   const struct ebb_packet *packet, u32 segments, u32 segment_bytes,
				   u64 now_ns)
{
	struct ebb_bundle *bundle = ebb_bundle_of(flow->rule);
	struct ebb_segment segment = {}, told;
	u32 order, rwnd_bytes;

	if (!bundle)
		return;
	ebb_describe_segment(&segment, tp, packet, now_ns);
	segment.segments = segments;
	segment.is_observing = ebb_is_free(flow->rule, flow->wish);

	bpf_spin_lock(&bundle->lock);
	if (!flow->is_ready) {
		bpf_spin_unlock(&bundle->lock);
		return;
	}
	ebb_flow_count(flow, packet, segments, segment_bytes);
	segment.mss_bytes = ebb_mss(flow);
	/*
	 * Of the stack the verifier knows what each way up to here has put there, and it would
	 * follow the law once for each of them; of a map it knows nothing.
	 */
	flow->segment = segment;
	ebb_end_step();
	ebb_law_bundle_on_segment(config.law_number, &bundle->law, &flow->law, &flow->segment,
				  ebb_params());
	ebb_end_step();
	ebb_flow_hear(bundle, flow);
	order = flow->order++;
	rwnd_bytes = flow->law.rwnd_bytes;
	/* Read back: what the trace needs of the stack, the verifier follows through the law. */
	if (config.is_tracing)
		ebb_copy_words(&told, &flow->segment);
	bpf_spin_unlock(&bundle->lock);

	ebb_trace_call(flow, EBB_TRACE_SEGMENT, order, rwnd_bytes, &told, sizeof(told));
}

/* What the peer has acknowledged since it was counted last. */
EBB_INLINE u64 ebb_flow_newly_acked(struct ebb_flow *flow, const struct tcp_sock *tp)
{
	u64 acked_bytes = tp->bytes_acked, newly_bytes = acked_bytes - flow->told_acked_bytes;

	flow->told_acked_bytes = acked_bytes;
	return newly_bytes;
}

/* Asks the law for the window of the segment that is about to go out. */
EBB_INLINE u32 ebb_flow_on_outgoing(struct ebb_flow *flow, struct tcp_sock *tp, u64 now_ns)
{
	struct ebb_bundle *bundle = ebb_bundle_of(flow->rule);
	struct ebb_ack ack = {};
	u32 order, rwnd_bytes, floor_bytes, most_bytes, tick_us = ebb_local_tick_us(tp);

	if (!bundle)
		return EBB_LARGEST_WINDOW_BYTES;
	ack.now_us = now_ns / 1000;
	ack.ack_seq = tp->rcv_nxt;
	ack.local_ts = ebb_local_ts(ack.now_us, tick_us) + tp->tsoffset;
	ack.local_tick_us = tick_us;
	ack.right_edge_seq = tp->rcv_wup + tp->rcv_wnd;
	ack.has_timestamps = ebb_has_timestamps(tp);
	ack.is_observing = ebb_is_free(flow->rule, flow->wish);

	bpf_spin_lock(&bundle->lock);
	flow->acks++;
	ack.mss_bytes = ebb_mss(flow);
	ebb_law_bundle_on_ack(config.law_number, &bundle->law, &flow->law, &ack, ebb_params());
	ebb_end_step();
	order = flow->order++;
	rwnd_bytes = flow->law.rwnd_bytes;
	most_bytes = ebb_ceiling_window_bytes(&bundle->floor, &flow->floor,
					      ebb_ceiling_rate(flow->rule));
	most_bytes = (u32)ebb_min(most_bytes, rwnd_bytes);
	floor_bytes = ebb_floor_window_bytes(&bundle->floor, &flow->floor,
					     ebb_floor_rate(flow->rule), most_bytes);
	bpf_spin_unlock(&bundle->lock);

	ebb_trace_call(flow, EBB_TRACE_ACK, order, rwnd_bytes, &ack, sizeof(ack));
	return (u32)ebb_clamp(ebb_max(most_bytes, floor_bytes), EBB_LEAST_CLAMP_BYTES,
			      EBB_LARGEST_WINDOW_BYTES);
}

#endif /* EBB_FLOW_H */
