/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reno+: reno with the delayed window update, which its paper says fits any loss-based law.
 *
 * Source: [CUBICPLUS]; differences in delayed_update.h and reno.h. Domain: that of reno.
 */
#ifndef EBB_RENO_PLUS_H
#define EBB_RENO_PLUS_H

#include "delayed_update.h"
#include "reno/reno.h"

#define EBB_RENO_PLUS_PARAMS(P) EBB_DELAYED_UPDATE_PARAMS(P) EBB_RENO_PARAMS(P)

/* reno has no curve. */
EBB_INLINE void ebb_reno_restart(struct ebb_reno_state *state)
{
	(void)state;
}

EBB_DELAYED_UPDATE_LAW(reno_plus, reno)

#endif /* EBB_RENO_PLUS_H */
