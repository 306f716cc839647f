/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One call for all receiver laws, made from their list. The law's number must be a constant
 * of the loaded program (.rodata), so that the verifier drops all laws but one.
 */
#ifndef EBB_RECEIVER_DISPATCH_H
#define EBB_RECEIVER_DISPATCH_H

#include "own_laws.h"
#include "receiver_contract.h"
#include "receiver_laws.h"

/* Ebb's laws and those of one's own. */
#define EBB_EVERY_RECEIVER_LAW(X) EBB_RECEIVER_LAWS(X) EBB_OWN_RECEIVER_LAWS(X)
#define EBB_EVERY_ON_ACK_LAW(X) EBB_ON_ACK_LAWS(X) EBB_OWN_ON_ACK_LAWS(X)
#define EBB_EVERY_BUNDLE_LAW(X) EBB_BUNDLE_LAWS(X) EBB_OWN_BUNDLE_LAWS(X)

union ebb_law_state {
	u32 rwnd_bytes; /* every law's first field, see below */
#define EBB_STATE_MEMBER(number, name, ...) struct ebb_##name##_state name;
	EBB_EVERY_RECEIVER_LAW(EBB_STATE_MEMBER)
#undef EBB_STATE_MEMBER
};

#define EBB_RWND_IS_FIRST(number, name, ...)                                             \
	EBB_BUILD_ASSERT(__builtin_offsetof(struct ebb_##name##_state, rwnd_bytes) == 0, \
			 "rwnd_bytes comes first in a law's state");
EBB_EVERY_RECEIVER_LAW(EBB_RWND_IS_FIRST)
#undef EBB_RWND_IS_FIRST

/* The numbers of the laws by their names, for the lists of what some of them have. */
enum {
#define EBB_NUMBER(number, name, ...) EBB_LAW_##name = number,
	EBB_EVERY_RECEIVER_LAW(EBB_NUMBER)
#undef EBB_NUMBER
};

/* What a law keeps of all connections together; four bytes for those that keep nothing. */
union ebb_law_bundle {
	u32 none;
#define EBB_BUNDLE_MEMBER(name) struct ebb_##name##_bundle name;
	EBB_EVERY_BUNDLE_LAW(EBB_BUNDLE_MEMBER)
#undef EBB_BUNDLE_MEMBER
};

EBB_INLINE void ebb_law_init(u32 law_number, union ebb_law_state *state,
			     const struct ebb_start *start, const u32 *params)
{
	switch (law_number) {
#define EBB_CASE(number, name, ...)                                            \
	case number:                                                           \
		ebb_##name##_init(&state->name, start,                         \
				  (const struct ebb_##name##_params *)params); \
		break;
		EBB_EVERY_RECEIVER_LAW(EBB_CASE)
#undef EBB_CASE
	}
}

EBB_INLINE void ebb_law_on_segment(u32 law_number, union ebb_law_state *state,
				   const struct ebb_segment *segment, const u32 *params)
{
	switch (law_number) {
#define EBB_CASE(number, name, ...)                                                  \
	case number:                                                                 \
		ebb_##name##_on_segment(&state->name, segment,                       \
					(const struct ebb_##name##_params *)params); \
		break;
		EBB_EVERY_RECEIVER_LAW(EBB_CASE)
#undef EBB_CASE
	}
}

EBB_INLINE void ebb_law_on_ack(u32 law_number, union ebb_law_state *state,
			       const struct ebb_ack *ack, const u32 *params)
{
	switch (law_number) {
#define EBB_CASE(name)                                                           \
	case EBB_LAW_##name:                                                     \
		ebb_##name##_on_ack(&state->name, ack,                           \
				    (const struct ebb_##name##_params *)params); \
		break;
		EBB_EVERY_ON_ACK_LAW(EBB_CASE)
#undef EBB_CASE
	}
}

/* ---- the same for a connection that is one of many ---- */

EBB_INLINE int ebb_law_is_of_bundle(u32 law_number)
{
	switch (law_number) {
#define EBB_CASE(name) case EBB_LAW_##name:
		EBB_EVERY_BUNDLE_LAW(EBB_CASE)
#undef EBB_CASE
		return 1;
	default:
		return 0;
	}
}

EBB_INLINE void ebb_law_bundle_init(u32 law_number, union ebb_law_bundle *bundle,
				    union ebb_law_state *state, const struct ebb_start *start,
				    const u32 *params)
{
	switch (law_number) {
#define EBB_CASE(name)                                                                \
	case EBB_LAW_##name:                                                          \
		ebb_##name##_bundle_init(&bundle->name, &state->name, start,          \
					 (const struct ebb_##name##_params *)params); \
		break;
		EBB_EVERY_BUNDLE_LAW(EBB_CASE)
#undef EBB_CASE
	default:
		ebb_law_init(law_number, state, start, params);
	}
}

EBB_INLINE void ebb_law_bundle_on_segment(u32 law_number, union ebb_law_bundle *bundle,
					  union ebb_law_state *state,
					  const struct ebb_segment *segment, const u32 *params)
{
	switch (law_number) {
#define EBB_CASE(name)                                                                      \
	case EBB_LAW_##name:                                                                \
		ebb_##name##_bundle_on_segment(&bundle->name, &state->name, segment,        \
					       (const struct ebb_##name##_params *)params); \
		break;
		EBB_EVERY_BUNDLE_LAW(EBB_CASE)
#undef EBB_CASE
	default:
		ebb_law_on_segment(law_number, state, segment, params);
	}
}

EBB_INLINE void ebb_law_bundle_on_ack(u32 law_number, union ebb_law_bundle *bundle,
				      union ebb_law_state *state, const struct ebb_ack *ack,
				      const u32 *params)
{
	switch (law_number) {
#define EBB_CASE(name)                                                                  \
	case EBB_LAW_##name:                                                            \
		ebb_##name##_bundle_on_ack(&bundle->name, &state->name, ack,            \
					   (const struct ebb_##name##_params *)params); \
		break;
		EBB_EVERY_BUNDLE_LAW(EBB_CASE)
#undef EBB_CASE
	default:
		ebb_law_on_ack(law_number, state, ack, params);
	}
}

#endif /* EBB_RECEIVER_DISPATCH_H */
