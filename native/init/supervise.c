/* What programs inside may hold of the kernel's memory that no control group counts: sockets of
 * AF_NETLINK, and seccomp filters, which are compiled into a pool of the whole machine.
 *
 * A filter hands both calls to a thread of ours, which does not have that filter. As a thread of
 * pid 1 it cannot be killed or traced from inside. Without it (a kernel before 5.14, or somebody
 * outside who listens already) both calls answer ENOSYS. See seccomp_unotify(2). */
#define _GNU_SOURCE
#include "init.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SET_MODE_FILTER = 1, NEW_LISTENER = 8, CONTINUE = 1, ADD_AND_ANSWER = 2, MODE_FILTER = 2 };
enum { OPTION_RCVBUF = 8, LEVEL_SOCKET = 1, RECEIVE_BYTES = 106496, STACK_BYTES = 65536 };
enum { MOST_FILTERS = 1024, MOST_TEXT = 4096 };
enum { LOAD = 0x20, EQUAL = 0x15, RETURN = 0x06 };

#define RECEIVE_CALL _IOWR('!', 0, struct call)
#define ANSWER_CALL _IOWR('!', 1, struct answer)
#define ADD_DESCRIPTOR _IOW('!', 3, struct added)
#define ALLOW 0x7fff0000U
#define ASK_US 0x7fc00000U
#define PRETEND 0x00050000U /* an errno of 0: the call does nothing, and says it worked */
#define ARGUMENT(n) (16 + 8 * (n))

struct instruction {
	uint16_t code;
	uint8_t yes, no;
	uint32_t k;
};

/* linux/seccomp.h: seccomp_notif, seccomp_notif_resp, seccomp_notif_addfd */
struct call {
	uint64_t id;
	uint32_t pid, flags;
	int32_t number;
	uint32_t machine;
	uint64_t from, arguments[6];
};

struct answer {
	uint64_t id;
	int64_t value;
	int32_t error;
	uint32_t flags;
};

struct added {
	uint64_t id;
	uint32_t flags, ours, theirs, descriptor_flags;
};

/* A task that was let through: it may be about to install its filter, and had so many. */
struct pending {
	pid_t task;
	int filters;
};

static struct {
	int most_sockets, most_filters;
	int watched; /* an epoll(7) of all route sockets: it forgets one when its last holder closes */
	int listing; /* /proc/self/fdinfo of it: a line that begins with `tfd` for each */
	int handover[2];
	int own_filters; /* of every task inside from the beginning */
	int filters;     /* never less than those that live */
	int pending_count;
	struct pending pending[MOST_FILTERS];
} us;

/* SO_RCVBUF does nothing, or each socket could hold twice net.core.rmem_max. It cannot be
 * refused (`ip` would end) nor judged by the kind of socket (a filter sees only a number). */
static struct instruction program[] = {
	{LOAD, 0, 0, 0},
	{EQUAL, 4, 0, SYS_socket},
	{EQUAL, 5, 0, SYS_prctl},
	{EQUAL, 8, 0, SYS_seccomp},
	{EQUAL, 9, 0, SYS_setsockopt},
	{RETURN, 0, 0, ALLOW},
	{LOAD, 0, 0, ARGUMENT(0)}, /* 6: socket */
	{EQUAL, 11, 10, AF_NETLINK},
	{LOAD, 0, 0, ARGUMENT(0)}, /* 8: prctl */
	{EQUAL, 0, 8, PR_SET_SECCOMP},
	{LOAD, 0, 0, ARGUMENT(1)},
	{EQUAL, 7, 6, MODE_FILTER},
	{LOAD, 0, 0, ARGUMENT(0)}, /* 12: seccomp */
	{EQUAL, 5, 4, SET_MODE_FILTER},
	{LOAD, 0, 0, ARGUMENT(1)}, /* 14: setsockopt */
	{EQUAL, 0, 2, LEVEL_SOCKET},
	{LOAD, 0, 0, ARGUMENT(2)},
	{EQUAL, 2, 0, OPTION_RCVBUF},
	{RETURN, 0, 0, ALLOW}, /* 18 */
	{RETURN, 0, 0, ASK_US},
	{RETURN, 0, 0, PRETEND}, /* 20 */
};

static void answer_call(int listener, uint64_t id, int error, unsigned flags)
{
	struct answer said = {.id = id, .error = -error, .flags = flags};

	ioctl(listener, ANSWER_CALL, &said); /* whoever called may be gone */
}

/* How many route sockets are alive, in a queue or a process; -1 when that cannot be read. */
static int live_sockets(void)
{
	char text[MOST_TEXT];
	int count = 0, begins = 1;
	ssize_t got;

	if (lseek(us.listing, 0, SEEK_SET) < 0)
		return -1;
	while ((got = read(us.listing, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < got; i++) {
			count += begins && text[i] == 't';
			begins = text[i] == '\n';
		}
	return got < 0 ? -1 : count;
}

static void give_socket(int listener, const struct call *call)
{
	int type = (int)call->arguments[1], bytes = RECEIVE_BYTES, live = live_sockets(), fd;
	struct epoll_event none = {0};
	struct added added = {.id = call->id, .flags = ADD_AND_ANSWER};

	if (live < 0 || live >= us.most_sockets) {
		answer_call(listener, call->id, us.most_sockets ? ENOBUFS : EPERM, 0);
		return;
	}
	fd = socket(AF_NETLINK, type | SOCK_CLOEXEC, (int)call->arguments[2]);
	added.ours = (uint32_t)fd;
	added.descriptor_flags = type & SOCK_CLOEXEC ? O_CLOEXEC : 0;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) < 0 ||
	    epoll_ctl(us.watched, EPOLL_CTL_ADD, fd, &none) < 0 ||
	    ioctl(listener, ADD_DESCRIPTOR, &added) < 0)
		answer_call(listener, call->id, errno, 0);
	if (fd >= 0)
		close(fd);
}

/* The filters of one task; 0 when it is gone, -1 when that cannot be read. */
static int filters_of(const char *path)
{
	char text[MOST_TEXT], *found;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -1;
	got = read(fd, text, sizeof text - 1);
	close(fd);
	if (got < 0)
		return errno == ESRCH ? 0 : -1;
	text[got] = 0;
	found = strstr(text, "\nSeccomp_filters:");
	return found ? atoi(found + strlen("\nSeccomp_filters:")) : -1;
}

static int filters_of_task(pid_t task)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/status", (int)task);
	return filters_of(path);
}

/* What the threads of one process have beyond what everybody has. */
static int filters_of_process(const char *pid)
{
	char path[80];
	int sum = 0, one;
	struct dirent *each;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%.20s/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT || errno == ESRCH ? 0 : -1;
	while (sum >= 0 && (each = readdir(tasks))) {
		if (each->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/status", pid, each->d_name);
		one = filters_of(path);
		if (one < 0)
			sum = -1;
		else if (one > us.own_filters)
			sum += one - us.own_filters;
	}
	closedir(tasks);
	return sum;
}

/* At least as many as live: one that several tasks share is counted for each. */
static int installed_filters(void)
{
	int sum = 0, one;
	struct dirent *each;
	DIR *all = opendir("/proc");

	if (!all)
		return -1;
	while (sum >= 0 && (each = readdir(all))) {
		if (each->d_name[0] < '0' || each->d_name[0] > '9' || !strcmp(each->d_name, "1"))
			continue;
		one = filters_of_process(each->d_name);
		sum = one < 0 ? -1 : sum + one;
	}
	closedir(all);
	return sum;
}

/* Tasks that were let through and have no more filters than then may be about to. */
static int filters_under_way(void)
{
	int kept = 0;

	for (int i = 0; i < us.pending_count; i++)
		if (filters_of_task(us.pending[i].task) == us.pending[i].filters)
			us.pending[kept++] = us.pending[i];
	return us.pending_count = kept;
}

/* Twice, since a process that forks may be ahead of one look, but hardly of two. */
static void count_filters(void)
{
	int under_way = filters_under_way(), first = installed_filters();
	int second = installed_filters(), most = first > second ? first : second;

	if (first >= 0 && second >= 0 && most + under_way < us.filters)
		us.filters = most + under_way;
}

static void let_filter(int listener, const struct call *call)
{
	pid_t task = (pid_t)call->pid;
	int has = filters_of_task(task), at = 0;

	if (us.filters >= us.most_filters / 4) /* early: later many tasks may share what lives */
		count_filters();
	if (has < 0 || us.filters >= us.most_filters) {
		answer_call(listener, call->id, us.most_filters ? ENOMEM : EINVAL, 0);
		return;
	}
	while (at < us.pending_count && us.pending[at].task != task)
		at++; /* a task makes one call at a time: what it did before is over */
	us.pending_count += at == us.pending_count;
	us.pending[at] = (struct pending){task, has};
	us.filters++;
	/* Nothing is judged that lies in memory: another thread may change it meanwhile. */
	answer_call(listener, call->id, 0, CONTINUE);
}

static void *answer_calls(void *unused)
{
	struct call call;
	int listener = -1;

	(void)unused;
	if (read(us.handover[0], &listener, sizeof listener) != sizeof listener)
		return NULL;
	for (;;) {
		memset(&call, 0, sizeof call); /* the kernel refuses anything else */
		if (ioctl(listener, RECEIVE_CALL, &call) < 0) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			break;
		}
		if (call.number == SYS_socket)
			give_socket(listener, &call);
		else
			let_filter(listener, &call);
	}
	close(listener); /* or whoever calls would wait for ever */
	return NULL;
}

static int install(unsigned flags)
{
	struct {
		unsigned short length;
		struct instruction *code;
	} whole = {sizeof program / sizeof *program, program};

	return (int)syscall(SYS_seccomp, SET_MODE_FILTER, flags, &whole);
}

static int prepare(void)
{
	char path[40];
	pthread_attr_t small;
	pthread_t thread;

	us.watched = epoll_create1(EPOLL_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", us.watched);
	us.listing = open(path, O_RDONLY | O_CLOEXEC);
	if (us.watched < 0 || us.listing < 0 || pipe2(us.handover, O_CLOEXEC) < 0)
		return -1;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	errno = pthread_create(&thread, &small, answer_calls, NULL);
	return errno ? -1 : 0;
}

int supervise(int sockets, int filters)
{
	int listener;

	us.most_sockets = sockets;
	us.most_filters = filters < MOST_FILTERS ? filters : MOST_FILTERS;
	if (sockets == 0)
		program[sizeof program / sizeof *program - 1].k = ALLOW;
	if (prepare() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	listener = install(NEW_LISTENER);
	if (listener < 0 && install(0) < 0)
		return -1;
	us.own_filters = filters_of("/proc/self/status");
	if (listener >= 0 && write(us.handover[1], &listener, sizeof listener) < 0)
		return -1;
	close(us.handover[1]); /* without a listener the thread ends by this */
	return 0;
}
