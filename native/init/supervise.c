/* What programs inside may hold of the kernel's memory that no control group counts: sockets of
 * AF_NETLINK, datagram sockets of the loopback (each keeps 64 KiB that it was told to send later),
 * timers, events and polls, and seccomp filters, which are compiled into a pool of the whole
 * machine.
 *
 * A filter hands these calls to a thread of ours, which does not have that filter. As a thread of
 * pid 1 it cannot be killed or traced from inside. Without it (a kernel before 5.14, or somebody
 * outside who listens already) those of sockets and filters answer ENOSYS; datagram sockets, timers,
 * events and polls are not counted. See seccomp_unotify(2). */
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
enum { LOAD = 0x20, EQUAL = 0x15, AND = 0x54, RETURN = 0x06, TYPE = 15 };

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

/* Sockets of one kind. */
struct sockets {
	int most;
	int watched; /* an epoll(7) of all of them: it forgets one when its last holder closes */
	int listing; /* /proc/self/fdinfo of it: a line that begins with `tfd` for each */
};

static struct {
	struct sockets route, datagram;
	long most_objects, objects; /* never less than those that live, but for those on their way */
	int most_filters;
	int handover[2];
	int own_filters; /* of every task inside from the beginning */
	int filters;     /* never less than those that live */
	int pending_count;
	struct pending pending[MOST_FILTERS];
} us;

/* Machines without the older calls have the newer ones twice here. */
#ifdef SYS_eventfd
enum { OLD_EVENT = SYS_eventfd, OLD_POLL = SYS_epoll_create };
#else
enum { OLD_EVENT = SYS_eventfd2, OLD_POLL = SYS_epoll_create1 };
#endif

enum { SOCKET = 11, DGRAM = 15, PRCTL = 18, SECCOMP = 22, OPTION = 24, PASS = 28 };
enum { ASK = 29, ASK_DATAGRAM = 30, ASK_OBJECT = 31, IGNORE = 32 };
#define TO(here, there) ((uint8_t)((there) - (here) - 1))

/* SO_RCVBUF does nothing, or each socket could hold twice net.core.rmem_max. It cannot be
 * refused (`ip` would end) nor judged by the kind of socket (a filter sees only a number). */
static struct instruction program[] = {
	{LOAD, 0, 0, 0},
	{EQUAL, TO(1, SOCKET), 0, SYS_socket},
	{EQUAL, TO(2, PRCTL), 0, SYS_prctl},
	{EQUAL, TO(3, SECCOMP), 0, SYS_seccomp},
	{EQUAL, TO(4, OPTION), 0, SYS_setsockopt},
	{EQUAL, TO(5, ASK_OBJECT), 0, SYS_timerfd_create},
	{EQUAL, TO(6, ASK_OBJECT), 0, SYS_eventfd2},
	{EQUAL, TO(7, ASK_OBJECT), 0, SYS_epoll_create1},
	{EQUAL, TO(8, ASK_OBJECT), 0, OLD_EVENT},
	{EQUAL, TO(9, ASK_OBJECT), 0, OLD_POLL},
	{RETURN, 0, 0, ALLOW},
	{LOAD, 0, 0, ARGUMENT(0)}, /* SOCKET */
	{EQUAL, TO(12, ASK), 0, AF_NETLINK},
	{EQUAL, TO(13, DGRAM), 0, AF_INET},
	{EQUAL, TO(14, DGRAM), TO(14, PASS), AF_INET6},
	{LOAD, 0, 0, ARGUMENT(1)}, /* DGRAM */
	{AND, 0, 0, TYPE},
	{EQUAL, TO(17, ASK_DATAGRAM), TO(17, PASS), SOCK_DGRAM},
	{LOAD, 0, 0, ARGUMENT(0)}, /* PRCTL */
	{EQUAL, 0, TO(19, PASS), PR_SET_SECCOMP},
	{LOAD, 0, 0, ARGUMENT(1)},
	{EQUAL, TO(21, ASK), TO(21, PASS), MODE_FILTER},
	{LOAD, 0, 0, ARGUMENT(0)}, /* SECCOMP */
	{EQUAL, TO(23, ASK), TO(23, PASS), SET_MODE_FILTER},
	{LOAD, 0, 0, ARGUMENT(1)}, /* OPTION */
	{EQUAL, 0, TO(25, PASS), LEVEL_SOCKET},
	{LOAD, 0, 0, ARGUMENT(2)},
	{EQUAL, TO(27, IGNORE), TO(27, PASS), OPTION_RCVBUF},
	{RETURN, 0, 0, ALLOW},   /* PASS */
	{RETURN, 0, 0, ASK_US},  /* ASK */
	{RETURN, 0, 0, ASK_US},  /* ASK_DATAGRAM */
	{RETURN, 0, 0, ASK_US},  /* ASK_OBJECT */
	{RETURN, 0, 0, PRETEND}, /* IGNORE */
};

static void answer_call(int listener, uint64_t id, int error, unsigned flags)
{
	struct answer said = {.id = id, .error = -error, .flags = flags};

	ioctl(listener, ANSWER_CALL, &said); /* whoever called may be gone */
}

/* How many sockets are alive, in a queue or a process; -1 when that cannot be read. */
static int live_sockets(const struct sockets *kind)
{
	char text[MOST_TEXT];
	int count = 0, begins = 1;
	ssize_t got;

	if (lseek(kind->listing, 0, SEEK_SET) < 0)
		return -1;
	while ((got = read(kind->listing, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < got; i++) {
			count += begins && text[i] == 't';
			begins = text[i] == '\n';
		}
	return got < 0 ? -1 : count;
}

static int make_socket(const struct sockets *kind, const struct call *call)
{
	int family = (int)call->arguments[0], type = (int)call->arguments[1];
	int bytes = RECEIVE_BYTES, fd = socket(family, type | SOCK_CLOEXEC, (int)call->arguments[2]);
	struct epoll_event none = {0};

	if (fd < 0)
		return -1;
	if ((family != AF_NETLINK ||
	     setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) == 0) &&
	    epoll_ctl(kind->watched, EPOLL_CTL_ADD, fd, &none) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Hands over what was made, or the error of that. */
static void give(int listener, uint64_t id, int fd, uint64_t flags)
{
	struct added added = {.id = id, .flags = ADD_AND_ANSWER, .ours = (uint32_t)fd};

	added.descriptor_flags = flags & O_CLOEXEC;
	if (fd < 0 || ioctl(listener, ADD_DESCRIPTOR, &added) < 0)
		answer_call(listener, id, errno, 0);
	if (fd >= 0)
		close(fd);
}

static void give_socket(int listener, const struct call *call)
{
	const struct sockets *kind =
	        (int)call->arguments[0] == AF_NETLINK ? &us.route : &us.datagram;
	int live = live_sockets(kind);

	if (live < 0 || live >= kind->most)
		answer_call(listener, call->id, kind->most ? ENOBUFS : EPERM, 0);
	else
		give(listener, call->id, make_socket(kind, call), call->arguments[1]);
}

static int is_object_call(int number)
{
	return number == SYS_timerfd_create || number == SYS_eventfd2 || number == OLD_EVENT ||
	       number == SYS_epoll_create1 || number == OLD_POLL;
}

/* All arguments are numbers, so the same call is made here. */
static void give_object(int listener, const struct call *call)
{
	uint64_t first = call->arguments[0], second = call->arguments[1], flags = 0;

	if (call->number == SYS_timerfd_create || call->number == SYS_eventfd2)
		flags = second;
	else if (call->number == SYS_epoll_create1)
		flags = first;
	if (us.objects >= us.most_objects)
		us.objects = count_objects();
	if (us.objects >= us.most_objects) {
		answer_call(listener, call->id, ENFILE, 0);
		return;
	}
	us.objects++;
	give(listener, call->id, (int)syscall(call->number, first, second), flags);
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
		else if (is_object_call(call.number))
			give_object(listener, &call);
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

static int prepare_sockets(struct sockets *kind, int most)
{
	char path[40];

	kind->most = most;
	kind->watched = epoll_create1(EPOLL_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", kind->watched);
	kind->listing = open(path, O_RDONLY | O_CLOEXEC);
	return kind->watched < 0 || kind->listing < 0 ? -1 : 0;
}

static int start_thread(void)
{
	pthread_attr_t small;
	pthread_t thread;

	if (pipe2(us.handover, O_CLOEXEC) < 0)
		return -1;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	errno = pthread_create(&thread, &small, answer_calls, NULL);
	return errno ? -1 : 0;
}

int supervise(const struct counted *most)
{
	int listener;

	us.most_filters = most->filters < MOST_FILTERS ? most->filters : MOST_FILTERS;
	us.most_objects = most->objects;
	if (most->netlink == 0)
		program[IGNORE].k = ALLOW;
	if (prepare_sockets(&us.route, most->netlink) < 0 ||
	    prepare_sockets(&us.datagram, most->datagrams) < 0 || start_thread() < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	listener = install(NEW_LISTENER);
	if (listener < 0) {
		program[ASK_DATAGRAM].k = program[ASK_OBJECT].k = ALLOW;
		if (install(0) < 0)
			return -1;
	}
	us.own_filters = filters_of("/proc/thread-self/status");
	if (listener >= 0 && write(us.handover[1], &listener, sizeof listener) < 0)
		return -1;
	close(us.handover[1]); /* without a listener the thread ends by this */
	return 0;
}
