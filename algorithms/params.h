/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters of laws. They are declared once per law, as a list
 *   EBB_<LAW>_PARAMS(P), each P(name, default, min, max, unit, source, what)
 * from which the struct, the defaults and the registry are made. All are u32, in
 * the list's order, so that any law's parameters travel as a plain array.
 */
#ifndef EBB_PARAMS_H
#define EBB_PARAMS_H

#include "types.h"

/* Parameters of a law: so many u32 at the most. */
#define EBB_MAX_PARAMS 48u

#define EBB_PARAM_FIELD(name, default_value, min, max, unit, source, what) u32 name;

#endif /* EBB_PARAMS_H */
