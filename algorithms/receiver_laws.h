/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receiver laws, listed once: hosts make their dispatch from this list.
 * X(number, name, PARAMS, summary) needs ebb_<name>_{init,on_segment}, struct ebb_<name>_state
 * (with rwnd_bytes), struct ebb_<name>_params and its list PARAMS.
 * Numbers are part of the kernel programs' interface: never reuse one.
 */
#ifndef EBB_RECEIVER_LAWS_H
#define EBB_RECEIVER_LAWS_H

#include "ebb/bundle.h"
#include "rate/rate.h"
#include "rledbat/rledbat.h"
#include "sampled/sampled.h"
#include "vulture/vulture.h"

#define EBB_RECEIVER_LAWS(X)                                                             \
	X(1, ebb, EBB_EBB_PARAMS,                                                        \
	  "Ebb's own: a few ms of queue, steps aside at once, takes the link when idle") \
	X(2, vulture, EBB_VULTURE_PARAMS,                                                \
	  "Vulture (Oslo, 2017): judges the queue by how packet intervals vary")         \
	X(3, rledbat, EBB_RLEDBAT_PARAMS,                                                \
	  "rLEDBAT (after its implementations): LEDBAT++ by the advertised window")      \
	X(4, rate, EBB_RATE_PARAMS,                                                      \
	  "rate (BWSS, 2003): holds a flow at a rate by window and ACK delay")

/* Those for hosts that see no packets, only counters; the kernel's programs lack them. */
#define EBB_COUNTER_RECEIVER_LAWS(X)      \
	X(5, sampled, EBB_SAMPLED_PARAMS, \
	  "Ebb's own for hosts that see no packets, only the counters that the kernel keeps")

/*
 * What a law may have beyond these hooks, X(name), each list for hosts that ask for it:
 * ebb_<name>_on_ack, where outgoing segments change the answer, too; ack_delay_us in its state;
 * ebb_<name>_estimate_bytes(state), what it takes the sender's congestion window for; struct
 * ebb_<name>_pairs with ebb_<name>_pairs_{on_segment,end_round}, the packet interval variations
 * that it goes by; struct ebb_<name>_bundle with ebb_<name>_bundle_{init,on_segment,on_ack}, all
 * connections of a policy as one, and member.wait_us in its state.
 */
#define EBB_ON_ACK_LAWS(X) \
	X(ebb)             \
	X(vulture)
#define EBB_ACK_DELAY_LAWS(X) X(rate)
#define EBB_ESTIMATE_LAWS(X) X(vulture)
#define EBB_PAIRS_LAWS(X) X(vulture)
#define EBB_BUNDLE_LAWS(X) X(ebb)

#endif /* EBB_RECEIVER_LAWS_H */
