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
	struct {
		u64 counter;
	} skc_cookie;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct kernfs_node {
	u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock {
	struct sock_common __sk_common;
	struct sock_cgroup_data sk_cgrp_data;
	struct {
		u32 val;
	} sk_uid;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
	struct {
		u16 rcv_mss;
	} icsk_ack;
};

struct tcp_options_received {
	int ts_recent_stamp; /* in s, of the clock of bpf_ktime_get_ns */
	u32 ts_recent;
	u32 rcv_tsval;
	u32 rcv_tsecr;
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
	u8 bpf_sock_ops_cb_flags;
	u64 tcp_mstamp;
	u64 bytes_acked;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_ssthresh;
	u32 prior_cwnd;
	u32 undo_marker;
	u32 max_packets_out;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u32 srtt_us; /* shifted left by 3 */
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
	struct tcp_options_received rx_opt;
	struct {
		u32 rtt_us;
	} rcv_rtt_est;
	struct tcp_rack {
		u64 mstamp;
		u32 rtt_us;
	} rack;
};

/* What stands behind a packet's context. */
struct sk_buff {
	u8 ip_summed : 2;
	u8 csum_valid : 1;
};

struct ack_sample {
	int rtt_us;
};

struct rate_sample {
	u32 prior_delivered;
	int delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u8 is_app_limited;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
};

struct mm_struct {
	struct file *exe_file;
};

struct signal_struct {
	struct {
		int counter;
	} live; /* threads */
};

struct task_struct {
	int tgid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	u64 start_boottime;
};

struct bpf_map;
struct seq_file;

struct socket {
	struct sock *sk;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

#pragma clang attribute pop

/* Context of iter/tcp: checked by the verifier against the kernel's, not relocated. */
struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

/* Context of iter/task_file, as above. */
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

/* Context of iter/bpf_sk_storage_map, as above. */
struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

/*
 * The table of a congestion control: libbpf matches it by the members' names with the
 * kernel's. What the owner fills in before loading comes first.
 */
struct tcp_congestion_ops {
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
};

/* From the kernel's headers, where Debian 12's are too old or clash with libc's. */
#define EBB_AF_INET 2
#define EBB_AF_INET6 10
#define EBB_SOCK_STREAM 1
#define EBB_LOOPBACK_IFINDEX 1
#define EBB_SOL_SOCKET 1
#define EBB_SO_MAX_PACING_RATE 47
#define EBB_SOL_IP 0
#define EBB_IP_TOS 1
#define EBB_SOL_IPV6 41
#define EBB_IPV6_TCLASS 67
#define EBB_SOL_TCP 6
#define EBB_TCP_WINDOW_CLAMP 10
#define EBB_TCP_CONGESTION 13
#define EBB_TCP_BPF_SNDCWND_CLAMP 1002
#define EBB_TCP_BPF_SOCK_OPS_CB_FLAGS 1008
#define EBB_TCP_ESTABLISHED 1
#define EBB_TCP_SYN_SENT 2
#define EBB_TCP_FIN_WAIT1 4
#define EBB_TCP_FIN_WAIT2 5
#define EBB_TCP_CLOSE_WAIT 8
#define EBB_TCP_INFINITE_SSTHRESH 0x7fffffff
#define EBB_TCP_ECN_OK 1
/* Since 6.15 a connection may negotiate AccECN in place of it. */
#define EBB_TCP_ECN_ACCURATE 16
/* ip_summed: the device has checked TCP's checksum, or there was none on the way. */
#define EBB_CHECKSUM_UNNECESSARY 1
#define EBB_CHECKSUM_PARTIAL 3
#define EBB_CA_EVENT_TX_START 0
#define EBB_CA_EVENT_LOSS 3
#define EBB_SK_PACING_NONE 0
#define EBB_SK_PACING_NEEDED 1

#endif /* EBB_KERNEL_TYPES_H */
