/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The delayed window update of Cubic+: looks once per period at how many packets met an
 * empty queue and whether RTTs rise, and then lets a loss-based law alone, holds its
 * window, or lowers it a little. EBB_DELAYED_UPDATE_LAW puts it around any law.
 *
 * Source: [CUBICPLUS].
 *
 * Differences from the paper, and what it leaves open (each a parameter where it has
 * alternatives):
 * 1. A packet counts as having met no queue if its RTT is the least one within
 *    rtt_slack_us: real clocks never measure the same RTT twice.
 * 2. One acknowledgement counts as one packet, whatever it acknowledges.
 * 3. Serious congestion is U = 1 and rising RTTs, as §3.4 has it; equation (3) does not ask
 *    for the latter (serious_rule=1).
 * 4. The suspend timer starts in mild congestion as well, as §3.3 has it; §3.4 starts it in
 *    serious congestion only (timer_rule=1), so that mild congestion holds the window until
 *    the network is seen to be free.
 * 5. A decrease ends slow start (ends_slow_start); the paper shows no other way out of it
 *    than a loss.
 * 6. A decrease is a loss to the law inside, so that cubic starts a new curve below it and
 *    does not undo it at once (restarts_law=0: the law is not told).
 * 7. The flag holds the average RTT of a period against that period's own extremes, which
 *    gives the paper's queues; against those of the connection (flag_rule=0) one large RTT
 *    early on would let queues of half its size stand.
 * 8. While the window is held, the clock of a law that has one goes on (stops_clock=0).
 * 9. The first average RTT has risen from zero; otherwise the paper's slow start would get
 *    further than its queues show (first_rule=1 knows no rise then).
 * 10. A loss forgets the period, the last average and both flags, but not the least and
 *    greatest RTT (forgets_rtts=1 does).
 * 11. The window is not lowered below two segments, nor while the host repairs a loss.
 * 12. After an idle time or an undo all but the least and the greatest RTT begins anew.
 * 13. The paper never forgets these two, and so takes a path that has become longer for
 *    congested; rtt_memory_s bounds that.
 * 14. Windows are whole segments, and what a decrease leaves beyond them is dropped;
 *    simulators that count bytes keep it (keeps_parts=1), so that ten segments are lowered
 *    to 9, 8.1 and 7.29 and not to 9, 8 and 7: what holds with windows of a few segments.
 *
 * Domain: that of the law inside; RTT below 1 h.
 */
#ifndef EBB_DELAYED_UPDATE_H
#define EBB_DELAYED_UPDATE_H

#include "sender_contract.h"

/* serious_rule: what serious congestion is. */
#define EBB_DELAYED_SERIOUS_RISING 0u /* no packet met an empty queue, and RTTs rise */
#define EBB_DELAYED_SERIOUS_FULL 1u   /* no packet met an empty queue */

/* timer_rule: which congestion ends by itself. */
#define EBB_DELAYED_TIMER_BOTH 0u    /* mild and serious */
#define EBB_DELAYED_TIMER_SERIOUS 1u /* serious */

/* first_rule: what the first average RTT is compared with. */
#define EBB_DELAYED_FIRST_ZERO 0u    /* 0: RTTs rise */
#define EBB_DELAYED_FIRST_NOTHING 1u /* nothing: they do not */

/* flag_rule: what the average RTT is held against, half way between the extremes of */
#define EBB_DELAYED_FLAG_CONNECTION 0u /* the connection */
#define EBB_DELAYED_FLAG_PERIOD 1u     /* the period */

/* restarts_law: what a decrease is to the law inside. */
#define EBB_DELAYED_RESTART_NOT 0u   /* nothing */
#define EBB_DELAYED_RESTART_LOSS 1u  /* a loss */
#define EBB_DELAYED_RESTART_CURVE 2u /* the begin of a new curve */

/* [CUBICPLUS §3.3] Least window that a decrease leaves: two segments, our choice. */
#define EBB_DELAYED_LEAST_PKTS 2u
/* [CUBICPLUS §3.4] An RTT is long if it is above the mean of so many extremes. */
#define EBB_DELAYED_EXTREMES 2u

#define EBB_DELAYED_UPDATE_PARAMS(P)                                                            \
	P(period_us, 100000, 1, 60000000, "us", "[CUBICPLUS §4.1]",                             \
	  "period: how often congestion is judged; 200000 in the paper's scenario II")          \
	P(threshold_us, 30000, 0, 60000000, "us", "[CUBICPLUS §4.1]",                           \
	  "threshold: a smaller change of RTT ends mild congestion; 600 in scenario II")        \
	P(theta_x1024, 922, 64, 1024, "1/1024", "[CUBICPLUS §4.1]",                             \
	  "theta = 0.9: what serious congestion leaves of the window")                          \
	P(mild_x1000, 990, 0, 1000, "1/1000", "[CUBICPLUS §3.2]",                               \
	  "utilisation U from which on rising RTTs mean congestion")                            \
	P(rtt_slack_us, 0, 0, 1000000, "us", "[CUBICPLUS §3.2]",                                \
	  "an RTT that is longer than the least one by so much is still the least one")         \
	P(serious_rule, EBB_DELAYED_SERIOUS_RISING, 0, 1, "choice", "[CUBICPLUS §3.4]",         \
	  "serious congestion: 0 U = 1 and rising RTTs, 1 U = 1")                               \
	P(timer_rule, EBB_DELAYED_TIMER_BOTH, 0, 1, "choice", "[CUBICPLUS §3.3]",               \
	  "the suspend timer runs in 0 any congestion, 1 serious congestion only")              \
	P(first_rule, EBB_DELAYED_FIRST_ZERO, 0, 1, "choice", "[CUBICPLUS §3.2]",               \
	  "the average RTT before the first one is 0 zero, 1 unknown: RTTs do not rise")        \
	P(flag_rule, EBB_DELAYED_FLAG_PERIOD, 0, 1, "choice", "[CUBICPLUS §3.4]",               \
	  "least and greatest RTT that the average is held against: 0 of the connection, 1 of " \
	  "the period")                                                                         \
	P(ends_slow_start, 1, 0, 1, "flag", "[CUBICPLUS §3.4]", "a decrease ends slow start")   \
	P(restarts_law, EBB_DELAYED_RESTART_LOSS, 0, 2, "choice", "[CUBICPLUS §3.4]",           \
	  "the law inside 0 is not told of a decrease, 1 takes it for a loss, but for the "     \
	  "window that it leaves, 2 begins a new curve to the maximum of its last loss")        \
	P(keeps_parts, 0, 0, 1, "flag", "[CUBICPLUS §3.3]",                                     \
	  "parts of segments that decreases leave are kept for the next one")                   \
	P(stops_clock, 0, 0, 1, "flag", "[CUBICPLUS §3.4]",                                     \
	  "the clock of the law inside stops while its window is held")                         \
	P(forgets_rtts, 0, 0, 1, "flag", "[CUBICPLUS §3.4]",                                    \
	  "a loss makes it forget the least and the greatest RTT")                              \
	P(rtt_memory_s, 0, 0, 1000000, "s", "[CUBICPLUS §3.4]",                                 \
	  "the least and the greatest RTT are of at most so long; 0: of the connection")

struct ebb_delayed_update_params {
	EBB_DELAYED_UPDATE_PARAMS(EBB_PARAM_FIELD)
};

struct ebb_delayed_update {
	u64 period_us;        /* start of the period */
	u64 suspend_until_us; /* end of the suspend timer */
	u64 last_ack_us;
	u64 memory_us;       /* since when the least and the greatest RTT are kept */
	u64 rtt_sum_us;      /* of the period */
	u32 samples;         /* RTTs of the period */
	u32 least_samples;   /* those that are the least RTT */
	u32 min_rtt_us;      /* of the connection; 0: none */
	u32 max_rtt_us;      /* of the connection */
	u32 last_average_us; /* average RTT of the last period; 0: none */
	u32 period_min_us;   /* of the period */
	u32 period_max_us;
	u32 parts_x1024; /* of a segment, which the last decrease left beyond whole ones */
	u8 has_period;
	u8 is_suspended; /* suspend_flag */
	u8 is_timed;     /* the suspend timer runs */
	u8 is_long;      /* flag: RTTs are in the upper half of their range */
	u8 reserved2[4];
};

/* What becomes of the window [CUBICPLUS §3.3]. */
#define EBB_DELAYED_LET 0u   /* what the law makes of it */
#define EBB_DELAYED_HOLD 1u  /* it stays */
#define EBB_DELAYED_LOWER 2u /* it is lowered by 1 - theta */

EBB_INLINE void ebb_delayed_update_begin_period(struct ebb_delayed_update *update, u64 now_us)
{
	update->has_period = 1;
	update->period_us = now_us;
	update->rtt_sum_us = 0;
	update->samples = 0;
	update->least_samples = 0;
	update->period_min_us = ~0u;
	update->period_max_us = 0;
}

/* After a loss, a time-out or an idle time [CUBICPLUS §3.4]. */
EBB_INLINE void ebb_delayed_update_reset(struct ebb_delayed_update *update, u8 forgets_rtts)
{
	update->has_period = 0;
	update->is_suspended = 0;
	update->is_timed = 0;
	update->is_long = 0;
	update->last_average_us = 0;
	update->parts_x1024 = 0;
	if (forgets_rtts) {
		update->min_rtt_us = 0;
		update->max_rtt_us = 0;
	}
}

EBB_INLINE void ebb_delayed_update_sample(struct ebb_delayed_update *update, u32 rtt_us,
					  const struct ebb_delayed_update_params *params)
{
	if (!rtt_us || update->samples == ~0u)
		return;
	if (!update->min_rtt_us || rtt_us < update->min_rtt_us) {
		/* The least so far is not the least any more. */
		if ((u64)rtt_us + params->rtt_slack_us < update->min_rtt_us)
			update->least_samples = 0;
		update->min_rtt_us = rtt_us;
	}
	update->max_rtt_us = (u32)ebb_max(update->max_rtt_us, rtt_us);
	update->period_min_us = (u32)ebb_min(update->period_min_us, rtt_us);
	update->period_max_us = (u32)ebb_max(update->period_max_us, rtt_us);
	if (rtt_us <= (u64)update->min_rtt_us + params->rtt_slack_us)
		update->least_samples++;
	update->samples++;
	update->rtt_sum_us += rtt_us;
}

/* The suspend timer: the least RTT times a random number in (0, 1] [CUBICPLUS §3.4 (4)]. */
EBB_INLINE void ebb_delayed_update_suspend(struct ebb_delayed_update *update,
					   const struct ebb_sender_ack *ack, u8 is_timed)
{
	u64 timer_us = ((u64)ack->random + 1) * update->min_rtt_us >> EBB_U32_BITS;

	update->is_suspended = 1;
	if (is_timed) {
		update->is_timed = 1;
		update->suspend_until_us = ack->now_us + ebb_max(timer_us, 1);
	}
}

/* The end of a period: equations (1) to (3) and the flow chart of [CUBICPLUS §3.4]. */
EBB_INLINE u32 ebb_delayed_update_judge(struct ebb_delayed_update *update,
					const struct ebb_sender_ack *ack,
					const struct ebb_delayed_update_params *params)
{
	u64 average_us = ebb_div(update->rtt_sum_us, update->samples, 0);
	u64 last_us = update->last_average_us;
	u64 change_us = average_us > last_us ? average_us - last_us : last_us - average_us;
	u64 met_queue = update->samples - update->least_samples;
	u64 twice_us = average_us * EBB_DELAYED_EXTREMES;
	u8 is_used = met_queue * EBB_ONE_X1000 > (u64)update->samples * params->mild_x1000;
	u8 is_full = update->least_samples == 0;
	u8 is_known = last_us || params->first_rule == EBB_DELAYED_FIRST_ZERO;
	u8 is_rising = is_known && average_us > last_us;
	u8 is_serious = is_full && (is_rising || params->serious_rule == EBB_DELAYED_SERIOUS_FULL);

	if (is_serious || (is_used && is_rising))
		ebb_delayed_update_suspend(
			update, ack, is_serious || params->timer_rule == EBB_DELAYED_TIMER_BOTH);
	else if (!is_used && change_us < params->threshold_us)
		update->is_suspended = 0;
	if (params->flag_rule == EBB_DELAYED_FLAG_CONNECTION)
		update->is_long = twice_us > (u64)update->min_rtt_us + update->max_rtt_us;
	else
		update->is_long = twice_us > (u64)update->period_min_us + update->period_max_us;
	update->last_average_us = (u32)average_us;
	ebb_delayed_update_begin_period(update, ack->now_us);
	return is_serious ? EBB_DELAYED_LOWER : EBB_DELAYED_HOLD;
}

/* Answers what becomes of the window: one of EBB_DELAYED_*. */
EBB_INLINE u32 ebb_delayed_update_on_ack(struct ebb_delayed_update *update,
					 const struct ebb_sender_ack *ack,
					 const struct ebb_delayed_update_params *params)
{
	u32 verdict = EBB_DELAYED_HOLD;

	if (!update->min_rtt_us)
		update->memory_us = ack->now_us;
	if (params->rtt_memory_s && ebb_sub_floor(ack->now_us, update->memory_us) >=
					    (u64)params->rtt_memory_s * EBB_US_PER_S)
		ebb_delayed_update_reset(update, 1);
	if (!update->has_period)
		ebb_delayed_update_begin_period(update, ack->now_us);
	ebb_delayed_update_sample(update, ack->rtt_us, params);
	if (ebb_sub_floor(ack->now_us, update->period_us) >= params->period_us && update->samples)
		verdict = ebb_delayed_update_judge(update, ack, params);
	if (update->is_timed && ack->now_us >= update->suspend_until_us) {
		update->is_timed = 0;
		update->is_suspended = 0;
	}
	if (verdict == EBB_DELAYED_LOWER && ack->phase < EBB_SENDER_CWR)
		return EBB_DELAYED_LOWER;
	return update->is_suspended || update->is_long ? EBB_DELAYED_HOLD : EBB_DELAYED_LET;
}

/* The window that a decrease leaves [CUBICPLUS §3.4]. */
EBB_INLINE void ebb_delayed_update_lower(struct ebb_delayed_update *update,
					 struct ebb_sender_window *window,
					 const struct ebb_delayed_update_params *params)
{
	u64 cwnd_x1024 = ((u64)window->cwnd_pkts << EBB_X1024_BITS) + update->parts_x1024;
	u64 left_x1024 = cwnd_x1024 * params->theta_x1024 / EBB_ONE_X1024;
	u64 left_pkts = ebb_max(left_x1024 >> EBB_X1024_BITS, EBB_DELAYED_LEAST_PKTS);
	u8 has_parts = params->keeps_parts && left_x1024 >> EBB_X1024_BITS == left_pkts;

	update->parts_x1024 = has_parts ? (u32)(left_x1024 & (EBB_ONE_X1024 - 1)) : 0;
	window->cwnd_pkts = (u32)ebb_min(left_pkts, window->cwnd_pkts);
	if (params->ends_slow_start)
		window->ssthresh_pkts = (u32)ebb_min(window->ssthresh_pkts, window->cwnd_pkts);
}

/* An event of now for the law inside: a loss, or the time since the last acknowledgement. */
EBB_INLINE void ebb_delayed_update_event(const struct ebb_delayed_update *update,
					 const struct ebb_sender_ack *ack,
					 struct ebb_sender_event *event)
{
	event->now_us = ack->now_us;
	event->ack_seq = ack->ack_seq;
	event->snd_nxt = ack->snd_nxt;
	event->cwnd_pkts = ack->cwnd_pkts;
	event->ssthresh_pkts = ack->ssthresh_pkts;
	event->inflight_pkts = ack->inflight_pkts;
	event->mss_bytes = ack->mss_bytes;
	event->srtt_us = ack->srtt_us;
	event->idle_us = (u32)ebb_min(ebb_sub_floor(ack->now_us, update->last_ack_us), ~0u);
	event->random = ack->random;
	event->is_ecn = 0;
	event->phase = ack->phase;
	event->reserved[0] = 0;
	event->reserved[1] = 0;
}

/* A hook that resets the mechanism and is otherwise the law's own. */
#define EBB_DELAYED_UPDATE_EVENT(plus, law, hook, forgets)                                        \
	EBB_INLINE void ebb_##plus##_##hook(struct ebb_##plus##_state *state,                     \
					    const struct ebb_sender_event *event,                 \
					    const struct ebb_##plus##_params *params)             \
	{                                                                                         \
		ebb_##law##_##hook(&state->law, event, &params->law);                             \
		ebb_delayed_update_reset(&state->update, forgets && params->update.forgets_rtts); \
		state->update.last_ack_us = event->now_us;                                        \
		state->window = state->law.window;                                                \
	}

/*
 * Makes the law `plus` of a loss-based law: its params and state, and all its hooks. The
 * law inside is not called while its window is held or lowered; it has a function _restart
 * for restarts_law=2.
 */
#define EBB_DELAYED_UPDATE_LAW(plus, law_name)                                                 \
	struct ebb_##plus##_params {                                                           \
		struct ebb_delayed_update_params update;                                       \
		struct ebb_##law_name##_params law_name;                                       \
	};                                                                                     \
	struct ebb_##plus##_state {                                                            \
		struct ebb_sender_window window;                                               \
		struct ebb_delayed_update update;                                              \
		struct ebb_##law_name##_state law_name;                                        \
	};                                                                                     \
	EBB_INLINE void ebb_##plus##_init(struct ebb_##plus##_state *state,                    \
					  const struct ebb_sender_start *start,                \
					  const struct ebb_##plus##_params *params)            \
	{                                                                                      \
		ebb_##law_name##_init(&state->law_name, start, &params->law_name);             \
		state->window = state->law_name.window;                                        \
	}                                                                                      \
	EBB_INLINE void ebb_##plus##_on_ack(struct ebb_##plus##_state *state,                  \
					    const struct ebb_sender_ack *ack,                  \
					    const struct ebb_##plus##_params *params)          \
	{                                                                                      \
		u32 verdict = ebb_delayed_update_on_ack(&state->update, ack, &params->update); \
		struct ebb_sender_event event;                                                 \
                                                                                               \
		if (verdict == EBB_DELAYED_LET) {                                              \
			ebb_##law_name##_on_ack(&state->law_name, ack, &params->law_name);     \
			state->window = state->law_name.window;                                \
		} else {                                                                       \
			ebb_sender_follow(&state->window, ack->cwnd_pkts, ack->ssthresh_pkts); \
			ebb_delayed_update_event(&state->update, ack, &event);                 \
			if (verdict == EBB_DELAYED_LOWER)                                      \
				ebb_delayed_update_lower(&state->update, &state->window,       \
							 &params->update);                     \
			if (verdict == EBB_DELAYED_LOWER &&                                    \
			    params->update.restarts_law == EBB_DELAYED_RESTART_LOSS)           \
				ebb_##law_name##_on_loss(&state->law_name, &event,             \
							 &params->law_name);                   \
			else if (verdict == EBB_DELAYED_LOWER &&                               \
				 params->update.restarts_law == EBB_DELAYED_RESTART_CURVE)     \
				ebb_##law_name##_restart(&state->law_name);                    \
			else if (params->update.stops_clock)                                   \
				ebb_##law_name##_on_idle(&state->law_name, &event,             \
							 &params->law_name);                   \
		}                                                                              \
		state->update.last_ack_us = ack->now_us;                                       \
	}                                                                                      \
	EBB_DELAYED_UPDATE_EVENT(plus, law_name, on_loss, 1)                                   \
	EBB_DELAYED_UPDATE_EVENT(plus, law_name, on_timeout, 1)                                \
	EBB_DELAYED_UPDATE_EVENT(plus, law_name, on_undo, 0)                                   \
	EBB_DELAYED_UPDATE_EVENT(plus, law_name, on_idle, 0)

#endif /* EBB_DELAYED_UPDATE_H */
