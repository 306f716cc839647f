/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The laws as ordinary functions, for the Rust face in src/. */
#include "native.h"

#include "insight.h"
#include "layout.h"
#include "native_tables.h"
#include "receiver_laws.h"
#include "sender_floor.h"
#include "sender_laws.h"

EBB_RECEIVER_LAWS(EBB_NATIVE_RECEIVER_LAW)
EBB_COUNTER_RECEIVER_LAWS(EBB_NATIVE_RECEIVER_LAW)

EBB_ON_ACK_LAWS(EBB_NATIVE_ON_ACK)
EBB_ACK_DELAY_LAWS(EBB_NATIVE_ACK_DELAY)
EBB_ESTIMATE_LAWS(EBB_NATIVE_ESTIMATE)
EBB_PAIRS_LAWS(EBB_NATIVE_PAIRS)
EBB_BUNDLE_LAWS(EBB_NATIVE_BUNDLE)

/* ---- the table of receiver laws ---- */

enum { EBB_RECEIVER_LAWS(EBB_NATIVE_AT) EBB_COUNTER_RECEIVER_LAWS(EBB_NATIVE_AT) };

const struct ebb_native_receiver_law ebb_native_receiver_laws[] = {
	EBB_RECEIVER_LAWS(EBB_NATIVE_OF_PACKETS) EBB_COUNTER_RECEIVER_LAWS(EBB_NATIVE_OF_COUNTERS)
		EBB_ON_ACK_LAWS(EBB_NATIVE_HAS_ON_ACK) EBB_ACK_DELAY_LAWS(EBB_NATIVE_HAS_ACK_DELAY)
			EBB_ESTIMATE_LAWS(EBB_NATIVE_HAS_ESTIMATE)
				EBB_PAIRS_LAWS(EBB_NATIVE_HAS_PAIRS)
					EBB_BUNDLE_LAWS(EBB_NATIVE_HAS_BUNDLE)};
const u32 ebb_native_receiver_law_count =
	sizeof(ebb_native_receiver_laws) / sizeof(ebb_native_receiver_laws[0]);

/* ---- sender laws ---- */

EBB_SENDER_LAWS(EBB_NATIVE_SENDER_LAW)
EBB_COUNTER_SENDER_LAWS(EBB_NATIVE_SENDER_LAW)

const struct ebb_native_sender_law ebb_native_sender_laws[] = {EBB_SENDER_LAWS(
	EBB_NATIVE_SENDER_OF_PACKETS) EBB_COUNTER_SENDER_LAWS(EBB_NATIVE_SENDER_OF_COUNTERS)};
const u32 ebb_native_sender_law_count =
	sizeof(ebb_native_sender_laws) / sizeof(ebb_native_sender_laws[0]);

/* ---- what src/ has as well ---- */

#define EBB_ASSERT_SIZE(c_struct, rust_struct, bytes) \
	EBB_BUILD_ASSERT(sizeof(struct c_struct) == (bytes), "layout.h: size of " #c_struct);
#define EBB_ASSERT_OFFSET(c_struct, rust_struct, field, bytes)                  \
	EBB_BUILD_ASSERT(__builtin_offsetof(struct c_struct, field) == (bytes), \
			 "layout.h: offset of " #field " in " #c_struct);
#define EBB_ASSERT_NUMBER(c_name, rust_expression, number) \
	EBB_BUILD_ASSERT(c_name == (number), "layout.h: " #c_name);

EBB_LAYOUT_SIZES(EBB_ASSERT_SIZE)
EBB_LAYOUT_OFFSETS(EBB_ASSERT_OFFSET)
EBB_LAYOUT_NUMBERS(EBB_ASSERT_NUMBER)
#if __SIZEOF_POINTER__ == 8
EBB_LAYOUT_TABLE_SIZES(EBB_ASSERT_SIZE)
EBB_LAYOUT_TABLE_OFFSETS(EBB_ASSERT_OFFSET)
#endif
