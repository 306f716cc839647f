/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Does a law recover from one bad segment? A connection over a link is run without and with a
 * segment that lies, comes late, twice, or was injected. From RECOVERY_US after it both must
 * get the same of the link, and make the same queue, while it is idle, while others use it,
 * and when these have gone again.
 */
#ifndef EBB_FUZZ_RECOVERY_H
#define EBB_FUZZ_RECOVERY_H

#include "subject.h"

/*
 * Others use the link, before the bad segment or around it. The bad one comes by this time; not as
 * the very first, which nothing can contradict but time: a base window, or LEDBAT's ten minutes.
 */
#define RECOVERY_BAD_LEAST_US 300000u
#define RECOVERY_BAD_STEP_US 53000u
#define RECOVERY_BAD_MOST_US 14000000u
#define RECOVERY_OTHERS_FROM_US 5000000u
#define RECOVERY_OTHERS_TO_US 9000000u
/*
 * From then on nothing may be different. The longest memory that one segment may spoil without
 * another that agrees with it is one window of the clocks' offset (10 s); what it has led to, a
 * yield and its hold (1 s), a drain (10 s to the next) or a regained window, is over before two.
 */
#define RECOVERY_US 20000000u
/*
 * Laws that go by the host's smoothed estimate, which hands on a lie in several looks, forget it
 * when two base windows are over (30 s each, in YIELD ten times that). Here they last 2 s.
 */
#define RECOVERY_SMOOTHED_US 45000000u
#define RECOVERY_BASE_WINDOW_US 2000000u
/*
 * LEDBAT's family believes the least delay of ten minutes, as RFC 6817 has it. Here these are one,
 * and the time from its end on is as for others.
 */
#define RECOVERY_HISTORY_US 80000000u
#define RECOVERY_HISTORY_MINUTES 1u
/* What is compared: alone, with others, alone again. */
#define RECOVERY_PHASES 3u
#define RECOVERY_PHASE_US 8000000u

/* Honest runs: delays wander otherwise in each, and in some a segment is overtaken. */
#define RECOVERY_HONEST_RUNS 24u

struct recovery_phase {
	u64 bytes;       /* that came through */
	u64 queue_us_us; /* the wait at the link, over time */
};

struct recovery_bounds {
	u64 least;
	u64 most;
};

/* What honest runs come to. */
struct recovery_range {
	struct recovery_bounds bytes[RECOVERY_PHASES];
	struct recovery_bounds queue_us[RECOVERY_PHASES];
	u32 runs;
};

u64 recovery_us(const char *name);
void set_recovery_params(struct subject *subject);
void widen_range(struct recovery_range *range, const struct recovery_phase *phases);
/* A run with a bad segment has come to what honest ones come to. */
void require_recovered(const char *name, const struct recovery_range *range,
		       const struct recovery_phase *phases, u32 bytes_per_s);

/* Runs what the bytes stand for: a download with a bad segment, an upload with a bad answer. */
void recover_receiver(const struct ebb_native_receiver_law *law, struct subject *subject,
		      struct input *in);
void recover_sender(const struct ebb_native_sender_law *law, struct subject *subject,
		    struct input *in);

#endif /* EBB_FUZZ_RECOVERY_H */
