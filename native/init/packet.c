/* Packets on the control socket: one recvmsg or sendmsg each, descriptors beside them. */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static char buffer[MAX_PACKET];

int receive(int fd, struct packet *in)
{
	union {
		char room[CMSG_SPACE(MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} ancillary;
	struct iovec part = {buffer, sizeof buffer};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = ancillary.room,
	                         .msg_controllen = sizeof ancillary.room};
	ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *each;

	in->count = 0;
	if (got < 0)
		return errno == EINTR || errno == EAGAIN ? -1 : 0;
	if (got == 0)
		return 0;
	for (each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each)) {
		if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS)
			continue;
		in->count = (int)((each->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(in->fds, CMSG_DATA(each), (size_t)in->count * sizeof(int));
	}
	in->cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
	if ((size_t)got < sizeof in->head) {
		drop_fds(in);
		return -1;
	}
	memcpy(&in->head, buffer, sizeof in->head);
	in->payload = buffer + sizeof in->head;
	in->length = (size_t)got - sizeof in->head;
	return 1;
}

void drop_fds(struct packet *in)
{
	while (in->count > 0)
		close(in->fds[--in->count]);
}

void reply_with(int fd, struct header head, const void *payload, size_t length, const int *fds,
                int count)
{
	union {
		char room[CMSG_SPACE(MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} ancillary;
	struct iovec parts[2] = {{&head, sizeof head}, {(void *)payload, length}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = length ? 2 : 1};

	if (count > 0) {
		struct cmsghdr *rights;
		memset(&ancillary, 0, sizeof ancillary);
		message.msg_control = ancillary.room;
		message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
		rights = CMSG_FIRSTHDR(&message);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
		memcpy(CMSG_DATA(rights), fds, (size_t)count * sizeof(int));
	}
	while (sendmsg(fd, &message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

void reply(int fd, uint32_t op, uint32_t tag, int a, int b)
{
	struct header head = {op, tag, a, b};
	reply_with(fd, head, NULL, 0, NULL, 0);
}

void close_from(unsigned first, unsigned last)
{
	if (first <= last)
		syscall(SYS_close_range, first, last, 0);
}
