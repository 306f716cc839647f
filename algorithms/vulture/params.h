/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parameters of the law `vulture`: the constants of the paper, and one choice for
 * each point at which the paper can be read in several ways. docs/vulture.md explains
 * the choices and has the search that the defaults come from.
 */
#ifndef EBB_VULTURE_PARAMS_H
#define EBB_VULTURE_PARAMS_H

#include "receiver_contract.h"

/* piv_clock: in what the two intervals of a pair are measured. */
#define EBB_VULTURE_CLOCK_JIFFIES 0u /* both times cut to whole jiffies, then subtracted */
#define EBB_VULTURE_CLOCK_NEAREST 1u /* exact variation, rounded to the nearest jiffy */
#define EBB_VULTURE_CLOCK_WHOLE 2u   /* exact variation, only whole jiffies count */

/* pair_rule: what becomes of the packet that closed a pair, and of its partner. */
#define EBB_VULTURE_PAIR_LITERAL 0u /* partner leaves, packet is not queued */
#define EBB_VULTURE_PAIR_ENQUEUE 1u /* partner leaves, packet is queued */
#define EBB_VULTURE_PAIR_NEAREST 2u /* pairs with the youngest that is PSI older */
#define EBB_VULTURE_PAIR_CHAIN 3u   /* all leave, packet is queued: disjoint intervals */

/* pause_packets: what becomes of packets that arrive during the pause. */
#define EBB_VULTURE_PAUSE_DISCARD 0u /* pairs are made, their variations dropped */
#define EBB_VULTURE_PAUSE_STAND 1u   /* the packet queue stands still */
#define EBB_VULTURE_PAUSE_EMPTY 2u   /* the packet queue is emptied first */
#define EBB_VULTURE_PAUSE_QUEUE 3u   /* packets are queued, no pairs are made */
#define EBB_VULTURE_PAUSE_COUNT 4u   /* pairs are made, and count in the next round trip */

/* mode_rule: what makes the mode conservative. */
#define EBB_VULTURE_MODE_EITHER 0u /* sum > 0, or most variations positive */
#define EBB_VULTURE_MODE_SUM 1u    /* sum > 0 */
#define EBB_VULTURE_MODE_BOTH 2u   /* both */

/* no_piv_rule: the decision after a round trip without a pair. */
#define EBB_VULTURE_NO_PIV_FIX 0u  /* "fix for all other cases" */
#define EBB_VULTURE_NO_PIV_KEEP 1u /* the policy stands */
#define EBB_VULTURE_NO_PIV_WAIT 2u /* the round goes on until there is one */

/* pause_rule: which segment is the first that reflects the new policy. */
#define EBB_VULTURE_PAUSE_NONE 0u  /* no pause: a decision every round trip */
#define EBB_VULTURE_PAUSE_ECHO 1u  /* it echoes an acknowledgement after the decision */
#define EBB_VULTURE_PAUSE_EDGE 2u  /* it lies beyond the right edge at the decision */
#define EBB_VULTURE_PAUSE_TWICE 3u /* it echoes one after a round trip of the policy */

/* pause_scope: which decisions are followed by a pause. */
#define EBB_VULTURE_SCOPE_ALL 0u
#define EBB_VULTURE_SCOPE_NOT_FIX 1u
#define EBB_VULTURE_SCOPE_CHANGED 2u /* only if the policy differs from the last one */

/* *_stop: how long double and halve act. */
#define EBB_VULTURE_STOP_AT_TARGET 0u /* until the window is twice, or half, what it was */
#define EBB_VULTURE_STOP_NEVER 1u     /* until the next decision */
#define EBB_VULTURE_STOP_SLOW 2u      /* halve only: by half of what is acknowledged */

/* increase_rule */
#define EBB_VULTURE_INCREASE_PER_RTT 0u      /* one MSS each round trip that it stands */
#define EBB_VULTURE_INCREASE_PER_DECISION 1u /* one MSS for each decision */

/* thresh_rule: what rwndThresh remembers at a decrease. */
#define EBB_VULTURE_THRESH_BEFORE 0u /* the window before this decrease */
#define EBB_VULTURE_THRESH_PEAK 1u   /* the window before the first decrease in a row */
#define EBB_VULTURE_THRESH_AFTER 2u  /* the window that the decrease leads to */

/* loss_rule: what counts as out of order or lost. */
#define EBB_VULTURE_LOSS_HOLE 0u /* a segment that opens a hole */
#define EBB_VULTURE_LOSS_LATE 1u /* and one that fills a hole */
#define EBB_VULTURE_LOSS_ANY 2u  /* any new data that does not start at rcv_nxt */

/* loss_guard: how often losses may halve. */
#define EBB_VULTURE_GUARD_NONE 0u     /* each time */
#define EBB_VULTURE_GUARD_RTT 1u      /* once per round trip */
#define EBB_VULTURE_GUARD_RECOVERY 2u /* once until what was sent by then has arrived */

#define EBB_VULTURE_PARAMS(P)                                                                  \
	P(jiffy_us, 4000, 1, 100000, "us", "[VULTURE §0.4.1]",                                 \
	  "a jiffy: unit of the interval variations (kernel of the paper: HZ=250)")            \
	P(psi_jiffies, 5, 1, 1000, "jiffies", "[VULTURE §0.3.2]",                              \
	  "PSI: least sending interval of a pair")                                             \
	P(max_psi_jiffies, 0, 0, 1000000, "jiffies", "[VULTURE §0.3.2]",                       \
	  "partners that were sent longer ago give no pair; 0: no such limit")                 \
	P(conservative_low_jiffies, 1, 0, 1000, "jiffies", "[VULTURE §0.3.2]",                 \
	  "cLow: variations below are low in conservative mode")                               \
	P(conservative_high_jiffies, 2, 1, 1000, "jiffies", "[VULTURE §0.3.2]",                \
	  "cHigh: variations from here on are high in conservative mode")                      \
	P(aggressive_low_jiffies, 3, 0, 1000, "jiffies", "[VULTURE §0.3.2]",                   \
	  "aLow: variations up to here are low in aggressive mode")                            \
	P(aggressive_high_jiffies, 5, 1, 1000, "jiffies", "[VULTURE §0.3.2]",                  \
	  "aHigh: variations from here on are high in aggressive mode")                        \
	P(alpha_x1024, 896, 1, 1024, "1/1024", "[VULTURE §0.3.3]",                             \
	  "alpha = 7/8: share of high or low variations that decides")                         \
	P(alpha_is_enough, 0, 0, 1, "flag", "[VULTURE §0.3.3]",                                \
	  "a share of exactly alpha decides (text), or more is needed (algorithm 4)")          \
	P(piv_clock, EBB_VULTURE_CLOCK_JIFFIES, 0, 2, "choice", "[VULTURE §0.3.2]",            \
	  "0 both clocks in jiffies, 1 exact and rounded, 2 exact and cut")                    \
	P(pair_rule, EBB_VULTURE_PAIR_LITERAL, 0, 3, "choice", "[VULTURE §0.3.2]",             \
	  "0 algorithm 1 as printed, 1 queue every packet, 2 nearest partner, 3 disjoint")     \
	P(mode_rule, EBB_VULTURE_MODE_EITHER, 0, 2, "choice", "[VULTURE §0.3.2]",              \
	  "conservative if 0 sum or count, 1 sum, 2 sum and count are positive")               \
	P(no_piv_rule, EBB_VULTURE_NO_PIV_FIX, 0, 2, "choice", "[VULTURE §0.3.3]",             \
	  "round trip without a pair: 0 fix, 1 keep the policy, 2 wait for one")               \
	P(echo_is_later, 1, 0, 1, "flag", "[VULTURE §0.3.2]",                                  \
	  "a round trip ends with an echo later than its start, or as late (0)")               \
	P(pause_rule, EBB_VULTURE_PAUSE_ECHO, 0, 3, "choice", "[VULTURE §0.3.3]",              \
	  "pause: 0 none, 1 one round trip, 2 to the right edge, 3 two round trips")           \
	P(pause_scope, EBB_VULTURE_SCOPE_ALL, 0, 2, "choice", "[VULTURE §0.3.3]",              \
	  "pause after 0 every decision, 1 all but fix, 2 a change of policy")                 \
	P(pause_packets, EBB_VULTURE_PAUSE_QUEUE, 0, 4, "choice", "[VULTURE §0.3.3]",          \
	  "packets in the pause: 0 paired in vain, 1 ignored, 2 and queue emptied, "           \
	  "3 queued, 4 paired and counted")                                                    \
	P(double_stop, EBB_VULTURE_STOP_AT_TARGET, 0, 1, "choice", "[VULTURE §0.3.4]",         \
	  "double acts 0 until the window is twice as large, 1 until the next decision")       \
	P(double_to_thresh, 0, 0, 1, "flag", "[VULTURE §0.3.3]", "double stops at rwndThresh") \
	P(halve_stop, EBB_VULTURE_STOP_SLOW, 0, 2, "choice", "[VULTURE §0.3.4]",               \
	  "halve acts 0 down to half, 1 until the next decision, 2 by half of each ACK")       \
	P(increase_rule, EBB_VULTURE_INCREASE_PER_RTT, 0, 1, "choice", "[VULTURE §0.3.4]",     \
	  "increase adds an MSS 0 each round trip, 1 once per decision")                       \
	P(first_thresh_x1024, 1024, 0, 65536, "1/1024", "[VULTURE §0.3.3]",                    \
	  "rwndThresh at the start, in first windows; 0: none, so that doubling comes first")  \
	P(thresh_rule, EBB_VULTURE_THRESH_BEFORE, 0, 2, "choice", "[VULTURE §0.3.3]",          \
	  "rwndThresh: window 0 before each decrease, 1 before the first in a row, 2 after")   \
	P(thresh_on_loss, 1, 0, 1, "flag", "[VULTURE §0.3.3]",                                 \
	  "a decrease because of loss sets rwndThresh as well")                                \
	P(loss_rule, EBB_VULTURE_LOSS_HOLE, 0, 2, "choice", "[VULTURE §0.3.3]",                \
	  "lost or out of order: 0 what opens a hole, 1 or fills one, 2 any not in order")     \
	P(loss_guard, EBB_VULTURE_GUARD_RTT, 0, 2, "choice", "[VULTURE §0.3.3]",               \
	  "loss halves 0 each time, 1 once per round trip, 2 once per recovery")               \
	P(ce_is_loss, 1, 0, 1, "flag", "[VULTURE §0.3.3]",                                     \
	  "a congestion mark (ECN) counts as a loss")                                          \
	P(first_window_mss, 10, 1, 1024, "segments", "[RFC6928 §2]",                           \
	  "first window of a connection that was not observed before")                         \
	P(first_window_x1024, 1024, 64, 4096, "1/1024", "[VULTURE §0.3.5]",                    \
	  "first window of one that was, in congestion window estimates")                      \
	P(min_window_mss, 2, 1, 64, "segments", "[READING §additions]",                        \
	  "least window: two segments, or delayed acknowledgements stall the flow")            \
	P(growth_limit_x1024, 0, 0, 65536, "1/1024", "[VULTURE §0.3.5]",                       \
	  "the window grows up to so many congestion window estimates; 0: without limit")      \
	P(no_timestamps_increases, 1, 0, 1, "flag", "[READING §additions]",                    \
	  "without timestamps a round trip without loss means increase, or fix (0)")           \
	P(queue_packets, 86, 16, 512, "packets", "[VULTURE §0.3.2]",                           \
	  "packetQue: packets that it holds; what comes when it is full is not queued")

struct ebb_vulture_params {
	EBB_VULTURE_PARAMS(EBB_PARAM_FIELD)
};

#endif /* EBB_VULTURE_PARAMS_H */
