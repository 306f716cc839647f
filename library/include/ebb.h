/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* clang-format off */
/**
 * @file ebb.h
 * One socket in the background: it gets the bandwidth that nobody else wants, and all of it when
 * nobody does.
 *
 *     ebb_background(fd, NULL);
 *     ...
 *     ebb_foreground(fd);
 *
 * All may be called from any thread, none needs a privilege. A thread of the library's own looks
 * at the sockets and sleeps while nothing moves. docs/library.md has the whole.
 *
 * Made by cbindgen; do not change it by hand.
 */

#ifndef EBB_H
#define EBB_H

#include <stdint.h>

/**
 * What went wrong. A number is never used for anything else.
 */
enum ebb_error {
  /**
   * Nothing did.
   */
  EBB_OK = 0,
  /**
   * It is no open socket.
   */
  EBB_NOT_A_SOCKET = 1,
  /**
   * It is a socket, but not of TCP.
   */
  EBB_NOT_TCP = 2,
  /**
   * It waits for connections.
   */
  EBB_LISTENS = 3,
  /**
   * A policy cannot be read, or is for the other way.
   */
  EBB_BAD_POLICY = 4,
  /**
   * A law judges every packet, which only the kernel backend sees.
   */
  EBB_NOT_BY_SOCKETS = 5,
  /**
   * The options let nothing yield.
   */
  EBB_NOTHING_YIELDS = 6,
  /**
   * There is no thread to be had.
   */
  EBB_NO_THREAD = 7,
  /**
   * The system refused something that always works.
   */
  EBB_SYSTEM = 8,
  /**
   * A pointer is NULL, or what is reserved is not 0.
   */
  EBB_BAD_ARGUMENT = 9,
  /**
   * A minimum is no rate.
   */
  EBB_BAD_MINIMUM = 10,
};

/**
 * Where a socket is.
 */
enum ebb_standing {
  /**
   * In the foreground.
   */
  EBB_FOREGROUND = 0,
  /**
   * In the background; it yields once it is connected.
   */
  EBB_NOT_CONNECTED = 1,
  /**
   * In the background, but left alone: both ends are on this machine, or nothing can move on
   * it any more.
   */
  EBB_LEFT_ALONE = 2,
  /**
   * In the background, but another Ebb governs it. What ebbd holds for this user it tells of: its
   * flows are filled in. So is one that was taken to the foreground until ebbd has let it go.
   */
  EBB_OF_ANOTHER = 3,
  /**
   * In the background: it yields.
   */
  EBB_BACKGROUND = 4,
};

/**
 * Whether a direction is held back, and why.
 */
enum ebb_held_back {
  /**
   * It is not: it grows, or nothing limits it.
   */
  EBB_NOT_HELD_BACK = 0,
  /**
   * The queue is as long as it may be.
   */
  EBB_QUEUE_AT_TARGET = 1,
  /**
   * Others want the link.
   */
  EBB_OTHERS_WANT_IT = 2,
  /**
   * For a moment, to see the path without its queue.
   */
  EBB_SEEING_THE_PATH = 3,
  /**
   * What was granted before is to be used up first.
   */
  EBB_OLD_WINDOW_LEFT = 4,
};

/**
 * How sockets are to yield. Zeroes, or no options at all: both ways, by the usual laws.
 */
struct ebb_options {
  /**
   * The policy for what arrives, "name:key=value,…", as `ebb policies` lists them; "none": it
   * is left alone; NULL: the usual one.
   */
  const char *download;
  /**
   * The same for what is sent.
   */
  const char *upload;
  /**
   * Not 0: what is sent is not marked as Lower Effort (RFC 8622). It is settled once for each
   * socket, when it comes into the background.
   */
  uint32_t keep_code_point;
  /**
   * Zero.
   */
  uint32_t reserved[1];
  /**
   * A rate that they have at the least each way, whatever the laws say, as "2mbit", as far as
   * the path carries it; NULL or "none": that of the laws. A socket that is given by itself has
   * it for itself, all that are given together have it together. An older library, which knows
   * no minimum, answers EBB_BAD_ARGUMENT.
   */
  const char *minimum;
  /**
   * Zeroes.
   */
  uint32_t reserved_too[2];
};

/**
 * One direction of a connection.
 */
struct ebb_flow {
  /**
   * The law's name; "": this direction does not yield.
   */
  char law[16];
  /**
   * Payload since it is in the background.
   */
  uint64_t payload_bytes;
  /**
   * Sending: the bound on the pace; 0: none.
   */
  uint64_t pace_bytes_per_s;
  /**
   * The bound on the window that is advertised; sending, on what is in flight.
   */
  uint32_t window_bytes;
  /**
   * Round trip; UINT32_MAX: not known.
   */
  uint32_t rtt_us;
  /**
   * Queueing delay; UINT32_MAX: not known.
   */
  uint32_t queue_us;
  /**
   * Whether it is held back, and why: one of enum ebb_held_back.
   */
  uint32_t held_back;
};

/**
 * What is seen of a socket, as of the last look at it.
 */
struct ebb_state {
  /**
   * Where it is: one of enum ebb_standing.
   */
  uint32_t standing;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * What arrives.
   */
  struct ebb_flow download;
  /**
   * What is sent.
   */
  struct ebb_flow upload;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Puts a TCP socket into the background; it may be connected later. Whatever number it gets by
 * dup(2), it stays there until it is closed or taken to the foreground.
 *
 * @param fd the socket
 * @param options how it is to yield; NULL: both ways, by the usual laws
 * @return 0, or a number of enum ebb_error
 */
int ebb_background(int fd, const struct ebb_options *options);

/**
 * Puts all TCP sockets that this process has and will have into the background, but for those
 * that are taken to the foreground later. Those that were put there one by one keep their
 * options.
 *
 * @param options how they are to yield; NULL: both ways, by the usual laws
 * @return 0, or a number of enum ebb_error
 */
int ebb_background_all(const struct ebb_options *options);

/**
 * Takes a socket to the foreground. When this returns its limits are lifted, and what the program
 * itself had set is back; of one that ebbd holds they are lifted some milliseconds later, and
 * ebb_state says so. One that is there already stays there.
 *
 * @param fd the socket
 * @return 0, or a number of enum ebb_error
 */
int ebb_foreground(int fd);

/**
 * Takes all sockets to the foreground, as ebb_foreground does, also those that were put into the
 * background one by one.
 */
void ebb_foreground_all(void);

/**
 * Tells what is seen of a socket, as of the last look at it. Of one that ebbd governs that tells,
 * which is waited for: up to a fifth of a second where it does not answer, and not again for two.
 *
 * @param fd the socket
 * @param state is filled in
 * @return 0, or a number of enum ebb_error
 */
int ebb_state(int fd, struct ebb_state *state);

/**
 * Tells what went wrong in this thread's last call that failed, in a sentence that says what
 * would be right.
 *
 * @return a text that is valid until this thread's next call that fails; "" if none did
 */
const char *ebb_last_error(void);

/**
 * Puts a number of enum ebb_held_back into words.
 *
 * @param held_back the number
 * @return a text that is always valid
 */
const char *ebb_held_back_text(uint32_t held_back);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EBB_H */
