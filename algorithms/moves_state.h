/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ebb and sampled both keep of a connection, and what both do with it: the window, the
 * round trip under way, the time after a cut. What the path looks like is each law's own.
 *
 * Source: [EBB] docs/ebb-law.md. Domain: as ebb.
 */
#ifndef EBB_MOVES_STATE_H
#define EBB_MOVES_STATE_H

#include "moves.h"
#include "receiver_contract.h"

/* [EBB §thresholds] Others want the link above so many grains of what can be told from no queue. */
#define EBB_MOVES_HIGH_GRAINS 4u

#define EBB_MOVES_FIELDS                                                         \
	u32 rwnd_bytes; /* the answer: W */                                      \
	u32 mss_bytes;                                                           \
                                                                                 \
	/* What the path looks like. */                                          \
	u64 capacity_bytes_per_s; /* C */                                        \
	u64 base_since_us;        /* start of the current base window */         \
	u64 last_empty_us;        /* when the queue was last seen empty */       \
	u32 base_us[2];           /* least delay in this window and the last */  \
	u32 lowest_us;            /* the very least, where two have to agree */  \
	u32 rtt_us;               /* round-trip time; 0: none yet */             \
	u32 queue_us;             /* q: queueing delay */                        \
	u32 longest_queue_us;     /* ever seen: about the bottleneck's buffer */ \
	u32 saturation_bytes;     /* W when last full; 0: not known */           \
                                                                                 \
	/* The round trip under way. */                                          \
	u32 round_edge_seq; /* its right edge, at its start */                   \
	u64 round_since_us;                                                      \
	u32 round_bytes;                                                         \
	u32 round_queue_us;   /* least q */                                      \
	u32 round_rwnd_bytes; /* W at its start */                               \
	u32 last_round_bytes;                                                    \
	u32 last_rwnd_bytes; /* W1: W one round trip earlier */                  \
	u32 growth_bytes;    /* g: what W shall grow by in this round trip */    \
	u32 growth_left_bytes;                                                   \
                                                                                 \
	/* After a cut, until its effect is seen. */                             \
	u32 blind_edge_seq;                                                      \
	u64 blind_until_us;                                                      \
                                                                                 \
	u64 yield_since_us;                                                      \
	u64 hold_until_us;                                                       \
	u64 loss_until_us; /* losses up to then belong to the last one */        \
	u32 hold_us;                                                             \
	u32 clear_rounds;  /* round trips without a queue in a row */            \
	u32 restore_bytes; /* W before draining */                               \
                                                                                 \
	u8 is_round_open;                                                        \
	u8 is_blind;                                                             \
	u8 is_draining;                                                          \
	u8 is_yielding;                                                          \
	u8 has_yielded;   /* ever: yield_since_us is valid */                    \
	u8 is_starting;   /* doubling from the first window */                   \
	u8 is_reclaiming; /* just out of YIELD: the link may be ours */          \
	u8 moves_reserved[5];

struct ebb_moves_state {
	EBB_MOVES_FIELDS
};

/* Stands first in a law's state: the fields by their names, and all of them as `moves`. */
#define EBB_MOVES_MEMBERS                     \
	union {                               \
		struct ebb_moves_state moves; \
		struct {                      \
			EBB_MOVES_FIELDS      \
		};                            \
	};

/* ---- window and path ---- */

EBB_INLINE u32 ebb_moves_segments(const struct ebb_moves_state *m, u64 segments)
{
	return (u32)(m->mss_bytes * segments);
}

EBB_INLINE void ebb_moves_set_window(struct ebb_moves_state *m, u64 bytes)
{
	m->rwnd_bytes = ebb_moves_window_bytes(bytes, m->mss_bytes);
}

EBB_INLINE u32 ebb_moves_base_us(const struct ebb_moves_state *m)
{
	u32 base_us = (u32)ebb_min(m->base_us[0], m->base_us[1]);

	return base_us == EBB_MOVES_NO_DELAY ? m->lowest_us : base_us;
}

EBB_INLINE void ebb_moves_forget_base(struct ebb_moves_state *m, u64 now_us)
{
	m->base_us[0] = EBB_MOVES_NO_DELAY;
	m->base_us[1] = EBB_MOVES_NO_DELAY;
	m->lowest_us = EBB_MOVES_NO_DELAY;
	m->base_since_us = now_us;
	m->last_empty_us = now_us;
}

/*
 * The base is the least of one to two base windows. Where two delays have to agree (lowest_us), one
 * alone counts while there is no other, and a window lasts until two have come. Answers whether the
 * next has begun.
 */
EBB_INLINE u8 ebb_moves_age_base(struct ebb_moves_state *m, u64 now_us, u32 base_window_us)
{
	u64 window_us = ebb_moves_base_window_us(base_window_us, m->is_yielding);

	if (now_us - m->base_since_us <= window_us || m->base_us[0] == EBB_MOVES_NO_DELAY)
		return 0;
	m->base_us[1] = m->base_us[0];
	m->base_us[0] = EBB_MOVES_NO_DELAY;
	m->lowest_us = EBB_MOVES_NO_DELAY;
	m->base_since_us = now_us;
	return 1;
}

/* The delay not explained by ourselves above which others want the link. */
EBB_INLINE u32 ebb_moves_high_us(u32 high_us, u32 grain_us)
{
	return (u32)ebb_max(high_us, grain_us * EBB_MOVES_HIGH_GRAINS);
}

/* ---- rounds ---- */

EBB_INLINE void ebb_moves_begin(struct ebb_moves_state *m, const struct ebb_start *start,
				u32 start_segments)
{
	m->mss_bytes = ebb_bound_mss_bytes(start->mss_bytes);
	ebb_moves_forget_base(m, start->now_us);
	m->round_queue_us = EBB_MOVES_NO_DELAY;
	m->is_starting = 1;
	ebb_moves_set_window(m, ebb_moves_segments(m, start_segments));
	m->last_rwnd_bytes = m->rwnd_bytes;
}

EBB_INLINE void ebb_moves_begin_round(struct ebb_moves_state *m, const struct ebb_segment *segment)
{
	m->round_since_us = segment->now_us;
	m->round_edge_seq = segment->right_edge_seq;
	m->round_bytes = 0;
	m->round_queue_us = EBB_MOVES_NO_DELAY;
	m->round_rwnd_bytes = m->rwnd_bytes;
	m->is_round_open = 1;
}

EBB_INLINE void ebb_moves_grow(struct ebb_moves_state *m, u32 payload_bytes)
{
	u32 share_bytes = ebb_moves_share_bytes(m->growth_bytes, m->growth_left_bytes,
						payload_bytes, m->round_rwnd_bytes);

	if (!m->growth_left_bytes)
		return;
	m->growth_left_bytes -= share_bytes;
	ebb_moves_set_window(m, (u64)m->rwnd_bytes + share_bytes);
}

/* At the end of a round trip while observing: the window only follows what arrives. */
EBB_INLINE void ebb_moves_observe_round(struct ebb_moves_state *m, u32 start_segments)
{
	u32 least_bytes = ebb_moves_segments(m, start_segments);

	m->last_round_bytes = m->round_bytes;
	ebb_moves_set_window(m, ebb_max(m->round_bytes, least_bytes));
	m->last_rwnd_bytes = m->rwnd_bytes;
	m->growth_bytes = 0;
	m->growth_left_bytes = 0;
}

/* ---- cuts ---- */

/* Nothing is judged until a segment arrives that the new window allowed, or so many RTT passed. */
EBB_INLINE void ebb_moves_go_blind(struct ebb_moves_state *m, const struct ebb_segment *segment,
				   u32 most_rtts)
{
	m->is_blind = 1;
	m->blind_edge_seq = segment->right_edge_seq;
	m->blind_until_us = segment->now_us + (u64)m->rtt_us * most_rtts + EBB_MOVES_BLIND_US;
	m->last_rwnd_bytes = m->rwnd_bytes;
	m->growth_bytes = 0;
	m->growth_left_bytes = 0;
	m->is_round_open = 0;
}

/* After a cut: whatever was growing has found its end, and the cut has to act first. */
EBB_INLINE void ebb_moves_stop_growing(struct ebb_moves_state *m, const struct ebb_segment *segment,
				       u32 most_rtts)
{
	m->is_starting = 0;
	m->is_reclaiming = 0;
	m->clear_rounds = 0;
	ebb_moves_go_blind(m, segment, most_rtts);
}

/* Waits before probing again: longer if the last yield was a moment ago. */
EBB_INLINE void ebb_moves_enter_yield(struct ebb_moves_state *m, u64 now_us, u32 rtt_us,
				      u32 first_hold_us, u32 hold_max_us)
{
	if (m->has_yielded && ebb_moves_is_soon(now_us - m->yield_since_us, rtt_us, m->hold_us))
		m->hold_us = ebb_moves_longer_hold_us(m->hold_us, hold_max_us);
	else
		m->hold_us = first_hold_us;
	m->is_yielding = 1;
	m->has_yielded = 1;
	m->yield_since_us = now_us;
	m->hold_until_us = now_us + m->hold_us;
}

#endif /* EBB_MOVES_STATE_H */
