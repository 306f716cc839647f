/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a law's state says to a person: the queue it sees, and what it is about. */
#include "receiver_laws.h"
#include "sender_laws.h"

/* What a law is about; src/insight.rs has the words. */
#define EBB_DOING_UNKNOWN 0u
#define EBB_DOING_START 1u /* doubling: from the beginning, or since others have gone */
#define EBB_DOING_GROW 2u  /* by and by: there is room */
#define EBB_DOING_HOLD 3u  /* the queue is as long as it may be */
#define EBB_DOING_YIELD 4u /* others want the link */
#define EBB_DOING_LOOK 5u  /* sends little for a moment, to see the path without its queue */
#define EBB_DOING_WAIT 6u  /* until what was granted before the law came is used up */

#define EBB_NO_INSIGHT 0xffffffffu

struct ebb_insight {
	u32 queue_us; /* queueing delay; EBB_NO_INSIGHT: the law does not see it */
	u32 doing;    /* EBB_DOING_… */
};

void ebb_native_insight(u32 number, const void *state, const void *params,
			struct ebb_insight *insight);

/* The numbers that the lists of laws give them. */
#define LAW_NUMBER(number, law, ...) LAW_##law = number,
enum {
	EBB_RECEIVER_LAWS(LAW_NUMBER) EBB_COUNTER_RECEIVER_LAWS(LAW_NUMBER)
		EBB_SENDER_LAWS(LAW_NUMBER) EBB_COUNTER_SENDER_LAWS(LAW_NUMBER)
};

/* A law that doubles, or does not, and sees no queue. */
static u32 of_window(const struct ebb_sender_window *window)
{
	return window->cwnd_pkts < window->ssthresh_pkts ? EBB_DOING_START : EBB_DOING_GROW;
}

static u32 of_target(u32 queue_us, u32 target_us)
{
	if (queue_us == EBB_NO_INSIGHT || queue_us < target_us / 4 * 3)
		return EBB_DOING_GROW;
	return queue_us > target_us * 2 ? EBB_DOING_YIELD : EBB_DOING_HOLD;
}

static void of_ebb(const struct ebb_ebb_state *s, struct ebb_insight *insight)
{
	insight->queue_us = s->queue_us;
	if (s->is_awaiting)
		insight->doing = EBB_DOING_WAIT;
	else if (s->is_yielding)
		insight->doing = EBB_DOING_YIELD;
	else if (s->is_draining)
		insight->doing = EBB_DOING_LOOK;
	else if (s->is_starting || s->is_reclaiming)
		insight->doing = EBB_DOING_START;
	else
		insight->doing = s->growth_bytes ? EBB_DOING_GROW : EBB_DOING_HOLD;
}

static void of_sampled(const struct ebb_sampled_state *s, struct ebb_insight *insight)
{
	insight->queue_us = s->queue_us;
	if (s->is_yielding)
		insight->doing = EBB_DOING_YIELD;
	else if (s->is_draining)
		insight->doing = EBB_DOING_LOOK;
	else if (s->is_starting || s->is_reclaiming)
		insight->doing = EBB_DOING_START;
	else
		insight->doing = s->growth_bytes ? EBB_DOING_GROW : EBB_DOING_HOLD;
}

static void of_paced(const struct ebb_paced_state *s, struct ebb_insight *insight)
{
	of_sampled(&s->own, insight);
}

static void of_vulture(const struct ebb_vulture_state *s, struct ebb_insight *insight)
{
	static const u8 doing[] = {
		[EBB_VULTURE_FIX] = EBB_DOING_HOLD,
		[EBB_VULTURE_DOUBLE] = EBB_DOING_START,
		[EBB_VULTURE_INCREASE] = EBB_DOING_GROW,
		[EBB_VULTURE_HALVE] = EBB_DOING_YIELD,
	};

	insight->doing = doing[s->policy & 3];
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

static void of_tcp_lp(const struct ebb_tcp_lp_state *s, struct ebb_insight *insight)
{
	u64 smoothed_us = s->smoothed_us_x1024 / 1024;

	if (s->has_smoothed)
		insight->queue_us = (u32)ebb_sub_floor(smoothed_us, ebb_tcp_lp_least_us(s));
	insight->doing = s->policy.is_quiet ? EBB_DOING_YIELD : of_window(&s->window);
}

void ebb_native_insight(u32 number, const void *state, const void *params,
			struct ebb_insight *insight)
{
	insight->queue_us = EBB_NO_INSIGHT;
	insight->doing = EBB_DOING_UNKNOWN;
	switch (number) {
	case LAW_ebb:
		of_ebb(state, insight);
		break;
	case LAW_sampled:
		of_sampled(state, insight);
		break;
	case LAW_paced:
		of_paced(state, insight);
		break;
	case LAW_vulture:
		of_vulture(state, insight);
		break;
	case LAW_rledbat:
		of_rledbat(state, params, insight);
		break;
	case LAW_rate:
		insight->doing = EBB_DOING_HOLD;
		break;
	case LAW_tcp_lp:
		of_tcp_lp(state, insight);
		break;
	case LAW_ledbat:
		of_ledbat(state, params, insight);
		break;
	case LAW_ledbat_pp:
		of_ledbat_pp(state, params, insight);
		break;
	default:
		/* Every other law of a sender begins with its window. */
		if (number >= LAW_reno)
			insight->doing = of_window(state);
	}
}
