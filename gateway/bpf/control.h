/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the gateway's programs and their owner say to each other. The owner has the same structs
 * in Rust, generated from the programs' type information.
 */
#ifndef EBB_GATEWAY_CONTROL_H
#define EBB_GATEWAY_CONTROL_H

#include "params.h"
#include "rules.h"

/* Live: the owner writes it, through a mapping of the map, while programs run. */
struct ebb_gateway_control {
	u64 lease_until_ns; /* bpf_ktime_get_ns(): act until then, no longer */
	u32 is_released;    /* let everything go, for good */
	u32 is_observing;   /* laws learn, windows are not applied */
	u32 params_index;   /* which set of parameters is valid: 0 or 1 */
	u32 epoch;          /* counts changes of the rules: all connections are judged again */
	u32 rule_count;
	u32 reserved;
	u32 params[2][EBB_MAX_PARAMS];
	struct ebb_rule rules[EBB_MAX_RULES];
	u8 bundles[EBB_MAX_RULES]; /* of each rule: the number of its bundle */
};

/* As many words as the ends of a connection. */
#define EBB_SECRET_WORDS (2 * EBB_ADDRESS_WORDS + 2)

/* Fixed before loading: the verifier drops what is not used. */
struct ebb_gateway_config {
	u32 law_number;
	u32 link_bytes;    /* of the header in front of a packet: 14 with Ethernet, 0 without */
	u32 jiffies_per_s; /* of the kernel's slow clock */
	u32 secret[EBB_SECRET_WORDS]; /* of connections' numbers */
	u32 reserved;
};

/* Per-CPU counts since the programs were loaded. */
struct ebb_gateway_counters {
	u64 connections;    /* whose handshake was seen */
	u64 governed;       /* one way of a connection each */
	u64 without_scale;  /* begun before us, or forgotten: left alone */
	u64 without_room;   /* the table was full: left alone */
	u64 received_bytes; /* of governed downloads, as they pass */
	u64 sent_bytes;     /* of governed uploads, as they are acknowledged */
	u64 windows;        /* in acknowledgements of governed connections */
	u64 rewritten;      /* of these, made smaller */
	u64 quic_bytes;     /* no rule can hold what goes over QUIC */
	u64 udp_bytes;      /* QUIC among them */
	u64 fragments;      /* pieces of TCP packets, which nobody can read */
};

/* The same of each rule, by the number of its bundle. */
struct ebb_rule_counters {
	u64 connections; /* that came under it */
	u64 received_bytes;
	u64 sent_bytes;
};

/* A TCP connection, by its ends. IPv4 addresses are ::ffff:a.b.c.d. */
struct ebb_connection {
	u32 client[EBB_ADDRESS_WORDS];
	u32 remote[EBB_ADDRESS_WORDS];
	u32 ports; /* of the client in the upper half, of the other end in the lower; host order */
	u32 interface; /* the client's */
};

#endif /* EBB_GATEWAY_CONTROL_H */
