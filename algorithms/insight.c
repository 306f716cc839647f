/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a law's state says to a person: the queue it sees, and what it is about. */
#include "insight.h"

#include "receiver_laws.h"
#include "sender_laws.h"

/* The laws that say more than whether they double: of_<law> reads it from the state. */
#define TELLING_LAWS(X) \
	X(ebb)          \
	X(sampled)      \
	X(paced)        \
	X(ebb_sender)   \
	X(vulture)      \
	X(rledbat)      \
	X(rate)         \
	X(tcp_lp)       \
	X(ledbat)       \
	X(ledbat_pp)

/* A queue of this part of the target is held; one of so many targets is others'. */
#define HELD_X4 3u
#define OTHERS_TARGETS 2u

/* The numbers that the lists of laws give them. */
#define LAW_NUMBER(number, law, ...) LAW_##law = number,
enum {
	EBB_RECEIVER_LAWS(LAW_NUMBER) EBB_COUNTER_RECEIVER_LAWS(LAW_NUMBER)
		EBB_SENDER_LAWS(LAW_NUMBER) EBB_COUNTER_SENDER_LAWS(LAW_NUMBER)
};
#define IS_IT(of_number, ...) number == of_number ||

/* A law that doubles, or does not, and sees no queue. */
static u32 of_window(const struct ebb_sender_window *window)
{
	return window->cwnd_pkts < window->ssthresh_pkts ? EBB_DOING_START : EBB_DOING_GROW;
}

static u32 of_target(u32 queue_us, u32 target_us)
{
	if (queue_us == EBB_NO_INSIGHT || queue_us < target_us / EBB_ONE_X4 * HELD_X4)
		return EBB_DOING_GROW;
	return queue_us > target_us * OTHERS_TARGETS ? EBB_DOING_YIELD : EBB_DOING_HOLD;
}

/* Ebb's own laws move alike. */
static void of_moves(const struct ebb_moves_state *moves, struct ebb_insight *insight)
{
	insight->queue_us = moves->queue_us;
	if (moves->is_yielding)
		insight->doing = EBB_DOING_YIELD;
	else if (moves->is_draining)
		insight->doing = EBB_DOING_LOOK;
	else if (moves->is_starting || moves->is_reclaiming)
		insight->doing = EBB_DOING_START;
	else
		insight->doing = moves->growth_bytes ? EBB_DOING_GROW : EBB_DOING_HOLD;
}

static void of_ebb(const struct ebb_ebb_state *s, const struct ebb_ebb_params *p,
		   struct ebb_insight *insight)
{
	(void)p;
	of_moves(&s->moves, insight);
	if (s->is_awaiting)
		insight->doing = EBB_DOING_WAIT;
}

static void of_sampled(const struct ebb_sampled_state *s, const struct ebb_sampled_params *p,
		       struct ebb_insight *insight)
{
	(void)p;
	of_moves(&s->moves, insight);
}

static void of_paced(const struct ebb_paced_state *s, const struct ebb_paced_params *p,
		     struct ebb_insight *insight)
{
	of_sampled(&s->own, &p->own, insight);
}

static void of_ebb_sender(const struct ebb_ebb_sender_state *s,
			  const struct ebb_ebb_sender_params *p, struct ebb_insight *insight)
{
	of_ebb(&s->own, &p->own, insight);
	if (s->test && !s->own.is_yielding)
		insight->doing = EBB_DOING_LOOK;
}

static void of_vulture(const struct ebb_vulture_state *s, const struct ebb_vulture_params *p,
		       struct ebb_insight *insight)
{
	(void)p;
	static const u8 doing[] = {
		[EBB_VULTURE_FIX] = EBB_DOING_HOLD,
		[EBB_VULTURE_DOUBLE] = EBB_DOING_START,
		[EBB_VULTURE_INCREASE] = EBB_DOING_GROW,
		[EBB_VULTURE_HALVE] = EBB_DOING_YIELD,
	};

	insight->doing = doing[s->policy & 3];
}

static void of_rate(const struct ebb_rate_state *s, const struct ebb_rate_params *p,
		    struct ebb_insight *insight)
{
	(void)s;
	(void)p;
	insight->doing = EBB_DOING_HOLD;
}

static u32 of_stage(const struct ebb_ledbat_pp_window *own, u32 queue_us, u32 target_us)
{
	switch (own->stage) {
	case EBB_LEDBAT_PP_STEADY:
		return of_target(queue_us, target_us);
	case EBB_LEDBAT_PP_HOLD:
		return EBB_DOING_LOOK;
	}
	return EBB_DOING_START;
}

static void of_rledbat(const struct ebb_rledbat_state *s, const struct ebb_rledbat_params *p,
		       struct ebb_insight *insight)
{
	insight->queue_us = ebb_ledbat_queue_us(&s->delays, s->rtt_us, &p->delay);
	insight->doing = of_stage(&s->own, insight->queue_us, p->window.target_us);
}

static void of_ledbat_pp(const struct ebb_ledbat_pp_state *s, const struct ebb_ledbat_pp_params *p,
			 struct ebb_insight *insight)
{
	insight->queue_us = ebb_ledbat_queue_us(&s->delays, 0, &p->delay);
	insight->doing = of_stage(&s->own, insight->queue_us, p->window.target_us);
}

static void of_ledbat(const struct ebb_ledbat_state *s, const struct ebb_ledbat_params *p,
		      struct ebb_insight *insight)
{
	insight->queue_us = ebb_ledbat_queue_us(&s->delays, 0, &p->delay);
	insight->doing = of_window(&s->window);
	if (insight->doing == EBB_DOING_GROW)
		insight->doing = of_target(insight->queue_us, p->target_us);
}

static void of_tcp_lp(const struct ebb_tcp_lp_state *s, const struct ebb_tcp_lp_params *p,
		      struct ebb_insight *insight)
{
	(void)p;
	u64 smoothed_us = s->smoothed_us_x1024 / EBB_ONE_X1024;

	if (s->has_smoothed)
		insight->queue_us = (u32)ebb_sub_floor(smoothed_us, ebb_tcp_lp_least_us(s));
	insight->doing = s->policy.is_quiet ? EBB_DOING_YIELD : of_window(&s->window);
}

#define OF_LAW(law)                               \
	case LAW_##law:                           \
		of_##law(state, params, insight); \
		break;

void ebb_native_insight(u32 number, const void *state, const void *params,
			struct ebb_insight *insight)
{
	insight->queue_us = EBB_NO_INSIGHT;
	insight->doing = EBB_DOING_UNKNOWN;
	switch (number) {
		TELLING_LAWS(OF_LAW)
	default:
		/* Every law of a sender begins with its window. */
		if (EBB_SENDER_LAWS(IS_IT) 0)
			insight->doing = of_window(state);
	}
}
