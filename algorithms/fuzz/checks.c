/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The compiler's checks report here (-fsanitize-minimal-runtime): undefined behaviour is a
 * finding, and so is an unsigned product that does not fit, because the laws promise that
 * theirs do. Unsigned sums and differences may wrap: sequence numbers and clocks do.
 */
#include "checks.h"

#include <string.h>

#define FILL_BYTES 2048u

__attribute__((noinline)) void fill_stack(u8 byte)
{
	volatile u8 fill[FILL_BYTES];

	memset((void *)fill, byte, sizeof(fill));
	__asm__ volatile("" : : "r"(fill) : "memory");
}

static void find(const char *what)
{
	fprintf(stderr, "finding: undefined behaviour: %s\n", what);
	abort();
}

#define IS_FINDING(name)                                  \
	void __ubsan_handle_##name##_minimal(void);       \
	void __ubsan_handle_##name##_minimal(void)        \
	{                                                 \
		find(#name);                              \
	}                                                 \
	void __ubsan_handle_##name##_minimal_abort(void); \
	void __ubsan_handle_##name##_minimal_abort(void)  \
	{                                                 \
		find(#name);                              \
	}

/* Where the compiler does not abort, the arithmetic was unsigned. */
#define MAY_WRAP(name)                                    \
	void __ubsan_handle_##name##_minimal(void);       \
	void __ubsan_handle_##name##_minimal(void)        \
	{                                                 \
	}                                                 \
	void __ubsan_handle_##name##_minimal_abort(void); \
	void __ubsan_handle_##name##_minimal_abort(void)  \
	{                                                 \
		find(#name);                              \
	}

MAY_WRAP(add_overflow)
MAY_WRAP(sub_overflow)
MAY_WRAP(negate_overflow)
IS_FINDING(mul_overflow)
IS_FINDING(alignment_assumption)
IS_FINDING(builtin_unreachable)
IS_FINDING(cfi_check_fail)
IS_FINDING(divrem_overflow)
IS_FINDING(float_cast_overflow)
IS_FINDING(function_type_mismatch)
IS_FINDING(implicit_conversion)
IS_FINDING(invalid_builtin)
IS_FINDING(invalid_objc_cast)
IS_FINDING(load_invalid_value)
IS_FINDING(missing_return)
IS_FINDING(nonnull_arg)
IS_FINDING(nonnull_return)
IS_FINDING(nullability_arg)
IS_FINDING(nullability_return)
IS_FINDING(out_of_bounds)
IS_FINDING(pointer_overflow)
IS_FINDING(shift_out_of_bounds)
IS_FINDING(type_mismatch)
IS_FINDING(vla_bound_not_positive)
