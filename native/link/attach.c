/* `attach` joins standard input and output with the socket of a link, until either side ends. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { NOBODY = 69 };

struct way {
	int from, to;
	size_t start, end;
	uint8_t data[READ_BYTES];
};

/* Copies what is ready; false at the end of the source, or when the target is gone. */
static bool copied(struct way *way)
{
	ssize_t done;

	if (way->start == way->end) {
		done = read(way->from, way->data, sizeof way->data);
		if (done <= 0)
			return done < 0 && (errno == EAGAIN || errno == EINTR);
		way->start = 0;
		way->end = (size_t)done;
	}
	done = write(way->to, way->data + way->start, way->end - way->start);
	if (done < 0)
		return errno == EAGAIN || errno == EINTR;
	way->start += (size_t)done;
	return true;
}

static int pump(int line)
{
	static struct way ways[2];
	struct pollfd polled[2];
	int i;

	ways[0].from = 0;
	ways[0].to = ways[1].from = line;
	ways[1].to = 1;
	for (i = 0; i < 2; i++)
		fcntl(i, F_SETFL, fcntl(i, F_GETFL) | O_NONBLOCK);
	fcntl(line, F_SETFL, O_NONBLOCK);
	for (;;) {
		for (i = 0; i < 2; i++) {
			bool waits = ways[i].start < ways[i].end;
			polled[i].fd = waits ? ways[i].to : ways[i].from;
			polled[i].events = waits ? POLLOUT : POLLIN;
		}
		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			return 1;
		for (i = 0; i < 2; i++)
			if (polled[i].revents && !copied(&ways[i]))
				return 0;
	}
}

int attach(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof at.sun_path) {
		fprintf(stderr, "%s: %s\n", path, strerror(ENAMETOOLONG));
		return NOBODY;
	}
	strcpy(at.sun_path, path);
	if (line < 0 || connect(line, (struct sockaddr *)&at, sizeof at) < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return NOBODY;
	}
	return pump(line);
}
