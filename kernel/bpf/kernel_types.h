/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's structs, only the fields that are read here. libbpf looks up the
 * running kernel's layout in its BTF (CO-RE), so order and size mean nothing.
 */
#ifndef EBB_KERNEL_TYPES_H
#define EBB_KERNEL_TYPES_H

#include "types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		u8 u6_addr8[16];
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u16 skc_family;
	volatile unsigned char skc_state;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock {
	struct sock_common __sk_common;
	struct sock_cgroup_data sk_cgrp_data;
};

struct inet_connection_sock {
	struct {
		u16 rcv_mss;
	} icsk_ack;
};

struct tcp_options_received {
	u32 rcv_tsval;
	u16 tstamp_ok : 1;
	u16 rcv_wscale : 4;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 tsoffset;
	u32 mss_cache;
	u16 advmss;
	u8 tcp_usec_ts : 1;
	u32 rcv_nxt;
	u32 rcv_wnd;
	u32 rcv_wup;
	u32 window_clamp;
	u8 is_mptcp;
	struct tcp_options_received rx_opt;
	struct {
		u32 rtt_us;
	} rcv_rtt_est;
};

struct task_struct {
	int tgid;
	struct task_struct *real_parent;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

#pragma clang attribute pop

/* Context of iter/tcp: checked by the verifier against the kernel's, not relocated. */
struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

/* From the kernel's headers, where Debian 12's are too old or clash with libc's. */
#define EBB_AF_INET 2
#define EBB_AF_INET6 10
#define EBB_SOCK_STREAM 1
#define EBB_IPPROTO_TCP 6
#define EBB_SOL_TCP 6
#define EBB_TCP_WINDOW_CLAMP 10
#define EBB_TCP_BPF_SOCK_OPS_CB_FLAGS 1008
#define EBB_TCP_ESTABLISHED 1
#define EBB_TCP_FIN_WAIT1 4
#define EBB_TCP_FIN_WAIT2 5

#endif /* EBB_KERNEL_TYPES_H */
