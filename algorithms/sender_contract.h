/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a sender law is told and what it answers: the contract between the laws that set
 * a congestion window and their hosts, whoever these are.
 *
 * A host calls
 *   ebb_<law>_init(state, start, params)         once, before anything else
 *   ebb_<law>_on_ack(state, ack, params)         for each acknowledgement that acknowledges
 *                                                or SACKs something
 *   ebb_<law>_on_loss(state, event, params)      when it begins to repair a loss or to answer
 *                                                a congestion mark: at most once a round trip
 *   ebb_<law>_on_timeout(state, event, params)   when the retransmission timer expires
 *   ebb_<law>_on_undo(state, event, params)      when either turns out to have been spurious
 *   ebb_<law>_on_idle(state, event, params)      before it sends after an idle time
 * and applies state->window after each call: cwnd_pkts, ssthresh_pkts, segment_bytes and
 * pacing. The host repairs losses by itself: between on_loss and the end of the recovery
 * it leads the window to ssthresh_pkts (PRR) and ignores cwnd_pkts, after a time-out it
 * starts from one segment. A law of EBB_SENDER_FULL_CONTROL is obeyed at all times.
 *
 * A law keeps everything in its state, which starts as zero bytes and whose first member
 * is struct ebb_sender_window; it reads no clock, allocates nothing, cannot fail: it
 * clamps. The window that it starts from at each call is the host's (cwnd_pkts of the
 * input), which may have changed since. Parameters may change between any two calls.
 */
#ifndef EBB_SENDER_CONTRACT_H
#define EBB_SENDER_CONTRACT_H

#include "math.h"
#include "params.h"
#include "units.h"

/* ssthresh_pkts of a connection that knows no limit yet; the largest cwnd_pkts, too. */
#define EBB_SENDER_NO_SSTHRESH_PKTS 0x7fffffffu
#define EBB_SENDER_MAX_CWND_PKTS 0x3fffffffu

/* Flags of a law. */
#define EBB_SENDER_FULL_CONTROL 1u /* sets the window in recovery, too, and its own pace */
#define EBB_SENDER_NEEDS_ECN 2u    /* its connections negotiate ECN */

/* What the host is doing about losses, as Linux's tcp_ca_state has it. */
enum ebb_sender_phase {
	EBB_SENDER_OPEN,
	EBB_SENDER_DISORDER, /* duplicate acknowledgements, nothing is taken for lost yet */
	EBB_SENDER_CWR,      /* answering a congestion mark */
	EBB_SENDER_RECOVERY, /* repairing a loss */
	EBB_SENDER_LOSS,     /* after a time-out */
};

/* A law's answer. */
struct ebb_sender_window {
	u64 pacing_bytes_per_s; /* 0: the host's own pacing, or none */
	u32 cwnd_pkts;
	u32 ssthresh_pkts;
	u32 segment_bytes; /* payload of a segment; 0: the MSS. Not every host can do it */
	u32 reserved;
};

struct ebb_sender_start {
	u64 now_us; /* sender's monotonic clock */
	u32 mss_bytes;
	u32 cwnd_pkts;     /* the host's initial window */
	u32 local_tick_us; /* of our timestamps: 1000 on Linux, or 1 */
	u32 has_timestamps;
};

struct ebb_sender_ack {
	u64 now_us;
	u64 delivered_pkts; /* of the whole connection, cumulatively or by SACK */
	/* Delivery rate sample [BBRDRAFT]; interval 0: none. */
	u64 rate_prior_delivered_pkts; /* delivered_pkts when the sampled segment was sent */
	u32 rate_delivered_pkts;
	u32 rate_interval_us;
	u32 ack_seq;     /* first byte not acknowledged */
	u32 snd_nxt;     /* first byte not sent */
	u32 acked_pkts;  /* newly acknowledged in order; 0 where they must not raise the window
			 * (recovery, CWR) */
	u32 acked_bytes; /* the same in bytes */
	u32 delivered_now_pkts;  /* newly acknowledged or SACKed */
	u32 lost_now_pkts;       /* newly taken for lost */
	u32 prior_inflight_pkts; /* before this acknowledgement */
	u32 inflight_pkts;       /* after it */
	u32 cwnd_pkts;           /* the host's window now */
	u32 ssthresh_pkts;       /* the host's threshold now */
	u32 rtt_us;              /* this acknowledgement's sample, or the least of late from a host
				  * that keeps no other; 0: none */
	u32 srtt_us;             /* smoothed by the host; 0: none */
	u32 tsval;               /* peer's clock in its ticks, if has_timestamps */
	u32 tsecr;               /* our clock, in our ticks, as echoed, if has_timestamps */
	u32 local_ts;            /* our timestamp clock now, in our ticks */
	u32 local_tick_us;       /* length of our tick */
	u32 mss_bytes;
	u32 random;         /* uniform, fresh at each call */
	u8 phase;           /* enum ebb_sender_phase, after this acknowledgement */
	u8 is_cwnd_limited; /* the window, not the application, limited the last round trip */
	u8 is_app_limited;  /* the rate sample is: a lower bound only */
	u8 is_ece;          /* the receiver echoes a congestion mark */
	u8 has_timestamps;
	u8 reserved[3];
};

/* A loss, a time-out, an undo, an end of idleness. */
struct ebb_sender_event {
	u64 now_us;
	u32 ack_seq;
	u32 snd_nxt;
	u32 cwnd_pkts; /* the host's, before the event */
	u32 ssthresh_pkts;
	u32 inflight_pkts;
	u32 mss_bytes;
	u32 srtt_us;
	u32 idle_us; /* on_idle: how long nothing was outstanding */
	u32 random;
	u8 is_ecn; /* on_loss: a mark, not a loss */
	u8 phase;  /* before the event */
	u8 reserved[2];
};

/* ---- what most laws share ---- */

EBB_INLINE void ebb_sender_begin(struct ebb_sender_window *window,
				 const struct ebb_sender_start *start)
{
	window->cwnd_pkts = (u32)ebb_clamp(start->cwnd_pkts, 1, EBB_SENDER_MAX_CWND_PKTS);
	window->ssthresh_pkts = EBB_SENDER_NO_SSTHRESH_PKTS;
}

/* Takes over the host's window. */
EBB_INLINE void ebb_sender_follow(struct ebb_sender_window *window, u32 cwnd_pkts,
				  u32 ssthresh_pkts)
{
	window->cwnd_pkts = (u32)ebb_clamp(cwnd_pkts, 1, EBB_SENDER_MAX_CWND_PKTS);
	window->ssthresh_pkts = ssthresh_pkts;
}

EBB_INLINE u8 ebb_sender_in_slow_start(const struct ebb_sender_window *window)
{
	return window->cwnd_pkts < window->ssthresh_pkts;
}

/*
 * Slow start [RFC5681 §3.1] by whole segments acknowledged: to the threshold at the
 * most. Answers how many of them are left for congestion avoidance.
 */
EBB_INLINE u32 ebb_sender_slow_start(struct ebb_sender_window *window, u32 acked_pkts)
{
	u32 room = (u32)ebb_sub_floor(window->ssthresh_pkts, window->cwnd_pkts);
	u32 used = (u32)ebb_min(acked_pkts, room);

	window->cwnd_pkts = (u32)ebb_min((u64)window->cwnd_pkts + used, EBB_SENDER_MAX_CWND_PKTS);
	return acked_pkts - used;
}

/*
 * One segment more for every per_pkts acknowledged (congestion avoidance: a window's
 * worth); the rest is kept in *credit_pkts. What was saved up while segments were dearer (at
 * a larger window, before an idle time) is worth one of them.
 */
EBB_INLINE void ebb_sender_add_per(struct ebb_sender_window *window, u32 *credit_pkts,
				   u32 acked_pkts, u32 per_pkts)
{
	u64 per = ebb_max(per_pkts, 1);
	u64 credit = ebb_min(*credit_pkts, per) + acked_pkts;
	u64 more = ebb_div(credit, per, 0);

	*credit_pkts = (u32)(credit - more * per);
	window->cwnd_pkts = (u32)ebb_min(window->cwnd_pkts + more, EBB_SENDER_MAX_CWND_PKTS);
}

#endif /* EBB_SENDER_CONTRACT_H */
