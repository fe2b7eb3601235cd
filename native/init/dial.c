/* `init dial -- PORT`: a connection to a port of this sandbox's loopback, by standard input and
 * output. The end of input is passed on; the end of the connection is the end of this.
 * `init port -- PORT`: the same, and a byte that comes first on standard output says that it is
 * connected.
 * `init socket -- PATH`: as `port`, to a socket beneath the root. */
#define _GNU_SOURCE
#include "init.h"
#include "tree.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 65536, MOST_PORT = 65535 };

static int connected(int family, const struct sockaddr *there, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), kept;

	if (fd >= 0 && connect(fd, there, size) == 0)
		return fd;
	kept = errno;
	close(fd);
	errno = kept;
	return -1;
}

int reach_port(int port)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
	                           .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd;

	four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = connected(AF_INET, (struct sockaddr *)&four, sizeof four);
	return fd >= 0 ? fd : connected(AF_INET6, (struct sockaddr *)&six, sizeof six);
}

/* Until the end of `from`, or until nobody takes it. */
static void pump(int from, int to)
{
	static char data[CHUNK];
	ssize_t got, sent, at;

	while ((got = read(from, data, sizeof data)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return;
		for (at = 0; at < got; at += sent) {
			sent = write(to, data + at, (size_t)(got - at));
			if (sent < 0 && errno == EINTR)
				sent = 0;
			else if (sent < 0)
				return;
		}
	}
}

int carry(int fd)
{
	int told[2];
	char byte = 0;
	pid_t up;

	if (pipe2(told, O_CLOEXEC | O_NONBLOCK) < 0 || (up = fork()) < 0)
		return -1;
	if (up == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pump(STDIN_FILENO, fd);
		(void)!write(told[1], &byte, 1);
		shutdown(fd, SHUT_WR);
		_exit(0);
	}
	pump(fd, STDOUT_FILENO);
	kill(up, SIGKILL);
	waitpid(up, NULL, 0);
	return read(told[0], &byte, 1) == 1 ? 0 : -1;
}

/* By the descriptor of what was opened beneath the root, so that nobody can exchange it meanwhile.
 * A name would also have to fit into 108 bytes, and could not be kept beneath the root. */
static int reach_socket(int root, const char *path)
{
	struct sockaddr_un there = {.sun_family = AF_UNIX};
	int place = open_beneath(root, path, O_PATH | O_CLOEXEC, 0), fd;
	struct stat stat;

	if (place < 0 || fstat(place, &stat) < 0)
		return -1;
	if (!S_ISSOCK(stat.st_mode)) {
		errno = ENOTSOCK;
		return -1;
	}
	snprintf(there.sun_path, sizeof there.sun_path, "/proc/self/fd/%d", place);
	fd = connected(AF_UNIX, (struct sockaddr *)&there, sizeof there);
	close(place);
	return fd;
}

int do_socket(struct request *it)
{
	int fd;

	signal(SIGPIPE, SIG_IGN);
	fd = reach_socket(it->root, it->paths[0]);
	if (fd < 0)
		return failed("the socket");
	if (write(STDOUT_FILENO, "+", 1) == 1)
		carry(fd);
	return OK;
}

static int dial(const char *word, int announce)
{
	char *end;
	long port = strtol(word, &end, 10);
	int fd;

	if (*end || port < 1 || port > MOST_PORT)
		return denied(USAGE, "no port");
	signal(SIGPIPE, SIG_IGN);
	fd = reach_port((int)port);
	if (fd < 0)
		return failed("the port");
	if (!announce || write(STDOUT_FILENO, "+", 1) == 1)
		carry(fd);
	return OK;
}

int do_dial(struct request *it)
{
	return dial(it->paths[0], 0);
}

int do_port(struct request *it)
{
	return dial(it->paths[0], 1);
}
