/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Fetches from HOST:PORT in the background, by libcurl; the lines "foreground" and "background" on
 * the standard input take it there:
 *
 *     cc fetch_with_libcurl.c $(pkg-config --cflags --libs ebb libcurl) -pthread
 */
#include <curl/curl.h>
#include <ebb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static curl_socket_t used = CURL_SOCKET_BAD;

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return EXIT_FAILURE;
}

/* libcurl calls this for each socket that it makes, before it connects. */
static int put_into_background(void *unused, curl_socket_t socket, curlsocktype purpose)
{
	(void)unused;
	(void)purpose;
	used = socket;
	if (ebb_background(socket, NULL) == EBB_OK)
		return CURL_SOCKOPT_OK;
	fail("ebb_background", ebb_last_error());
	return CURL_SOCKOPT_ERROR;
}

static size_t drop(char *data, size_t size, size_t count, void *is_ready)
{
	(void)data;
	if (!*(int *)is_ready) {
		*(int *)is_ready = 1;
		printf("ready\n");
		fflush(stdout);
	}
	return size * count;
}

static void *listen_to_lines(void *unused)
{
	struct ebb_state state;
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == 'b' ? ebb_background(used, NULL) : ebb_foreground(used))
			fail("ebb", ebb_last_error());
		else if (ebb_state(used, &state))
			fail("ebb_state", ebb_last_error());
		else if ((line[0] == 'b') == (state.standing != EBB_FOREGROUND))
			fputs(line, stdout);
		fflush(stdout);
	}
	/* Nobody wants the rest. */
	exit(EXIT_SUCCESS);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	CURLcode code;
	CURL *curl;
	int is_ready = 0;

	if (argc != 2)
		return fail("usage", "fetch_with_libcurl HOST:PORT");
	curl_global_init(CURL_GLOBAL_DEFAULT);
	curl = curl_easy_init();
	curl_easy_setopt(curl, CURLOPT_URL, argv[1]);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, put_into_background);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &is_ready);
	pthread_create(&thread, NULL, listen_to_lines, NULL);
	code = curl_easy_perform(curl);
	curl_easy_cleanup(curl);
	return code == CURLE_OK ? EXIT_SUCCESS : fail(argv[1], curl_easy_strerror(code));
}
