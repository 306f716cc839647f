/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The floor of what is sent: a host that is its own congestion control has no more of it than plain
 * TCP would have, so that a floor that the path does not carry gives a fair share.
 *
 * Source: [FLOOR] docs/floor.md. Domain: as floor.h.
 *
 * Beside its law a host keeps a struct ebb_sender_floor for each connection, which starts as zero
 * bytes, and calls ebb_sender_floor_on_… after the law's own hooks, with what these were told. It
 * then sets a window of ebb_sender_floor_answer.
 */
#ifndef EBB_SENDER_FLOOR_H
#define EBB_SENDER_FLOOR_H

#include "ceiling.h"
#include "cubic/cubic.h"
#include "floor.h"

/* [FLOOR §uploads] Plain TCP's window grows to so many times what is used, no further. */
#define EBB_SENDER_FLOOR_UNUSED 2u
/* [RFC6928 §2] What it begins with. */
#define EBB_SENDER_FLOOR_START_PKTS 10u
/* [FLOOR §uploads] A law that paces leaves so much room for what comes in bursts. */
#define EBB_SENDER_FLOOR_PACE_X4 5u

/* What happened, for hosts that tell of it by number. */
enum ebb_sender_floor_event {
	EBB_SENDER_FLOOR_LOSS,
	EBB_SENDER_FLOOR_TIMEOUT,
	EBB_SENDER_FLOOR_UNDO,
	EBB_SENDER_FLOOR_IDLE,
};

struct ebb_sender_floor {
	struct ebb_cubic_state plain; /* what plain TCP would have, of EBB_CUBIC_PARAMS */
	struct ebb_sender_window answer;
	struct ebb_floor_member member;
	u32 share_bytes;   /* what the connection has of the floor */
	u32 ceiling_bytes; /* and of the ceiling */
	u8 is_begun;       /* there was a floor */
	u8 has_answer;     /* or a ceiling */
	u8 reserved[6];
};

#define EBB_SENDER_FLOOR_DEFAULT(name, default_value, ...) .name = default_value,
#define EBB_SENDER_FLOOR_PLAIN(name) \
	const struct ebb_cubic_params name = {EBB_CUBIC_PARAMS(EBB_SENDER_FLOOR_DEFAULT)}

/* ---- helpers ---- */

/* Plain TCP begins as a new connection would, whatever the law has by then. */
EBB_INLINE void ebb_sender_floor_begin(struct ebb_sender_floor *f, const struct ebb_sender_ack *ack)
{
	struct ebb_sender_start start = {.now_us = ack->now_us, .mss_bytes = ack->mss_bytes};
	EBB_SENDER_FLOOR_PLAIN(params);

	start.cwnd_pkts = (u32)ebb_max(ack->cwnd_pkts, EBB_SENDER_FLOOR_START_PKTS);
	ebb_cubic_init(&f->plain, &start, &params);
	f->is_begun = 1;
}

EBB_INLINE void ebb_sender_floor_describe(struct ebb_floor_news *news,
					  const struct ebb_sender_ack *ack)
{
	u64 bytes = (u64)ack->delivered_now_pkts * ack->mss_bytes;

	news->now_us = ack->now_us;
	news->bytes = (u32)ebb_min(bytes, EBB_FLOOR_MOST_BYTES);
	news->rtt_us = ack->srtt_us ? ack->srtt_us : ack->rtt_us;
	news->mss_bytes = ack->mss_bytes;
}

/* ---- what hosts call ---- */

/*
 * After the law has been told; what it was told is this function's to change. Plain TCP does not
 * count what the law left unused.
 */
EBB_INLINE void ebb_sender_floor_on_ack(struct ebb_sender_floor *f, struct ebb_sender_ack *ack,
					u64 rate)
{
	u64 used_pkts = (u64)ack->cwnd_pkts * EBB_SENDER_FLOOR_UNUSED;
	EBB_SENDER_FLOOR_PLAIN(params);

	if (!rate)
		return;
	if (!f->is_begun)
		ebb_sender_floor_begin(f, ack);
	ebb_end_step();
	if (f->plain.window.cwnd_pkts >= used_pkts)
		ack->is_cwnd_limited = 0;
	ack->cwnd_pkts = f->plain.window.cwnd_pkts;
	ack->ssthresh_pkts = f->plain.window.ssthresh_pkts;
	ebb_end_step();
	ebb_cubic_on_ack(&f->plain, ack, &params);
}

EBB_INLINE void ebb_sender_floor_on_loss(struct ebb_sender_floor *f, struct ebb_sender_event *event)
{
	EBB_SENDER_FLOOR_PLAIN(params);

	if (!f->is_begun)
		return;
	event->cwnd_pkts = f->plain.window.cwnd_pkts;
	ebb_cubic_on_loss(&f->plain, event, &params);
	f->plain.window.cwnd_pkts = f->plain.window.ssthresh_pkts;
}

EBB_INLINE void ebb_sender_floor_on_undo(struct ebb_sender_floor *f, struct ebb_sender_event *event)
{
	EBB_SENDER_FLOOR_PLAIN(params);

	if (!f->is_begun)
		return;
	event->cwnd_pkts = f->plain.window.cwnd_pkts;
	event->ssthresh_pkts = f->plain.window.ssthresh_pkts;
	ebb_cubic_on_undo(&f->plain, event, &params);
}

/* was_loss: it has been taken for a loss before. */
EBB_INLINE void ebb_sender_floor_on_timeout(struct ebb_sender_floor *f,
					    struct ebb_sender_event *event, u8 was_loss)
{
	EBB_SENDER_FLOOR_PLAIN(params);

	if (!f->is_begun)
		return;
	if (was_loss)
		ebb_sender_floor_on_undo(f, event);
	ebb_end_step();
	event->cwnd_pkts = f->plain.window.cwnd_pkts;
	ebb_cubic_on_timeout(&f->plain, event, &params);
}

EBB_INLINE void ebb_sender_floor_on_idle(struct ebb_sender_floor *f, struct ebb_sender_event *event)
{
	EBB_SENDER_FLOOR_PLAIN(params);

	if (!f->is_begun)
		return;
	event->cwnd_pkts = (u32)ebb_min(f->plain.window.cwnd_pkts,
					ebb_max(event->cwnd_pkts, EBB_SENDER_FLOOR_START_PKTS));
	event->ssthresh_pkts = f->plain.window.ssthresh_pkts;
	ebb_cubic_on_idle(&f->plain, event, &params);
}

/* What the connection has of floor and ceiling, once its host has told what came. */
EBB_INLINE void ebb_sender_floor_share(struct ebb_floor *all, struct ebb_sender_floor *f,
				       const struct ebb_floor_news *news, u64 rate, u64 ceiling)
{
	u64 told_bytes = (u64)f->answer.cwnd_pkts * news->mss_bytes;

	ebb_floor_hear(all, &f->member, news, rate, ceiling);
	ebb_end_step();
	f->ceiling_bytes = ebb_ceiling_window_bytes(all, &f->member, ceiling);
	f->share_bytes = ebb_floor_window_bytes(all, &f->member, rate,
						(u32)ebb_min(told_bytes, EBB_FLOOR_MOST_BYTES));
}

/* The law's answer, or what the connection has of the ceiling if that is less. */
EBB_INLINE void ebb_sender_floor_limit(struct ebb_sender_floor *f,
				       const struct ebb_sender_window *law, u32 segment_bytes)
{
	u64 most_pkts = ebb_max(ebb_div(f->ceiling_bytes, segment_bytes, 0), 1);

	f->has_answer = 1;
	f->answer = *law;
	ebb_end_step();
	if (f->ceiling_bytes)
		f->answer.cwnd_pkts = (u32)ebb_min(law->cwnd_pkts, most_pkts);
}

/*
 * The law's answer, with no window above the connection's share of the ceiling, and none below that
 * of the floor or, if that is less, below plain TCP's.
 */
EBB_INLINE void ebb_sender_floor_answer(struct ebb_sender_floor *f,
					const struct ebb_sender_window *law, u32 mss_bytes,
					u32 srtt_us)
{
	u64 share_pkts = ebb_div(f->share_bytes, mss_bytes, 0);
	u32 least_pkts = (u32)ebb_min(share_pkts, f->plain.window.cwnd_pkts);
	u32 segment_bytes = law->segment_bytes ? law->segment_bytes : mss_bytes;
	u64 pace;

	ebb_sender_floor_limit(f, law, segment_bytes);
	ebb_end_step();
	if (!f->is_begun || !f->share_bytes)
		return;
	f->answer.ssthresh_pkts = (u32)ebb_max(f->answer.ssthresh_pkts, least_pkts);
	if ((u64)f->answer.cwnd_pkts * segment_bytes >= (u64)least_pkts * mss_bytes)
		return;
	f->answer.cwnd_pkts = least_pkts;
	f->answer.segment_bytes = 0;
	pace = ebb_div((u64)least_pkts * mss_bytes * EBB_US_PER_S, srtt_us, 0);
	pace = pace * EBB_SENDER_FLOOR_PACE_X4 / EBB_ONE_X4;
	if (f->answer.pacing_bytes_per_s)
		f->answer.pacing_bytes_per_s = ebb_max(f->answer.pacing_bytes_per_s, pace);
}

#endif /* EBB_SENDER_FLOOR_H */
