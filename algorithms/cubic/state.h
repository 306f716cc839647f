/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters and state of the law `cubic`; see cubic.h.
 */
#ifndef EBB_CUBIC_STATE_H
#define EBB_CUBIC_STATE_H

#include "sender_contract.h"

/* rules: where Linux does otherwise than the RFC (list in cubic.h). */
#define EBB_CUBIC_RULES_RFC 0u
#define EBB_CUBIC_RULES_LINUX 1u

/* hystart: how slow start ends before the first loss. */
#define EBB_CUBIC_HYSTART_OFF 0u   /* at a loss only */
#define EBB_CUBIC_HYSTART_PLUS 1u  /* HyStart++: delay, then conservative slow start */
#define EBB_CUBIC_HYSTART_LINUX 2u /* HyStart: acknowledgement train, or delay */

#define EBB_CUBIC_PARAMS(P)                                                                       \
	P(beta_x1024, 717, 64, 1000, "1/1024", "[RFC9438 §4.6]",                                  \
	  "beta = 0.7: what a loss leaves of the window")                                         \
	P(c_x1000, 400, 100, 10000, "1/1000", "[RFC9438 §5.1]",                                   \
	  "C = 0.4: how fast the window grows, in segments per cubic second")                     \
	P(fast_convergence, 1, 0, 1, "flag", "[RFC9438 §4.7]",                                    \
	  "a flow that loses below its last maximum aims lower, for newcomers")                   \
	P(reno_friendly, 1, 0, 1, "flag", "[RFC9438 §4.3]",                                       \
	  "the window is never below what Reno would have")                                       \
	P(rules, EBB_CUBIC_RULES_RFC, 0, 1, "choice", "[RFC9438 §4]",                             \
	  "0 as the RFC, 1 as Linux 6.18")                                                        \
	P(hystart, EBB_CUBIC_HYSTART_PLUS, 0, 2, "choice", "[RFC9406 §4]",                        \
	  "slow start ends 0 at a loss, 1 by HyStart++, 2 by HyStart as Linux 6.18 has it")       \
	P(least_ssthresh_pkts, 2, 1, 1000, "segments", "[RFC9438 §4.6]",                          \
	  "least threshold after a loss")                                                         \
	P(rtt_samples, 8, 1, 1000, "samples", "[RFC9406 §4.3]",                                   \
	  "N_RTT_SAMPLE: RTT samples of a round before it is judged")                             \
	P(rtt_divisor, 8, 1, 1000, "1", "[RFC9406 §4.3]",                                         \
	  "MIN_RTT_DIVISOR: a round is delayed by this part of the RTT, within the bounds below") \
	P(min_rtt_thresh_us, 4000, 0, 1000000, "us", "[RFC9406 §4.3]",                            \
	  "MIN_RTT_THRESH: least delay that ends slow start")                                     \
	P(max_rtt_thresh_us, 16000, 0, 1000000, "us", "[RFC9406 §4.3]",                           \
	  "MAX_RTT_THRESH: delay that ends it on any path")                                       \
	P(css_divisor, 4, 1, 1000, "1", "[RFC9406 §4.3]",                                         \
	  "CSS_GROWTH_DIVISOR: how much slower conservative slow start grows")                    \
	P(css_rounds, 5, 1, 1000, "rounds", "[RFC9406 §4.3]",                                     \
	  "CSS_ROUNDS: length of conservative slow start")                                        \
	P(burst_limit_pkts, 8, 0, 65535, "segments", "[RFC9406 §4.3]",                            \
	  "L: most that one acknowledgement adds in slow start; 0: no limit, for paced hosts")    \
	P(low_window_pkts, 16, 0, 1000000, "segments", "[LINUXCUBIC]",                            \
	  "hystart 2: windows below are not judged")                                              \
	P(train_gap_us, 2000, 0, 1000000, "us", "[LINUXCUBIC]",                                   \
	  "hystart 2: gap that ends a train of acknowledgements")                                 \
	P(train_share_x1024, 512, 1, 65536, "1/1024", "[LINUXCUBIC]",                             \
	  "hystart 2: a train of this part of the RTT ends slow start; 1024 on paced hosts")      \
	P(train_slack_us, 1000, 0, 1000000, "us", "[LINUXCUBIC]",                                 \
	  "hystart 2: what the RTT is taken to be longer, for aggregated acknowledgements")

struct ebb_cubic_params {
	EBB_CUBIC_PARAMS(EBB_PARAM_FIELD)
};

/* What a spurious loss is undone to [RFC9438 §4.9]. */
struct ebb_cubic_stage {
	u64 epoch_us;        /* start of the current congestion avoidance, idle time left out */
	u32 w_max_pkts;      /* window before the last loss, or what fast convergence made of
			       * it; 0: none since the start or since a time-out */
	u32 origin_pkts;     /* plateau of this stage's curve */
	u32 k_x1024;         /* time from the epoch to the plateau, in s/1024 */
	u32 prior_cwnd_pkts; /* window before the last loss */
	u32 w_est_pkts;      /* what Reno would have */
	u32 has_epoch;       /* nothing above but w_max and prior_cwnd means anything without */
	u64 w_est_acked_x1m; /* towards the next segment of w_est, times alpha */
};

struct ebb_cubic_state {
	struct ebb_sender_window window;
	struct ebb_cubic_stage now;
	struct ebb_cubic_stage undo; /* before the last reduction */
	u64 last_ack_us;             /* when acknowledged segments came last */
	u64 update_us;               /* rules 1: when per_pkts was last reckoned */
	u64 round_us;                /* hystart 2: start of the round's train */
	u64 train_us;                /* hystart 2: last acknowledgement of the train */
	u32 undo_cwnd_pkts;
	u32 credit_x65536;     /* rules 0: part of a segment that the window is due */
	u32 credit_pkts;       /* rules 1: acknowledged towards the next segment */
	u32 per_pkts;          /* rules 1: so many acknowledged segments earn one */
	u32 update_cwnd_pkts;  /* rules 1: window when per_pkts was last reckoned */
	u32 min_rtt_us;        /* of the connection; 0: none */
	u32 round_end_seq;     /* slow start: the round ends when this is acknowledged */
	u32 round_rtt_us;      /* least RTT of the round; 0: none */
	u32 round_samples;     /* RTT samples of the round */
	u32 last_round_rtt_us; /* least RTT of the last round; 0: none */
	u32 css_base_rtt_us;   /* least RTT of the round in which CSS began; 0: no CSS */
	u32 css_rounds;        /* rounds of CSS so far */
	u32 css_credit_pkts;   /* acknowledged towards the next segment in CSS */
	u8 has_round;
	u8 has_reduced; /* the first slow start is over */
	u8 reserved[2];
};

#endif /* EBB_CUBIC_STATE_H */
