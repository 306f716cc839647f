/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * both_ways ADDRESS PORT: asks for bytes ("d") on one connection, sends bytes ("u") on
 * another, each in a thread, and says "ready". Ends with its standard input.
 *
 * Built by the tests with shared libraries, and with cc -static.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int connect_to(const char *address, const char *port, char what)
{
	struct sockaddr_in server = {
		.sin_family = AF_INET,
		.sin_port = htons((unsigned short)atoi(port)),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (inet_pton(AF_INET, address, &server.sin_addr) != 1)
		fail("address");
	if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof(server)))
		fail("connect");
	if (write(fd, &what, 1) != 1)
		fail("ask");
	return fd;
}

static void *receive(void *fd)
{
	static char buffer[65536];

	while (read((int)(intptr_t)fd, buffer, sizeof(buffer)) > 0)
		;
	fail("receive");
	return NULL;
}

static void *transmit(void *fd)
{
	static char buffer[65536];

	while (write((int)(intptr_t)fd, buffer, sizeof(buffer)) > 0)
		;
	fail("send");
	return NULL;
}

static void start(void *(*what)(void *), int fd)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, what, (void *)(intptr_t)fd))
		fail("thread");
}

int main(int argc, char **argv)
{
	char byte;

	if (argc != 3) {
		fprintf(stderr, "both_ways ADDRESS PORT\n");
		return 2;
	}
	start(receive, connect_to(argv[1], argv[2], 'd'));
	start(transmit, connect_to(argv[1], argv[2], 'u'));
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
