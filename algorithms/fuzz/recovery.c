/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A download over a link of its own, with one bad segment: see recovery.h.
 *
 * The sender sends whatever the window allows, up to what the link and a buffer hold, so that
 * nothing is lost but what the bytes want. Others, while they are there, take half of the link
 * and keep a queue that breathes. Delays wander by a few hundred us from segment to segment, as
 * they do: the same for the same segment in both runs.
 */
#include "recovery.h"

#define MSS_BYTES 1448u
#define MOST_IN_FLIGHT 4096u
#define BUFFER_US 400000u
#define OTHERS_QUEUE_US 30000u
#define OTHERS_BREATHE_US 20000u
#define WANDER_US 300u
#define HONESTLY_LATE_US 10000u
#define LOCAL_TICK_US 1000u
#define BEGIN_US 5000000u
#define TSVAL_OFFSET 0xfff00000u
#define CONFIGS 8u

struct wire_segment {
	u64 at_us; /* arrival */
	u64 wait_us;
	u64 sent_us;
	u32 seq;
	u32 tsecr;
};

struct link_config {
	u32 bytes_per_s;
	u32 wire_us; /* both ways */
	u32 sender_tick_us;
};

static const struct link_config configs[CONFIGS] = {
	{1000000, 40000, 1000}, {1000000, 10000, 1},     {250000, 40000, 1000},
	{1000000, 150000, 1},   {1000000, 40000, 4000},  {250000, 10000, 1000},
	{1000000, 40000, 10},   {1000000, 150000, 1000},
};

enum bad_kind {
	BAD_CHANGED,  /* the law is told something else of it */
	BAD_INJECTED, /* a copy that says something else comes before it */
	BAD_LATE,     /* it comes after those behind it */
	BAD_TWICE,    /* the host hears it again, later */
	BAD_KINDS,
};

struct bad_segment {
	u64 at_us;
	u32 kind;
	u32 late_us;
	struct input lies;
};

struct world {
	const struct ebb_native_receiver_law *law;
	struct subject *subject;
	const struct link_config *config;
	const struct bad_segment *bad; /* 0: the run without it */
	struct recovery_phase phases[RECOVERY_PHASES];
	u64 judged_us; /* from here on, since the beginning */
	u32 seed;      /* of how delays wander */
	u64 link_free_us;
	u64 answered_us;     /* when an acknowledgement went out last */
	u64 last_arrival_us; /* of what was sent */
	u64 last_at_us;      /* of what has come */
	u32 next_seq;
	u32 rcv_nxt;
	u32 right_edge_seq;
	u32 hole_seq; /* what comes late is missing from here on */
	u32 rtt_us;   /* the host's estimate */
	u32 last_tsecr;
	u32 head;
	u32 count;
	u8 has_hole;
	u8 is_bad_over;
	struct wire_segment flying[MOST_IN_FLIGHT];
	struct wire_segment held;
};

static u8 others_are_there(const struct world *world, u64 at_us)
{
	u64 judged_us = world->judged_us + RECOVERY_PHASE_US;

	return (at_us >= RECOVERY_OTHERS_FROM_US && at_us < RECOVERY_OTHERS_TO_US) ||
	       (at_us >= judged_us && at_us < judged_us + RECOVERY_PHASE_US);
}

/* The same for the same segment, like chance from one to the next. */
static u32 wander(u32 seq, u32 seed, u32 most)
{
	u32 mixed = (seq / MSS_BYTES + (seed << 20)) * 2654435761u;

	mixed = (mixed ^ mixed >> 15) * 2246822519u;
	mixed = (mixed ^ mixed >> 13) * 3266489917u;
	return (u32)((u64)(mixed ^ mixed >> 16) * most >> 32);
}

/* Sends what the window allows, at a time of the sender. */
static void send(struct world *world, u64 at_us, u32 tsecr)
{
	const struct link_config *config = world->config;
	u32 most_bytes = (u32)((u64)config->bytes_per_s * (config->wire_us + BUFFER_US) / 1000000);

	while ((s32)(world->right_edge_seq - world->next_seq) >= (s32)MSS_BYTES &&
	       world->next_seq - world->rcv_nxt < most_bytes && world->count < MOST_IN_FLIGHT) {
		struct wire_segment *segment =
			&world->flying[(world->head + world->count++) % MOST_IN_FLIGHT];
		u64 since_us = at_us - BEGIN_US;
		u8 is_shared = others_are_there(world, since_us);
		u64 start_us = at_us > world->link_free_us ? at_us : world->link_free_us;
		u64 others_us = is_shared ? OTHERS_QUEUE_US + since_us % OTHERS_BREATHE_US : 0;

		world->link_free_us =
			start_us + 1000000ull * MSS_BYTES * (1 + is_shared) / config->bytes_per_s;
		segment->wait_us = start_us - at_us;
		segment->at_us = world->link_free_us + others_us + config->wire_us / 2 +
				 wander(world->next_seq, world->seed, WANDER_US);
		if (segment->at_us < world->last_arrival_us)
			segment->at_us = world->last_arrival_us;
		world->last_arrival_us = segment->at_us;
		segment->sent_us = at_us;
		segment->seq = world->next_seq;
		segment->tsecr = tsecr;
		world->next_seq += MSS_BYTES;
	}
}

/* As Linux has it: falls at once, rises by an eighth with each echo. */
static void take_rtt(struct world *world, const struct ebb_segment *segment)
{
	u32 sample_us = (segment->local_ts - segment->tsecr) * LOCAL_TICK_US;

	if (!segment->tsecr || segment->tsecr == world->last_tsecr || sample_us > 60000000)
		return;
	world->last_tsecr = segment->tsecr;
	sample_us = sample_us ? sample_us : LOCAL_TICK_US;
	if (!world->rtt_us || sample_us < world->rtt_us)
		world->rtt_us = sample_us;
	else
		world->rtt_us += (sample_us - world->rtt_us) / 8;
}

/* What a peer can say of a segment: the words that come from the wire, or by how much. */
static void lie_in_all(struct ebb_segment *segment, struct input lies)
{
	u32 *words[] = {&segment->tsval, &segment->tsecr,    &segment->seq,
			&segment->tsval, &segment->segments, &segment->payload_bytes,
			&segment->tsecr, &segment->tsval};
	u32 count = 1 + take_byte(&lies) % 3, i;

	for (i = 0; i < count; i++) {
		u8 what = take_byte(&lies);
		u32 *word = words[what & 7];

		if (what & 8)
			*word = take_any(&lies);
		else if (what & 16)
			*word += (u32)take_scaled(&lies);
		else
			*word -= (u32)take_scaled(&lies);
		segment->is_ce ^= what >> 5 == 1;
		segment->has_timestamps ^= what >> 5 == 2;
	}
	/* What a packet can have. */
	segment->payload_bytes = segment->payload_bytes % 65536 + 1;
	segment->segments = segment->segments % 45 + 1;
}

/* A host that counts believes the peer only what its kernel does: echoes. */
static void lie(const struct world *world, struct ebb_segment *segment, struct input lies)
{
	struct ebb_segment honest = *segment;

	lie_in_all(segment, lies);
	if (!world->law->sees_counters)
		return;
	honest.tsecr = segment->tsecr;
	honest.is_ce = segment->is_ce;
	*segment = honest;
}

static struct ebb_segment describe(const struct world *world, const struct wire_segment *wire,
				   u64 now_us)
{
	return (struct ebb_segment){
		.now_us = now_us,
		.seq = wire->seq,
		.payload_bytes = MSS_BYTES,
		.segments = 1,
		.tsval = (u32)(wire->sent_us / world->config->sender_tick_us) + TSVAL_OFFSET,
		.tsecr = wire->tsecr,
		.local_ts = (u32)(now_us / LOCAL_TICK_US),
		.local_tick_us = LOCAL_TICK_US,
		.rcv_nxt = world->rcv_nxt,
		.right_edge_seq = world->right_edge_seq,
		.mss_bytes = MSS_BYTES,
		.kernel_rtt_us = world->rtt_us,
		.has_timestamps = 1,
		.can_delay_acks = 1,
	};
}

static void tell(struct world *world, struct ebb_segment *segment)
{
	take_rtt(world, segment);
	segment->kernel_rtt_us = world->rtt_us;
	world->law->on_segment(world->subject->state, segment, world->subject->params);
}

/* What arrived is acknowledged, as late as the law wants it, and the sender sends on. */
static void answer(struct world *world, u64 now_us)
{
	const struct ebb_native_receiver_law *law = world->law;
	u64 delay_us = law->ack_delay_us ? law->ack_delay_us(world->subject->state) : 0;
	struct ebb_ack ack = {
		.now_us = now_us,
		.ack_seq = world->rcv_nxt,
		.local_ts = (u32)(now_us / LOCAL_TICK_US),
		.local_tick_us = LOCAL_TICK_US,
		.right_edge_seq = world->right_edge_seq,
		.mss_bytes = MSS_BYTES,
		.has_timestamps = 1,
	};
	u32 edge_seq;

	if (law->on_ack)
		law->on_ack(world->subject->state, &ack, world->subject->params);
	edge_seq = world->rcv_nxt + law->rwnd_bytes(world->subject->state);
	if ((s32)(edge_seq - world->right_edge_seq) > 0)
		world->right_edge_seq = edge_seq;
	if (world->answered_us < now_us + delay_us)
		world->answered_us = now_us + delay_us;
	send(world, world->answered_us + world->config->wire_us / 2,
	     (u32)(world->answered_us / LOCAL_TICK_US));
}

static void arrive(struct world *world, const struct wire_segment *wire, u64 now_us)
{
	struct ebb_segment segment = describe(world, wire, now_us), copy;
	const struct bad_segment *bad = world->bad;
	u8 is_bad = bad && !world->is_bad_over && now_us - BEGIN_US >= bad->at_us;

	if (is_bad) {
		world->is_bad_over = 1;
		copy = segment;
		lie(world, &copy, bad->lies);
		if (bad->kind == BAD_LATE || bad->kind == BAD_TWICE) {
			world->held = *wire;
			world->held.at_us = now_us + bad->late_us;
			world->has_hole = 1;
			world->hole_seq = wire->seq;
			if (bad->kind == BAD_LATE)
				return;
			world->hole_seq += MSS_BYTES;
		} else if (bad->kind == BAD_INJECTED && !world->law->sees_counters) {
			tell(world, &copy);
			segment.kernel_rtt_us = world->rtt_us;
		} else {
			segment = copy;
		}
	}
	tell(world, &segment);
	if (!world->has_hole || bad->kind == BAD_TWICE)
		world->rcv_nxt = wire->seq + MSS_BYTES;
	answer(world, now_us);
}

/* What was held back comes: behind it everything is there. */
static void arrive_late(struct world *world)
{
	struct wire_segment *next = &world->flying[world->head];
	struct ebb_segment segment = describe(world, &world->held, world->held.at_us);

	world->has_hole = 0;
	tell(world, &segment);
	world->rcv_nxt = world->count ? next->seq : world->next_seq;
	answer(world, world->held.at_us);
}

static void account(struct world *world, const struct wire_segment *wire)
{
	u64 phase_number = (wire->at_us - BEGIN_US - world->judged_us) / RECOVERY_PHASE_US;
	struct recovery_phase *phase = &world->phases[phase_number];

	if (wire->at_us - BEGIN_US < world->judged_us || phase_number >= RECOVERY_PHASES)
		return;
	phase->bytes += MSS_BYTES;
	phase->queue_us_us += wire->wait_us * (wire->at_us - world->last_at_us);
}

static void run(struct world *world)
{
	u64 end_us = BEGIN_US + world->judged_us + RECOVERY_PHASES * RECOVERY_PHASE_US;
	struct ebb_start start = {
		.now_us = BEGIN_US - world->config->wire_us,
		.mss_bytes = MSS_BYTES,
		.has_timestamps = 1,
	};

	start.tsval =
		(u32)((start.now_us - world->config->wire_us / 2) / world->config->sender_tick_us) +
		TSVAL_OFFSET;
	memset(world->subject->state, 0, sizeof(world->subject->state));
	world->law->init(world->subject->state, &start, world->subject->params);
	world->right_edge_seq = world->law->rwnd_bytes(world->subject->state);
	send(world, BEGIN_US, (u32)(start.now_us / LOCAL_TICK_US));
	while (world->last_arrival_us < end_us && (world->count || world->has_hole)) {
		struct wire_segment wire = world->flying[world->head];

		if (world->has_hole && (!world->count || world->held.at_us <= wire.at_us)) {
			arrive_late(world);
			continue;
		}
		world->head = (world->head + 1) % MOST_IN_FLIGHT;
		world->count--;
		account(world, &wire);
		world->last_at_us = wire.at_us;
		arrive(world, &wire, wire.at_us);
	}
}

static const struct recovery_phase *run_with(const struct ebb_native_receiver_law *law,
					     struct subject *subject, u32 config, u32 seed,
					     const struct bad_segment *bad)
{
	static struct world world;

	memset(&world, 0, sizeof(world));
	world.law = law;
	world.subject = subject;
	world.config = &configs[config];
	world.judged_us = RECOVERY_BAD_MOST_US + recovery_us(law->name);
	world.seed = seed;
	world.bad = bad;
	run(&world);
	return world.phases;
}

void recover_receiver(const struct ebb_native_receiver_law *law, struct subject *subject,
		      struct input *in)
{
	static struct recovery_range ranges[CONFIGS];
	u32 config = take_byte(in) % CONFIGS, i;
	struct bad_segment bad = {
		.at_us = RECOVERY_BAD_LEAST_US + (u64)take_byte(in) * RECOVERY_BAD_STEP_US,
		.kind = take_byte(in) % BAD_KINDS,
		.late_us = (u32)take_scaled(in) % 3000000,
	};

	bad.lies = *in;
	set_recovery_params(subject);
	for (i = ranges[config].runs; i < RECOVERY_HONEST_RUNS; i++) {
		struct bad_segment late = {
			.at_us = (u64)i * RECOVERY_BAD_MOST_US / RECOVERY_HONEST_RUNS,
			.kind = BAD_LATE,
			.late_us = i * HONESTLY_LATE_US,
		};

		widen_range(&ranges[config], run_with(law, subject, config, i, i & 1 ? &late : 0));
	}
	require_recovered(law->name, &ranges[config], run_with(law, subject, config, 0, &bad),
			  configs[config].bytes_per_s);
}
