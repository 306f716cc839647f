/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A user's program whose sockets ebbd holds, by the C face, under sanitizers. */
#include <arpa/inet.h>
#include <ebb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECTIONS 8
#define EXPECT(is_so)                                                                     \
	do {                                                                              \
		if (!(is_so)) {                                                           \
			fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __func__, \
				__LINE__, #is_so, ebb_last_error());                      \
			_exit(1);                                                         \
		}                                                                         \
	} while (0)

static int make_connection(void)
{
	struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(7000)};
	int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "10.78.0.2", &server.sin_addr);
	EXPECT(own >= 0 && !connect(own, (struct sockaddr *)&server, sizeof(server)));
	return own;
}

/* ebbd holds it, and tells what it does. */
static int becomes_held(int fd)
{
	struct ebb_state state;

	for (int i = 0; i < 400; i++) {
		EXPECT(ebb_state(fd, &state) == EBB_OK);
		if (state.standing == EBB_OF_ANOTHER && !strcmp(state.download.law, "ebb") &&
		    !strcmp(state.upload.law, "ebb-sender") && state.download.window_bytes)
			return 1;
		usleep(50000);
	}
	return 0;
}

/* It is taken to the foreground, and ebbd has let it go. */
static int becomes_free(int fd)
{
	struct ebb_state state;

	EXPECT(ebb_foreground(fd) == EBB_OK);
	for (int i = 0; i < 400; i++) {
		EXPECT(ebb_state(fd, &state) == EBB_OK);
		if (state.standing == EBB_FOREGROUND)
			return 1;
		usleep(50000);
	}
	return 0;
}

static void hold(const int *own, int are_together)
{
	struct ebb_state state;
	int status;
	pid_t child;

	if (are_together)
		EXPECT(ebb_background_all(NULL) == EBB_OK);
	for (int i = 0; i < CONNECTIONS; i++)
		EXPECT(are_together || ebb_background(own[i], NULL) == EBB_OK);
	for (int i = 0; i < CONNECTIONS; i++)
		EXPECT(becomes_held(own[i]));
	child = fork();
	if (!child) {
		EXPECT(ebb_state(own[0], &state) == EBB_OK);
		EXPECT(state.standing == EBB_FOREGROUND && !*state.download.law);
		ebb_foreground_all();
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && !status);
	EXPECT(becomes_held(own[0]) && becomes_free(own[0]));
	ebb_foreground_all();
}

int main(void)
{
	int own[CONNECTIONS];

	for (int i = 0; i < CONNECTIONS; i++)
		own[i] = make_connection();
	hold(own, 0);
	hold(own, 1);
	EXPECT(ebb_background_all(NULL) == EBB_OK && becomes_held(own[1]));
	puts("all so");
	return 0;
}
