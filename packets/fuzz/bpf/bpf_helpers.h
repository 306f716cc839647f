/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the parser of packets takes of libbpf's header of this name. */
#ifndef EBB_FUZZ_BPF_HELPERS_H
#define EBB_FUZZ_BPF_HELPERS_H

#include <linux/bpf.h>

#define __noinline __attribute__((noinline))

/* As the kernel's helper: all of it or nothing, from any part of the packet. */
long bpf_skb_load_bytes(const struct __sk_buff *skb, __u32 offset, void *to, __u32 length);

#endif /* EBB_FUZZ_BPF_HELPERS_H */
