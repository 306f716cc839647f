/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock that a connection's timestamps are of. */
#ifndef EBB_TIMESTAMP_CLOCK_H
#define EBB_TIMESTAMP_CLOCK_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel_types.h"
#include "units.h"

EBB_INLINE u8 ebb_has_timestamps(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok);
}

EBB_INLINE u32 ebb_local_tick_us(const struct tcp_sock *tp)
{
	/* Microsecond timestamps exist since 6.7. */
	if (bpf_core_field_exists(tp->tcp_usec_ts) && BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts))
		return 1;
	return EBB_US_PER_MS;
}

/* In ticks, without the connection's offset. */
EBB_INLINE u32 ebb_local_ts(u64 now_us, u32 tick_us)
{
	return (u32)(tick_us == 1 ? now_us : now_us / EBB_US_PER_MS);
}

#endif /* EBB_TIMESTAMP_CLOCK_H */
