/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs and their owner in user space say to each other. The owner has the same
 * structs and numbers in Rust, generated from the type information of layouts.bpf.c.
 */
#ifndef EBB_CONTROL_H
#define EBB_CONTROL_H

#include "receiver_contract.h"
#include "sender_contract.h"

enum ebb_constant {
	/* Changes whenever a struct of this file or the flow's storage changes. */
	EBB_CONTROL_VERSION = 18,
	EBB_MAX_PEERS = 1024,
	EBB_MAX_CHOICES = 1024,
	/* The key that stands for every connection: no socket has it as its cookie. */
	EBB_EVERY_COOKIE = 0,
	/* A rule is a bit of 64, of which the last ones are flags of cgroups. */
	EBB_MAX_RULES = 60,
	/* What programs act for has a number: that of a rule, or, from here on, of a claim. */
	EBB_FIRST_CLAIM = 64,
	EBB_MAX_CLAIMS = 448,
	EBB_MAX_HELD = 512,
	EBB_HELD_WORDS = 8,
	/* Processes that are followed, of all claims and of one. */
	EBB_MAX_MEMBERS = 1 << 16,
	EBB_MAX_MEMBERS_OF_ONE = 1 << 12,
	EBB_MAX_GROUPS = 1 << 15,
	EBB_MAX_USERS = 1024,
	EBB_MAX_PORTS = 1024,
	EBB_MAX_EXECUTABLES = 1024,
	/* As the kernel's tracepoints have it. */
	EBB_MAX_PATH = 1024,
	EBB_NAME_BYTES = 64,
	EBB_PATH_CELLS = 1 << 18,
	EBB_PATH_ACCEPTS = 1 << 10,
	/* Flags of a cgroup: it is one of a container, whose name is not known yet; no rule acts. */
	EBB_CONTAINER_BIT = 61,
	EBB_UNDECIDED_BIT = 62,
	EBB_EXEMPT_BIT = 63,
};

struct ebb_param_set {
	u32 values[EBB_MAX_PARAMS];
};

/*
 * Live: the owner writes it, through a mapping of the map, while programs run. The first five fields
 * are the same in every version: by them one Ebb knows of another.
 */
struct ebb_control {
	u64 lease_until_ns; /* bpf_ktime_get_ns(): act until then, no longer */
	u32 version;        /* EBB_CONTROL_VERSION */
	u32 owner_pid;      /* for messages */
	u32 law_number;     /* for messages; the programs act on ebb_config's */
	u32 is_released;    /* let everything go, adopt nothing, for good */
	u32 is_observing;   /* laws learn, windows are not applied */
	u32 generation;     /* counts changes of the parameters */
	u32 params_index;   /* which set of parameters is valid: 0 or 1 */
	u32 is_marked_only; /* for other owners; the programs act on ebb_config's */
	u32 is_ruled;       /* the same */
	u32 reserved;
	/* Bits, by the numbers of rules and claims: those that are held. */
	u64 rules[EBB_HELD_WORDS];
	/* Of those: as is_observing, which counts without rules. */
	u64 observing_rules[EBB_HELD_WORDS];
	/* Of those: ebb_switch and ebb_release pass their connections over. */
	u64 passed_rules[EBB_HELD_WORDS];
	struct ebb_param_set params[2];
	/* Of each rule or claim, floor.h and ceiling.h; 0 is none. */
	u64 floor_bytes_per_s[EBB_MAX_HELD];
	u64 ceiling_bytes_per_s[EBB_MAX_HELD];
};

/* Fixed before loading: the verifier drops what is not used. */
struct ebb_config {
	u64 cgroup_id; /* the iterators adopt sockets of it and below */
	u32 law_number;
	u32 is_marked_only; /* act on marked sockets only (ebb attach PID) */
	u32 is_tracing;
	u32 needs_ecn;            /* a sender law whose connections negotiate ECN */
	char congestion_name[16]; /* of a sender law as TCP_CONGESTION has it */
	u32 keeps_code_point;     /* connections under a sender law are not marked as LE */
	u32 sets_pace;            /* the kernel lets a congestion control do so */
	u32 is_ruled;             /* act on the connections of rules only, wherever they are */
	u32 reserved;
};

/*
 * How rules are judged: a rule is a bit. Of those that have a condition of one kind the tables
 * tell which hold; those without are in `any_…`.
 */
struct ebb_ruling {
	u64 any_group;
	u64 any_user;
	u64 any_port;
	u64 any_executable;
	u64 container_rules;       /* have a condition on containers */
	u64 paths_index;           /* which of the two tables of paths is valid */
	u64 before[EBB_MAX_RULES]; /* of each rule: those that go before it */
};

/*
 * Which rules hold for the path of a cgroup: an automaton over its bytes. A state is the number of
 * its first cell; there stands which of `accepts` holds where the path ends, behind it the next
 * state for each class of bytes.
 */
struct ebb_paths {
	u64 start;
	u64 accepts[EBB_PATH_ACCEPTS];
	u32 cells[EBB_PATH_CELLS];
	u8 classes[256]; /* of bytes, from 1 */
};

/*
 * What a user has claimed for connections of its own. A number is used again, a turn never: what
 * is noted of processes and sockets for an earlier turn is void.
 */
struct ebb_claim {
	u64 turn;    /* 0: nobody's */
	u32 user;    /* no other user's sockets are concerned */
	u32 members; /* processes that live */
	u32 missed;  /* processes that found no room */
	u32 reserved;
};

/* That a process, a socket or a cgroup is claimed. */
struct ebb_claimed {
	u64 turn;
	u64 started_ticks; /* of a process: when it did, as /proc/PID/stat has it */
	u32 claim;         /* its number, from 0 */
	u32 process;       /* of a socket: who made it */
};

/* A cgroup that was made, and that concerns a rule. */
struct ebb_new_group {
	u64 id;
	u64 rules;
	char path[EBB_MAX_PATH]; /* ends with a zero */
};

/* Per-CPU counts, of each rule, since the programs were loaded or its owner took it over. */
struct ebb_counters {
	u64 aggregates; /* data packets seen, as GRO made them */
	u64 segments;   /* wire segments in them */
	u64 payload_bytes;
	u64 acks;                /* times that the law was asked for the window */
	u64 clamps;              /* windows set */
	u64 adopted_new;         /* connections, since their handshake */
	u64 adopted_established; /* connections that existed before */
	u64 released;            /* connections let go before their end */
	u64 lapsed;              /* of those: because the owner did not renew its lease in time */
	u64 skipped_loopback;
	u64 skipped_mptcp;
	u64 skipped_unmarked;
	u64 skipped_no_memory;
	u64 skipped_malformed; /* packets whose headers could not be read */
	u64 trace_lost;        /* records that found the trace's buffer full */
	u64 udp_sockets;       /* not controlled; those of uTP and QUIC are among them */
	u64 quic_sockets;
	u64 utp_sockets;
	u64 udp_received_bytes;
	u64 udp_sent_bytes;
	u64 sent_bytes;          /* acknowledged by the peers of connections under a receiver law */
	u64 skipped_established; /* existed before, and the kernel calls no program for them */
	u64 skipped_unacceptable; /* packets that TCP will not take for the connection's */
};

/* What a connection was switched to by itself, which `is_observing` does not change. */
enum ebb_wish {
	EBB_AS_ALL = 0,
	EBB_FREE = 1,
	EBB_HELD = 2,
};

/* Whom governed connections were with. */
struct ebb_peer {
	u32 rule; /* from 0; 0 without rules */
	u32 family;
	u8 address[16]; /* network order; IPv4 in the first four */
};

/* What a law was told. */
enum ebb_trace_kind {
	EBB_TRACE_START = 1,
	EBB_TRACE_SEGMENT = 2,
	EBB_TRACE_ACK = 3,
	/* A sender law. */
	EBB_TRACE_SENDER_START = 11,
	EBB_TRACE_SENDER_ACK = 12,
	EBB_TRACE_LOSS = 13,
	EBB_TRACE_TIMEOUT = 14,
	EBB_TRACE_UNDO = 15,
	EBB_TRACE_IDLE = 16,
};

union ebb_law_input {
	struct ebb_start start;
	struct ebb_segment segment;
	struct ebb_ack ack;
};

/* One call of a law, as traces keep it (little endian, no padding). */
struct ebb_trace_record {
	u64 cookie;     /* the socket's, never used twice */
	u32 kind;       /* EBB_TRACE_… */
	u32 order;      /* of the calls on this socket, from 0 */
	u32 rwnd_bytes; /* the law's answer */
	u32 reserved;
	union ebb_law_input input;
};

union ebb_sender_input {
	struct ebb_sender_start start;
	struct ebb_sender_ack ack;
	struct ebb_sender_event event;
};

/* One call of a sender law. */
struct ebb_sender_trace_record {
	u64 cookie;
	u32 kind; /* EBB_TRACE_… */
	u32 order;
	u32 cwnd_pkts; /* the law's answer */
	u32 ssthresh_pkts;
	union ebb_sender_input input;
};

/* One connection as ebb_show tells it, followed by the law's state. */
struct ebb_flow_record {
	u64 cookie;
	u64 adopted_ns;
	u64 payload_bytes;
	u64 segments;
	u64 acks;
	u32 family; /* AF_INET or AF_INET6 */
	u32 local_port;
	u32 peer_port;
	u32 rwnd_bytes;   /* the law's window */
	u32 window_bytes; /* advertised now */
	u32 mss_bytes;
	u32 rtt_us; /* the kernel's receiver-side estimate; 0: none yet */
	u32 law_number;
	u32 state_bytes; /* what follows */
	u32 is_clamped;
	u32 rule;     /* from 0; 0 without rules */
	u32 process;  /* that made the socket, where that is known */
	u8 local[16]; /* network order; IPv4 in the first four */
	u8 peer[16];
};

#endif /* EBB_CONTROL_H */
