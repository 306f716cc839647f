/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters and state of the law `bbr`; see bbr.h.
 */
#ifndef EBB_BBR_STATE_H
#define EBB_BBR_STATE_H

#include "sender_contract.h"

#define EBB_BBR_PARAMS(P)                                                                       \
	P(high_gain_x1024, 2955, 1024, 10240, "1/1024", "[BBRDRAFT §4.3.2]",                    \
	  "2/ln 2: gain of pace and window in STARTUP, which doubles them each round trip")     \
	P(drain_gain_x1024, 355, 16, 1024, "1/1024", "[BBRDRAFT §4.3.3]",                       \
	  "ln 2 / 2: gain of the pace in DRAIN")                                                \
	P(cwnd_gain_x1024, 2048, 1024, 10240, "1/1024", "[BBRDRAFT §4.2.3]",                    \
	  "window beyond STARTUP, in bandwidth-delay products")                                 \
	P(probe_gain_x1024, 1280, 1024, 10240, "1/1024", "[BBRDRAFT §4.3.4]",                   \
	  "gain of the pace while it probes for bandwidth")                                     \
	P(yield_gain_x1024, 768, 16, 1024, "1/1024", "[BBRDRAFT §4.3.4]",                       \
	  "gain of the pace in the phase after that")                                           \
	P(full_growth_x1024, 1280, 1024, 10240, "1/1024", "[BBRDRAFT §4.3.2]",                  \
	  "bandwidth that grows less in a round trip has hit the link")                         \
	P(full_rounds, 3, 1, 1000, "round trips", "[BBRDRAFT §4.3.2]",                          \
	  "so many such round trips end STARTUP")                                               \
	P(bandwidth_rounds, 10, 2, 10, "round trips", "[BBRDRAFT §4.1.1]",                      \
	  "BtlBw is the greatest rate of so many")                                              \
	P(min_rtt_window_ms, 10000, 100, 1000000, "ms", "[BBRDRAFT §4.1.2]",                    \
	  "RTprop is looked for again after so long")                                           \
	P(probe_rtt_ms, 200, 1, 100000, "ms", "[BBRDRAFT §4.3.5]", "least length of PROBE_RTT") \
	P(least_cwnd_pkts, 4, 1, 1000, "segments", "[BBRDRAFT §4.2.3]",                         \
	  "least window, and that of PROBE_RTT")                                                \
	P(pacing_margin_x1000, 10, 0, 900, "1/1000", "[LINUXBBR]",                              \
	  "what the pace is below bandwidth times gain, so that queues drain")                  \
	P(conserves, 1, 0, 1, "flag", "[BBRDRAFT §4.2.3]",                                      \
	  "packet conservation in the first round trip of a recovery")                          \
	P(detects_policer, 1, 0, 1, "flag", "[LINUXBBR]",                                       \
	  "long-term bandwidth: paces at the rate of a token bucket that drops")                \
	P(policer_loss_x1024, 200, 1, 1024, "1/1024", "[LINUXBBR]",                             \
	  "a policer drops at least this part")                                                 \
	P(policer_least_rounds, 4, 1, 1000, "round trips", "[LINUXBBR]",                        \
	  "least length of an interval over which a policer's rate is measured")                \
	P(policer_rounds, 48, 1, 10000, "round trips", "[LINUXBBR]",                            \
	  "so long a policer's rate is kept before bandwidth is probed again")                  \
	P(extra_gain_x1024, 1024, 0, 10240, "1/1024", "[LINUXBBR]",                             \
	  "what of aggregated acknowledgements the window allows for; 0: nothing")              \
	P(extra_rounds, 5, 1, 31, "round trips", "[LINUXBBR]",                                  \
	  "aggregation is the greatest of one to two spans of so many")

struct ebb_bbr_params {
	EBB_BBR_PARAMS(EBB_PARAM_FIELD)
};

/* [BBRDRAFT §4.1.1] Slots of the bandwidth filter: its longest window in round trips. */
#define EBB_BBR_SLOTS 10u
/* [BBRDRAFT §4.3.4] Phases of PROBE_BW: one up, one down, six even. */
#define EBB_BBR_PHASES 8u
/* [BBRDRAFT §4.3.4] The phase that is not drawn at the start: the one that yields. */
#define EBB_BBR_YIELDING_PHASE 1u

enum ebb_bbr_mode {
	EBB_BBR_STARTUP,
	EBB_BBR_DRAIN,
	EBB_BBR_PROBE_BW,
	EBB_BBR_PROBE_RTT,
};

struct ebb_bbr_state {
	struct ebb_sender_window window;
	u64 rates_bytes_per_s[EBB_BBR_SLOTS]; /* greatest sample of each round, newest first */
	u64 older_bytes_per_s;                /* greatest of all but the newest */
	u64 full_bytes_per_s;    /* bandwidth that the next round of STARTUP must exceed */
	u64 round_end_pkts;      /* a round ends with a sample sent when so many were delivered */
	u64 min_rtt_at_us;       /* when min_rtt was measured, or PROBE_RTT ended */
	u64 phase_at_us;         /* start of the phase of PROBE_BW */
	u64 probe_rtt_until_us;  /* 0: the flight is not small enough yet */
	u64 probed_from_pkts;    /* samples of what was sent between these two deliveries are */
	u64 probed_until_pkts;   /* of a PROBE_RTT: no more than lower bounds */
	u64 policer_bytes_per_s; /* 0: none seen */
	u64 policer_at_us;       /* start of the interval that measures it */
	u64 policer_delivered_pkts; /* delivered by then */
	u64 policer_lost_pkts;      /* lost by then */
	u64 lost_pkts;              /* of the connection */
	u64 delivered_pkts;         /* of the connection */
	u64 extra_at_us; /* start of the stretch in which ACKs come faster than the bandwidth */
	u64 extra_acked_pkts; /* delivered in it */
	u32 extra_pkts[2];    /* greatest excess in this span and in the one before */
	u32 extra_rounds;     /* rounds of this span */
	u32 min_rtt_us;       /* 0: none */
	u32 mss_bytes;
	u32 first_cwnd_pkts;
	u32 prior_cwnd_pkts; /* to go back to after a recovery or PROBE_RTT */
	u32 pending_rounds;  /* that the filter has not counted yet */
	u32 policer_round;   /* rounds of the interval, or since its rate is used */
	u8 mode;             /* enum ebb_bbr_mode */
	u8 phase;            /* of PROBE_BW */
	u8 host_phase;       /* of the last acknowledgement: enum ebb_sender_phase */
	u8 full_rounds;      /* rounds without growth in STARTUP */
	u8 is_full;          /* STARTUP has found the bandwidth */
	u8 is_round_start;
	u8 is_conserving;
	u8 is_restarting; /* after an idle time */
	u8 is_probe_round_over;
	u8 is_measuring_policer;
	u8 is_policed;
	u8 has_seen_rtt; /* the first pace is of a measured RTT */
	u8 reserved[8];
};

#endif /* EBB_BBR_STATE_H */
