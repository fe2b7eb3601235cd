/* A door: one port on 127.0.0.1 and ::1, bound before anything else runs inside. Without
 * SO_REUSEADDR or SO_REUSEPORT nobody else can have it while it is open. */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener(int family, const void *address, socklen_t length)
{
	int one = 1, saved;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) < 0)
		goto failed;
	if (bind(fd, address, length) < 0 || listen(fd, 1024) < 0)
		goto failed;
	return fd;
failed:
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int open_door(int port, int *fds)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
	                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
	                           .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	fds[0] = listener(AF_INET, &four, sizeof four);
	if (fds[0] < 0)
		return -1;
	fds[1] = listener(AF_INET6, &six, sizeof six);
	if (fds[1] >= 0)
		return 2;
	/* A kernel without IPv6 has no ::1 that anyone could squat. */
	if (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)
		return 1;
	return -1;
}
