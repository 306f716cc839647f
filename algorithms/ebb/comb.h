/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the ebb law finds others who have a queue of their own. Where each flow has one, others'
 * segments come between ours, one by one: what was sent together arrives as a comb. See ebb.h.
 */
#ifndef EBB_EBB_COMB_H
#define EBB_EBB_COMB_H

#include "ebb/window.h"

/* ---- gaps ---- */

/* A segment's time is too short to be told from noise: a gap is that of several. */
EBB_INLINE u8 ebb_ebb_has_long_gaps(const struct ebb_ebb_state *s)
{
	return s->segment_us < EBB_EBB_GAP_LEAST_US;
}

EBB_INLINE u32 ebb_ebb_gap_segments(const struct ebb_ebb_state *s)
{
	if (!ebb_ebb_has_long_gaps(s))
		return 1;
	return (u32)ebb_div(EBB_EBB_GAP_US + s->segment_us - 1, s->segment_us, 1);
}

EBB_INLINE void ebb_ebb_forget_gaps(struct ebb_ebb_state *s)
{
	s->wide_gaps = 0;
	s->wide_times = 0;
	s->close_gaps = 0;
	s->odd_gaps = 0;
	s->has_pair = 0;
	s->hides_gaps = 0;
}

/*
 * The time of so many bytes if nobody else's come between. C is the fastest that was ever seen, and
 * so too fast by what noise adds: this follows the close gaps.
 */
EBB_INLINE u32 ebb_ebb_alone_us(const struct ebb_ebb_state *s, u32 bytes)
{
	u64 pace_us_x16 = ebb_clamp(s->pace_us_x16, (u64)s->segment_us * EBB_ONE_X16,
				    (u64)s->segment_us * (EBB_ONE_X16 + EBB_EBB_PACE_SLOWER_X16));

	return (u32)ebb_div(bytes * pace_us_x16, (u64)s->mss_bytes * EBB_ONE_X16, 0);
}

EBB_INLINE void ebb_ebb_follow_pace(struct ebb_ebb_state *s, u32 gap_us, u32 bytes)
{
	u64 gap_us_x16 = ebb_div((u64)gap_us * s->mss_bytes * EBB_ONE_X16, bytes, 0);
	u64 sum = (u64)ebb_ebb_alone_us(s, s->mss_bytes) * EBB_EBB_PACE_X16;

	gap_us_x16 = ebb_min(gap_us_x16, (u64)EBB_MOVES_MAX_SEGMENT_US * EBB_ONE_X16);
	s->pace_us_x16 = (u32)(sum + gap_us_x16 / EBB_ONE_X16);
}

/* Of many connections one has the train of a test. */
EBB_INLINE u8 ebb_ebb_is_tester(const struct ebb_ebb_state *s)
{
	return s->tester == s->member.number;
}

/* How far a gap may be off: by others' whole segments, too, where it is that of several. */
EBB_INLINE u32 ebb_ebb_blur_us(const struct ebb_ebb_state *s, u32 alone_us)
{
	u32 blur_us = alone_us / EBB_EBB_BLUR_DIVISOR + EBB_EBB_BLUR_US;
	u8 is_of_several = alone_us > s->segment_us + s->segment_us / EBB_ONE_X2;

	return is_of_several ? blur_us + s->segment_us * (1 + s->is_testing) : blur_us;
}

/* It is off by so much that gaps tell less. */
EBB_INLINE void ebb_ebb_count_odd(struct ebb_ebb_state *s)
{
	s->odd_gaps++;
	s->oddness = (u32)ebb_min(s->oddness + EBB_EBB_ODD_STEP, EBB_EBB_ODD_MOST);
}

/*
 * Others' segments come now and then, a link is as fast from one segment to the next: if many gaps
 * in a row are alike and none is close, a heap of segments has made C too fast, or the link has
 * become slower.
 */
EBB_INLINE void ebb_ebb_take_even(struct ebb_ebb_state *s, u32 gap_us, u32 bytes)
{
	u64 us_x16 = ebb_div((u64)gap_us * s->mss_bytes * EBB_ONE_X16, bytes, 0);
	u64 apart_us_x16 = ebb_max(us_x16, s->even_us_x16) - ebb_min(us_x16, s->even_us_x16);

	us_x16 = ebb_min(us_x16, (u64)EBB_MOVES_MAX_SEGMENT_US * EBB_ONE_X16);
	if (apart_us_x16 > s->even_us_x16 / EBB_EBB_EVEN_DIVISOR) {
		s->even_us_x16 = (u32)us_x16;
		s->even_gaps = 1;
		return;
	}
	us_x16 += (u64)s->even_us_x16 * EBB_EBB_PACE_X16;
	s->even_us_x16 = (u32)(us_x16 / EBB_ONE_X16);
	if (++s->even_gaps < EBB_EBB_EVEN_GAPS)
		return;
	ebb_end_step();
	s->even_gaps = 0;
	s->oddness = 0;
	us_x16 = ebb_div((u64)s->mss_bytes * EBB_US_PER_S * EBB_ONE_X16, s->even_us_x16, 0);
	s->capacity_bytes_per_s = ebb_min(s->capacity_bytes_per_s, ebb_max(us_x16, 1));
	ebb_ebb_time_segment(s);
}

/*
 * Others' segments are as large as ours: with them a gap is two, three ... times what it is
 * without, but for what came on other connections of ours meanwhile. It tells nothing if the later
 * segment left so late that it did not wait, or if so much of ours came that one could not tell.
 */
EBB_INLINE void ebb_ebb_count_gap(struct ebb_ebb_state *s, u32 gap_us, u64 sent_us, u32 bytes,
				  u32 all_bytes)
{
	u32 alone_us = ebb_ebb_alone_us(s, bytes);
	u32 ours_us = ebb_ebb_alone_us(s, all_bytes - bytes);
	u64 left_us = ebb_sub_floor(gap_us, ours_us);
	u32 times = (u32)ebb_div(left_us + alone_us / EBB_ONE_X2, alone_us, 0);
	u64 even_us = (u64)times * alone_us;
	u64 blur_us = ebb_ebb_blur_us(s, alone_us) + ours_us / EBB_EBB_OURS_DIVISOR;
	u64 off_us = ebb_max(ebb_sub_floor(left_us, even_us), ebb_sub_floor(even_us, left_us));
	u8 has_waited = gap_us >= sent_us + s->clock.tick.tick_us + blur_us;
	u8 is_odd = !times || off_us > blur_us;

	ebb_end_step();
	if (ours_us && blur_us * EBB_ONE_X2 >= alone_us)
		return;
	if (times == 1 && !is_odd) {
		s->close_gaps++;
		s->even_gaps = 0;
		if (!ebb_ebb_was_late(s, s->gap_last_us, gap_us))
			s->sure_gaps = (u32)ebb_min(s->sure_gaps + 1, EBB_EBB_SURE_GAPS);
		ebb_ebb_follow_pace(s, gap_us, all_bytes);
		s->oddness = (u32)ebb_sub_floor(s->oddness, EBB_EBB_EVEN_STEP);
	} else if (times > EBB_EBB_MOST_TIMES || !has_waited) {
		return;
	} else if (is_odd || s->sure_gaps < EBB_EBB_SURE_GAPS) {
		if (is_odd)
			ebb_ebb_count_odd(s);
		ebb_end_step();
		ebb_ebb_take_even(s, (u32)left_us, bytes);
	} else {
		s->even_gaps = 0;
		s->wide_gaps++;
		s->wide_times += times;
		s->oddness = (u32)ebb_sub_floor(s->oddness, EBB_EBB_EVEN_STEP);
	}
}

/*
 * Segments that come together although the link needs so long for each were held up behind it: by a
 * device that waits for more, whose gaps are its own.
 */
EBB_INLINE u8 ebb_ebb_is_merged(const struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	return segment->segments > 1 && !ebb_ebb_has_long_gaps(s);
}

EBB_INLINE void ebb_ebb_take_gap(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	u32 at_us = (u32)segment->now_us;
	u32 pair_us = s->segment_us + s->segment_us / EBB_EBB_PAIR_DIVISOR;
	u8 is_next = segment->has_timestamps && segment->seq == s->gap_seq && s->segment_us;

	s->gap_seq = segment->seq + segment->payload_bytes;
	s->gap_bytes += segment->payload_bytes;
	s->has_pair |= is_next && at_us - s->gap_last_us <= pair_us;
	s->gap_last_us = at_us;
	if (is_next && s->gap_bytes < ebb_ebb_gap_segments(s) * s->mss_bytes)
		return;
	ebb_end_step();
	s->hides_gaps |= is_next && segment->segments == 1 && !ebb_ebb_has_long_gaps(s) &&
			 segment->payload_bytes > s->mss_bytes + s->mss_bytes / EBB_ONE_X2;
	if (is_next && ebb_ebb_is_merged(s, segment))
		ebb_ebb_count_odd(s);
	else if (is_next && (!s->is_testing || ebb_ebb_is_tester(s)))
		ebb_ebb_count_gap(s, at_us - s->gap_since_us,
				  (u64)(segment->tsval - s->gap_tsval) * s->clock.tick.tick_us,
				  s->gap_bytes, s->received_bytes - s->gap_received_bytes);
	ebb_end_step();
	s->gap_received_bytes = s->received_bytes;
	s->gap_tsval = segment->tsval;
	s->gap_since_us = at_us;
	s->gap_bytes = 0;
}

/*
 * How many times as much a comb takes. Two segments that are acknowledged together hide the gap
 * between them, which may be close: senders send two at once as well, and those of others that come
 * before ours look like a comb of single ones. Whether they are one a test tells.
 */
EBB_INLINE u32 ebb_ebb_comb_times(const struct ebb_ebb_state *s)
{
	return s->hides_gaps ? EBB_EBB_COMB_HIDING_TIMES + s->vain_combs : 1;
}

/* Out of YIELD: one gap after the other has room for others. */
EBB_INLINE u8 ebb_ebb_is_comb(struct ebb_ebb_state *s)
{
	u32 least = ebb_ebb_has_long_gaps(s) ? EBB_EBB_COMB_LONG_GAPS : EBB_EBB_COMB_GAPS;
	u32 times = ebb_ebb_comb_times(s);

	if (s->is_yielding || s->is_draining || s->is_awaiting)
		return 0;
	least *= times;
	/* A heap of segments makes C too fast: then none comes as closely again. */
	if (!s->pace_us_x16)
		ebb_ebb_forget_gaps(s);
	if (s->odd_gaps > EBB_EBB_COMB_ODD_GAPS * times ||
	    s->wide_gaps + s->close_gaps >= least * EBB_ONE_X2)
		ebb_ebb_forget_gaps(s);
	ebb_end_step();
	if (s->oddness > EBB_EBB_ODD_COMB)
		return 0;
	/* A router sends the first segments of each at once: most gaps of many are close. */
	if (s->member.waiting_bytes)
		return s->wide_gaps >= least / EBB_EBB_COMB_OF_MANY_DIVISOR;
	return s->wide_gaps >= least && s->wide_gaps > s->close_gaps * times;
}

/* C is what wide gaps show. */
EBB_INLINE void ebb_ebb_slow_down(struct ebb_ebb_state *s)
{
	s->capacity_bytes_per_s = ebb_div(s->capacity_bytes_per_s * s->wide_gaps, s->wide_times,
					  s->capacity_bytes_per_s);
	ebb_ebb_time_segment(s);
}

/*
 * After yields for nobody a comb may be the link's own: answers whether that was believed. It is
 * once, as others would not be seen at that C.
 */
EBB_INLINE u8 ebb_ebb_take_slower(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	if (!ebb_ebb_is_slower(s))
		return 0;
	s->vain_yields = 0;
	ebb_ebb_slow_down(s);
	ebb_ebb_forget_gaps(s);
	ebb_ebb_retreat(s, segment, s->excess_us);
	return 1;
}

/* ---- tests ---- */

/* Others are there whom no queue shows: YIELD, until a test finds nobody. */
EBB_INLINE void ebb_ebb_yield_unseen(struct ebb_ebb_state *s, const struct ebb_segment *segment,
				     const struct ebb_ebb_params *p)
{
	u64 spread = (segment->right_edge_seq * EBB_EBB_SPREAD) >> EBB_EBB_SPREAD_SHIFT;

	/* A train that was stretched is none in vain. */
	if (s->hides_gaps && !s->is_testing)
		s->vain_combs = (u8)ebb_min(s->vain_combs + 1u, EBB_EBB_VAIN_COMBS);
	s->is_unseen = 1;
	s->is_testing = 0;
	ebb_ebb_forget_gaps(s);
	ebb_moves_set_window(&s->moves, s->mss_bytes);
	ebb_ebb_enter_yield(s, p, segment->now_us);
	s->hold_us = (u32)ebb_min(s->hold_us, EBB_EBB_UNSEEN_HOLD_US);
	s->hold_until_us = segment->now_us + s->hold_us + s->hold_us * spread / EBB_ONE_X128;
	ebb_moves_stop_growing(&s->moves, segment, EBB_EBB_BLIND_RTTS);
}

/* A train is asked for, with gaps enough to tell. */
EBB_INLINE void ebb_ebb_begin_test(struct ebb_ebb_state *s, const struct ebb_segment *segment)
{
	u32 gaps = ebb_ebb_has_long_gaps(s) ? EBB_EBB_TEST_LONG_GAPS : EBB_EBB_TEST_GAPS;

	s->is_testing = 1;
	s->tester = s->member.number;
	s->test_rounds = 0;
	s->test_seq = segment->right_edge_seq;
	s->test_bytes = ebb_moves_segments(&s->moves, (u64)gaps * ebb_ebb_gap_segments(s) + 1);
	ebb_ebb_forget_gaps(s);
	ebb_moves_set_window(&s->moves, s->test_bytes);
}

/* The train is granted once: its end is the right edge. Answers whether it has come, or will not. */
EBB_INLINE u8 ebb_ebb_follow_train(struct ebb_ebb_state *s)
{
	u32 end_seq = s->test_seq + s->test_bytes;

	if (!ebb_ebb_is_tester(s))
		return s->test_rounds >= EBB_EBB_TEST_ROUNDS;
	if (ebb_before32(s->test_seq, s->gap_seq))
		ebb_moves_set_window(&s->moves, ebb_before32(s->gap_seq, end_seq)
							? end_seq - s->gap_seq
							: s->mss_bytes);
	return !ebb_before32(s->gap_seq + s->mss_bytes, end_seq) ||
	       s->test_rounds >= EBB_EBB_TEST_ROUNDS;
}

EBB_INLINE u8 ebb_ebb_is_stretched(const struct ebb_ebb_state *s)
{
	if (s->oddness >= EBB_EBB_ODD_TEST)
		return 0;
	if (ebb_ebb_has_long_gaps(s))
		return s->wide_gaps && s->wide_gaps >= s->odd_gaps;
	return s->wide_gaps >= EBB_EBB_TEST_WIDE_GAPS && s->wide_gaps > s->odd_gaps;
}

/*
 * A router sends the first segments of a flow that was silent on at once, whoever else is there. If
 * none of a train came so, test after test, the link has become slower: C is what it shows now.
 */
EBB_INLINE void ebb_ebb_doubt_capacity(struct ebb_ebb_state *s)
{
	if (s->close_gaps)
		s->doubts = 0;
	else
		s->doubts += s->has_pair ? 1 : EBB_EBB_DOUBT_STEP;
	if (s->doubts < EBB_EBB_DOUBTS)
		return;
	s->doubts = 0;
	ebb_ebb_slow_down(s);
}

#endif /* EBB_EBB_COMB_H */
