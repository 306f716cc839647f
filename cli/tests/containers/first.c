// SPDX-License-Identifier: Apache-2.0 OR MIT
/* What a container runs that connects first of all: `first ADDRESS PORT`. It ends with the connection. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char bytes[4096];
	int tcp;

	if (count != 3 || inet_pton(AF_INET, words[1], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons((unsigned short)atoi(words[2]));
	tcp = socket(AF_INET, SOCK_STREAM, 0);
	if (tcp < 0 || connect(tcp, (struct sockaddr *)&to, sizeof(to)))
		return 1;
	while (read(tcp, bytes, sizeof(bytes)) > 0)
		;
	return 0;
}
