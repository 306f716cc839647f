/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An upload over a link of its own, with one bad acknowledgement: see recovery.h.
 *
 * Each segment is acknowledged by itself. The link's buffer loses what it cannot hold; the host
 * hears of it a round trip later, and leads the window as Linux does. Others, while they are there,
 * take half of the link and keep a queue that breathes.
 */
#include "recovery.h"

#define MSS_BYTES 1448u
#define MOST_IN_FLIGHT 4096u
#define BUFFER_US 100000u
#define OTHERS_QUEUE_US 30000u
#define OTHERS_BREATHE_US 20000u
#define WANDER_US 300u
#define LOCAL_TICK_US 1000u
#define BEGIN_US 5000000u
#define CONFIGS 4u
#define FIRST_WINDOW_PKTS 10u
#define MOST_LIE_US 60000000u

struct sent_segment {
	u64 acked_at_us;
	u64 sent_us;
	u64 arrived_us;
	u64 wait_us;
	u64 prior_delivered;
	u64 prior_delivered_us;
	u32 number;
	u8 is_lost;
};

struct path {
	u32 bytes_per_s;
	u32 wire_us;
	u32 peer_tick_us;
};

static const struct path paths[CONFIGS] = {
	{1000000, 40000, 1000},
	{1000000, 10000, 1},
	{250000, 40000, 1000},
	{1000000, 100000, 4000},
};

struct bad_ack {
	u64 at_us;
	struct input lies;
};

struct upload {
	const struct ebb_native_sender_law *law;
	struct subject *subject;
	const struct path *path;
	const struct bad_ack *bad;
	struct recovery_phase phases[RECOVERY_PHASES];
	u64 judged_us;
	u64 now_us;
	u64 link_free_us;
	u64 last_ack_us;
	u64 last_at_us;
	u64 may_send_us; /* by the pace */
	u64 delivered;
	u64 delivered_us;
	u32 seed;
	u32 next_number;
	u32 recover_number; /* recovery ends with an acknowledgement of a later one */
	u32 cwnd_pkts;
	u32 srtt_us;
	u32 head;
	u32 count;
	u8 phase;
	u8 is_bad_over;
	struct sent_segment flying[MOST_IN_FLIGHT];
};

static struct ebb_sender_window window_of(const struct upload *upload)
{
	struct ebb_sender_window window;

	memcpy(&window, upload->subject->state, sizeof(window));
	return window;
}

static u8 others_are_there(const struct upload *upload, u64 at_us)
{
	u64 judged_us = upload->judged_us + RECOVERY_PHASE_US;

	return (at_us >= RECOVERY_OTHERS_FROM_US && at_us < RECOVERY_OTHERS_TO_US) ||
	       (at_us >= judged_us && at_us < judged_us + RECOVERY_PHASE_US);
}

static u32 wander(u32 number, u32 seed)
{
	u32 mixed = (number + (seed << 20)) * 2654435761u;

	mixed = (mixed ^ mixed >> 15) * 2246822519u;
	mixed = (mixed ^ mixed >> 13) * 3266489917u;
	return (u32)((u64)(mixed ^ mixed >> 16) * WANDER_US >> 32);
}

static void send_one(struct upload *upload)
{
	const struct path *path = upload->path;
	struct sent_segment *segment =
		&upload->flying[(upload->head + upload->count++) % MOST_IN_FLIGHT];
	u64 since_us = upload->now_us - BEGIN_US;
	u8 is_shared = others_are_there(upload, since_us);
	u64 start_us =
		upload->now_us > upload->link_free_us ? upload->now_us : upload->link_free_us;
	u64 others_us = is_shared ? OTHERS_QUEUE_US + since_us % OTHERS_BREATHE_US : 0;

	*segment = (struct sent_segment){
		.sent_us = upload->now_us,
		.wait_us = start_us - upload->now_us,
		.prior_delivered = upload->delivered,
		.prior_delivered_us = upload->delivered_us,
		.number = upload->next_number++,
		.is_lost = start_us - upload->now_us > BUFFER_US,
	};
	if (!segment->is_lost)
		upload->link_free_us =
			start_us + 1000000ull * MSS_BYTES * (1 + is_shared) / path->bytes_per_s;
	segment->arrived_us = upload->link_free_us + others_us + path->wire_us / 2 +
			      wander(segment->number, upload->seed);
	segment->acked_at_us = segment->arrived_us + path->wire_us / 2;
	if (segment->acked_at_us < upload->last_ack_us)
		segment->acked_at_us = upload->last_ack_us;
	upload->last_ack_us = segment->acked_at_us;
}

/* Sends what window and pace allow; answers when the pace allows the next, or never. */
static u64 send_all(struct upload *upload)
{
	struct ebb_sender_window window = window_of(upload);

	while (upload->count < upload->cwnd_pkts && upload->count < MOST_IN_FLIGHT) {
		if (upload->may_send_us > upload->now_us)
			return upload->may_send_us;
		send_one(upload);
		if (window.pacing_bytes_per_s)
			upload->may_send_us =
				upload->now_us + 1000000ull * MSS_BYTES / window.pacing_bytes_per_s;
	}
	return ~0ull;
}

static struct ebb_sender_event event_of(const struct upload *upload)
{
	return (struct ebb_sender_event){
		.now_us = upload->now_us,
		.ack_seq = upload->flying[upload->head].number * MSS_BYTES,
		.snd_nxt = upload->next_number * MSS_BYTES,
		.cwnd_pkts = upload->cwnd_pkts,
		.ssthresh_pkts = window_of(upload).ssthresh_pkts,
		.inflight_pkts = upload->count,
		.mss_bytes = MSS_BYTES,
		.srtt_us = upload->srtt_us,
		.phase = upload->phase,
	};
}

/* The window of the law; in recovery its threshold, unless it wants to be asked always. */
static void follow(struct upload *upload)
{
	struct ebb_sender_window window = window_of(upload);
	u8 is_led = upload->phase == EBB_SENDER_RECOVERY && !upload->law->has_full_control;

	upload->cwnd_pkts = is_led ? window.ssthresh_pkts : window.cwnd_pkts;
	if (!upload->cwnd_pkts)
		upload->cwnd_pkts = 1;
}

static void lose(struct upload *upload)
{
	struct ebb_sender_event event = event_of(upload);

	if (upload->phase == EBB_SENDER_RECOVERY)
		return;
	upload->law->on_loss(upload->subject->state, &event, upload->subject->params);
	upload->phase = EBB_SENDER_RECOVERY;
	upload->recover_number = upload->next_number;
	follow(upload);
}

static void smooth(struct upload *upload, u32 rtt_us)
{
	upload->srtt_us =
		upload->srtt_us ? upload->srtt_us - upload->srtt_us / 8 + rtt_us / 8 : rtt_us;
}

/* What a peer can make the host believe: an echo or a selective acknowledgement from the past or
 * too early, its clock, a mark. */
static void lie(struct upload *upload, struct ebb_sender_ack *ack)
{
	struct input lies = upload->bad->lies;
	u8 what = take_byte(&lies);
	u32 by = (u32)take_scaled(&lies), rtt_us = ack->rtt_us;

	if (what & 1)
		ack->tsval += what & 2 ? by : -by;
	if (what & 4)
		ack->tsval = take_any(&lies);
	if (what & 8)
		rtt_us = what & 16 ? 1 + (u32)take_scaled(&lies) % MOST_LIE_US
				   : 1 + take_byte(&lies) * ack->rtt_us / 256;
	ack->is_ece = what >> 5 == 1;
	if (what >> 6 == 1)
		ack->has_timestamps = 0;
	if (rtt_us != ack->rtt_us)
		smooth(upload, rtt_us);
	ack->rtt_us = rtt_us;
	ack->srtt_us = upload->srtt_us;
}

/* What the host tells of a segment that has been acknowledged. */
static struct ebb_sender_ack describe(const struct upload *upload,
				      const struct sent_segment *segment)
{
	u32 in_order = upload->phase == EBB_SENDER_OPEN;

	return (struct ebb_sender_ack){
		.now_us = upload->now_us,
		.delivered_pkts = upload->delivered,
		.rate_prior_delivered_pkts = segment->prior_delivered,
		.rate_delivered_pkts = (u32)(upload->delivered - segment->prior_delivered),
		.rate_interval_us = (u32)(upload->now_us - segment->prior_delivered_us),
		.ack_seq = (segment->number + 1) * MSS_BYTES,
		.snd_nxt = upload->next_number * MSS_BYTES,
		.acked_pkts = in_order,
		.acked_bytes = in_order * MSS_BYTES,
		.delivered_now_pkts = 1,
		.prior_inflight_pkts = upload->count + 1,
		.inflight_pkts = upload->count,
		.cwnd_pkts = upload->cwnd_pkts,
		.ssthresh_pkts = window_of(upload).ssthresh_pkts,
		.rtt_us = (u32)(upload->now_us - segment->sent_us),
		.srtt_us = upload->srtt_us,
		.tsval = (u32)(segment->arrived_us / upload->path->peer_tick_us) + 77,
		.tsecr = (u32)(segment->sent_us / LOCAL_TICK_US),
		.local_ts = (u32)(upload->now_us / LOCAL_TICK_US),
		.local_tick_us = LOCAL_TICK_US,
		.mss_bytes = MSS_BYTES,
		.random = segment->number * 2654435761u,
		.phase = upload->phase,
		.is_cwnd_limited = 1,
		.has_timestamps = 1,
	};
}

static void tell(struct upload *upload, const struct sent_segment *segment)
{
	u8 is_bad = upload->bad && !upload->is_bad_over &&
		    upload->now_us - BEGIN_US >= upload->bad->at_us;
	struct ebb_sender_ack ack;

	upload->delivered++;
	upload->delivered_us = upload->now_us;
	smooth(upload, (u32)(upload->now_us - segment->sent_us));
	ack = describe(upload, segment);
	if (is_bad) {
		upload->is_bad_over = 1;
		lie(upload, &ack);
	}
	upload->law->on_ack(upload->subject->state, &ack, upload->subject->params);
	follow(upload);
}

static void account(struct upload *upload, const struct sent_segment *segment)
{
	u64 at_us = segment->acked_at_us - BEGIN_US - upload->judged_us;
	struct recovery_phase *phase;

	if (segment->acked_at_us - BEGIN_US >= upload->judged_us &&
	    at_us / RECOVERY_PHASE_US < RECOVERY_PHASES) {
		phase = &upload->phases[at_us / RECOVERY_PHASE_US];
		phase->bytes += MSS_BYTES;
		phase->queue_us_us +=
			segment->wait_us * (segment->acked_at_us - upload->last_at_us);
	}
	upload->last_at_us = segment->acked_at_us;
}

/* The oldest segment's acknowledgement, or that it is missing. */
static void take_oldest(struct upload *upload)
{
	struct sent_segment segment = upload->flying[upload->head];

	upload->head = (upload->head + 1) % MOST_IN_FLIGHT;
	upload->count--;
	if (upload->phase == EBB_SENDER_RECOVERY &&
	    (s32)(segment.number - upload->recover_number) >= 0) {
		upload->phase = EBB_SENDER_OPEN;
	}
	if (segment.is_lost) {
		lose(upload);
		return;
	}
	account(upload, &segment);
	tell(upload, &segment);
}

static void run(struct upload *upload)
{
	struct ebb_sender_start start = {
		.now_us = BEGIN_US,
		.mss_bytes = MSS_BYTES,
		.cwnd_pkts = FIRST_WINDOW_PKTS,
		.local_tick_us = LOCAL_TICK_US,
		.has_timestamps = 1,
	};
	u64 end_us = BEGIN_US + upload->judged_us + RECOVERY_PHASES * RECOVERY_PHASE_US;

	memset(upload->subject->state, 0, sizeof(upload->subject->state));
	upload->now_us = BEGIN_US;
	upload->delivered_us = BEGIN_US;
	upload->law->init(upload->subject->state, &start, upload->subject->params);
	follow(upload);
	while (upload->now_us < end_us) {
		u64 send_us = send_all(upload), ack_us = ~0ull;

		if (upload->count)
			ack_us = upload->flying[upload->head].acked_at_us;
		upload->now_us = send_us < ack_us ? send_us : ack_us;
		if (ack_us <= send_us)
			take_oldest(upload);
	}
}

static const struct recovery_phase *run_with(const struct ebb_native_sender_law *law,
					     struct subject *subject, u32 config, u32 seed,
					     const struct bad_ack *bad)
{
	static struct upload upload;

	memset(&upload, 0, sizeof(upload));
	upload.law = law;
	upload.subject = subject;
	upload.path = &paths[config];
	upload.judged_us = RECOVERY_BAD_MOST_US + recovery_us(law->name);
	upload.seed = seed;
	upload.bad = bad;
	run(&upload);
	return upload.phases;
}

void recover_sender(const struct ebb_native_sender_law *law, struct subject *subject,
		    struct input *in)
{
	static struct recovery_range ranges[CONFIGS];
	u32 config = take_byte(in) % CONFIGS, i;
	struct bad_ack bad = {
		.at_us = RECOVERY_BAD_LEAST_US + (u64)take_byte(in) * RECOVERY_BAD_STEP_US,
	};

	bad.lies = *in;
	set_recovery_params(subject);
	for (i = ranges[config].runs; i < RECOVERY_HONEST_RUNS; i++)
		widen_range(&ranges[config], run_with(law, subject, config, i, 0));
	require_recovered(law->name, &ranges[config], run_with(law, subject, config, 0, &bad),
			  paths[config].bytes_per_s);
}
