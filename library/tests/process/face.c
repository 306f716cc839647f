/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What becomes of sockets in the background when a process forks, executes, ends, closes, or has
 * many threads; by the C face, under sanitizers. Both ends are on this machine, at addresses that
 * are not of the loopback device.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <ebb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NO_CLAMP_BYTES (1 << 30)
/* The first window is of ten segments; by itself the kernel sets no less than 30 kB. */
#define LIMITED_BYTES 20000
#define EXPECT(is_so)                                                                     \
	do {                                                                              \
		if (!(is_so)) {                                                           \
			fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __func__, \
				__LINE__, #is_so, ebb_last_error());                      \
			_exit(1);                                                         \
		}                                                                         \
	} while (0)

/* A child has what belongs to a thread of its parent that it lacks. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:spawn_unchecked\nleak:std6thread\nleak:__cxa_thread_atexit_impl\n";
}

static int listener;
static struct sockaddr_in server;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void sleep_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static void make_listener(void)
{
	socklen_t length = sizeof(server);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	server.sin_family = AF_INET;
	inet_pton(AF_INET, "10.9.0.1", &server.sin_addr);
	EXPECT(!bind(listener, (struct sockaddr *)&server, sizeof(server)));
	EXPECT(!listen(listener, 100));
	EXPECT(!getsockname(listener, (struct sockaddr *)&server, &length));
}

/* Connects at own number, and leaves the other end open at other's. */
static int make_connection(int *other)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte[1000] = {0};

	inet_pton(AF_INET, "10.9.0.2", &from.sin_addr);
	EXPECT(own >= 0 && !bind(own, (struct sockaddr *)&from, sizeof(from)));
	pthread_mutex_lock(&lock);
	EXPECT(!connect(own, (struct sockaddr *)&server, sizeof(server)));
	*other = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	pthread_mutex_unlock(&lock);
	EXPECT(*other >= 0);
	EXPECT(write(*other, byte, sizeof(byte)) == sizeof(byte));
	/* What has arrived tells the kernel and the law how long segments are. */
	EXPECT(recv(own, byte, sizeof(byte), MSG_PEEK | MSG_WAITALL) == sizeof(byte));
	return own;
}

static int is_limited(int fd)
{
	socklen_t length = sizeof(int);
	int clamp = 0;

	EXPECT(!getsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, &length));
	return clamp < LIMITED_BYTES;
}

static int becomes(int fd, int limited)
{
	for (int i = 0; i < 3000; i++) {
		if (is_limited(fd) == limited)
			return 1;
		sleep_ms(5);
	}
	return 0;
}

static unsigned int standing(int fd)
{
	struct ebb_state state;

	EXPECT(ebb_state(fd, &state) == EBB_OK);
	return state.standing;
}

static int ends_well(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void test_there_and_back(void)
{
	struct ebb_options down = {.upload = "none"};
	int other, own = make_connection(&other);
	struct ebb_state state;

	EXPECT(standing(own) == EBB_FOREGROUND);
	EXPECT(ebb_background(own, NULL) == EBB_OK);
	EXPECT(becomes(own, 1) && !is_limited(other));
	EXPECT(ebb_state(own, &state) == EBB_OK);
	EXPECT(state.standing == EBB_BACKGROUND);
	EXPECT(!strcmp(state.download.law, "sampled") && !strcmp(state.upload.law, "paced"));
	EXPECT(state.download.window_bytes < LIMITED_BYTES);
	EXPECT(ebb_background(own, &down) == EBB_OK);
	for (int i = 0; i < 1000 && *state.upload.law; i++) {
		sleep_ms(5);
		EXPECT(ebb_state(own, &state) == EBB_OK);
	}
	EXPECT(!*state.upload.law && *state.download.law);
	EXPECT(ebb_foreground(own) == EBB_OK);
	EXPECT(!is_limited(own) && standing(own) == EBB_FOREGROUND);
	EXPECT(ebb_foreground(own) == EBB_OK);
	close(own);
	close(other);
}

/* Before anything is in the background. */
static void test_nothing_is_governed_yet(void)
{
	struct ebb_state seen;
	int other, own = make_connection(&other);

	EXPECT(ebb_foreground(-1) == EBB_NOT_A_SOCKET);
	EXPECT(ebb_foreground(0) == EBB_NOT_A_SOCKET);
	EXPECT(ebb_state(9999, &seen) == EBB_NOT_A_SOCKET);
	EXPECT(ebb_foreground(own) == EBB_OK);
	EXPECT(standing(own) == EBB_FOREGROUND);
	close(own);
	close(other);
}

static void test_errors(void)
{
	struct ebb_options wrong = {.download = "sampeld"};
	struct ebb_options none = {.download = "none", .upload = "none"};
	struct ebb_options reserved = {.reserved = {1}}, packets = {.download = "ebb"};
	struct ebb_options later = {.reserved_too = {0, 1}}, bytes = {.minimum = "2MB/s"};
	int other, own = make_connection(&other), udp = socket(AF_INET, SOCK_DGRAM, 0);

	EXPECT(ebb_background(-1, NULL) == EBB_NOT_A_SOCKET);
	EXPECT(ebb_background(9999, NULL) == EBB_NOT_A_SOCKET);
	EXPECT(ebb_background(0, NULL) == EBB_NOT_A_SOCKET);
	EXPECT(ebb_background(udp, NULL) == EBB_NOT_TCP);
	EXPECT(strstr(ebb_last_error(), "UDP"));
	EXPECT(ebb_background(listener, NULL) == EBB_LISTENS);
	EXPECT(ebb_background(own, &wrong) == EBB_BAD_POLICY);
	EXPECT(strstr(ebb_last_error(), "sampled"));
	EXPECT(ebb_background(own, &packets) == EBB_NOT_BY_SOCKETS);
	EXPECT(ebb_background(own, &none) == EBB_NOTHING_YIELDS);
	EXPECT(ebb_background(own, &reserved) == EBB_BAD_ARGUMENT);
	EXPECT(ebb_background(own, &later) == EBB_BAD_ARGUMENT);
	EXPECT(ebb_background(own, &bytes) == EBB_BAD_MINIMUM);
	EXPECT(strstr(ebb_last_error(), "2mbit"));
	EXPECT(ebb_state(own, NULL) == EBB_BAD_ARGUMENT);
	EXPECT(!strcmp(ebb_held_back_text(EBB_OTHERS_WANT_IT), "others want it"));
	EXPECT(standing(own) == EBB_FOREGROUND && !is_limited(own));
	close(udp);
	close(own);
	close(other);
}

static void test_fork(void)
{
	int other, own = make_connection(&other);
	pid_t child;

	EXPECT(ebb_background(own, NULL) == EBB_OK && becomes(own, 1));
	child = fork();
	if (!child) {
		int other_too, own_too = make_connection(&other_too);

		/* It governs nothing, and may on its own. */
		EXPECT(standing(own) == EBB_FOREGROUND && ebb_foreground(own) == EBB_OK);
		EXPECT(is_limited(own));
		EXPECT(ebb_background(own_too, NULL) == EBB_OK && becomes(own_too, 1));
		ebb_foreground_all();
		EXPECT(!is_limited(own_too));
		exit(0);
	}
	EXPECT(ends_well(child));
	EXPECT(is_limited(own) && standing(own) == EBB_BACKGROUND);
	/* What the parent has closed the child has without limits. */
	child = fork();
	if (!child) {
		EXPECT(becomes(own, 0));
		_exit(0);
	}
	close(own);
	EXPECT(ends_well(child));
	close(other);
}

/* Somebody else has the socket of a process that ends. */
static void test_end(void)
{
	int other, own = make_connection(&other);
	pid_t child = fork();

	if (!child) {
		EXPECT(ebb_background(own, NULL) == EBB_OK && becomes(own, 1));
		exit(0);
	}
	EXPECT(ends_well(child));
	EXPECT(!is_limited(own));
	close(own);
	close(other);
}

static void call_late(void)
{
	EXPECT(ebb_foreground(-1) == EBB_NOT_A_SOCKET);
	EXPECT(ebb_last_error());
}

/* What a thread had of its own is gone by then, its last error, too. */
static void test_calls_at_exit(void)
{
	pid_t child = fork();

	if (!child) {
		EXPECT(ebb_foreground(-1) == EBB_NOT_A_SOCKET && *ebb_last_error());
		EXPECT(!atexit(call_late));
		exit(0);
	}
	EXPECT(ends_well(child));
}

/* What is executed has no descriptor of the library's: sockets of it would count here. */
static void test_exec(void)
{
	int other, own = make_connection(&other);
	pid_t child;

	EXPECT(ebb_background(own, NULL) == EBB_OK && becomes(own, 1));
	for (int i = 0; i < 20; i++) {
		child = fork();
		if (!child)
			execl("/bin/sh", "sh", "-c",
			      "for it in /proc/self/fd/*; do case \"$(readlink $it)\" in "
			      "socket:*|*ebb-claims*) exit 1;; esac; done; exit 0",
			      NULL);
		EXPECT(ends_well(child));
	}
	close(own);
	close(other);
}

static void test_number_is_used_again(void)
{
	int other, own = make_connection(&other), other_too, own_too;

	EXPECT(ebb_background(own, NULL) == EBB_OK && becomes(own, 1));
	own_too = make_connection(&other_too);
	EXPECT(dup2(own_too, own) == own);
	sleep_ms(100);
	EXPECT(!is_limited(own) && standing(own) == EBB_FOREGROUND);
	close(own_too);
	close(other_too);
	close(own);
	close(other);
}

static void *there_and_back(void *unused)
{
	(void)unused;
	for (int i = 0; i < 50; i++) {
		int other, own = make_connection(&other);

		EXPECT(ebb_background(own, NULL) == EBB_OK);
		if (i % 3)
			EXPECT(becomes(own, 1));
		if (i % 2)
			EXPECT(ebb_foreground(own) == EBB_OK && !is_limited(own));
		close(own);
		close(other);
	}
	return NULL;
}

static int descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void test_threads(void)
{
	int before = descriptors();
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		EXPECT(!pthread_create(&threads[i], NULL, there_and_back, NULL));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	sleep_ms(100);
	EXPECT(descriptors() <= before);
}

static void test_all(void)
{
	int other, own = make_connection(&other), late;

	EXPECT(ebb_background_all(NULL) == EBB_OK && becomes(own, 1));
	EXPECT(ebb_foreground(own) == EBB_OK && !is_limited(own));
	close(other);
	late = make_connection(&other);
	EXPECT(becomes(late, 1) && !is_limited(own));
	ebb_foreground_all();
	EXPECT(!is_limited(late) && standing(late) == EBB_FOREGROUND);
	close(late);
	close(own);
	close(other);
}

int main(void)
{
	make_listener();
	test_nothing_is_governed_yet();
	test_there_and_back();
	test_errors();
	test_fork();
	test_end();
	test_calls_at_exit();
	test_exec();
	test_number_is_used_again();
	test_threads();
	test_all();
	puts("all so");
	return 0;
}
