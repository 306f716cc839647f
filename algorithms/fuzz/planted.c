/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Faults that the fuzzer has to find, or it finds nothing: hooks around a real law that go
 * wrong behind a sequence of events. One law for each fault.
 */
#include <string.h>

#include "planted.h"
#include "rate/rate.h"
#include "reno/reno.h"

enum planted_fault {
	PLANTED_OVERFLOW,
	PLANTED_ZERO_WINDOW,
	PLANTED_UNSET_LOCAL,
	PLANTED_WRITE_BEHIND,
};

/* reno's state, and how far a sequence of events has come. */
struct planted_state {
	struct ebb_reno_state reno;
	u32 steps;
	u32 scratch;
};

/* A time-out, an idle time and a large round-trip time, in this order. */
static void planted_step(struct planted_state *state, u32 from, u8 is_it)
{
	if (state->steps == from && is_it)
		state->steps++;
}

static __attribute__((noinline)) void planted_go_wrong(struct planted_state *state, u32 rtt_us,
						       u32 fault)
{
	volatile u64 local[4];

	if (fault == PLANTED_OVERFLOW)
		state->scratch = (u32)((u64)rtt_us * rtt_us * rtt_us >> 60);
	else if (fault == PLANTED_ZERO_WINDOW)
		state->reno.window.cwnd_pkts = 0;
	else if (fault == PLANTED_UNSET_LOCAL)
		state->scratch = (u32)local[rtt_us & 3];
	else
		memset(state + 1, 1, 1 + (rtt_us & 1));
}

static void planted_init(void *state, const struct ebb_sender_start *start, const void *params)
{
	ebb_reno_init(state, start, params);
}

static void planted_on_ack(void *state, const struct ebb_sender_ack *ack, const void *params,
			   u32 fault)
{
	struct planted_state *planted = state;

	ebb_reno_on_ack(&planted->reno, ack, params);
	planted_step(planted, 2, ack->rtt_us > 3000000);
	if (planted->steps == 3)
		planted_go_wrong(planted, ack->rtt_us, fault);
}

#define PLANTED_ON_ACK(fault)                                                     \
	static void on_ack_##fault(void *state, const struct ebb_sender_ack *ack, \
				   const void *params)                            \
	{                                                                         \
		planted_on_ack(state, ack, params, fault);                        \
	}
PLANTED_ON_ACK(PLANTED_OVERFLOW)
PLANTED_ON_ACK(PLANTED_ZERO_WINDOW)
PLANTED_ON_ACK(PLANTED_UNSET_LOCAL)
PLANTED_ON_ACK(PLANTED_WRITE_BEHIND)

static void planted_on_loss(void *state, const struct ebb_sender_event *event, const void *params)
{
	ebb_reno_on_loss(state, event, params);
}

static void planted_on_timeout(void *state, const struct ebb_sender_event *event,
			       const void *params)
{
	ebb_reno_on_timeout(state, event, params);
	planted_step(state, 0, 1);
}

static void planted_on_undo(void *state, const struct ebb_sender_event *event, const void *params)
{
	ebb_reno_on_undo(state, event, params);
}

static void planted_on_idle(void *state, const struct ebb_sender_event *event, const void *params)
{
	ebb_reno_on_idle(state, event, params);
	planted_step(state, 1, event->idle_us > 1000000);
}

#define PLANTED_LAW(law, fault)                                                                 \
	{                                                                                       \
		.name = law, .state_bytes = sizeof(struct planted_state), .init = planted_init, \
		.on_ack = on_ack_##fault, .on_loss = planted_on_loss,                           \
		.on_timeout = planted_on_timeout, .on_undo = planted_on_undo,                   \
		.on_idle = planted_on_idle,                                                     \
	}

const struct ebb_native_sender_law planted_laws[PLANTED_LAWS] = {
	PLANTED_LAW("planted-overflow", PLANTED_OVERFLOW),
	PLANTED_LAW("planted-zero-window", PLANTED_ZERO_WINDOW),
	PLANTED_LAW("planted-unset-local", PLANTED_UNSET_LOCAL),
	PLANTED_LAW("planted-write-behind", PLANTED_WRITE_BEHIND),
};

/* rate's state, and whether a timestamp came that is far behind the one before. */
struct planted_receiver_state {
	struct ebb_rate_state rate;
	u32 last_tsval;
	u32 is_stuck;
};

static const struct ebb_rate_params planted_rate = {
	.target_kbit_per_s = 4000,
	.slack_x1024 = 102,
	.stability_x1024 = 819,
	.hysteresis_pkts = 2,
	.smoothing_x1024 = 307,
	.period_rtts = 2,
	.period_loss_x1024 = 410,
	.wait_periods = 3,
	.start_pkts = 10,
	.most_delay_us = 2000000,
};

static void planted_receiver_init(void *state, const struct ebb_start *start, const void *params)
{
	(void)params;
	ebb_rate_init(state, start, &planted_rate);
}

static void planted_receiver_on_segment(void *state, const struct ebb_segment *segment,
					const void *params)
{
	struct planted_receiver_state *planted = state;

	(void)params;
	ebb_rate_on_segment(&planted->rate, segment, &planted_rate);
	planted->is_stuck |= planted->last_tsval - segment->tsval - 1 < 0x3fffffff &&
			     planted->last_tsval - segment->tsval > 100000000;
	planted->last_tsval = segment->tsval;
}

static u32 planted_rwnd_bytes(const void *state)
{
	const struct planted_receiver_state *planted = state;

	return planted->is_stuck ? planted->rate.mss_bytes : planted->rate.rwnd_bytes;
}

const struct ebb_native_receiver_law planted_receiver_law = {
	.name = "planted-stuck",
	.state_bytes = sizeof(struct planted_receiver_state),
	.init = planted_receiver_init,
	.on_segment = planted_receiver_on_segment,
	.rwnd_bytes = planted_rwnd_bytes,
};
