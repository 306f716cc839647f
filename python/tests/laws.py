# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Laws to build."""

# The smallest receiver law: always the same window.
WINDOW = """
#include "receiver_contract.h"
#define EBB_WINDOW_PARAMS(P) P(unused, 0, 0, 1, "1", "none", "nothing")
struct ebb_window_params { EBB_WINDOW_PARAMS(EBB_PARAM_FIELD) };
struct ebb_window_state { u32 rwnd_bytes; };
EBB_INLINE void ebb_window_init(struct ebb_window_state *state, const struct ebb_start *start,
				const struct ebb_window_params *params)
{
	(void)start;
	(void)params;
	state->rwnd_bytes = %d;
}
EBB_INLINE void ebb_window_on_segment(struct ebb_window_state *state,
				      const struct ebb_segment *segment,
				      const struct ebb_window_params *params)
{
	(void)state;
	(void)segment;
	(void)params;
}
#define EBB_OWN_RECEIVER_LAWS(X) X(1000, window, EBB_WINDOW_PARAMS, "always the same window")
"""
