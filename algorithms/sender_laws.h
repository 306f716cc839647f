/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sender laws, listed once: hosts make their dispatch from this list.
 * X(number, identifier, "name", PARAMS, flags, summary) needs
 * ebb_<identifier>_{init,on_ack,on_loss,on_timeout,on_undo,on_idle}, struct
 * ebb_<identifier>_state (first member: struct ebb_sender_window window) and struct
 * ebb_<identifier>_params with its list PARAMS. Numbers are part of the kernel programs'
 * interface, from 101 on: never reuse one. In the kernel a law is called "ebb_" and its
 * name, a policy's own "ebb1_" and so on, with - as _ and + as p: 15 characters at most.
 */
#ifndef EBB_SENDER_LAWS_H
#define EBB_SENDER_LAWS_H

#include "bbr/bbr.h"
#include "cubic/cubic.h"
#include "cubic_plus/cubic_plus.h"
#include "ebb_sender/ebb_sender.h"
#include "ledbat/ledbat.h"
#include "ledbat_pp/ledbat_pp.h"
#include "paced/paced.h"
#include "reno/reno.h"
#include "reno_plus/reno_plus.h"
#include "tcp_lp/tcp_lp.h"
#include "tcp_lp_ecn/tcp_lp_ecn.h"
#include "vegas/vegas.h"

#define EBB_SENDER_LAWS(X)                                                                    \
	X(101, reno, "reno", EBB_RENO_PARAMS, 0,                                              \
	  "Reno (RFC 5681): one segment more per round trip, half at a loss")                 \
	X(102, cubic, "cubic", EBB_CUBIC_PARAMS, 0,                                           \
	  "CUBIC (RFC 9438), HyStart++: what most of the Internet sends with")                \
	X(103, vegas, "vegas", EBB_VEGAS_PARAMS, 0,                                           \
	  "Vegas (1994): keeps two to four segments of its own in the queue")                 \
	X(104, bbr, "bbr", EBB_BBR_PARAMS, EBB_SENDER_FULL_CONTROL,                           \
	  "BBR version 1 (2016): paces at the rate at which the path delivers")               \
	X(105, cubic_plus, "cubic+", EBB_CUBIC_PLUS_PARAMS, 0,                                \
	  "Cubic+ (2016): cubic that holds its window when queues build up")                  \
	X(106, reno_plus, "reno+", EBB_RENO_PLUS_PARAMS, 0,                                   \
	  "reno with the delayed window update of Cubic+")                                    \
	X(107, tcp_lp, "tcp-lp", EBB_TCP_LP_PARAMS, 0,                                        \
	  "TCP-LP (Rice, 2006): steps aside as soon as one-way delays rise")                  \
	X(108, tcp_lp_ecn, "tcp-lp-ecn", EBB_TCP_LP_ECN_PARAMS, EBB_SENDER_NEEDS_ECN,         \
	  "TCP-LP/ECN: as tcp-lp, told by the routers' congestion marks")                     \
	X(109, ledbat, "ledbat", EBB_LEDBAT_PARAMS, 0,                                        \
	  "LEDBAT (RFC 6817): steers its own queueing delay to a target")                     \
	X(110, ledbat_pp, "ledbat++", EBB_LEDBAT_PP_PARAMS, 0,                                \
	  "LEDBAT++ (after its implementations): 60 ms, and slowdowns to see the empty path") \
	X(112, ebb_sender, "ebb-sender", EBB_EBB_SENDER_PARAMS, 0,                            \
	  "Ebb's own at the sender: judges whose queue it is as ebb does, by what it sends")

/* Those for hosts that see no acknowledgements, only counters, and set a pace alone. */
#define EBB_COUNTER_SENDER_LAWS(X)                  \
	X(111, paced, "paced", EBB_PACED_PARAMS, 0, \
	  "Ebb's own for hosts that see only the kernel's counters and set only a pace")

#endif /* EBB_SENDER_LAWS_H */
