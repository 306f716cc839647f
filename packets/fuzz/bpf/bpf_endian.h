/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the parser of packets takes of libbpf's header of this name, for a host of any byte order. */
#ifndef EBB_FUZZ_BPF_ENDIAN_H
#define EBB_FUZZ_BPF_ENDIAN_H

#include <arpa/inet.h>

#define bpf_ntohl(value) ntohl(value)
#define bpf_ntohs(value) ntohs(value)
#define bpf_htonl(value) htonl(value)

#endif /* EBB_FUZZ_BPF_ENDIAN_H */
