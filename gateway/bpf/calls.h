/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The calls of laws, in functions that the verifier follows once in each program, whoever calls them.
 * They find the packet at hand in the scratch, and take and give back the lock themselves: while it
 * is held, older kernels let nobody call a function.
 */
#ifndef EBB_GATEWAY_CALLS_H
#define EBB_GATEWAY_CALLS_H

#include "download.h"
#include "upload.h"

/* There is no state of a law at the scratch's number. */
#define EBB_NO_HALF (-1)

#define EBB_CALL __attribute__((noinline))

/* A new one at the scratch's number, with nothing in it; none if there is no room. */
EBB_INLINE struct ebb_half *ebb_make_half(struct ebb_scratch *scratch)
{
	u32 zero = 0;
	struct ebb_half *blank = bpf_map_lookup_elem(&ebb_blanks, &zero);

	if (!blank)
		return 0;
	if (bpf_map_update_elem(&ebb_halves, &scratch->number, blank, BPF_ANY)) {
		EBB_COUNT(without_room, 1);
		return 0;
	}
	EBB_COUNT(governed, 1);
	if (!scratch->is_upload)
		EBB_COUNT_OF_RULE(scratch->bundle, connections, 1);
	return bpf_map_lookup_elem(&ebb_halves, &scratch->number);
}

/* Begins a law where the scratch says; answers whether there was room. */
EBB_CALL int ebb_call_begin(u32 is_upload)
{
	struct ebb_scratch *scratch = ebb_scratch();
	struct ebb_bundle *bundle;
	struct ebb_half *half;

	if (!scratch)
		return 0;
	half = ebb_make_half(scratch);
	bundle = ebb_bundle_of(scratch->bundle, is_upload);
	if (!half || !bundle)
		return 0;
	bpf_spin_lock(&bundle->lock);
	ebb_half_begin(bundle, half, scratch);
	bpf_spin_unlock(&bundle->lock);
	return 1;
}

/* The window of the client's acknowledgement, as it is to stand there. */
EBB_CALL int ebb_call_answer(u32 is_upload)
{
	struct ebb_scratch *scratch = ebb_scratch();
	struct ebb_bundle *bundle;
	struct ebb_half *half;
	u32 window;

	if (!scratch)
		return EBB_NO_HALF;
	half = bpf_map_lookup_elem(&ebb_halves, &scratch->number);
	bundle = ebb_bundle_of(scratch->bundle, is_upload);
	if (!half || !bundle)
		return EBB_NO_HALF;
	bpf_spin_lock(&bundle->lock);
	half->head.heard_ns = scratch->now_ns;
	half->head.is_ending |= (scratch->packet.flags & EBB_TCP_FLAG_FIN) != 0;
	ebb_note_download_ack(half, scratch);
	ebb_end_step();
	window = ebb_half_ask(bundle, half, scratch);
	bpf_spin_unlock(&bundle->lock);
	return (int)window;
}

/* One that is not the law's to hear of leaves the state as it is. */
EBB_INLINE void ebb_hear(struct ebb_bundle *bundle, struct ebb_half *half,
			 struct ebb_scratch *scratch)
{
	half->head.heard_ns = scratch->now_ns;
	half->head.is_ending |= (scratch->packet.flags & EBB_TCP_FLAG_FIN) != 0;
	if (scratch->is_upload)
		scratch->is_told = (u8)ebb_describe_upload(half, scratch);
	else
		scratch->is_told = (u8)ebb_describe_download(half, scratch);
	ebb_end_step();
	if (!scratch->is_told)
		return;
	ebb_half_tell(bundle, half, scratch->now_ns / EBB_NS_PER_US);
	ebb_end_step();
	if (scratch->is_upload)
		half->head.next_seq = scratch->packet.ack_seq;
	else
		ebb_follow_download(half, &scratch->packet);
}

/*
 * A packet for the client: the law hears of the data that it brings, or acknowledges. In the second
 * case the answer is the window, as it is to stand there.
 */
EBB_CALL int ebb_call_hear(u32 is_upload)
{
	struct ebb_scratch *scratch = ebb_scratch();
	struct ebb_bundle *bundle;
	struct ebb_half *half;
	u64 before_bytes;
	u32 window = 0;

	if (!scratch)
		return EBB_NO_HALF;
	half = bpf_map_lookup_elem(&ebb_halves, &scratch->number);
	bundle = ebb_bundle_of(scratch->bundle, is_upload);
	if (!half || !bundle)
		return EBB_NO_HALF;
	bpf_spin_lock(&bundle->lock);
	before_bytes = half->head.payload_bytes;
	ebb_hear(bundle, half, scratch);
	ebb_end_step();
	if (scratch->is_upload)
		window = ebb_half_ask(bundle, half, scratch);
	scratch->newly_bytes = half->head.payload_bytes - before_bytes;
	bpf_spin_unlock(&bundle->lock);
	return (int)window;
}

#endif /* EBB_GATEWAY_CALLS_H */
