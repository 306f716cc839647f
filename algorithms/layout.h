/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sizes, offsets and numbers that C and Rust have to agree on, once: native.c asserts them of
 * the C structs, build.rs writes assertions of those in src/ that mirror them, and that no field
 * is missing here.
 */
#ifndef EBB_LAYOUT_H
#define EBB_LAYOUT_H

/* X(C struct, Rust struct, bytes) */
#define EBB_LAYOUT_SIZES(X)                        \
	X(ebb_start, Start, 24)                    \
	X(ebb_segment, Segment, 56)                \
	X(ebb_ack, Ack, 32)                        \
	X(ebb_variations, Variations, 16)          \
	X(ebb_sender_window, SenderWindow, 24)     \
	X(ebb_sender_start, SenderStart, 24)       \
	X(ebb_sender_ack, SenderAck, 112)          \
	X(ebb_sender_event, SenderEvent, 48)       \
	X(ebb_insight, NativeInsight, 8)           \
	X(ebb_floor, NativeFloor, 48)              \
	X(ebb_floor_member, NativeFloorMember, 32) \
	X(ebb_floor_news, FloorNews, 24)

/* X(C struct, Rust struct, field, bytes) */
#define EBB_LAYOUT_OFFSETS(X)                                       \
	X(ebb_start, Start, now_us, 0)                              \
	X(ebb_start, Start, mss_bytes, 8)                           \
	X(ebb_start, Start, rcv_nxt, 12)                            \
	X(ebb_start, Start, has_timestamps, 16)                     \
	X(ebb_start, Start, tsval, 20)                              \
	X(ebb_segment, Segment, now_us, 0)                          \
	X(ebb_segment, Segment, seq, 8)                             \
	X(ebb_segment, Segment, payload_bytes, 12)                  \
	X(ebb_segment, Segment, segments, 16)                       \
	X(ebb_segment, Segment, tsval, 20)                          \
	X(ebb_segment, Segment, tsecr, 24)                          \
	X(ebb_segment, Segment, local_ts, 28)                       \
	X(ebb_segment, Segment, local_tick_us, 32)                  \
	X(ebb_segment, Segment, rcv_nxt, 36)                        \
	X(ebb_segment, Segment, right_edge_seq, 40)                 \
	X(ebb_segment, Segment, mss_bytes, 44)                      \
	X(ebb_segment, Segment, kernel_rtt_us, 48)                  \
	X(ebb_segment, Segment, has_timestamps, 52)                 \
	X(ebb_segment, Segment, is_ce, 53)                          \
	X(ebb_segment, Segment, is_observing, 54)                   \
	X(ebb_segment, Segment, can_delay_acks, 55)                 \
	X(ebb_ack, Ack, now_us, 0)                                  \
	X(ebb_ack, Ack, ack_seq, 8)                                 \
	X(ebb_ack, Ack, local_ts, 12)                               \
	X(ebb_ack, Ack, local_tick_us, 16)                          \
	X(ebb_ack, Ack, right_edge_seq, 20)                         \
	X(ebb_ack, Ack, mss_bytes, 24)                              \
	X(ebb_ack, Ack, has_timestamps, 28)                         \
	X(ebb_ack, Ack, is_observing, 29)                           \
	X(ebb_ack, Ack, can_park, 30)                               \
	X(ebb_ack, Ack, reserved, 31)                               \
	X(ebb_variations, Variations, sum_jiffies, 0)               \
	X(ebb_variations, Variations, all, 8)                       \
	X(ebb_variations, Variations, positive, 12)                 \
	X(ebb_sender_window, SenderWindow, pacing_bytes_per_s, 0)   \
	X(ebb_sender_window, SenderWindow, cwnd_pkts, 8)            \
	X(ebb_sender_window, SenderWindow, ssthresh_pkts, 12)       \
	X(ebb_sender_window, SenderWindow, segment_bytes, 16)       \
	X(ebb_sender_window, SenderWindow, reserved, 20)            \
	X(ebb_sender_start, SenderStart, now_us, 0)                 \
	X(ebb_sender_start, SenderStart, mss_bytes, 8)              \
	X(ebb_sender_start, SenderStart, cwnd_pkts, 12)             \
	X(ebb_sender_start, SenderStart, local_tick_us, 16)         \
	X(ebb_sender_start, SenderStart, has_timestamps, 20)        \
	X(ebb_sender_ack, SenderAck, now_us, 0)                     \
	X(ebb_sender_ack, SenderAck, delivered_pkts, 8)             \
	X(ebb_sender_ack, SenderAck, rate_prior_delivered_pkts, 16) \
	X(ebb_sender_ack, SenderAck, rate_delivered_pkts, 24)       \
	X(ebb_sender_ack, SenderAck, rate_interval_us, 28)          \
	X(ebb_sender_ack, SenderAck, ack_seq, 32)                   \
	X(ebb_sender_ack, SenderAck, snd_nxt, 36)                   \
	X(ebb_sender_ack, SenderAck, acked_pkts, 40)                \
	X(ebb_sender_ack, SenderAck, acked_bytes, 44)               \
	X(ebb_sender_ack, SenderAck, delivered_now_pkts, 48)        \
	X(ebb_sender_ack, SenderAck, lost_now_pkts, 52)             \
	X(ebb_sender_ack, SenderAck, prior_inflight_pkts, 56)       \
	X(ebb_sender_ack, SenderAck, inflight_pkts, 60)             \
	X(ebb_sender_ack, SenderAck, cwnd_pkts, 64)                 \
	X(ebb_sender_ack, SenderAck, ssthresh_pkts, 68)             \
	X(ebb_sender_ack, SenderAck, rtt_us, 72)                    \
	X(ebb_sender_ack, SenderAck, srtt_us, 76)                   \
	X(ebb_sender_ack, SenderAck, tsval, 80)                     \
	X(ebb_sender_ack, SenderAck, tsecr, 84)                     \
	X(ebb_sender_ack, SenderAck, local_ts, 88)                  \
	X(ebb_sender_ack, SenderAck, local_tick_us, 92)             \
	X(ebb_sender_ack, SenderAck, mss_bytes, 96)                 \
	X(ebb_sender_ack, SenderAck, random, 100)                   \
	X(ebb_sender_ack, SenderAck, phase, 104)                    \
	X(ebb_sender_ack, SenderAck, is_cwnd_limited, 105)          \
	X(ebb_sender_ack, SenderAck, is_app_limited, 106)           \
	X(ebb_sender_ack, SenderAck, is_ece, 107)                   \
	X(ebb_sender_ack, SenderAck, has_timestamps, 108)           \
	X(ebb_sender_ack, SenderAck, reserved, 109)                 \
	X(ebb_sender_event, SenderEvent, now_us, 0)                 \
	X(ebb_sender_event, SenderEvent, ack_seq, 8)                \
	X(ebb_sender_event, SenderEvent, snd_nxt, 12)               \
	X(ebb_sender_event, SenderEvent, cwnd_pkts, 16)             \
	X(ebb_sender_event, SenderEvent, ssthresh_pkts, 20)         \
	X(ebb_sender_event, SenderEvent, inflight_pkts, 24)         \
	X(ebb_sender_event, SenderEvent, mss_bytes, 28)             \
	X(ebb_sender_event, SenderEvent, srtt_us, 32)               \
	X(ebb_sender_event, SenderEvent, idle_us, 36)               \
	X(ebb_sender_event, SenderEvent, random, 40)                \
	X(ebb_sender_event, SenderEvent, is_ecn, 44)                \
	X(ebb_sender_event, SenderEvent, phase, 45)                 \
	X(ebb_sender_event, SenderEvent, reserved, 46)              \
	X(ebb_insight, NativeInsight, queue_us, 0)                  \
	X(ebb_insight, NativeInsight, doing, 4)                     \
	X(ebb_floor, NativeFloor, credit_us, 0)                     \
	X(ebb_floor, NativeFloor, credit_bytes, 8)                  \
	X(ebb_floor, NativeFloor, count_since_us, 16)               \
	X(ebb_floor, NativeFloor, count, 24)                        \
	X(ebb_floor, NativeFloor, count_rtt_us, 28)                 \
	X(ebb_floor, NativeFloor, last_rtt_us, 32)                  \
	X(ebb_floor, NativeFloor, counted, 36)                      \
	X(ebb_floor, NativeFloor, members, 40)                      \
	X(ebb_floor, NativeFloor, has_turns, 44)                    \
	X(ebb_floor, NativeFloor, reserved, 45)                     \
	X(ebb_floor_member, NativeFloorMember, count, 0)            \
	X(ebb_floor_member, NativeFloorMember, rank, 4)             \
	X(ebb_floor_member, NativeFloorMember, rtt_us, 8)           \
	X(ebb_floor_member, NativeFloorMember, bytes, 12)           \
	X(ebb_floor_member, NativeFloorMember, told_bytes, 16)      \
	X(ebb_floor_member, NativeFloorMember, had_bytes, 20)       \
	X(ebb_floor_member, NativeFloorMember, mss_bytes, 24)       \
	X(ebb_floor_member, NativeFloorMember, is_modest, 28)       \
	X(ebb_floor_member, NativeFloorMember, reserved, 29)        \
	X(ebb_floor_news, FloorNews, now_us, 0)                     \
	X(ebb_floor_news, FloorNews, bytes, 8)                      \
	X(ebb_floor_news, FloorNews, rtt_us, 12)                    \
	X(ebb_floor_news, FloorNews, mss_bytes, 16)                 \
	X(ebb_floor_news, FloorNews, reserved, 20)

/* The same of structs with pointers, where these have 64 bits. */
#define EBB_LAYOUT_TABLE_SIZES(X)                          \
	X(ebb_native_param, NativeParam, 48)               \
	X(ebb_native_pairs, NativePairs, 24)               \
	X(ebb_native_bundle, NativeBundle, 40)             \
	X(ebb_native_receiver_law, NativeReceiverLaw, 104) \
	X(ebb_native_sender_law, NativeSenderLaw, 96)

/* X(C struct, Rust struct, field, bytes) */
#define EBB_LAYOUT_TABLE_OFFSETS(X)                                       \
	X(ebb_native_param, NativeParam, name, 0)                         \
	X(ebb_native_param, NativeParam, unit, 8)                         \
	X(ebb_native_param, NativeParam, source, 16)                      \
	X(ebb_native_param, NativeParam, what, 24)                        \
	X(ebb_native_param, NativeParam, default_value, 32)               \
	X(ebb_native_param, NativeParam, min, 36)                         \
	X(ebb_native_param, NativeParam, max, 40)                         \
	X(ebb_native_pairs, NativePairs, state_bytes, 0)                  \
	X(ebb_native_pairs, NativePairs, reserved, 4)                     \
	X(ebb_native_pairs, NativePairs, on_segment, 8)                   \
	X(ebb_native_pairs, NativePairs, end_round, 16)                   \
	X(ebb_native_bundle, NativeBundle, state_bytes, 0)                \
	X(ebb_native_bundle, NativeBundle, reserved, 4)                   \
	X(ebb_native_bundle, NativeBundle, init, 8)                       \
	X(ebb_native_bundle, NativeBundle, on_segment, 16)                \
	X(ebb_native_bundle, NativeBundle, on_ack, 24)                    \
	X(ebb_native_bundle, NativeBundle, wait_us, 32)                   \
	X(ebb_native_receiver_law, NativeReceiverLaw, number, 0)          \
	X(ebb_native_receiver_law, NativeReceiverLaw, state_bytes, 4)     \
	X(ebb_native_receiver_law, NativeReceiverLaw, param_count, 8)     \
	X(ebb_native_receiver_law, NativeReceiverLaw, sees_counters, 12)  \
	X(ebb_native_receiver_law, NativeReceiverLaw, name, 16)           \
	X(ebb_native_receiver_law, NativeReceiverLaw, summary, 24)        \
	X(ebb_native_receiver_law, NativeReceiverLaw, params, 32)         \
	X(ebb_native_receiver_law, NativeReceiverLaw, init, 40)           \
	X(ebb_native_receiver_law, NativeReceiverLaw, on_segment, 48)     \
	X(ebb_native_receiver_law, NativeReceiverLaw, rwnd_bytes, 56)     \
	X(ebb_native_receiver_law, NativeReceiverLaw, on_ack, 64)         \
	X(ebb_native_receiver_law, NativeReceiverLaw, ack_delay_us, 72)   \
	X(ebb_native_receiver_law, NativeReceiverLaw, estimate_bytes, 80) \
	X(ebb_native_receiver_law, NativeReceiverLaw, pairs, 88)          \
	X(ebb_native_receiver_law, NativeReceiverLaw, bundle, 96)         \
	X(ebb_native_sender_law, NativeSenderLaw, number, 0)              \
	X(ebb_native_sender_law, NativeSenderLaw, state_bytes, 4)         \
	X(ebb_native_sender_law, NativeSenderLaw, param_count, 8)         \
	X(ebb_native_sender_law, NativeSenderLaw, sees_counters, 12)      \
	X(ebb_native_sender_law, NativeSenderLaw, has_full_control, 16)   \
	X(ebb_native_sender_law, NativeSenderLaw, needs_ecn, 20)          \
	X(ebb_native_sender_law, NativeSenderLaw, name, 24)               \
	X(ebb_native_sender_law, NativeSenderLaw, summary, 32)            \
	X(ebb_native_sender_law, NativeSenderLaw, params, 40)             \
	X(ebb_native_sender_law, NativeSenderLaw, init, 48)               \
	X(ebb_native_sender_law, NativeSenderLaw, on_ack, 56)             \
	X(ebb_native_sender_law, NativeSenderLaw, on_loss, 64)            \
	X(ebb_native_sender_law, NativeSenderLaw, on_timeout, 72)         \
	X(ebb_native_sender_law, NativeSenderLaw, on_undo, 80)            \
	X(ebb_native_sender_law, NativeSenderLaw, on_idle, 88)

/* X(C name, Rust expression, number) */
#define EBB_LAYOUT_NUMBERS(X)                                        \
	X(EBB_MAX_PARAMS, MAX_PARAMS, 48)                            \
	X(EBB_SENDER_OPEN, Phase::Open as u32, 0)                    \
	X(EBB_SENDER_DISORDER, Phase::Disorder as u32, 1)            \
	X(EBB_SENDER_CWR, Phase::Cwr as u32, 2)                      \
	X(EBB_SENDER_RECOVERY, Phase::Recovery as u32, 3)            \
	X(EBB_SENDER_LOSS, Phase::Loss as u32, 4)                    \
	X(EBB_DOING_UNKNOWN, Doing::Unknown as u32, 0)               \
	X(EBB_DOING_START, Doing::Start as u32, 1)                   \
	X(EBB_DOING_GROW, Doing::Grow as u32, 2)                     \
	X(EBB_DOING_HOLD, Doing::Hold as u32, 3)                     \
	X(EBB_DOING_YIELD, Doing::Yield as u32, 4)                   \
	X(EBB_DOING_LOOK, Doing::Look as u32, 5)                     \
	X(EBB_DOING_WAIT, Doing::Wait as u32, 6)                     \
	X(EBB_FLOOR_UNBOUND, FLOOR_UNBOUND_BYTES_PER_S, 68719476736) \
	X(EBB_SENDER_FLOOR_LOSS, FloorEvent::Loss as u32, 0)         \
	X(EBB_SENDER_FLOOR_TIMEOUT, FloorEvent::Timeout as u32, 1)   \
	X(EBB_SENDER_FLOOR_UNDO, FloorEvent::Undo as u32, 2)         \
	X(EBB_SENDER_FLOOR_IDLE, FloorEvent::Idle as u32, 3)

#endif /* EBB_LAYOUT_H */
