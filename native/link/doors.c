/* The doors: init's listeners, whose connections are accepted here and served by the near end. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG_SECONDS 8.0 /* how long a connection waits for a near end */
#define FULL_SECONDS 0.1    /* the pause after accepting failed, as no descriptor was left */

struct door {
	int fd;
	uint32_t number;
	double drop_at, pause_until;
};

static struct door doors[MAX_DOORS];
static int count;

int doors_open(const int *fds, int many)
{
	int i;

	for (i = 0; i < many && i < MAX_DOORS; i++) {
		union {
			struct sockaddr any;
			struct sockaddr_in v4;
			struct sockaddr_in6 v6;
		} at;
		socklen_t length = sizeof at;
		if (getsockname(fds[i], &at.any, &length) < 0)
			return -1;
		fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
		doors[i] = (struct door){.fd = fds[i], .drop_at = NEVER};
		doors[i].number = at.any.sa_family == AF_INET6
		                      ? ntohs(at.v6.sin6_port) | (uint32_t)IPV6_BIT
		                      : ntohs(at.v4.sin_port);
	}
	count = i;
	return 0;
}

size_t doors_listed(uint8_t *at)
{
	int i;

	for (i = 0; i < count; i++, at += 5) {
		at[0] = PASSED_LISTENER;
		put32(at + 1, doors[i].number);
	}
	return (size_t)count * 5;
}

static int accepted(struct door *door)
{
	int fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && errno != EAGAIN)
		door->pause_until = now + FULL_SECONDS;
	return fd;
}

static void is_ready(void *of, short seen)
{
	struct door *door = of;
	struct channel *channel;
	uint8_t number[4];
	int fd, on = 1;

	(void)seen;
	if (!near_stream()->connected) {
		door->drop_at = fmin(door->drop_at, now + BACKLOG_SECONDS);
		return;
	}
	fd = accepted(door);
	if (fd < 0)
		return;
	if (!channels_room()) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	channel = channel_add(next_number(), PASSED_SOCKET, fd);
	put32(number, door->number);
	send_frame(ACCEPT, channel->number, number, sizeof number);
}

void doors_watch(void)
{
	bool served = near_stream()->connected, takes_data = near_takes_data();
	int i;

	for (i = 0; i < count; i++) {
		/* Without a near end, only the first connection that waits is of interest. */
		bool wanted = served ? takes_data : doors[i].drop_at == NEVER;
		if (wanted && now >= doors[i].pause_until)
			watch(doors[i].fd, POLLIN, is_ready, &doors[i]);
	}
}

double doors_due(void)
{
	double due = NEVER;
	int i;

	for (i = 0; i < count; i++) {
		due = fmin(due, doors[i].drop_at);
		if (doors[i].pause_until > now)
			due = fmin(due, doors[i].pause_until);
	}
	return due;
}

void doors_act(void)
{
	int i, fd;

	for (i = 0; i < count; i++) {
		if (near_stream()->connected) {
			doors[i].drop_at = NEVER;
		} else if (now >= doors[i].drop_at) {
			doors[i].drop_at = NEVER;
			while ((fd = accepted(&doors[i])) >= 0)
				close(fd);
		}
	}
}
