/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * fetch ADDRESS PORT PATH [PAUSE_AFTER_BYTES PAUSE_S]: writes what an HTTP server
 * answers to standard output, without its head. With a pause it stops reading for
 * so long once so many bytes have come.
 *
 * Built with cc -static by the tests: a program into which no library can be put.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int connect_to(const char *address, const char *port)
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
	return fd;
}

/* Reads byte by byte: nothing of the body may be taken with the head. */
static void skip_head(int fd)
{
	const char end[] = "\r\n\r\n";
	unsigned int matched = 0;
	char byte;

	while (matched < 4) {
		if (read(fd, &byte, 1) != 1)
			fail("head");
		matched = byte == end[matched] ? matched + 1 : byte == '\r';
	}
}

int main(int argc, char **argv)
{
	static char buffer[65536];
	long pause_after_bytes, total_bytes = 0;
	int fd, has_paused;
	ssize_t length;

	if (argc != 4 && argc != 6) {
		fprintf(stderr, "fetch ADDRESS PORT PATH [PAUSE_AFTER_BYTES PAUSE_S]\n");
		return 2;
	}
	pause_after_bytes = argc == 6 ? atol(argv[4]) : 0;
	has_paused = argc == 4;
	fd = connect_to(argv[1], argv[2]);
	dprintf(fd, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", argv[3], argv[1]);
	skip_head(fd);

	while ((length = read(fd, buffer, sizeof(buffer))) > 0) {
		if (fwrite(buffer, 1, (size_t)length, stdout) != (size_t)length)
			fail("write");
		fflush(stdout);
		total_bytes += length;
		if (!has_paused && total_bytes >= pause_after_bytes) {
			sleep((unsigned int)atoi(argv[5]));
			has_paused = 1;
		}
	}
	if (length < 0)
		fail("read");
	return 0;
}
