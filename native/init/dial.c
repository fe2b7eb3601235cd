/* `init dial -- PORT`: a connection to a port of this sandbox's loopback, by standard input and
 * output. The end of input is passed on; the end of the connection is the end of this. */
#define _GNU_SOURCE
#include "tree.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

int do_dial(struct request *it)
{
	char *end;
	long port = strtol(it->paths[0], &end, 10);
	int fd;

	if (*end || port < 1 || port > MOST_PORT)
		return denied(USAGE, "no port");
	signal(SIGPIPE, SIG_IGN);
	fd = reach_port((int)port);
	if (fd < 0)
		return failed("the port");
	carry(fd);
	return OK;
}
