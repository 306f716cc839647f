/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A sending host that the fuzzer leads: a plausible upload, with losses, time-outs, idle
 * times, clocks that jump and acknowledgements that lie, as the bytes want it.
 */
#include "subject.h"

#define MOST_STEPS 500u
/* What an acknowledgement may add to twice the window: ledbat's allowed increase. */
#define MOST_INCREASE_PKTS 1000u

struct sender {
	u64 now_us;
	u64 wire_us;
	u64 delivered_pkts;
	u32 ack_seq;
	u32 mss_bytes;
	u32 peer_tick_us;
	u32 cwnd_pkts;
	u32 ssthresh_pkts;
	u32 greatest_pkts; /* that the window ever was: what a law may go back to */
	u8 has_timestamps;
	u8 phase;
};

enum sender_step {
	STEP_ACK, /* the usual, more often than the others */
	STEP_LOSS = 8,
	STEP_MARK,
	STEP_TIMEOUT,
	STEP_UNDO,
	STEP_IDLE,
	STEP_CLOCK,
	STEP_PARAMS,
	STEP_HOST, /* the host changes the window by itself */
	STEP_COUNT,
};

static void begin(struct sender *host, struct input *in)
{
	static const u32 tick_us[] = {1000, 1, 4000, 10000, 0, 100, 1000000, 3333};
	u8 flags = take_byte(in);

	memset(host, 0, sizeof(*host));
	host->has_timestamps = !(flags & 1);
	host->peer_tick_us = tick_us[flags >> 3 & 7];
	host->now_us = 5000000 + take_scaled(in);
	if (flags >> 6 == 3)
		host->now_us = take_bytes(in, 8);
	host->wire_us = 1000 + take_scaled(in) % 1000000;
	host->mss_bytes = flags >> 6 == 2 ? take_any(in) : 1448;
	host->ack_seq = (u32)take_bytes(in, 1) << 24;
	host->cwnd_pkts = 10;
}

/* At most a window's; answers how many. */
static u32 acknowledge(struct sender *host, u32 acked_pkts)
{
	if (acked_pkts > host->cwnd_pkts)
		acked_pkts = host->cwnd_pkts;
	host->delivered_pkts += acked_pkts;
	host->ack_seq += acked_pkts * host->mss_bytes;
	return acked_pkts;
}

static struct ebb_sender_ack next_ack(struct sender *host, struct input *in)
{
	u64 queue_us = take_scaled(in) % 4000000;
	u32 acked_pkts = take_byte(in) % 64, window_bytes = host->cwnd_pkts * host->mss_bytes;
	u64 before_pkts = host->delivered_pkts, rtt_us = host->wire_us + queue_us;
	u8 flags = take_byte(in);

	acked_pkts = acknowledge(host, acked_pkts);
	return (struct ebb_sender_ack){
		.now_us = host->now_us,
		.delivered_pkts = host->delivered_pkts,
		.rate_prior_delivered_pkts =
			before_pkts > host->cwnd_pkts ? before_pkts - host->cwnd_pkts : 0,
		.rate_delivered_pkts = acked_pkts,
		.rate_interval_us = (u32)rtt_us,
		.ack_seq = host->ack_seq,
		.snd_nxt = host->ack_seq + window_bytes,
		.acked_pkts = host->phase > EBB_SENDER_DISORDER ? 0 : acked_pkts,
		.acked_bytes = acked_pkts * host->mss_bytes,
		.delivered_now_pkts = acked_pkts,
		.prior_inflight_pkts = host->cwnd_pkts,
		.inflight_pkts = host->cwnd_pkts - acked_pkts,
		.cwnd_pkts = host->cwnd_pkts,
		.ssthresh_pkts = host->ssthresh_pkts,
		.rtt_us = flags & 1 ? 0 : (u32)rtt_us,
		.srtt_us = (u32)rtt_us,
		.tsval = host->peer_tick_us ? (u32)(host->now_us / host->peer_tick_us) : 7,
		.tsecr = (u32)((host->now_us - rtt_us) / 1000),
		.local_ts = (u32)(host->now_us / 1000),
		.local_tick_us = 1000,
		.mss_bytes = host->mss_bytes,
		.random = (u32)flags << 24,
		.phase = host->phase,
		.is_cwnd_limited = !(flags & 2),
		.is_app_limited = flags >> 2 & 1,
		.is_ece = flags >> 3 & 1,
		.has_timestamps = host->has_timestamps,
	};
}

static void give_ack(const struct ebb_native_sender_law *law, struct subject *subject,
		     struct sender *host, struct input *in)
{
	struct ebb_sender_ack ack;

	if (take_byte(in) & 1)
		host->phase = EBB_SENDER_OPEN;
	ack = next_ack(host, in);
	subject->is_spoilt |= spoil(in, &ack, sizeof(ack));
	subject_before(subject);
	law->on_ack(subject->state, &ack, subject->params);
}

static void give_event(const struct ebb_native_sender_law *law, struct subject *subject,
		       struct sender *host, struct input *in, u32 step)
{
	struct ebb_sender_event event = {
		.now_us = host->now_us,
		.ack_seq = host->ack_seq,
		.snd_nxt = host->ack_seq + host->cwnd_pkts * host->mss_bytes,
		.cwnd_pkts = host->cwnd_pkts,
		.ssthresh_pkts = host->ssthresh_pkts,
		.inflight_pkts = host->cwnd_pkts,
		.mss_bytes = host->mss_bytes,
		.srtt_us = (u32)host->wire_us,
		.idle_us = (u32)take_scaled(in),
		.is_ecn = step == STEP_MARK,
		.phase = host->phase,
	};

	subject->is_spoilt |= spoil(in, &event, sizeof(event));
	subject_before(subject);
	if (step == STEP_TIMEOUT)
		law->on_timeout(subject->state, &event, subject->params);
	else if (step == STEP_UNDO)
		law->on_undo(subject->state, &event, subject->params);
	else if (step == STEP_IDLE)
		law->on_idle(subject->state, &event, subject->params);
	else
		law->on_loss(subject->state, &event, subject->params);
	host->phase = step == STEP_LOSS      ? EBB_SENDER_RECOVERY
		      : step == STEP_MARK    ? EBB_SENDER_CWR
		      : step == STEP_TIMEOUT ? EBB_SENDER_LOSS
					     : EBB_SENDER_OPEN;
}

static struct ebb_sender_window window_of(const struct subject *subject)
{
	struct ebb_sender_window window;

	memcpy(&window, subject->state, sizeof(window));
	return window;
}

/* The window's bounds hold always, the others while the host says nothing absurd. */
static void check(const struct subject *subject, const struct sender *host, u32 step)
{
	struct ebb_sender_window window = window_of(subject);
	u64 most_pkts = 2ull * host->cwnd_pkts + MOST_INCREASE_PKTS;

	subject_after(subject);
	REQUIRE(window.cwnd_pkts >= 1 && window.cwnd_pkts <= EBB_SENDER_MAX_CWND_PKTS,
		"%s: window of %u segments", subject->name, window.cwnd_pkts);
	if (subject->is_spoilt)
		return;
	if (step == STEP_LOSS || step == STEP_MARK || step == STEP_TIMEOUT)
		REQUIRE(window.cwnd_pkts <= host->cwnd_pkts, "%s: a loss raises %u to %u",
			subject->name, host->cwnd_pkts, window.cwnd_pkts);
	else if (step < STEP_LOSS && most_pkts > host->greatest_pkts)
		REQUIRE(window.cwnd_pkts <= most_pkts, "%s: %u becomes %u at once", subject->name,
			host->cwnd_pkts, window.cwnd_pkts);
}

static void set_window(struct sender *host, u32 cwnd_pkts)
{
	host->cwnd_pkts = cwnd_pkts;
	if (host->greatest_pkts < cwnd_pkts)
		host->greatest_pkts = cwnd_pkts;
}

static void follow(struct sender *host, const struct subject *subject)
{
	struct ebb_sender_window window = window_of(subject);

	set_window(host, window.cwnd_pkts);
	host->ssthresh_pkts = window.ssthresh_pkts;
}

static void take_step(const struct ebb_native_sender_law *law, struct subject *subject,
		      struct sender *host, struct input *in)
{
	u32 step = take_byte(in) % STEP_COUNT;

	host->now_us += take_scaled(in);
	if (step < STEP_LOSS)
		give_ack(law, subject, host, in);
	else if (step < STEP_CLOCK)
		give_event(law, subject, host, in, step);
	else if (step == STEP_CLOCK)
		host->now_us = take_bytes(in, 8);
	else if (step == STEP_PARAMS)
		subject_take_params(subject, in);
	check(subject, host, step);
	follow(host, subject);
	if (step != STEP_HOST)
		return;
	set_window(host, take_any(in));
	subject->is_spoilt |= !host->cwnd_pkts || host->cwnd_pkts > EBB_SENDER_MAX_CWND_PKTS;
}

void run_sender(const struct ebb_native_sender_law *law, struct subject *subject, struct input *in)
{
	struct ebb_sender_start start = {0};
	struct sender host;
	u32 steps;

	subject_begin(subject, in);
	begin(&host, in);
	start.now_us = host.now_us;
	start.mss_bytes = host.mss_bytes;
	start.cwnd_pkts = host.cwnd_pkts;
	start.local_tick_us = 1000;
	start.has_timestamps = host.has_timestamps;
	subject->is_spoilt |= spoil(in, &start, sizeof(start));
	subject_before(subject);
	law->init(subject->state, &start, subject->params);
	check(subject, &host, STEP_COUNT);
	follow(&host, subject);
	for (steps = 0; in->left && steps < MOST_STEPS; steps++)
		take_step(law, subject, &host, in);
}
