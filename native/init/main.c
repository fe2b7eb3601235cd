/* The one program that runs in every sandbox: its init, or (by its first word) a tool that
 * works on a tree of files and streams the result out.
 *
 *   init --control-fd N | --connect PATH [--door PORT]… [--root DIR] [--nproc N] [--files N] [--netlink N --datagrams N --objects N --filters N]
 *   init [--root DIR] list|stat|mkdir|move|remove|commit|tar|untar|watch|search|dial|socket|total|listening …
 *   init [--root DIR] sftp [--read-only] [--root PATH]…
 *   init ask operator|check|sudo -- ARGV…
 *   init mcp [--flat] | mcp call TOOL [JSON|-] | mcp list
 *   init enter UID PID CWD -- ARGV…   (by the zygote, outside)
 *   init tell-growth PARENT           (the same) */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STACK_BYTES = 1048576, EXIT_NOBODY = 69 }; /* sysexits.h: EX_UNAVAILABLE */

struct options {
	int control, doors[MAX_DOORS], door_count;
	long nproc, files;
	struct counted counted;
	const char *root, *connect;
};

struct order {
	const struct options *chosen;
	struct world *world;
};

/* In a container nobody can hand us a descriptor: we go and fetch the control socket. */
static int connected(const char *path)
{
	struct sockaddr_un there = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof there.sun_path)
		return -1;
	strcpy(there.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&there, sizeof there) < 0)
		return -1;
	return fd;
}

static void on_child(int number)
{
	(void)number; /* only there to interrupt ppoll */
}

/* 0-2 must be taken, or a descriptor sent to us could land on one of them. */
static void fill_standard_fds(int control)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			(void)(control < 0 ? socket(AF_UNIX, SOCK_STREAM, 0)
			                   : fcntl(control, F_DUPFD, 0));
}

static void settle_signals(void)
{
	struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP};
	sigset_t held;

	/* Pid 1 is immune to what it has no handler for; a plain child must ignore it. */
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_IGN);
	sigaction(SIGCHLD, &child, NULL);
	sigemptyset(&held);
	sigaddset(&held, SIGCHLD);
	sigprocmask(SIG_SETMASK, &held, NULL);
}

static void fail(int control, int step)
{
	reply(control, FAILED, 0, errno, step);
	_exit(1);
}

static void announce(const struct options *chosen, int control)
{
	struct header head = {READY, 0, 0, VERSION};
	int listeners[2 * MAX_DOORS], count = 0;

	for (int i = 0; i < chosen->door_count; i++) {
		int opened = open_door(chosen->doors[i], listeners + count);
		if (opened < 0)
			fail(control, STEP_DOOR);
		count += opened;
	}
	head.a = count;
	reply_with(control, head, NULL, 0, listeners, count);
	while (count > 0)
		close(listeners[--count]);
}

/* Everything but the count: what takes requests, and starts programs. */
static void *work(void *order)
{
	const struct options *chosen = ((struct order *)order)->chosen;
	struct world *world = ((struct order *)order)->world;

	/* Before the next line, after which /proc/self is root's. */
	if (chosen->counted.netlink >= 0 && supervise(&chosen->counted) < 0)
		fail(world->control, STEP_OTHER);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	umask(0);
	world->root = open(chosen->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (world->root < 0)
		fail(world->control, STEP_OTHER);
	announce(chosen, world->control);
	serve(world);
}

/* The count is what the first thread does: by its number, 1, a filter keeps programs from it, and it
 * may get a better turn, which programs do not inherit. */
static void count_and_work(struct order *order)
{
	pthread_attr_t small;
	pthread_t thread;

	/* No addresses of 64 MiB for its thread: what is forked later would be as large. */
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#endif
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	errno = pthread_create(&thread, &small, work, order);
	if (errno)
		fail(order->world->control, STEP_OTHER);
	watch_slab();
}

static void be_init(struct options *chosen)
{
	struct world world = {.nproc = chosen->nproc, .files = chosen->files};
	struct order order = {chosen, &world};
	struct rlimit own;

	/* Commands of this uid may have that many descriptors on their way: ours must still go. */
	if (world.files > 0 && getrlimit(RLIMIT_NOFILE, &own) == 0) {
		own.rlim_cur = own.rlim_max;
		setrlimit(RLIMIT_NOFILE, &own);
	}

	if (chosen->connect) {
		fill_standard_fds(-1);
		chosen->control = connected(chosen->connect);
		if (chosen->control < 0)
			_exit(EXIT_NOBODY);
	}
	fill_standard_fds(chosen->control);
	settle_signals();
	/* No descriptor may reach a command by inheritance, this one least of all. */
	world.control = fcntl(chosen->control, F_DUPFD_CLOEXEC, 100);
	if (world.control < 0)
		_exit(2);
	close_from(3, (unsigned)world.control - 1);
	close_from((unsigned)world.control + 1, ~0U);
	world.slots = mmap(NULL, MAX_SLOTS * sizeof *world.slots, PROT_READ | PROT_WRITE,
	                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (world.slots == MAP_FAILED)
		fail(world.control, STEP_OTHER);
	spare_slots(world.slots);
	/* As another process than 1, not all that is seen in /proc is ours to count. */
	if (chosen->counted.netlink >= 0 && getpid() == 1)
		count_and_work(&order);
	work(&order);
}

int main(int argc, char **argv)
{
	struct options chosen = {.control = -1, .nproc = -1, .counted.netlink = -1};
	int i;

	if (argc > 2 && !strcmp(argv[1], "ask"))
		return ask(argc - 2, argv + 2);
	if (argc > 1 && !strcmp(argv[1], "mcp"))
		return mcp(argc - 2, argv + 2);
	if (argc > 2 && !strcmp(argv[1], "enter"))
		return enter_sandbox(argc - 2, argv + 2);
	if (argc > 2 && !strcmp(argv[1], "tell-growth"))
		return tell_growth((pid_t)atol(argv[2]));
	for (i = 1; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		if (!strcmp(argv[i], "--control-fd"))
			chosen.control = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--connect"))
			chosen.connect = argv[i + 1];
		else if (!strcmp(argv[i], "--door") && chosen.door_count < MAX_DOORS)
			chosen.doors[chosen.door_count++] = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--root"))
			chosen.root = argv[i + 1];
		else if (!strcmp(argv[i], "--nproc"))
			chosen.nproc = atol(argv[i + 1]);
		else if (!strcmp(argv[i], "--files"))
			chosen.files = atol(argv[i + 1]);
		else if (!strcmp(argv[i], "--netlink"))
			chosen.counted.netlink = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--datagrams"))
			chosen.counted.datagrams = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--objects"))
			chosen.counted.objects = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--filters"))
			chosen.counted.filters = atoi(argv[i + 1]);
		else
			return 64;
	}
	if (i < argc && chosen.control < 0 && !chosen.connect && !strcmp(argv[i], "sftp"))
		return sftp(chosen.root, argc - i - 1, argv + i + 1);
	if (!chosen.root)
		chosen.root = "/workspace";
	if ((chosen.control >= 3) != (chosen.connect != NULL) && i == argc)
		be_init(&chosen);
	if (chosen.control >= 0 || chosen.connect || i >= argc || chdir(chosen.root) < 0)
		return 64;
	return tool(argc - i, argv + i);
}
