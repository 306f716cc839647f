/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cubic+: cubic with the delayed window update, which keeps queues short without giving
 * up against other loss-based flows. The paper's own combination.
 *
 * Source: [CUBICPLUS]; differences in delayed_update.h and cubic.h. Domain: that of cubic.
 */
#ifndef EBB_CUBIC_PLUS_H
#define EBB_CUBIC_PLUS_H

#include "cubic/cubic.h"
#include "delayed_update.h"

#define EBB_CUBIC_PLUS_PARAMS(P) EBB_DELAYED_UPDATE_PARAMS(P) EBB_CUBIC_PARAMS(P)

EBB_INLINE void ebb_cubic_restart(struct ebb_cubic_state *state)
{
	state->now.has_epoch = 0;
}

EBB_DELAYED_UPDATE_LAW(cubic_plus, cubic)

#endif /* EBB_CUBIC_PLUS_H */
