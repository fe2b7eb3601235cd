/* Connections that nobody accepts, of TCP and of unix sockets: what the kernel holds of them counts
 * as nobody's. A listening socket counts as one of them: with SO_REUSEPORT it has 2 KiB of its own. */
#define _GNU_SOURCE
#include "init.h"
#include "slab.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_UNACCEPTED = 4096, GOING_MS = 2000, LISTENING = 0x0A, ACCEPTS = 0x10000 };

static void add_listener(struct listeners *to, unsigned long inode, unsigned long name, long queue)
{
	to->total += queue;
	if (to->known == MOST_LISTENERS)
		return;
	to->all[to->known].inode = inode;
	to->all[to->known].name = name;
	to->all[to->known++].queue = queue;
}

/* No more are counted than show that there are too many. */
static int enough(const struct listeners *counted)
{
	return counted->total > 2 * MOST_UNACCEPTED;
}

/* They come first in the file; their queue stands where others have bytes to read. */
static void add_listeners(struct listeners *to, const char *path)
{
	struct lines file;
	unsigned state, queue;
	unsigned long inode;
	char *line;

	if (open_lines(&file, path) < 0)
		return;
	next_line(&file);
	while (!enough(to) && (line = next_line(&file)) &&
	       sscanf(line, " %*u: %*s %*s %x %*x:%x %*s %*s %*u %*u %lu", &state, &queue,
	              &inode) == 3 &&
	       state == LISTENING)
		add_listener(to, inode, 0, (long)queue + 1);
	close(file.fd);
}

/* FNV-1a, of the path of a unix socket; 0 is nobody's. */
static unsigned long name_of(const char *path)
{
	unsigned long name = 14695981039346656037UL;

	while (*path)
		name = (name ^ (unsigned char)*path++) * 1099511628211UL;
	return name | 1;
}

/* A line of /proc/net/unix: whether the socket listens, its inode and its name. */
static int read_unix(const char *line, int *listens, unsigned long *inode, unsigned long *name)
{
	unsigned flags;
	int path = 0;

	if (sscanf(line, "%*s %*x %*x %x %*x %*x %lu%n", &flags, inode, &path) != 2)
		return 0;
	*listens = (flags & ACCEPTS) != 0;
	*name = name_of(line + path);
	return 1;
}

/* A connection that waits has no inode yet, and the name of its listener. */
static void add_unix_listeners(struct listeners *to)
{
	int listens, first = to->known;
	unsigned long inode, name;
	struct lines file;
	char *line;

	if (open_lines(&file, "/proc/net/unix") < 0)
		return;
	while ((line = next_line(&file)))
		if (read_unix(line, &listens, &inode, &name) && listens)
			add_listener(to, inode, name, 1);
	close(file.fd);
	if (open_lines(&file, "/proc/net/unix") < 0)
		return;
	while (!enough(to) && (line = next_line(&file))) {
		if (!read_unix(line, &listens, &inode, &name) || listens || inode)
			continue;
		to->total++;
		for (int i = first; i < to->known; i++)
			if (to->all[i].name == name) {
				to->all[i].queue++;
				break;
			}
	}
	close(file.fd);
}

static int by_inode(const void *one, const void *other)
{
	const struct listener *left = one, *right = other;

	return (left->inode > right->inode) - (left->inode < right->inode);
}

static long queue_of(const struct listeners *from, unsigned long inode)
{
	const struct listener wanted = {.inode = inode};
	const struct listener *found =
	        bsearch(&wanted, from->all, (size_t)from->known, sizeof wanted, by_inode);

	return found ? found->queue : 0;
}

static void count_queues(struct room *room, const char *pid)
{
	char path[40], target[40];
	unsigned long inode;
	struct dirent *each;
	DIR *files;
	ssize_t got;

	snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
	files = opendir(path);
	while (files && (each = readdir(files))) {
		got = readlinkat(dirfd(files), each->d_name, target, sizeof target - 1);
		if (got <= 0)
			continue;
		target[got] = 0;
		if (sscanf(target, "socket:[%lu]", &inode) == 1)
			add_holder(&room->holders, (pid_t)atol(pid), queue_of(&room->listeners, inode));
	}
	if (files)
		closedir(files);
}

/* Of every family, those that wait to be accepted included. */
long count_sockets(void)
{
	return number_of("/proc/net/sockstat", "sockets: used ");
}

/* Connections of listeners that no process shows: one hides them (PR_SET_DUMPABLE) or passes them
 * on, and all end, or a process is just ending, and they go: those become no more, and do not stay. */
static int end_unowned(long count)
{
	static long first, since;
	long now = milliseconds();

	if (count <= MOST_UNACCEPTED / 2) {
		first = 0;
		return 0;
	}
	if (!first) {
		first = count;
		since = now;
	}
	if (count <= first && now < since + GOING_MS)
		return 1;
	first = 0;
	return kill(-1, SIGKILL) == 0;
}

int end_unaccepted(struct room *room)
{
	struct listeners *all = &room->listeners;

	all->total = all->known = 0;
	if (count_sockets() > MOST_UNACCEPTED) {
		add_listeners(all, "/proc/net/tcp");
		add_listeners(all, "/proc/net/tcp6");
		add_unix_listeners(all);
	}
	if (all->total <= MOST_UNACCEPTED)
		return end_unowned(0);
	qsort(all->all, (size_t)all->known, sizeof *all->all, by_inode);
	each_process(room, count_queues);
	return end_unowned(all->total - room->holders.total) +
	       end_holders(&room->holders, MOST_UNACCEPTED);
}

