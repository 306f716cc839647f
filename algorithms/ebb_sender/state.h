/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ebb-sender law's parameters, constants and state for one connection. See ebb_sender.h.
 */
#ifndef EBB_EBB_SENDER_STATE_H
#define EBB_EBB_SENDER_STATE_H

#include "ebb/ebb.h"
#include "forward_delay.h"

/* [EBBSENDER §thresholds] Delays are exact to the microsecond: 2, 4 and 8 ms; [EBBSENDER §again] a
 * cut to four segments is YIELD. */
#define EBB_EBB_SENDER_PARAMS(P) EBB_EBB_LIST(P, 2000, 4000, 8000, 4)

/* [EBBSENDER §pairs] Segments of a pair: as many are acknowledged at once. */
#define EBB_EBB_SENDER_PAIR 2u
/* [EBBSENDER §pairs] After a pair so many lone segments are sent to others who stay, or so many if
 * a route may have become longer. */
#define EBB_EBB_SENDER_LONE 3u
#define EBB_EBB_SENDER_LONE_CALM 1u
/* [EBBSENDER §pairs] For so long the acknowledgement of a lone segment is held, on Linux. */
#define EBB_EBB_SENDER_HELD_US 40000u
/* [EBBSENDER §start] So many acknowledgements of a round trip show a queue that slow start meets. */
#define EBB_EBB_SENDER_START_ACKS 4u
/* [RFC9438 §4.6] What a loss without a queue leaves of the window. */
#define EBB_EBB_SENDER_NOISE_X10 7u
/* [EBBSENDER §taking over] More in flight than so many windows is older than the law. */
#define EBB_EBB_SENDER_OLDER_WINDOWS 2u
/* [EBBSENDER §trains] A train is a pair and what takes so long at C, so many segments of it. */
#define EBB_EBB_SENDER_TRAIN_US 1000u
#define EBB_EBB_SENDER_TRAIN_LEAST 2u
#define EBB_EBB_SENDER_TRAIN_MOST 30u
/* [EBBSENDER §trains] Others are in it if it takes longer by this part of itself, and this. */
#define EBB_EBB_SENDER_STRETCH_X10 3u
#define EBB_EBB_SENDER_STRETCH_US 200u
/* [EBBSENDER §again] Out of YIELD the window begins with so many segments, with such a part of the
 * BDP and of the room in front of the link at the most. */
#define EBB_EBB_SENDER_AGAIN 9u
#define EBB_EBB_SENDER_AGAIN_DIVISOR 4u
/* [EBBSENDER §trains] So many trains in a row are believed. */
#define EBB_EBB_SENDER_TRAINS_BELIEVED 16u
/* [EBBSENDER §trains] A test is over after so many RTT, and some ms, at the latest. */
#define EBB_EBB_SENDER_TEST_RTTS 4u
#define EBB_EBB_SENDER_TEST_US 300000u
/* [EBBSENDER §trains] A queue at less than this part of the BDP may be of one's own queue. */
#define EBB_EBB_SENDER_SHARE_X10 8u
/* [EBBSENDER §trains] From one such test to the next, at first and at the most. */
#define EBB_EBB_SENDER_SUSPECT_US 1000000u
#define EBB_EBB_SENDER_SUSPECT_MOST_US 4000000u

struct ebb_ebb_sender_params {
	struct ebb_ebb_params own;
};

enum ebb_ebb_sender_test {
	EBB_EBB_SENDER_NO_TEST,
	EBB_EBB_SENDER_HOLD,  /* until the train has been held back */
	EBB_EBB_SENDER_TRAIN, /* until it has been acknowledged */
};

struct ebb_ebb_sender_state {
	struct ebb_sender_window window;
	struct ebb_ebb_state own;   /* the judgement; its rwnd_bytes is W */
	struct ebb_clock peer;      /* the peer's clock: what queues on the way back */
	struct ebb_segment segment; /* the acknowledgement in words of a receiver's law: of the
					* stack, the verifier would follow each way up to here */
	u64 test_until_us;
	u64 first_us;      /* the first acknowledgement of the train; 0: none yet */
	u64 suspect_at_us; /* the next test outside of YIELD is not before */
	u32 suspect_us;    /* from the last one to that */
	u32 test_seq;      /* what is sent from here on is the train, or comes before it */
	u32 train_pkts;    /* that this test sends */
	u32 first_seq;     /* as far as the first acknowledgement of the train went */
	u32 settle_bytes;  /* W when slow start met a queue, until that is judged; else 0 */
	u32 prior_bytes;   /* W before the last loss, for undo */
	u8 test;           /* enum ebb_ebb_sender_test */
	u8 stretched;      /* trains in a row that others were in */
	u8 is_restarting;  /* slow start back to W, after a time-out or an idle time */
	u8 is_suspicious;  /* a test is due, when it may be */
	u8 is_pairing;     /* the last acknowledgement was of a lone segment */
	u8 was_yielding;   /* before the decision, as was_blind; they stand here as segment does */
	u8 was_blind;
	u8 lone_left; /* lone segments in YIELD until the next pair */
	u8 was_lone;  /* what was acknowledged was one of these */
	u8 is_late;   /* the delay of a lone segment, which may be its acknowledgement's */
	u32 bytes;    /* delivered by this acknowledgement; it stands here as segment does */
};

#endif /* EBB_EBB_SENDER_STATE_H */
