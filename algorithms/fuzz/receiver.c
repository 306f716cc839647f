/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A receiving host that the fuzzer leads: a plausible download, whose clocks jump, whose
 * segments get lost, come late and lie, as the bytes want it.
 */
#include "subject.h"

#define LEAST_WINDOW_BYTES 64u
#define MOST_WINDOW_BYTES 0x3fffffffu
#define MOST_ACK_DELAY_US 10000000u
#define MOST_STEPS 500u

struct receiver {
	u64 now_us;
	u64 wire_us; /* both ways, without a queue */
	u32 rcv_nxt;
	u32 highest_seq;
	u32 acked_seq;
	u32 right_edge_seq;
	u32 mss_bytes;
	u32 local_tick_us;
	u32 sender_tick_us;
	u8 has_timestamps;
	u8 can_delay_acks;
};

enum receiver_step {
	STEP_SEGMENT, /* the usual, more often than the others */
	STEP_HOLE = 6,
	STEP_REPAIR,
	STEP_ACK,
	STEP_MARKED,
	STEP_OBSERVED,
	STEP_CLOCK,
	STEP_PARAMS,
	STEP_COUNT,
};

static u32 ticks(u64 us, u32 tick_us)
{
	return (u32)(us / (tick_us ? tick_us : 1));
}

static void begin(struct receiver *host, struct input *in)
{
	static const u32 tick_us[] = {1000, 1, 4000, 10000, 0, 100, 1000000, 3333};
	u8 flags = take_byte(in);

	memset(host, 0, sizeof(*host));
	host->has_timestamps = !(flags & 1);
	host->can_delay_acks = flags >> 1 & 1;
	host->local_tick_us = flags & 4 ? 1 : 1000;
	host->sender_tick_us = tick_us[flags >> 3 & 7];
	host->now_us = 5000000 + take_scaled(in);
	if (flags >> 6 == 3)
		host->now_us = take_bytes(in, 8);
	host->wire_us = 1000 + take_scaled(in) % 1000000;
	host->mss_bytes = flags >> 6 == 2 ? take_any(in) : 1448;
	host->rcv_nxt = host->highest_seq = host->acked_seq = (u32)take_bytes(in, 1) << 24;
}

static struct ebb_segment next_segment(struct receiver *host, struct input *in)
{
	u64 queue_us = take_scaled(in) % 4000000;
	struct ebb_segment segment = {
		.now_us = host->now_us,
		.seq = host->highest_seq,
		.segments = 1 + take_byte(in) % 45,
		.tsval = ticks(host->now_us - host->wire_us / 2 - queue_us, host->sender_tick_us),
		.tsecr = ticks(host->now_us - host->wire_us - queue_us, host->local_tick_us),
		.local_ts = ticks(host->now_us, host->local_tick_us),
		.local_tick_us = host->local_tick_us,
		.rcv_nxt = host->rcv_nxt,
		.right_edge_seq = host->right_edge_seq,
		.mss_bytes = host->mss_bytes,
		.kernel_rtt_us = (u32)(host->wire_us + queue_us),
		.has_timestamps = host->has_timestamps,
		.can_delay_acks = host->can_delay_acks,
	};

	segment.payload_bytes = segment.segments * (host->mss_bytes & 0xffff);
	return segment;
}

static void arrive(struct receiver *host, const struct ebb_segment *segment)
{
	u32 end_seq = segment->seq + segment->payload_bytes;

	if ((s32)(end_seq - host->highest_seq) > 0)
		host->highest_seq = end_seq;
	if (segment->seq == host->rcv_nxt)
		host->rcv_nxt = host->highest_seq;
}

static void give_segment(const struct ebb_native_receiver_law *law, struct subject *subject,
			 struct receiver *host, struct input *in, u32 step)
{
	struct ebb_segment segment = next_segment(host, in);

	if (step == STEP_HOLE)
		segment.seq += segment.payload_bytes;
	else if (step == STEP_REPAIR)
		segment.seq = host->rcv_nxt;
	segment.is_ce = step == STEP_MARKED;
	segment.is_observing = step == STEP_OBSERVED;
	subject->is_spoilt |= spoil(in, &segment, sizeof(segment));
	subject->is_observed = segment.is_observing != 0;
	subject_before(subject);
	law->on_segment(subject->state, &segment, subject->params);
	arrive(host, &segment);
}

static void give_ack(const struct ebb_native_receiver_law *law, struct subject *subject,
		     struct receiver *host, struct input *in)
{
	struct ebb_ack ack = {
		.now_us = host->now_us,
		.ack_seq = host->rcv_nxt,
		.local_ts = ticks(host->now_us, host->local_tick_us),
		.local_tick_us = host->local_tick_us,
		.right_edge_seq = host->right_edge_seq,
		.mss_bytes = host->mss_bytes,
		.has_timestamps = host->has_timestamps,
		.is_observing = subject->is_observed,
	};
	u32 edge_seq;

	subject->is_spoilt |= spoil(in, &ack, sizeof(ack));
	subject_before(subject);
	if (law->on_ack)
		law->on_ack(subject->state, &ack, subject->params);
	edge_seq = host->rcv_nxt + law->rwnd_bytes(subject->state);
	if ((s32)(edge_seq - host->right_edge_seq) > 0)
		host->right_edge_seq = edge_seq;
}

static void check(const struct ebb_native_receiver_law *law, const struct subject *subject)
{
	u32 rwnd_bytes = law->rwnd_bytes(subject->state);
	u32 delay_us = law->ack_delay_us ? law->ack_delay_us(subject->state) : 0;

	subject_after(subject);
	REQUIRE(rwnd_bytes >= LEAST_WINDOW_BYTES, "%s: window of %u bytes", law->name, rwnd_bytes);
	REQUIRE(rwnd_bytes <= MOST_WINDOW_BYTES ||
			(subject->is_observed && rwnd_bytes == EBB_NO_LIMIT_BYTES),
		"%s: window of %u bytes", law->name, rwnd_bytes);
	REQUIRE(delay_us <= MOST_ACK_DELAY_US, "%s: acknowledgements delayed by %u us", law->name,
		delay_us);
}

void run_receiver(const struct ebb_native_receiver_law *law, struct subject *subject,
		  struct input *in)
{
	struct receiver host;
	struct ebb_start start = {0};
	u32 steps;

	subject_begin(subject, in);
	begin(&host, in);
	start.now_us = host.now_us;
	start.mss_bytes = host.mss_bytes;
	start.rcv_nxt = host.rcv_nxt;
	start.has_timestamps = host.has_timestamps;
	start.tsval = ticks(host.now_us, host.sender_tick_us);
	subject->is_spoilt |= spoil(in, &start, sizeof(start));
	subject_before(subject);
	law->init(subject->state, &start, subject->params);
	check(law, subject);
	for (steps = 0; in->left && steps < MOST_STEPS; steps++) {
		u32 step = take_byte(in) % STEP_COUNT;

		host.now_us += take_scaled(in);
		if (step == STEP_CLOCK)
			host.now_us = take_bytes(in, 8);
		else if (step == STEP_PARAMS)
			subject_take_params(subject, in);
		else if (step == STEP_ACK)
			give_ack(law, subject, &host, in);
		else
			give_segment(law, subject, &host, in, step);
		check(law, subject);
	}
}
