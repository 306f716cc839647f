/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Floor and ceiling as ordinary functions, for the Rust face in src/. */
#include "sender_floor.h"

void ebb_native_floor_hear(struct ebb_floor *all, struct ebb_floor_member *member,
			   const struct ebb_floor_news *news, u64 rate, u64 ceiling);
u32 ebb_native_ceiling_window_bytes(const struct ebb_floor *all,
				    const struct ebb_floor_member *member, u64 rate);
u32 ebb_native_floor_window_bytes(struct ebb_floor *all, struct ebb_floor_member *member, u64 rate,
				  u32 law_bytes);
u32 ebb_native_sender_floor_bytes(void);
void ebb_native_sender_floor_on_ack(struct ebb_floor *all, void *floor,
				    const struct ebb_sender_ack *ack,
				    const struct ebb_sender_window *law, const u64 *rates);
void ebb_native_sender_floor_on_event(void *floor, u32 kind, const struct ebb_sender_event *event,
				      const struct ebb_sender_window *law);
const struct ebb_sender_window *ebb_native_sender_floor_answer(const void *floor);

void ebb_native_floor_hear(struct ebb_floor *all, struct ebb_floor_member *member,
			   const struct ebb_floor_news *news, u64 rate, u64 ceiling)
{
	ebb_floor_hear(all, member, news, rate, ceiling);
}

u32 ebb_native_ceiling_window_bytes(const struct ebb_floor *all,
				    const struct ebb_floor_member *member, u64 rate)
{
	return ebb_ceiling_window_bytes(all, member, rate);
}

u32 ebb_native_floor_window_bytes(struct ebb_floor *all, struct ebb_floor_member *member, u64 rate,
				  u32 law_bytes)
{
	return ebb_floor_window_bytes(all, member, rate, law_bytes);
}

/* ---- of what is sent ---- */

u32 ebb_native_sender_floor_bytes(void)
{
	return sizeof(struct ebb_sender_floor);
}

void ebb_native_sender_floor_on_ack(struct ebb_floor *all, void *floor,
				    const struct ebb_sender_ack *ack,
				    const struct ebb_sender_window *law, const u64 *rates)
{
	struct ebb_sender_floor *f = floor;
	struct ebb_sender_ack told = *ack;
	struct ebb_floor_news news = {0};

	ebb_sender_floor_describe(&news, ack);
	ebb_sender_floor_on_ack(f, &told, rates[0]);
	ebb_sender_floor_share(all, f, &news, rates[0], rates[1]);
	ebb_sender_floor_answer(f, law, ack->mss_bytes, ack->srtt_us);
}

void ebb_native_sender_floor_on_event(void *floor, u32 kind, const struct ebb_sender_event *event,
				      const struct ebb_sender_window *law)
{
	struct ebb_sender_floor *f = floor;
	struct ebb_sender_event told = *event;

	switch (kind) {
	case EBB_SENDER_FLOOR_LOSS:
		ebb_sender_floor_on_loss(f, &told);
		break;
	case EBB_SENDER_FLOOR_TIMEOUT:
		ebb_sender_floor_on_timeout(f, &told, 0);
		break;
	case EBB_SENDER_FLOOR_UNDO:
		ebb_sender_floor_on_undo(f, &told);
		break;
	case EBB_SENDER_FLOOR_IDLE:
		ebb_sender_floor_on_idle(f, &told);
		break;
	}
	ebb_sender_floor_answer(f, law, event->mss_bytes, event->srtt_us);
}

const struct ebb_sender_window *ebb_native_sender_floor_answer(const void *floor)
{
	return &((const struct ebb_sender_floor *)floor)->answer;
}
