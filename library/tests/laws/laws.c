/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A law by the C face, told by the standard input and asked on the standard output: `laws SIDE
 * POLICY`. What comes is the struct of the beginning, then for each call a letter and its struct.
 */
#include <ebb_laws.h>
#include <stdio.h>
#include <string.h>

static int take(void *bytes, size_t length)
{
	return fread(bytes, length, 1, stdin) == 1;
}

static void tell(const void *bytes, size_t length)
{
	fwrite(bytes, length, 1, stdout);
	fflush(stdout);
}

static int refuse(void)
{
	fprintf(stderr, "%s\n", ebb_last_error());
	return 1;
}

static void tell_sender(struct ebb_sender *law, int call)
{
	struct ebb_sender_event event;
	struct ebb_sender_ack ack;

	if (call == 'a' && take(&ack, sizeof(ack))) {
		ebb_sender_on_ack(law, &ack);
		return;
	}
	if (!take(&event, sizeof(event)))
		return;
	if (call == 'l')
		ebb_sender_on_loss(law, &event);
	if (call == 't')
		ebb_sender_on_timeout(law, &event);
	if (call == 'u')
		ebb_sender_on_undo(law, &event);
	if (call == 'i')
		ebb_sender_on_idle(law, &event);
}

static int send_under(const char *policy)
{
	struct ebb_sender_window window;
	struct ebb_sender_start start;
	struct ebb_sender *law;

	if (!take(&start, sizeof(start)) || ebb_sender_new(policy, &start, &law) != EBB_OK)
		return refuse();
	for (int call = getchar(); call != EOF; call = getchar()) {
		tell_sender(law, call);
		ebb_sender_ask(law, &window);
		tell(&window, sizeof(window));
	}
	ebb_sender_free(law);
	return 0;
}

static void tell_receiver(struct ebb_receiver *law, int call)
{
	struct ebb_receiver_segment segment;
	struct ebb_receiver_ack ack;

	if (call == 's' && take(&segment, sizeof(segment)))
		ebb_receiver_on_segment(law, &segment);
	if (call == 'a' && take(&ack, sizeof(ack)))
		ebb_receiver_on_ack(law, &ack);
}

static int receive_under(const char *policy)
{
	struct ebb_receiver_start start;
	struct ebb_receiver *law;
	uint32_t answer[2];

	if (!take(&start, sizeof(start)) || ebb_receiver_new(policy, &start, &law) != EBB_OK)
		return refuse();
	for (int call = getchar(); call != EOF; call = getchar()) {
		tell_receiver(law, call);
		answer[0] = ebb_receiver_window_bytes(law);
		answer[1] = ebb_receiver_ack_delay_us(law);
		tell(answer, sizeof(answer));
	}
	ebb_receiver_free(law);
	return 0;
}

/* What is missing is told, and nobody looks at what is nowhere. */
static int refuses_what_is_missing(void)
{
	struct ebb_sender_start start = {.now_us = 1000000, .mss_bytes = 1200, .cwnd_pkts = 10};
	struct ebb_sender *law = NULL;

	if (ebb_sender_new(NULL, &start, &law) != EBB_BAD_ARGUMENT ||
	    ebb_sender_new("reno", NULL, &law) != EBB_BAD_ARGUMENT ||
	    ebb_sender_new("reno", &start, NULL) != EBB_BAD_ARGUMENT ||
	    ebb_sender_new("ebb", &start, &law) != EBB_BAD_POLICY || law)
		return 0;
	if (ebb_sender_new("bbr", &start, &law) != EBB_OK ||
	    ebb_sender_flags(law) != EBB_SENDER_FULL_CONTROL)
		return 0;
	ebb_sender_free(law);
	ebb_sender_free(NULL);
	ebb_receiver_free(NULL);
	return 1;
}

int main(int count, char **words)
{
	if (count == 3 && !strcmp(words[1], "sender"))
		return send_under(words[2]);
	if (count == 3 && !strcmp(words[1], "receiver"))
		return receive_under(words[2]);
	return !refuses_what_is_missing();
}
