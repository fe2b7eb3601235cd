/* Starting a command: init forks a warden, the warden forks the command.
 *
 * The warden is the subreaper of everything the command starts. It says STARTED or FAILED,
 * says EXITED when the command ends, and stays until it has no descendant left: so a tree
 * can be killed whole, and the control socket needs no bookkeeping in init. */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct command {
	const char *cwd;
	char **argv, **env;
};

static const struct world *ours; /* for the handler below: one warden is one process */
static pid_t parent;

/* Splits counts and NUL-terminated texts in place. */
static int parse(char *text, size_t length, struct command *out)
{
	uint32_t counts[2];
	size_t words, used = sizeof counts;
	char **all;

	if (length < sizeof counts)
		return EINVAL;
	memcpy(counts, text, sizeof counts);
	if (counts[0] == 0 || counts[0] > length || counts[1] > length)
		return EINVAL;
	words = (size_t)counts[0] + counts[1] + 1;
	all = mmap(NULL, (words + 2) * sizeof *all, PROT_READ | PROT_WRITE,
	           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return ENOMEM;
	for (size_t i = 0; i < words; i++) {
		char *end = memchr(text + used, 0, length - used);
		if (!end)
			return EINVAL;
		if (i == 0)
			out->cwd = text + used;
		else
			all[i - 1 + (i > counts[0])] = text + used;
		used = (size_t)(end - text) + 1;
	}
	out->argv = all;
	out->env = all + counts[0] + 1;
	return 0;
}

/* execve along the PATH of the given environment, never of ours. */
static int search(const struct command *it)
{
	static char candidate[4096];
	const char *path = "/usr/local/bin:/usr/bin:/bin", *name = it->argv[0];
	size_t length = strlen(name);
	int seen = ENOENT;

	if (strchr(name, '/') || !length) {
		execve(name, it->argv, it->env);
		return length ? errno : ENOENT;
	}
	for (char **each = it->env; *each; each++)
		if (!strncmp(*each, "PATH=", 5))
			path = *each + 5;
	for (;;) {
		size_t part = strcspn(path, ":");
		if (part && part + length + 2 <= sizeof candidate) {
			memcpy(candidate, path, part);
			candidate[part] = '/';
			memcpy(candidate + part + 1, name, length + 1);
			execve(candidate, it->argv, it->env);
			if (errno == EACCES)
				seen = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR)
				return errno;
		}
		if (!path[part])
			return seen;
		path += part + 1;
	}
}

static void plain_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the command's process: returns the errno and the step that failed. */
/* The usual soft limit; programs that want more raise it. */
enum { SOFT_FILES = 1024 };

static struct header become(const struct world *world, const struct command *it, const int *fds,
                            int flags)
{
	struct header failed = {0, 0, 0, STEP_OTHER};
	struct rlimit core = {0, 0};

	if (flags & FLAG_TTY ? setsid() < 0 : setpgid(0, 0) < 0)
		goto other;
	if (flags & FLAG_TTY && ioctl(fds[0], TIOCSCTTY, 0) < 0)
		goto other;
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			goto other;
	setrlimit(RLIMIT_CORE, &core);
	if (world->nproc >= 0) {
		struct rlimit processes = {(rlim_t)world->nproc, (rlim_t)world->nproc};
		setrlimit(RLIMIT_NPROC, &processes);
	}
	if (world->files > 0) {
		rlim_t most = (rlim_t)world->files;
		struct rlimit files = {most < SOFT_FILES ? most : SOFT_FILES, most};
		setrlimit(RLIMIT_NOFILE, &files);
	}
	umask(022);
	if (chdir(it->cwd) < 0) {
		failed.a = errno;
		failed.b = STEP_CHDIR;
		return failed;
	}
	if (flags & FLAG_TTY && flags & FLAG_LEAD && lead() < 0)
		goto other;
	plain_signals();
	failed.a = search(it);
	failed.b = STEP_EXEC;
	return failed;
other:
	failed.a = errno;
	return failed;
}

/* When init is gone nobody could ask for this tree any more: it goes too. */
static void orphaned(int number)
{
	(void)number;
	if (getppid() != parent) {
		kill_kin(ours, getpid(), NULL);
		_exit(0);
	}
}

static void watch_parent(const struct world *world)
{
	struct sigaction action = {.sa_handler = orphaned};

	ours = world;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	setsid();
	sigaction(SIGTERM, &action, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	orphaned(SIGTERM);
}

static uint64_t microseconds(struct timeval span)
{
	return (uint64_t)span.tv_sec * 1000000 + (uint64_t)span.tv_usec;
}

static void report_exit(const struct world *world, uint32_t tag, int status, struct rusage *used)
{
	struct header head = {EXITED, tag, status, 0};
	uint64_t usage[3] = {microseconds(used->ru_utime), microseconds(used->ru_stime),
	                     (uint64_t)used->ru_maxrss};

	reply_with(world->control, head, usage, sizeof usage, NULL, 0);
}

static void reap_until_alone(const struct world *world, struct slot *slot, uint32_t tag)
{
	pid_t leader = slot->leader;
	struct rusage used;
	siginfo_t seen;
	int status;

	for (;;) {
		/* Looked at first, reaped after the slot forgot it: nobody signals a reused pid. */
		seen.si_pid = 0;
		if (waitid(P_ALL, 0, &seen, WEXITED | WNOWAIT) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (seen.si_pid == leader)
			slot->leader = ENDED;
		if (wait4(seen.si_pid, &status, 0, &used) == leader) {
			report_exit(world, tag, status, &used);
			leader = -1;
		}
	}
}

static void be_warden(const struct world *world, struct slot *slot, const struct packet *in,
                      struct command *it)
{
	uint32_t tag = in->head.tag;
	struct header failed = {0, 0, 0, STEP_OTHER};
	unsigned low, high;
	int news[2];
	pid_t child;

	watch_parent(world);
	if (pipe2(news, O_CLOEXEC) < 0 || (child = fork()) < 0) {
		reply(world->control, FAILED, tag, errno, STEP_OTHER);
		return;
	}
	if (child == 0) {
		failed = become(world, it, in->fds, in->head.a);
		if (write(news[1], &failed, sizeof failed) < 0)
			_exit(126);
		_exit(127);
	}
	slot->leader = child;
	/* Only the control socket and the pipe stay: a pipe's reader must see its end. */
	low = (unsigned)(world->control < news[0] ? world->control : news[0]);
	high = (unsigned)(world->control < news[0] ? news[0] : world->control);
	close_from(3, low - 1);
	close_from(low + 1, high - 1);
	close_from(high + 1, ~0U);
	if (read(news[0], &failed, sizeof failed) == (ssize_t)sizeof failed) {
		slot->leader = 0;
		waitpid(child, NULL, 0);
		reply(world->control, FAILED, tag, failed.a, failed.b);
		return;
	}
	close(news[0]);
	reply(world->control, STARTED, tag, child, 0);
	reap_until_alone(world, slot, tag);
}

static int read_command(const struct packet *in, struct command *out)
{
	struct stat size;
	char *text;

	if (in->cut)
		return EMSGSIZE;
	if (in->count < 3 + !!(in->head.a & FLAG_MEMFD))
		return EBADF;
	if (!(in->head.a & FLAG_MEMFD))
		return parse((char *)in->payload, in->length, out);
	if (fstat(in->fds[3], &size) < 0 || size.st_size <= 0)
		return EINVAL;
	text = mmap(NULL, (size_t)size.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, in->fds[3], 0);
	return text == MAP_FAILED ? ENOMEM : parse(text, (size_t)size.st_size, out);
}

void start_exec(struct world *world, struct packet *in)
{
	struct slot *slot = NULL;
	struct command it;
	pid_t warden;
	int wrong;

	for (int i = 0; i < MAX_SLOTS && !slot; i++)
		if (!world->slots[i].warden)
			slot = &world->slots[i];
	if (!slot) {
		reply(world->control, FAILED, in->head.tag, EAGAIN, STEP_OTHER);
		return;
	}
	parent = getpid();
	slot->leader = 0;
	slot->waits = (in->head.a & FLAG_TTY) && (in->head.a & FLAG_LEAD);
	warden = fork();
	if (warden == 0) {
		/* Parsed here, so that no request can grow init itself. */
		wrong = read_command(in, &it);
		if (wrong)
			reply(world->control, FAILED, in->head.tag, wrong, STEP_OTHER);
		else
			be_warden(world, slot, in, &it);
		_exit(0);
	}
	if (warden < 0) {
		reply(world->control, FAILED, in->head.tag, errno, STEP_OTHER);
		return;
	}
	slot->tag = in->head.tag;
	slot->warden = warden;
}
