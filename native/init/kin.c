/* Processes by descent, read from /proc/PID/task/TID/children: a daemon that left its
 * session and its group still has an ancestor, because every warden is a subreaper. */
#define _GNU_SOURCE
#include "init.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_KIN = 65536, PATIENCE_MS = 10000 };

struct family {
	int count;
	pid_t pids[MAX_KIN];
};

static void add_children_of_thread(struct family *all, int task, const char *thread)
{
	char path[32], text[4096];
	ssize_t got;
	pid_t pid = 0;
	int fd;

	snprintf(path, sizeof path, "%.20s/children", thread);
	fd = openat(task, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while ((got = read(fd, text, sizeof text)) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
			} else if (pid > 0) {
				if (all->count < MAX_KIN)
					all->pids[all->count++] = pid;
				pid = 0;
			}
		}
	}
	close(fd);
}

static void add_children(struct family *all, pid_t pid)
{
	char path[40];
	struct dirent *thread;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return;
	while ((thread = readdir(tasks)))
		if (thread->d_name[0] != '.')
			add_children_of_thread(all, dirfd(tasks), thread->d_name);
	closedir(tasks);
}

/* Signals every descendant once and says how many there were. For KILL and STOP each is
 * stopped before its children are read, so that it cannot fork behind our back. */
int signal_kin(const struct world *world, pid_t ancestor, int number, spares spared)
{
	struct family *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE,
	                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int struck = 0, first;

	if (all == MAP_FAILED)
		return 0;
	add_children(all, ancestor);
	for (int i = first = 0; i < all->count; i++)
		if (!spared || !spared(world, all->pids[i]))
			all->pids[first++] = all->pids[i];
	all->count = first;
	for (int i = 0; i < all->count; i++) {
		if (number == SIGKILL || number == SIGSTOP)
			kill(all->pids[i], SIGSTOP);
		add_children(all, all->pids[i]);
	}
	for (int i = 0; i < all->count; i++)
		struck += kill(all->pids[i], number) == 0;
	munmap(all, sizeof *all);
	return struck;
}

int list_kin(pid_t ancestor, pid_t *found, int most)
{
	struct family *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE,
	                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int count;

	if (all == MAP_FAILED)
		return 0;
	add_children(all, ancestor);
	for (int i = 0; i < all->count && i < most; i++)
		add_children(all, all->pids[i]);
	count = all->count < most ? all->count : most;
	memcpy(found, all->pids, (size_t)count * sizeof *found);
	munmap(all, sizeof *all);
	return count;
}

/* Kills descendants until there are none. With a slot, ends too when its warden was
 * reaped, so that a reused pid is never taken for it. 0, or ETIMEDOUT. */
int kill_kin(const struct world *world, pid_t ancestor, struct slot *slot)
{
	struct timespec tick = {0, 1000000};

	for (int waited = 0; waited < PATIENCE_MS; waited++) {
		if (slot && slot->warden != ancestor)
			return 0;
		if (signal_kin(world, ancestor, SIGKILL, NULL) == 0)
			return 0;
		if (ancestor == getpid())
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
		nanosleep(&tick, NULL);
	}
	return ETIMEDOUT;
}

/* The group in the foreground of the process's terminal: field 8 of its stat, 0 if none. */
pid_t foreground_group(pid_t pid)
{
	char path[40], text[512];
	const char *after;
	int terminal = 0, group = 0, fd;
	ssize_t got;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof text - 1);
	close(fd);
	if (got <= 0)
		return 0;
	text[got] = 0;
	/* The name in parentheses is the process's own choice: look behind its last one. */
	after = strrchr(text, ')');
	if (!after || sscanf(after + 1, " %*c %*d %*d %*d %d %d", &terminal, &group) != 2)
		return 0;
	return terminal != 0 && group > 0 ? group : 0;
}
