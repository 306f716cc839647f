/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The life of a connection under a sender law: begin, an acknowledgement, an event. */
#ifndef EBB_UPLOAD_H
#define EBB_UPLOAD_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "common.h"
#include "kernel_types.h"
#include "sender_dispatch.h"
#include "sender_floor.h"
#include "timestamp_clock.h"

/* Always under the socket's lock. */
struct ebb_upload {
	u64 cookie;
	u64 adopted_ns;
	u64 acks; /* times that the law was told of one */
	u64 payload_bytes;
	u64 delivered_pkts;   /* tp->delivered, which wraps, in 64 bits */
	u64 heard_us;         /* the last acknowledgement; 0: none yet */
	u64 pace_bytes_per_s; /* the law's, as applied; 0: none */
	u32 order;            /* of the law's calls */
	u32 una;              /* first byte not acknowledged, at the last acknowledgement */
	u32 lost_pkts;        /* tp->lost and tp->delivered_ce then */
	u32 delivered_ce;
	u32 own_pace_bytes_per_s; /* the socket's limit before the law set one */
	u8 is_ready;              /* the law is initialised */
	u8 is_lent;               /* Ebb selected the law, and gives the connection back */
	u8 has_ack;               /* `ack` was heard, and the law has not been told */
	u8 has_event;             /* `event` was told as a loss, and may have been a time-out */
	u8 has_paced;             /* the socket was not paced before */
	u8 wish;  /* what the connection was switched to by itself: EBB_AS_ALL, … */
	u16 rule; /* that it is under, from 0; 0 without rules */
	u8 reserved[4];
	struct ebb_sender_ack ack;
	struct ebb_sender_event event;
	union ebb_sender_state law;
	union ebb_sender_state before; /* the law's state before `event` */
	struct ebb_sender_floor floor;
};

/* What all connections of a rule have in common: that of rule 0 where there are none. */
struct ebb_upload_floor {
	struct bpf_spin_lock lock;
	u32 reserved;
	struct ebb_floor all;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EBB_MAX_HELD);
	__type(key, u32);
	__type(value, struct ebb_upload_floor);
} ebb_upload_floors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ebb_upload);
} ebb_uploads SEC(".maps");

EBB_INLINE u8 ebb_phase(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state);
}

EBB_INLINE u32 ebb_inflight_pkts(const struct tcp_sock *tp)
{
	return tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out;
}

/* As the kernel judges it: in slow start the window may be twice what was needed. */
EBB_INLINE u8 ebb_is_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

EBB_INLINE void ebb_trace_sender(const struct ebb_upload *upload, u32 kind, u32 order,
				 const void *input, u32 input_bytes)
{
	struct ebb_sender_trace_record *record = ebb_trace_reserve(sizeof(*record));

	if (!record)
		return;
	record->cookie = upload->cookie;
	record->kind = kind;
	record->order = order;
	record->cwnd_pkts = upload->law.window.cwnd_pkts;
	record->ssthresh_pkts = upload->law.window.ssthresh_pkts;
	__builtin_memcpy(&record->input, input, input_bytes);
	bpf_ringbuf_submit(record, 0);
}

/* While TCP itself leads the window to the threshold (PRR), the law's is not applied. */
EBB_INLINE int ebb_is_reducing(u8 phase)
{
	return phase == EBB_SENDER_CWR || phase == EBB_SENDER_RECOVERY;
}

/* What is applied: the law's answer, or what floor and ceiling have for the connection. */
EBB_INLINE const struct ebb_sender_window *ebb_answer(const struct ebb_upload *upload)
{
	return upload->floor.has_answer ? &upload->floor.answer : &upload->law.window;
}

EBB_INLINE u32 ebb_cwnd_of(const struct tcp_sock *tp, const struct ebb_sender_window *window)
{
	u32 cwnd_pkts = window->cwnd_pkts, clamp_pkts = tp->snd_cwnd_clamp;

	if (cwnd_pkts > EBB_SENDER_MAX_CWND_PKTS)
		cwnd_pkts = EBB_SENDER_MAX_CWND_PKTS;
	if (cwnd_pkts > clamp_pkts)
		cwnd_pkts = clamp_pkts;
	return cwnd_pkts ? cwnd_pkts : 1;
}

EBB_INLINE u32 ebb_ssthresh_of(const struct ebb_sender_window *window)
{
	u32 ssthresh_pkts = window->ssthresh_pkts;

	if (ssthresh_pkts > EBB_TCP_INFINITE_SSTHRESH)
		ssthresh_pkts = EBB_TCP_INFINITE_SSTHRESH;
	return ssthresh_pkts ? ssthresh_pkts : 1;
}

/* A pace begins, or ends: the socket is paced by itself only if it was before. */
EBB_INLINE void ebb_note_pace(struct sock *sk, struct ebb_upload *upload, u64 bytes_per_s)
{
	if (!upload->pace_bytes_per_s && bytes_per_s) {
		upload->own_pace_bytes_per_s =
			sk->sk_max_pacing_rate < ~0u ? sk->sk_max_pacing_rate : ~0u;
		upload->has_paced = sk->sk_pacing_status == EBB_SK_PACING_NONE;
	}
	upload->pace_bytes_per_s = bytes_per_s;
}

/* The socket is paced by itself no more, unless it was before. */
EBB_INLINE void ebb_end_pace(struct sock *sk, const struct ebb_upload *upload)
{
	if (config.sets_pace && upload->has_paced && sk->sk_pacing_status == EBB_SK_PACING_NEEDED)
		sk->sk_pacing_status = EBB_SK_PACING_NONE;
}

/*
 * The law's pace. TCP sets one itself after each acknowledgement, if only to size its
 * bursts, so the law's is the socket's upper limit meanwhile (SO_MAX_PACING_RATE).
 */
EBB_INLINE void ebb_limit_pace(struct tcp_sock *tp, struct ebb_upload *upload)
{
	struct sock *sk = (struct sock *)tp;
	u64 pace = ebb_answer(upload)->pacing_bytes_per_s;
	u32 limit;

	if (pace == upload->pace_bytes_per_s)
		return;
	ebb_note_pace(sk, upload, pace);
	limit = upload->own_pace_bytes_per_s;
	if (pace && pace < limit)
		limit = pace;
	bpf_setsockopt(tp, EBB_SOL_SOCKET, EBB_SO_MAX_PACING_RATE, &limit, sizeof(limit));
	if (!pace)
		ebb_end_pace(sk, upload);
}

/*
 * The pace of a law in full control; without one enough for two windows in a round trip,
 * as TCP has it.
 */
EBB_INLINE void ebb_apply_pace(struct tcp_sock *tp, struct ebb_upload *upload)
{
	struct sock *sk = (struct sock *)tp;
	u64 rate = ebb_answer(upload)->pacing_bytes_per_s;

	/* The owner loads no law in full control then. */
	if (!config.sets_pace)
		return;
	ebb_note_pace(sk, upload, rate);
	if (rate && sk->sk_pacing_status == EBB_SK_PACING_NONE)
		sk->sk_pacing_status = EBB_SK_PACING_NEEDED;
	if (!rate) {
		u32 srtt_us = tp->srtt_us >> 3;

		rate = (u64)tp->snd_cwnd * tp->mss_cache * 2;
		rate = rate < 1ull << 40 ? rate * 1000000 : ~0ull;
		rate = srtt_us ? rate / srtt_us : rate;
	}
	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate;
}

EBB_INLINE void ebb_apply(struct tcp_sock *tp, struct ebb_upload *upload)
{
	const struct ebb_sender_window *window = ebb_answer(upload);

	tp->snd_cwnd = ebb_cwnd_of(tp, window);
	tp->snd_ssthresh = ebb_ssthresh_of(window);
}

/* The law on an acknowledgement: a function of its own, which the verifier checks once. */
__attribute__((noinline)) int ebb_law_ack(struct ebb_upload *upload)
{
	u32 order;

	if (!upload)
		return 0;
	ebb_sender_law_on_ack(config.law_number, &upload->law, &upload->ack, ebb_params());
	order = upload->order++;
	upload->acks++;
	upload->has_ack = 0;
	ebb_trace_sender(upload, EBB_TRACE_SENDER_ACK, order, &upload->ack, sizeof(upload->ack));
	return 0;
}

/* Floor and ceiling on an acknowledgement, once the law has been told: a function of its own, too. */
__attribute__((noinline)) int ebb_floor_ack(struct ebb_upload *upload)
{
	struct ebb_floor_news news = {};
	struct ebb_upload_floor *common;
	u32 rule, mss_bytes, srtt_us;
	u64 rate, ceiling;

	if (!upload)
		return 0;
	rule = upload->rule;
	rate = ebb_floor_rate(rule);
	ceiling = ebb_ceiling_rate(rule);
	if (!rate && !ceiling && !upload->floor.is_begun) {
		upload->floor.has_answer = 0;
		return 0;
	}
	common = bpf_map_lookup_elem(&ebb_upload_floors, &rule);
	if (!common)
		return 0;
	mss_bytes = upload->ack.mss_bytes;
	srtt_us = upload->ack.srtt_us;
	ebb_sender_floor_describe(&news, &upload->ack);
	ebb_end_step();
	ebb_sender_floor_on_ack(&upload->floor, &upload->ack, rate);
	ebb_end_step();
	bpf_spin_lock(&common->lock);
	ebb_sender_floor_share(&common->all, &upload->floor, &news, rate, ceiling);
	bpf_spin_unlock(&common->lock);
	ebb_sender_floor_answer(&upload->floor, &upload->law.window, mss_bytes, srtt_us);
	return 0;
}

/* An event, once the law has been told of it. */
EBB_INLINE void ebb_floor_event(struct ebb_upload *upload, u32 kind, struct ebb_sender_event *event)
{
	u32 mss_bytes = event->mss_bytes, srtt_us = event->srtt_us;

	if (!upload->floor.has_answer)
		return;
	switch (kind) {
	case EBB_SENDER_FLOOR_LOSS:
		ebb_sender_floor_on_loss(&upload->floor, event);
		break;
	case EBB_SENDER_FLOOR_TIMEOUT:
		ebb_sender_floor_on_timeout(&upload->floor, event, 1);
		break;
	case EBB_SENDER_FLOOR_UNDO:
		ebb_sender_floor_on_undo(&upload->floor, event);
		break;
	case EBB_SENDER_FLOOR_IDLE:
		ebb_sender_floor_on_idle(&upload->floor, event);
		break;
	}
	ebb_end_step();
	ebb_sender_floor_answer(&upload->floor, &upload->law.window, mss_bytes, srtt_us);
}

/* Starts the law on a connection. */
EBB_INLINE void ebb_upload_begin(struct tcp_sock *tp, struct ebb_upload *upload)
{
	struct ebb_sender_start start = {};
	u64 now_ns = bpf_ktime_get_ns();
	u32 order;

	start.now_us = now_ns / 1000;
	start.mss_bytes = tp->mss_cache;
	start.cwnd_pkts = tp->snd_cwnd;
	start.local_tick_us = ebb_local_tick_us(tp);
	start.has_timestamps = ebb_has_timestamps(tp);
	upload->adopted_ns = now_ns;
	/* Made by whoever put it under the law; a program that chose the law has none. */
	upload->cookie = ((struct sock *)tp)->__sk_common.skc_cookie.counter;
	if (!upload->cookie)
		upload->cookie = now_ns;
	upload->una = tp->snd_una;
	upload->delivered_pkts = tp->delivered;
	upload->delivered_ce = tp->delivered_ce;
	upload->lost_pkts = tp->lost;
	ebb_sender_law_init(config.law_number, &upload->law, &start, ebb_params());
	upload->is_ready = 1;
	order = upload->order++;
	ebb_trace_sender(upload, EBB_TRACE_SENDER_START, order, &start, sizeof(start));
	tp->snd_cwnd = ebb_cwnd_of(tp, &upload->law.window);
}

/* Notes an acknowledgement, once what it acknowledges has been counted. */
EBB_INLINE void ebb_upload_hear(struct tcp_sock *tp, struct ebb_upload *upload, int rtt_us)
{
	struct ebb_sender_ack *ack = &upload->ack;
	u32 delivered_pkts = tp->delivered - (u32)upload->delivered_pkts;
	u32 acked_bytes = tp->snd_una - upload->una;
	struct ebb_counters *counters = ebb_counters_of(upload->rule);

	if (!delivered_pkts && !acked_bytes)
		return;
	upload->delivered_pkts += delivered_pkts;
	upload->una = tp->snd_una;
	upload->payload_bytes += acked_bytes;
	upload->heard_us = tp->tcp_mstamp;
	if (counters) {
		counters->acks++;
		counters->segments += delivered_pkts;
		counters->payload_bytes += acked_bytes;
	}
	__builtin_memset(ack, 0, sizeof(*ack));
	ack->now_us = tp->tcp_mstamp;
	ack->delivered_pkts = upload->delivered_pkts;
	ack->ack_seq = tp->snd_una;
	ack->snd_nxt = tp->snd_nxt;
	ack->acked_bytes = acked_bytes;
	ack->delivered_now_pkts = delivered_pkts;
	ack->prior_inflight_pkts = ebb_inflight_pkts(tp) + delivered_pkts;
	ack->rtt_us = rtt_us > 0 ? rtt_us : 0;
	ack->tsval = tp->rx_opt.rcv_tsval;
	ack->tsecr = tp->rx_opt.rcv_tsecr;
	ack->local_tick_us = ebb_local_tick_us(tp);
	/* rcv_tsecr comes without the connection's offset, so this does, too. */
	ack->local_ts = ebb_local_ts(ack->now_us, ack->local_tick_us);
	ack->has_timestamps = ebb_has_timestamps(tp);
	ack->is_ece = tp->delivered_ce != upload->delivered_ce;
	upload->delivered_ce = tp->delivered_ce;
	ack->is_app_limited = tp->app_limited != 0;
	upload->has_ack = 1;
}

/* Tells the law of the acknowledgement that was heard, if there is one. */
EBB_INLINE void ebb_upload_tell(struct tcp_sock *tp, struct ebb_upload *upload, u32 acked_pkts)
{
	struct ebb_sender_ack *ack = &upload->ack;

	if (!upload->has_ack)
		return;
	ack->acked_pkts = acked_pkts;
	if (!acked_pkts)
		ack->acked_bytes = 0;
	ack->lost_now_pkts = tp->lost - upload->lost_pkts;
	upload->lost_pkts = tp->lost;
	ack->inflight_pkts = ebb_inflight_pkts(tp);
	ack->cwnd_pkts = tp->snd_cwnd;
	ack->ssthresh_pkts = tp->snd_ssthresh;
	ack->srtt_us = tp->srtt_us >> 3;
	ack->mss_bytes = tp->mss_cache;
	ack->random = bpf_get_prandom_u32();
	ack->phase = ebb_phase(tp);
	ack->is_cwnd_limited = ebb_is_cwnd_limited(tp);
	ebb_law_ack(upload);
	ebb_floor_ack(upload);
}

/*
 * An event tells the law first of an acknowledgement that came before; of the one that
 * caused it the law is told afterwards, when its phase is known.
 */
EBB_INLINE void ebb_upload_catch_up(struct tcp_sock *tp, struct ebb_upload *upload)
{
	if (upload->has_ack && upload->ack.now_us != tp->tcp_mstamp)
		ebb_upload_tell(tp, upload, 0);
}

EBB_INLINE void ebb_describe_event(struct tcp_sock *tp, struct ebb_upload *upload,
				   struct ebb_sender_event *event)
{
	__builtin_memset(event, 0, sizeof(*event));
	event->now_us = tp->tcp_mstamp;
	event->ack_seq = tp->snd_una;
	event->snd_nxt = tp->snd_nxt;
	event->cwnd_pkts = tp->snd_cwnd;
	event->ssthresh_pkts = tp->snd_ssthresh;
	event->inflight_pkts = ebb_inflight_pkts(tp);
	event->mss_bytes = tp->mss_cache;
	event->srtt_us = tp->srtt_us >> 3;
	event->random = bpf_get_prandom_u32();
	event->phase = ebb_phase(tp);
}

#endif /* EBB_UPLOAD_H */
