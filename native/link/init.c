/* The init beside this program: its start, its packets, and its end. src/atoll/wire/init.py
 * describes the packets; only their heads are read here. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONTROL_FD = 3, READY_MS = 20000, LAST_WORDS_MS = 2000, MAX_WAITING = 256 };
#define KILL_SECONDS 10.0

struct queued {
	struct queued *next;
	int fds[MAX_PASSED], fd_count;
	size_t count;
	uint8_t packet[];
};

static pid_t pid;
static int control = -1, said = -1;
static struct queued *waiting;
static size_t waiting_count;
static double kill_at = NEVER;
static bool gone;
static int status;

void close_all(const int *fds, int count)
{
	while (count > 0)
		close(fds[--count]);
}

static void become(char **command, int theirs, int say)
{
	int null = open("/dev/null", O_RDWR), fd;
	sigset_t none;

	dup2(null, 0);
	dup2(null, 1);
	dup2(say, 2);
	if (theirs == CONTROL_FD)
		fcntl(theirs, F_SETFD, 0);
	else
		dup2(theirs, CONTROL_FD);
	if (syscall(SYS_close_range, CONTROL_FD + 1, ~0u, 0) < 0)
		for (fd = CONTROL_FD + 1; fd < 65536; fd++)
			close(fd);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(command[0], command);
	dprintf(2, "%s: %s\n", command[0], strerror(errno));
	_exit(127);
}

int init_start(char **command)
{
	int both[2], words[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both) < 0 ||
	    pipe2(words, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0)
		become(command, both[1], words[1]);
	close(both[1]);
	close(words[1]);
	fcntl(words[0], F_SETFL, O_NONBLOCK);
	fcntl(both[0], F_SETFL, O_NONBLOCK);
	control = both[0];
	said = words[0];
	return 0;
}

/* The last line that init wrote before it ended, or how it ended. */
static const char *last_words(void)
{
	static char words[4096];
	char *line;
	ssize_t got;
	int left;

	init_close();
	for (left = LAST_WORDS_MS; left > 0 && !init_is_gone(); left -= 10)
		poll(NULL, 0, 10);
	got = read(said, words, sizeof words - 1);
	while (got > 0 && (words[got - 1] == '\n' || words[got - 1] == ' '))
		got--;
	if (got <= 0)
		return init_how();
	words[got] = 0;
	line = strrchr(words, '\n');
	return line ? line + 1 : words;
}

const char *init_ready(struct reply *ready)
{
	static char why[4200];
	struct pollfd one = {.fd = control, .events = POLLIN};
	int got, count;

	do
		count = poll(&one, 1, READY_MS);
	while (count < 0 && errno == EINTR);
	if (count <= 0)
		return "init did not say READY within 20 s";
	got = init_receive(ready);
	if (got <= 0 || ready->count < INIT_HEAD) {
		snprintf(why, sizeof why, "init ended before it said READY: %s", last_words());
		return why;
	}
	if (ready->op == INIT_FAILED) {
		snprintf(why, sizeof why, "init could not %s: %s",
		         ready->b == INIT_DOOR ? "bind its doors" : "begin", strerror(ready->a));
		return why;
	}
	if (ready->op != INIT_READY || ready->b != INIT_VERSION)
		return "init speaks another version of its protocol";
	return NULL;
}

int init_fd(void)
{
	return control;
}

bool init_is_congested(void)
{
	return waiting != NULL;
}

static void forget_first(void)
{
	struct queued *one = waiting;

	waiting = one->next;
	waiting_count--;
	close_all(one->fds, one->fd_count);
	free(one);
}

/* False when the socket takes nothing now. One that is gone shows so when it is read. */
static bool sent(const struct queued *one)
{
	union {
		char room[CMSG_SPACE(MAX_PASSED * sizeof(int))];
		struct cmsghdr align;
	} ancillary;
	struct iovec part = {(void *)one->packet, one->count};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (one->fd_count > 0) {
		size_t bytes = (size_t)one->fd_count * sizeof(int);
		struct cmsghdr *rights;
		memset(&ancillary, 0, sizeof ancillary);
		message.msg_control = ancillary.room;
		message.msg_controllen = CMSG_SPACE(bytes);
		rights = CMSG_FIRSTHDR(&message);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(rights), one->fds, bytes);
	}
	return sendmsg(control, &message, MSG_NOSIGNAL) >= 0 || (errno != EAGAIN && errno != EINTR);
}

bool init_send(const void *packet, size_t count, const int *fds, int fd_count)
{
	struct queued *made, **at = &waiting;

	if (control < 0 || waiting_count >= MAX_WAITING) {
		close_all(fds, fd_count);
		return false;
	}
	made = allocate(sizeof *made + count);
	made->count = count;
	made->fd_count = fd_count;
	memcpy(made->packet, packet, count);
	if (fd_count)
		memcpy(made->fds, fds, (size_t)fd_count * sizeof *fds);
	while (*at)
		at = &(*at)->next;
	*at = made;
	waiting_count++;
	init_flush();
	return true;
}

void init_flush(void)
{
	while (waiting && sent(waiting))
		forget_first();
}

int init_receive(struct reply *in)
{
	static uint8_t buffer[MAX_PACKET];
	union {
		char room[CMSG_SPACE(MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} ancillary;
	struct iovec part = {buffer, sizeof buffer};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = ancillary.room,
	                         .msg_controllen = sizeof ancillary.room};
	ssize_t got = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *each;

	in->count = 0;
	in->fd_count = 0;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	for (each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each)) {
		if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS)
			continue;
		in->fd_count = (int)((each->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(in->fds, CMSG_DATA(each), (size_t)in->fd_count * sizeof(int));
	}
	if (got < INIT_HEAD) {
		close_all(in->fds, in->fd_count);
		in->fd_count = 0;
		return 0;
	}
	in->op = get32(buffer);
	in->tag = get32(buffer + 4);
	in->a = (int32_t)get32(buffer + 8);
	in->b = (int32_t)get32(buffer + 12);
	in->packet = buffer;
	in->count = (size_t)got;
	return 1;
}

void init_close(void)
{
	if (control < 0)
		return;
	kill_at = now + KILL_SECONDS;
	while (waiting)
		forget_first();
	close(control);
	control = -1;
}

bool init_is_gone(void)
{
	pid_t ended;

	if (gone)
		return true;
	ended = waitpid(pid, &status, WNOHANG);
	gone = ended == pid || (ended < 0 && errno == ECHILD);
	if (!gone && now >= kill_at) {
		kill_at = NEVER;
		kill(pid, SIGKILL);
	}
	return gone;
}

const char *init_how(void)
{
	static char how[32];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof how, "signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(status));
	return how;
}

/* What init says later is for nobody, and must not fill its pipe. */
static void hear(void *of, short seen)
{
	char words[4096];
	ssize_t got = read(said, words, sizeof words);

	(void)of;
	(void)seen;
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
		close(said);
		said = -1;
	}
}

void init_watch(void)
{
	if (said >= 0)
		watch(said, POLLIN, hear, NULL);
}
