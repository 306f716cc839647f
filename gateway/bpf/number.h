/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection's number, by which tables have it. The kernel's own hash takes one word of a key
 * after the other, ten of them for the ends of a connection. These products wait for nothing.
 */
#ifndef EBB_NUMBER_H
#define EBB_NUMBER_H

#include "control.h"

/* Lowest bit of a number: which way of the connection. */
#define EBB_UPLOAD 1ull

/*
 * [NH] Black, Halevi, Krawczyk, Krovetz, Rogaway, "UMAC: Fast and Secure Message Authentication",
 * CRYPTO '99, §4.2: who does not know the secret finds two connections of one number by one chance
 * in 2^31. Tables that are asked by it compare the ends.
 */
EBB_INLINE u64 ebb_connection_number(const struct ebb_connection *ends, const volatile u32 *secret)
{
	u64 sum = 0;

	for (u32 i = 0; i < EBB_ADDRESS_WORDS; i += 2) {
		sum += (u64)(u32)(ends->client[i] + secret[i]) *
		       (u32)(ends->client[i + 1] + secret[i + 1]);
		sum += (u64)(u32)(ends->remote[i] + secret[EBB_ADDRESS_WORDS + i]) *
		       (u32)(ends->remote[i + 1] + secret[EBB_ADDRESS_WORDS + i + 1]);
	}
	sum += (u64)(u32)(ends->ports + secret[2 * EBB_ADDRESS_WORDS]) *
	       (u32)(ends->interface + secret[2 * EBB_ADDRESS_WORDS + 1]);
	return sum & ~EBB_UPLOAD;
}

EBB_INLINE u32 ebb_is_same(const struct ebb_connection *one, const struct ebb_connection *other)
{
	u32 differs = (one->ports ^ other->ports) | (one->interface ^ other->interface);

	for (u32 i = 0; i < EBB_ADDRESS_WORDS; i++)
		differs |=
			(one->client[i] ^ other->client[i]) | (one->remote[i] ^ other->remote[i]);
	return !differs;
}

#endif /* EBB_NUMBER_H */
