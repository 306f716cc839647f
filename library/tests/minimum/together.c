/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Receives from ADDRESS PORT on two sockets, which have RATE together at the least. */
#include <arpa/inet.h>
#include <ebb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_in server = {.sin_family = AF_INET};
	struct ebb_options options = {.upload = "none"};
	struct pollfd sockets[2];
	static char piece[65536];

	if (argc != 4)
		return EXIT_FAILURE;
	inet_pton(AF_INET, argv[1], &server.sin_addr);
	server.sin_port = htons((uint16_t)atoi(argv[2]));
	options.minimum = argv[3];
	if (ebb_background_all(&options) != EBB_OK) {
		fprintf(stderr, "%s\n", ebb_last_error());
		return EXIT_FAILURE;
	}
	for (int i = 0; i < 2; i++) {
		sockets[i].fd = socket(AF_INET, SOCK_STREAM, 0);
		sockets[i].events = POLLIN;
		if (connect(sockets[i].fd, (struct sockaddr *)&server, sizeof(server)))
			return EXIT_FAILURE;
	}
	while (poll(sockets, 2, -1) > 0)
		for (int i = 0; i < 2; i++)
			if (sockets[i].revents && read(sockets[i].fd, piece, sizeof(piece)) <= 0)
				return EXIT_SUCCESS;
	return EXIT_FAILURE;
}
