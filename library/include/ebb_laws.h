/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* clang-format off */
/**
 * @file ebb_laws.h
 * Ebb's laws, for whoever has a transport of its own, such as QUIC: it tells a law what happens, and
 * asks how much may be in flight.
 *
 *     struct ebb_sender *law;
 *     ebb_sender_new("ledbat++", &start, &law);
 *     ...
 *     ebb_sender_on_ack(law, &ack);
 *     ebb_sender_ask(law, &window);
 *
 * Nothing here has a clock, a socket or a thread. docs/quic.md says what a host is to do.
 *
 * Long because each field of each struct has a comment of its own.
 *
 * Made by cbindgen; do not change it by hand.
 */

#ifndef EBB_LAWS_H
#define EBB_LAWS_H

#include "ebb.h"

/**
 * The law sets the window while a loss is repaired, too, and its own pace.
 */
#define EBB_SENDER_FULL_CONTROL 1

/**
 * The law reads congestion marks: its connections have to negotiate ECN.
 */
#define EBB_SENDER_NEEDS_ECN 2

/**
 * What the host is doing about losses, as Linux's `tcp_ca_state` has it.
 */
enum ebb_phase
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Nothing out of the ordinary.
   */
  EBB_PHASE_OPEN,
  /**
   * Duplicate acknowledgements, nothing is taken for lost yet.
   */
  EBB_PHASE_DISORDER,
  /**
   * Answering a congestion mark.
   */
  EBB_PHASE_CWR,
  /**
   * Repairing a loss.
   */
  EBB_PHASE_RECOVERY,
  /**
   * After a time-out.
   */
  EBB_PHASE_LOSS,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ebb_phase ebb_phase;
#else
typedef uint8_t ebb_phase;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * One connection, or path, under a law of the receiving end.
 */
struct ebb_receiver;

/**
 * One connection, or path, under a law of the sending end.
 */
struct ebb_sender;

/**
 * What a law is told when it takes over a connection.
 */
struct ebb_sender_start {
  /**
   * Sender's monotonic clock.
   */
  uint64_t now_us;
  /**
   * Payload of a full segment.
   */
  uint32_t mss_bytes;
  /**
   * The host's initial window.
   */
  uint32_t cwnd_pkts;
  /**
   * Length of a tick of our timestamps.
   */
  uint32_t local_tick_us;
  /**
   * Nonzero if RFC 7323 timestamps are in use.
   */
  uint32_t has_timestamps;
};

/**
 * An acknowledgement that acknowledges or SACKs something.
 */
struct ebb_sender_ack {
  /**
   * Sender's monotonic clock.
   */
  uint64_t now_us;
  /**
   * Delivered on the whole connection, cumulatively or by SACK.
   */
  uint64_t delivered_pkts;
  /**
   * `delivered_pkts` when the segment of the rate sample was sent.
   */
  uint64_t rate_prior_delivered_pkts;
  /**
   * Delivered since then.
   */
  uint32_t rate_delivered_pkts;
  /**
   * The time that it took; 0: no sample.
   */
  uint32_t rate_interval_us;
  /**
   * First byte not acknowledged.
   */
  uint32_t ack_seq;
  /**
   * First byte not sent.
   */
  uint32_t snd_nxt;
  /**
   * Newly acknowledged in order; 0 where they must not raise the window.
   */
  uint32_t acked_pkts;
  /**
   * The same in bytes.
   */
  uint32_t acked_bytes;
  /**
   * Newly acknowledged or SACKed.
   */
  uint32_t delivered_now_pkts;
  /**
   * Newly taken for lost.
   */
  uint32_t lost_now_pkts;
  /**
   * In flight before this acknowledgement.
   */
  uint32_t prior_inflight_pkts;
  /**
   * In flight after it.
   */
  uint32_t inflight_pkts;
  /**
   * The host's window now.
   */
  uint32_t cwnd_pkts;
  /**
   * The host's threshold now.
   */
  uint32_t ssthresh_pkts;
  /**
   * This acknowledgement's RTT sample; 0: none.
   */
  uint32_t rtt_us;
  /**
   * Smoothed by the host; 0: none.
   */
  uint32_t srtt_us;
  /**
   * Peer's clock in its ticks.
   */
  uint32_t tsval;
  /**
   * Our clock in our ticks, as echoed.
   */
  uint32_t tsecr;
  /**
   * Our timestamp clock now, in our ticks.
   */
  uint32_t local_ts;
  /**
   * Length of our tick.
   */
  uint32_t local_tick_us;
  /**
   * Payload of a full segment.
   */
  uint32_t mss_bytes;
  /**
   * Uniform, fresh at each call.
   */
  uint32_t random;
  /**
   * One of enum ebb_phase, after this acknowledgement.
   */
  uint8_t phase;
  /**
   * Nonzero if the window, not the application, limited the last round trip.
   */
  uint8_t is_cwnd_limited;
  /**
   * Nonzero if the rate sample is a lower bound only.
   */
  uint8_t is_app_limited;
  /**
   * Nonzero if the receiver echoes a congestion mark.
   */
  uint8_t is_ece;
  /**
   * Nonzero if timestamps are in use.
   */
  uint8_t has_timestamps;
  /**
   * Zero.
   */
  uint8_t reserved[3];
};

/**
 * A loss, a time-out, an undo, an end of idleness.
 */
struct ebb_sender_event {
  /**
   * Sender's monotonic clock.
   */
  uint64_t now_us;
  /**
   * First byte not acknowledged.
   */
  uint32_t ack_seq;
  /**
   * First byte not sent.
   */
  uint32_t snd_nxt;
  /**
   * The host's window before the event.
   */
  uint32_t cwnd_pkts;
  /**
   * The host's threshold before the event.
   */
  uint32_t ssthresh_pkts;
  /**
   * In flight.
   */
  uint32_t inflight_pkts;
  /**
   * Payload of a full segment.
   */
  uint32_t mss_bytes;
  /**
   * Smoothed by the host; 0: none.
   */
  uint32_t srtt_us;
  /**
   * After an idle time: how long nothing was outstanding.
   */
  uint32_t idle_us;
  /**
   * Uniform, fresh at each call.
   */
  uint32_t random;
  /**
   * Nonzero if it is a congestion mark, not a loss.
   */
  uint8_t is_ecn;
  /**
   * One of enum ebb_phase, before the event.
   */
  uint8_t phase;
  /**
   * Zero.
   */
  uint8_t reserved[2];
};

/**
 * A law's answer.
 */
struct ebb_sender_window {
  /**
   * 0: the host's own pacing, or none.
   */
  uint64_t pacing_bytes_per_s;
  /**
   * Congestion window.
   */
  uint32_t cwnd_pkts;
  /**
   * Slow-start threshold.
   */
  uint32_t ssthresh_pkts;
  /**
   * Payload of a segment; 0: the MSS.
   */
  uint32_t segment_bytes;
  /**
   * Zero.
   */
  uint32_t reserved;
};

/**
 * What a law is told when it takes over a connection.
 */
struct ebb_receiver_start {
  /**
   * Receiver's monotonic clock.
   */
  uint64_t now_us;
  /**
   * The sender's segment payload, best knowledge.
   */
  uint32_t mss_bytes;
  /**
   * Next byte expected.
   */
  uint32_t rcv_nxt;
  /**
   * Nonzero if RFC 7323 timestamps are in use.
   */
  uint32_t has_timestamps;
  /**
   * The last timestamp heard, of the handshake, if so.
   */
  uint32_t tsval;
};

/**
 * One arriving data segment, or an aggregate of several.
 */
struct ebb_receiver_segment {
  /**
   * Arrival on the receiver's monotonic clock.
   */
  uint64_t now_us;
  /**
   * First payload byte.
   */
  uint32_t seq;
  /**
   * Payload of the whole aggregate.
   */
  uint32_t payload_bytes;
  /**
   * Wire segments in the aggregate: at least 1.
   */
  uint32_t segments;
  /**
   * The sender's clock in its own ticks.
   */
  uint32_t tsval;
  /**
   * Our clock in our ticks, as echoed.
   */
  uint32_t tsecr;
  /**
   * Our timestamp clock at arrival.
   */
  uint32_t local_ts;
  /**
   * Length of our tick.
   */
  uint32_t local_tick_us;
  /**
   * Next byte expected, before this segment.
   */
  uint32_t rcv_nxt;
  /**
   * First byte beyond the window advertised last.
   */
  uint32_t right_edge_seq;
  /**
   * Largest payload of one segment of this sender; 0 if unknown.
   */
  uint32_t mss_bytes;
  /**
   * The host's own receiver-side estimate of the RTT; 0: none yet.
   */
  uint32_t kernel_rtt_us;
  /**
   * Nonzero if this segment carries timestamps.
   */
  uint8_t has_timestamps;
  /**
   * Nonzero if a router marked congestion (ECN CE).
   */
  uint8_t is_ce;
  /**
   * Nonzero while the window is not applied.
   */
  uint8_t is_observing;
  /**
   * Nonzero if the host delays acknowledgements by ebb_receiver_ack_delay_us().
   */
  uint8_t can_delay_acks;
};

/**
 * An outgoing segment, about to carry a window.
 */
struct ebb_receiver_ack {
  /**
   * Receiver's monotonic clock.
   */
  uint64_t now_us;
  /**
   * What this segment acknowledges.
   */
  uint32_t ack_seq;
  /**
   * The timestamp that it will carry.
   */
  uint32_t local_ts;
  /**
   * Length of our tick.
   */
  uint32_t local_tick_us;
  /**
   * First byte beyond the window advertised last.
   */
  uint32_t right_edge_seq;
  /**
   * Largest payload of one segment of this sender; 0 if unknown.
   */
  uint32_t mss_bytes;
  /**
   * Nonzero if timestamps are in use.
   */
  uint8_t has_timestamps;
  /**
   * Nonzero while the window is not applied.
   */
  uint8_t is_observing;
  /**
   * Nonzero if the host closes the window when the answer is 0, and asks again.
   */
  uint8_t can_park;
  /**
   * Zero.
   */
  uint8_t reserved;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Puts a connection under a law of the sending end. There is no clock and no thread in it: the
 * host tells it what happens, and asks. One connection is for one thread at a time.
 *
 * @param policy "name:key=value,…", as `ebb policies` lists them
 * @param start what the law is told first
 * @param sender where it is put; ebb_sender_free() ends it
 * @return 0, or a number of enum ebb_error: EBB_BAD_POLICY, EBB_BAD_ARGUMENT
 */
int ebb_sender_new(const char *policy,
                   const struct ebb_sender_start *start,
                   struct ebb_sender **sender);

/**
 * Ends it.
 *
 * @param sender of ebb_sender_new(), or NULL
 */
void ebb_sender_free(struct ebb_sender *sender);

/**
 * What the law wants of its host.
 *
 * @param sender of ebb_sender_new()
 * @return 0, or EBB_SENDER_FULL_CONTROL and EBB_SENDER_NEEDS_ECN, added up
 */
uint32_t ebb_sender_flags(const struct ebb_sender *sender);

/**
 * Tells the law of an acknowledgement that acknowledges or SACKs something.
 *
 * @param sender of ebb_sender_new()
 * @param ack what it says
 */
void ebb_sender_on_ack(struct ebb_sender *sender, const struct ebb_sender_ack *ack);

/**
 * Tells the law that the host begins to repair a loss, or to answer a congestion mark: once a round
 * trip at the most.
 *
 * @param sender of ebb_sender_new()
 * @param event what the host knows then
 */
void ebb_sender_on_loss(struct ebb_sender *sender, const struct ebb_sender_event *event);

/**
 * Tells the law that the retransmission timer has expired; of QUIC, that congestion is persistent.
 *
 * @param sender of ebb_sender_new()
 * @param event what the host knows then
 */
void ebb_sender_on_timeout(struct ebb_sender *sender, const struct ebb_sender_event *event);

/**
 * Tells the law that the last loss or time-out turned out to have been none.
 *
 * @param sender of ebb_sender_new()
 * @param event what the host knows then
 */
void ebb_sender_on_undo(struct ebb_sender *sender, const struct ebb_sender_event *event);

/**
 * Tells the law that the host is about to send after an idle time.
 *
 * @param sender of ebb_sender_new()
 * @param event what the host knows then
 */
void ebb_sender_on_idle(struct ebb_sender *sender, const struct ebb_sender_event *event);

/**
 * Asks the law what it wants now; the host obeys after each call of the others. While it repairs a
 * loss it leads its window to the threshold instead, and after a time-out it starts from one
 * segment, but for laws of full control.
 *
 * @param sender of ebb_sender_new()
 * @param window is filled in
 */
void ebb_sender_ask(const struct ebb_sender *sender, struct ebb_sender_window *window);

/**
 * Puts a connection under a law of the receiving end. There is no clock and no thread in it: the
 * host tells it what happens, and asks. One connection is for one thread at a time.
 *
 * @param policy "name:key=value,…", as `ebb policies` lists them
 * @param start what the law is told first
 * @param receiver where it is put; ebb_receiver_free() ends it
 * @return 0, or a number of enum ebb_error: EBB_BAD_POLICY, EBB_BAD_ARGUMENT
 */
int ebb_receiver_new(const char *policy,
                     const struct ebb_receiver_start *start,
                     struct ebb_receiver **receiver);

/**
 * Ends it.
 *
 * @param receiver of ebb_receiver_new(), or NULL
 */
void ebb_receiver_free(struct ebb_receiver *receiver);

/**
 * Tells the law of a segment with data that arrives.
 *
 * @param receiver of ebb_receiver_new()
 * @param segment what it brings
 */
void ebb_receiver_on_segment(struct ebb_receiver *receiver,
                             const struct ebb_receiver_segment *segment);

/**
 * Tells the law of a segment that is about to leave with a window.
 *
 * @param receiver of ebb_receiver_new()
 * @param ack what it says
 */
void ebb_receiver_on_ack(struct ebb_receiver *receiver, const struct ebb_receiver_ack *ack);

/**
 * Asks the law how much may be advertised. The host takes nothing back that it has advertised.
 *
 * @param receiver of ebb_receiver_new()
 * @return the largest window, in bytes
 */
uint32_t ebb_receiver_window_bytes(const struct ebb_receiver *receiver);

/**
 * Asks the law how long each acknowledgement is to be held back.
 *
 * @param receiver of ebb_receiver_new()
 * @return the time in us; 0 for most laws
 */
uint32_t ebb_receiver_ack_delay_us(const struct ebb_receiver *receiver);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EBB_LAWS_H */
