/* `init enter UID PID CWD -- ARGV…`: runs ARGV in a sandbox as somebody who looks like root.
 *
 * Run outside, by root, in the sandbox's control groups. Nothing but this static program goes
 * in: no library, name service or interpreter of the sandbox is ever loaded with privilege.
 * The command gets a user namespace of its own with one id in it, the sandbox's, shown as 0:
 * so it owns what the sandbox's user owns, and holds no capability over anything, least of all
 * over the sandbox's namespaces, which belong to another user namespace.
 *
 * Descriptors: 0-2 harmless, 3 where failures are told, 4 the filter of the wall, 5 a pidfd of
 * the sandbox's init, 6 the filter that makes chown do nothing. PID is, as seen inside, whoever
 * asked: the command gets its 0-2. The environment is the command's. Signals are passed on to
 * the command's group, SIGUSR1 as SIGKILL. */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAY = 3, WALL_FILTER, INIT, CHOWN_FILTER };
enum { NOT_ENTERED = 125, NOT_RUNNABLE = 126, NOT_FOUND = 127, MISUSED = 64, BY_SIGNAL = 128 };
enum { PIDFD_OPEN = 434, PIDFD_GETFD = 438 };
enum { CAPABILITIES = 64, CAPABILITY_VERSION = 0x20080522, SECCOMP_FILTER = 2 };
enum { CAP_AMBIENT = 47, CAP_AMBIENT_CLEAR_ALL = 4, MOST_INSTRUCTIONS = 4096 };

struct instruction {
	uint16_t code;
	uint8_t yes, no;
	uint32_t k;
};

struct visit {
	uid_t uid;
	pid_t asker;
	const char *cwd;
	char **argv;
	int limits;         /* /proc/sys/user of this machine */
	int mapped[2], up[2]; /* "your ids are mapped", "map my ids" */
};

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
static volatile pid_t command;

static void fail(const char *what)
{
	char said[256];
	int length = snprintf(said, sizeof said, "%s: %s", what, strerror(errno));

	if (write(SAY, said, (size_t)length) < 0)
		_exit(NOT_ENTERED);
	_exit(NOT_ENTERED);
}

static void pass_on(int number)
{
	int sent = number == SIGUSR1 ? SIGKILL : number, kept = errno;

	if (command > 0 && kill(-command, sent) < 0)
		kill(command, sent);
	errno = kept;
}

/* The asker's input and output; what it has closed stays what we had. */
static void take_streams(pid_t asker)
{
	int its = (int)syscall(PIDFD_OPEN, asker, 0), fd;

	if (asker <= 1 || its < 0)
		fail("whoever asked is gone");
	for (int i = 0; i < 3; i++) {
		fd = (int)syscall(PIDFD_GETFD, its, i, 0);
		if (fd < 0 && errno != EBADF)
			fail("taking the streams of whoever asked");
		if (fd >= 0 && dup2(fd, i) < 0)
			fail("taking the streams of whoever asked");
		if (fd >= 0)
			close(fd);
	}
	close(its);
}

static void become_somebody(const struct visit *it)
{
	char byte = 0;

	if (setgroups(0, NULL) < 0 || setresgid(it->uid, it->uid, it->uid) < 0 ||
	    setresuid(it->uid, it->uid, it->uid) < 0)
		fail("becoming the sandbox's user");
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || unshare(CLONE_NEWUSER) < 0)
		fail("making a user namespace");
	if (write(it->up[1], &byte, 1) != 1 || read(it->mapped[0], &byte, 1) != 1)
		fail("having the ids mapped");
}

/* No namespace below this one, no capability even within it, and nothing later gives any. */
static void give_up(const struct visit *it)
{
	uint32_t head[2] = {CAPABILITY_VERSION, 0}, none[6] = {0};
	int fd = openat(it->limits, "max_user_namespaces", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		fail("closing the way to further user namespaces");
	close(fd);
	for (unsigned long each = 0; each < CAPABILITIES; each++)
		if (prctl(PR_CAPBSET_DROP, each, 0, 0, 0) < 0 && errno != EINVAL)
			fail("dropping capabilities");
	if (prctl(CAP_AMBIENT, CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, head, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		fail("dropping capabilities");
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the last change of who we are: that clears it */
}

static void filter(int fd)
{
	static struct instruction code[MOST_INSTRUCTIONS];
	ssize_t length = read(fd, code, sizeof code);
	struct {
		unsigned short length;
		struct instruction *code;
	} program = {(unsigned short)(length / (ssize_t)sizeof *code), code};

	if (length <= 0 || length % (ssize_t)sizeof *code ||
	    prctl(PR_SET_SECCOMP, SECCOMP_FILTER, &program) < 0)
		fail("setting the filter of system calls");
}

static void plain_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In a process whose pid is of the sandbox. */
static void be_command(const struct visit *it)
{
	plain_signals();
	close(it->mapped[1]); /* or we would not see our parent's end */
	close(it->up[0]);
	if (setns(INIT, CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
	                    CLONE_NEWCGROUP) < 0 || chdir("/") < 0)
		fail("entering the sandbox");
	take_streams(it->asker);
	setsid();
	become_somebody(it);
	give_up(it);
	umask(022);
	if (chdir(it->cwd) < 0)
		fail("the directory cannot be entered");
	filter(CHOWN_FILTER);
	filter(WALL_FILTER);
	close_from(SAY + 1, ~0U);
	execvp(it->argv[0], it->argv);
	fprintf(stderr, "atoll: sudo: %s: %s\n", it->argv[0], strerror(errno));
	_exit(errno == ENOENT ? NOT_FOUND : NOT_RUNNABLE);
}

static void put(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail(name);
	close(fd);
}

/* Once its user namespace is there: one id, and no way to drop groups. */
static void map_ids(const struct visit *it)
{
	char line[32], byte = 0;

	close(it->up[1]);
	if (read(it->up[0], &byte, 1) != 1)
		return; /* it has said why itself */
	snprintf(line, sizeof line, "0 %u 1", (unsigned)it->uid);
	put(command, "setgroups", "deny");
	put(command, "uid_map", line);
	put(command, "gid_map", line);
	if (write(it->mapped[1], &byte, 1) != 1)
		fail("having the ids mapped");
}

static int awaited(void)
{
	int status = 0;

	while (waitpid(command, &status, 0) < 0)
		if (errno != EINTR)
			return NOT_ENTERED;
	return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int enter_sandbox(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = pass_on};
	struct visit it;
	sigset_t held;

	if (argc < 5 || strcmp(argv[3], "--") != 0)
		return MISUSED;
	it.uid = (uid_t)strtoul(argv[0], NULL, 10);
	it.asker = (pid_t)strtol(argv[1], NULL, 10);
	it.cwd = argv[2];
	it.argv = argv + 4;
	it.limits = open("/proc/sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (it.uid == 0 || it.limits < 0)
		fail("nobody to become");
	if (fcntl(SAY, F_SETFD, FD_CLOEXEC) < 0 || pipe2(it.up, O_CLOEXEC) < 0 ||
	    pipe2(it.mapped, O_CLOEXEC) < 0 || setns(INIT, CLONE_NEWPID) < 0)
		fail("entering the sandbox");
	sigfillset(&held);
	sigprocmask(SIG_BLOCK, &held, NULL);
	command = fork();
	if (command == 0)
		be_command(&it);
	if (command < 0)
		fail("starting a process in the sandbox");
	close(it.mapped[0]);
	for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
		sigaction(passed_on[i], &action, NULL);
	map_ids(&it);
	sigemptyset(&held);
	sigprocmask(SIG_SETMASK, &held, NULL);
	return awaited();
}
