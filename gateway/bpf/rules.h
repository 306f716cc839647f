/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which connections a rule is for. The same code judges in the eBPF programs and, compiled
 * natively, for `ebb gateway why`.
 */
#ifndef EBB_RULES_H
#define EBB_RULES_H

#include "math.h"

#define EBB_MAX_RULES 64u
#define EBB_ADDRESS_WORDS 4u
#define EBB_MAC_BYTES 6u
/* No number of bytes: the verdict stands however much is moved. */
#define EBB_NEVER_BYTES 0xffffffffffffffffull

/* Conditions that need no value, or have one that any could be: ebb_rule.flags. */
#define EBB_RULE_HAS_MAC 1u
#define EBB_RULE_IS_IPV6 2u /* has a prefix of it: ::/0 is for no IPv4 */

/* Every condition that is not given holds for all. IPv4 addresses are ::ffff:a.b.c.d. */
struct ebb_rule {
	u32 client[EBB_ADDRESS_WORDS]; /* network order, as all addresses and masks */
	u32 client_mask[EBB_ADDRESS_WORDS];
	u32 remote[EBB_ADDRESS_WORDS];
	u32 remote_mask[EBB_ADDRESS_WORDS];
	u64 code_points; /* a bit for each; 0: any */
	u64 bulk_bytes;  /* moved without a pause; 0: from the first byte on */
	u32 mark;
	u32 mark_mask; /* 0: any mark */
	u32 interface; /* its number; 0: any */
	u16 first_port;
	u16 last_port; /* of the remote end; 0: any */
	u8 mac[EBB_MAC_BYTES];
	u8 flags;
	u8 is_background; /* what it is for yields; else it is left alone */
};

/* What rules know of a connection. */
struct ebb_subject {
	u32 client[EBB_ADDRESS_WORDS];
	u32 remote[EBB_ADDRESS_WORDS];
	u64 code_points; /* seen on it, a bit for each */
	u64 moved_bytes; /* without a pause */
	u32 mark;
	u32 interface;
	u16 remote_port;
	u8 mac[EBB_MAC_BYTES]; /* the client's; zeros: unknown */
	u32 unmet_flags;       /* of rules that cannot be for it: EBB_RULE_IS_IPV6 with IPv4 */
	u32 reserved;
};

struct ebb_verdict {
	u64 again_at_bytes; /* an earlier rule is for it from so many bytes on */
	u32 rule;           /* its place in the list, from 1; 0: none */
	u32 is_background;
};

/* Bits of an address that are not those of a prefix. */
EBB_INLINE u32 ebb_outside(const u32 *address, const u32 *prefix, const u32 *mask)
{
	u32 differs = 0;

	for (u32 i = 0; i < EBB_ADDRESS_WORDS; i++)
		differs |= (address[i] ^ prefix[i]) & mask[i];
	return differs;
}

EBB_INLINE u32 ebb_is_mac(const u8 *mac, const u8 *wanted)
{
	u32 differs = 0;

	for (u32 i = 0; i < EBB_MAC_BYTES; i++)
		differs |= mac[i] ^ wanted[i];
	return !differs;
}

/*
 * Whether all conditions hold but for the bytes. Some are judged together: the verifier follows both
 * ways of each branch for each rule.
 */
EBB_INLINE u32 ebb_rule_is_for(const struct ebb_rule *rule, const struct ebb_subject *subject)
{
	u32 differs = rule->flags & subject->unmet_flags;

	differs |= ebb_outside(subject->client, rule->client, rule->client_mask);
	differs |= ebb_outside(subject->remote, rule->remote, rule->remote_mask);
	differs |= (subject->mark ^ rule->mark) & rule->mark_mask;
	if (differs)
		return 0;
	if (rule->last_port &&
	    (subject->remote_port < rule->first_port || subject->remote_port > rule->last_port))
		return 0;
	if (rule->flags & EBB_RULE_HAS_MAC && !ebb_is_mac(subject->mac, rule->mac))
		return 0;
	if (rule->interface && rule->interface != subject->interface)
		return 0;
	return !rule->code_points || rule->code_points & subject->code_points;
}

/* Asks the next rule; answers whether the verdict stands. */
EBB_INLINE u32 ebb_judge_by(const struct ebb_rule *rule, u32 place,
			    const struct ebb_subject *subject, struct ebb_verdict *verdict)
{
	if (!ebb_rule_is_for(rule, subject))
		return 0;
	if (subject->moved_bytes < rule->bulk_bytes) {
		verdict->again_at_bytes = ebb_min(verdict->again_at_bytes, rule->bulk_bytes);
		return 0;
	}
	verdict->rule = place + 1;
	verdict->is_background = rule->is_background;
	return 1;
}

#endif /* EBB_RULES_H */
