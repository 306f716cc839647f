// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs of others on the gateway's interfaces: what they do to packets is what those of
 * container networks and of traffic shapers do.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

/* What libbpf's headers would have, which are not installed where tests are. */
#define SEC(name) __attribute__((section(name), used))
static long (*bpf_skb_vlan_push)(struct __sk_buff *skb, __be16 protocol,
				 __u16 tag) = (void *)BPF_FUNC_skb_vlan_push;
static long (*bpf_skb_vlan_pop)(struct __sk_buff *skb) = (void *)BPF_FUNC_skb_vlan_pop;
static long (*bpf_redirect)(__u32 interface, __u64 flags) = (void *)BPF_FUNC_redirect;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before loading: the interface that packets are redirected to. */
const volatile unsigned int to_interface = 0;

/* Packets that a program has seen, by the program's place in this file. */
unsigned long long seen[8] = {};

#define NEXT (-1)
#define VLAN 20
#define ETHERNET_TAG 0x8100
#define MARK 0x10

#define SEEN(place) __sync_fetch_and_add(&seen[place], 1)

/* Looks, and leaves the packet to those behind it. */
SEC("tc")
int look(struct __sk_buff *skb)
{
	SEEN(0);
	return NEXT;
}

/* Decides: nobody behind it sees the packet. */
SEC("tc")
int decide(struct __sk_buff *skb)
{
	SEEN(1);
	return TC_ACT_OK;
}

/* Marks, as a program does that tells the packet filter whose a packet is. */
SEC("tc")
int mark(struct __sk_buff *skb)
{
	SEEN(2);
	skb->mark = MARK;
	return NEXT;
}

/* Hands what is for IP to another interface, past the kernel's own bridge. */
SEC("tc")
int redirect(struct __sk_buff *skb)
{
	SEEN(3);
	if (skb->protocol != __builtin_bswap16(0x0800))
		return NEXT;
	return bpf_redirect(to_interface, BPF_F_INGRESS);
}

/* Puts packets on a VLAN, and ... */
SEC("tc")
int tag(struct __sk_buff *skb)
{
	SEEN(4);
	bpf_skb_vlan_push(skb, __builtin_bswap16(ETHERNET_TAG), VLAN);
	return NEXT;
}

/* ... takes them off it. */
SEC("tc")
int untag(struct __sk_buff *skb)
{
	SEEN(5);
	bpf_skb_vlan_pop(skb);
	return NEXT;
}
