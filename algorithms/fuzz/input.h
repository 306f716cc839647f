/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the fuzzer's bytes stand for: small numbers in one byte, times and sizes on a
 * logarithmic scale in one, and now and then any value at all. When the bytes are used up
 * every answer is 0.
 */
#ifndef EBB_FUZZ_INPUT_H
#define EBB_FUZZ_INPUT_H

#include <string.h>

#include "types.h"

struct input {
	const u8 *at;
	u64 left;
};

static inline u8 take_byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static inline u64 take_bytes(struct input *in, u32 count)
{
	u64 value = 0;

	while (count--)
		value = value << 8 | take_byte(in);
	return value;
}

/* 0 to 15 * 2^30, with four bits of precision. */
static inline u64 take_scaled(struct input *in)
{
	u8 byte = take_byte(in);

	return (u64)(byte & 15) << (byte >> 4) * 2;
}

/* Values at which 32-bit arithmetic breaks. */
static const u32 edge_values[] = {
	0,          1,          2,          3,          4,          63,         64,
	1000,       1448,       0xffff,     0x10000,    1000000,    1 << 24,    1 << 30,
	0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
};

/* Any value: one at which arithmetic breaks, a small one, or all 32 bits. */
static inline u32 take_any(struct input *in)
{
	u8 kind = take_byte(in);
	u32 count = sizeof(edge_values) / sizeof(edge_values[0]);

	if (kind < count)
		return edge_values[kind];
	if (kind < 128)
		return take_byte(in);
	return (u32)take_bytes(in, 4);
}

/* Writes up to three words of a struct over with anything; answers whether it did. */
static inline u8 spoil(struct input *in, void *object, u32 object_bytes)
{
	u32 words = take_byte(in) % 4, word, i;

	for (i = 0; i < words; i++) {
		u32 offset = take_byte(in) % (object_bytes / sizeof(word)) * sizeof(word);

		word = take_any(in);
		memcpy((u8 *)object + offset, &word, sizeof(word));
	}
	return words > 0;
}

#endif /* EBB_FUZZ_INPUT_H */
