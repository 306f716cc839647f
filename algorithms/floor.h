/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A floor: the rate that all connections of a policy have together at the least, whatever their
 * law answers. Hosts tell it what comes, and never set a window below what it answers.
 *
 * Source: [FLOOR] docs/floor.md. Domain: as ebb; a rate of EBB_FLOOR_UNBOUND and above is no limit.
 *
 * A host keeps a struct ebb_floor for all connections of a policy and a struct ebb_floor_member for
 * each, which both start as zero bytes. Never two at a time it calls ebb_floor_hear for what has
 * come on a connection, and ebb_floor_window_bytes before it sets a window. For what is sent there
 * is sender_floor.h.
 */
#ifndef EBB_FLOOR_H
#define EBB_FLOOR_H

#include "math.h"
#include "units.h"

/* [FLOOR §late] Bytes per second: a transfer that is late beyond help goes as any other. */
#define EBB_FLOOR_UNBOUND (1ull << 36)
/* [FLOOR §window] Its answer then: larger than any TCP window (2^30). */
#define EBB_FLOOR_NO_LIMIT_BYTES 0x7fffffffu
/* [FLOOR §window] What is aimed at: a loss that the sender repairs leaves the floor then. */
#define EBB_FLOOR_MARGIN_X4 5u
/* [FLOOR §window] Bounds that keep products within 64 bits. */
#define EBB_FLOOR_MOST_RTT_US (1u << 26)
#define EBB_FLOOR_MOST_BYTES (1u << 30)
/* [FLOOR §credit] What was promised and did not come is owed for so long; a longer silence ends it. */
#define EBB_FLOOR_CREDIT_US 1000000u
/* [FLOOR §credit] A part of it is added to the window, the floor's window again at the most. */
#define EBB_FLOOR_CREDIT_DIVISOR 2u
/* [FLOOR §parts] Connections are counted over so many round trips, and for so long. */
#define EBB_FLOOR_COUNT_RTTS 2u
#define EBB_FLOOR_COUNT_LEAST_US 250000u
#define EBB_FLOOR_COUNT_MOST_US 4000000u
/* [FLOOR §parts] The same for connections that have less than a segment, and wait for timers. */
#define EBB_FLOOR_COUNT_TURNS_US 500000u
/* [FLOOR §parts] Who has a segment more is the next one after so many counts. */
#define EBB_FLOOR_TURN_COUNTS 4u
/* [FLOOR §parts] Linux' least clamp: so much any connection may send. */
#define EBB_FLOOR_LEAST_BYTES 1152u

struct ebb_floor {
	u64 credit_us;    /* until when it was reckoned */
	u64 credit_bytes; /* promised, and not come */
	u64 count_since_us;
	u32 count;        /* its number */
	u32 count_rtt_us; /* the longest round trip in it */
	u32 last_rtt_us;  /* and in the last one */
	u32 counted;      /* that use what they are given, so far, and in the last count */
	u32 members;
	u8 has_turns; /* there are fewer segments than these */
	u8 reserved[3];
};

struct ebb_floor_member {
	u32 count;      /* the last one that it was heard in */
	u32 rank;       /* among those that use what they are given */
	u32 rtt_us;     /* queue included; 0: not known */
	u32 bytes;      /* that came in this count */
	u32 told_bytes; /* the window that it has been told */
	u32 had_bytes;  /* the same when the count began; 0: nothing yet */
	u32 mss_bytes;
	u8 is_modest; /* uses less than it is given */
	u8 reserved[3];
};

/* What has come on a connection. */
struct ebb_floor_news {
	u64 now_us;
	u32 bytes;  /* payload */
	u32 rtt_us; /* the round trip now, queue included; 0: not known */
	u32 mss_bytes;
	u32 reserved;
};

/* ---- helpers ---- */

/* What comes at this rate, and the margin, in a time. Rate < 2^36 B/s, time < 2^27 us. */
EBB_INLINE u64 ebb_floor_bytes_in(u64 rate, u64 time_us)
{
	return rate * EBB_FLOOR_MARGIN_X4 / EBB_ONE_X4 * time_us / EBB_US_PER_S;
}

/* What the floor has promised until now, less what came. */
EBB_INLINE void ebb_floor_reckon(struct ebb_floor *f, const struct ebb_floor_news *news, u64 rate)
{
	u64 elapsed_us = ebb_sub_floor(news->now_us, f->credit_us);
	u64 most_bytes = ebb_floor_bytes_in(rate, EBB_FLOOR_CREDIT_US);

	/* Nobody had anything to send, or it has just begun. */
	if (elapsed_us > EBB_FLOOR_CREDIT_US) {
		f->credit_bytes = 0;
		elapsed_us = 0;
	}
	ebb_end_step();
	f->credit_us = ebb_max(f->credit_us, news->now_us);
	f->credit_bytes =
		ebb_min(f->credit_bytes + ebb_floor_bytes_in(rate, elapsed_us), most_bytes);
	f->credit_bytes = ebb_sub_floor(f->credit_bytes, news->bytes);
}

EBB_INLINE void ebb_floor_end_count(struct ebb_floor *f, u64 now_us)
{
	u64 rtt_us = ebb_max(f->count_rtt_us, f->last_rtt_us);
	u64 least_us = f->has_turns ? EBB_FLOOR_COUNT_TURNS_US : EBB_FLOOR_COUNT_LEAST_US;
	u64 count_us = ebb_clamp(rtt_us * EBB_FLOOR_COUNT_RTTS, least_us, EBB_FLOOR_COUNT_MOST_US);

	if (now_us - f->count_since_us < count_us)
		return;
	f->members = f->counted;
	f->counted = 0;
	f->last_rtt_us = f->count_rtt_us;
	f->count_rtt_us = 0;
	f->count_since_us = now_us;
	f->count++;
}

/*
 * What comes first on a connection in a count. Modest is who brought less in the last one than its
 * window was when that began; a count takes two round trips.
 */
EBB_INLINE void ebb_floor_count(struct ebb_floor *f, struct ebb_floor_member *m)
{
	u8 was_there = m->count + 1 == f->count;

	m->is_modest = was_there && m->bytes < m->had_bytes;
	ebb_end_step();
	m->rank = f->counted;
	if (!m->is_modest)
		f->counted++;
	m->count = f->count;
	m->had_bytes = m->told_bytes;
	m->bytes = 0;
}

/* The window of all together: what comes in a round trip at this rate, and part of what is owed. */
EBB_INLINE u64 ebb_floor_all_bytes(const struct ebb_floor *f, u32 rtt_us, u64 rate)
{
	u64 trip_bytes = ebb_floor_bytes_in(rate, ebb_min(rtt_us, EBB_FLOOR_MOST_RTT_US));

	return ebb_min(trip_bytes + ebb_min(f->credit_bytes / EBB_FLOOR_CREDIT_DIVISOR, trip_bytes),
		       EBB_FLOOR_MOST_BYTES);
}

/*
 * Whole segments, in turns where there are fewer of them than connections. Who is modest takes no
 * part, and may come to use as much as one more would have.
 */
EBB_INLINE u64 ebb_floor_part_bytes(struct ebb_floor *f, const struct ebb_floor_member *m, u64 rate)
{
	u64 mss_bytes = ebb_max(m->mss_bytes, 1);
	u64 segments = (ebb_floor_all_bytes(f, m->rtt_us, rate) + mss_bytes - 1) / mss_bytes;
	u64 among = ebb_max(ebb_max(f->members, f->counted), 1);
	u64 rank = ebb_mod(m->rank + (u64)f->count / EBB_FLOOR_TURN_COUNTS, among);

	f->has_turns = segments < among;
	if (m->is_modest)
		return segments / (among + 1) * mss_bytes;
	return (segments + rank) / among * mss_bytes;
}

/* ---- what hosts call ---- */

/* Something has come on a connection. A rate of 0 is no floor, and a ceiling of 0 none (ceiling.h). */
EBB_INLINE void ebb_floor_hear(struct ebb_floor *f, struct ebb_floor_member *m,
			       const struct ebb_floor_news *news, u64 rate, u64 ceiling)
{
	if (!f->count)
		f->count = 1;
	if (rate >= EBB_FLOOR_UNBOUND || !(rate | ceiling))
		return;
	ebb_floor_reckon(f, news, rate);
	ebb_end_step();
	m->mss_bytes = news->mss_bytes;
	if (news->rtt_us)
		m->rtt_us = news->rtt_us;
	ebb_end_step();
	ebb_floor_end_count(f, news->now_us);
	ebb_end_step();
	if (m->count != f->count || !m->had_bytes)
		ebb_floor_count(f, m);
	ebb_end_step();
	m->bytes = (u32)ebb_min((u64)m->bytes + news->bytes, EBB_FLOOR_MOST_BYTES);
	f->count_rtt_us = (u32)ebb_max(f->count_rtt_us, m->rtt_us);
}

/*
 * What a connection has of the floor, which no window is to be less than; 0 is none. The law's answer,
 * below a ceiling, is told, so that it is known what the connection is given.
 */
EBB_INLINE u32 ebb_floor_window_bytes(struct ebb_floor *f, struct ebb_floor_member *m, u64 rate,
				      u32 law_bytes)
{
	u64 part_bytes = 0;

	if (rate >= EBB_FLOOR_UNBOUND)
		return EBB_FLOOR_NO_LIMIT_BYTES;
	if (rate && m->rtt_us)
		part_bytes = ebb_floor_part_bytes(f, m, rate);
	m->told_bytes = (u32)ebb_max(ebb_max(part_bytes, law_bytes), EBB_FLOOR_LEAST_BYTES);
	return (u32)part_bytes;
}

#endif /* EBB_FLOOR_H */
