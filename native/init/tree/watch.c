/* watch: what happens to the names of a directory, or with -r of the whole tree beneath it.
 * One line per event, `KIND PATH FROM`; the first line is `ready`. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { MAX_WATCHES = 8192, MAX_DEPTH = 512 };
enum { EVENTS = IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |
	        IN_ONLYDIR | IN_EXCL_UNLINK };

static int inotify, root, recursive, lost;
static char *watched[MAX_WATCHES + 1]; /* path by watch descriptor */
static int top;

static void say(const char *kind, const char *path, const char *from)
{
	printf("%s ", kind);
	print_base64(path);
	putchar(' ');
	print_base64(from);
	putchar('\n');
}

static void overflow(void)
{
	if (!lost)
		say("overflow", "", "");
	lost = 1;
}

static char *join(const char *directory, const char *name)
{
	char *path = NULL;

	if (!strcmp(directory, "."))
		return strdup(name);
	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* By the descriptor's own directory, not by a name that may change meanwhile. */
static int add_watch(const char *path)
{
	int fd = open_beneath(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), id = -1;

	if (fd >= 0 && fchdir(fd) == 0)
		id = inotify_add_watch(inotify, ".", EVENTS);
	if (id > MAX_WATCHES) {
		inotify_rm_watch(inotify, id);
		id = -1;
		errno = ENOSPC;
	}
	if (id >= 0) {
		free(watched[id]);
		watched[id] = strdup(path);
		top = id > top ? id : top;
	} else if (errno == ENOSPC) {
		overflow();
	}
	if (fd >= 0 && id < 0)
		close(fd);
	return id < 0 ? -1 : fd;
}

/* Names that came before the watch did are reported too: better twice than not at all. */
static void add_tree(const char *path, int depth, int report)
{
	int fd = add_watch(path);
	struct names names;
	struct stat stat;

	if (fd < 0)
		return;
	if (recursive && depth < MAX_DEPTH && read_names(fd, &names) == 0) {
		for (size_t i = 0; i < names.count; i++) {
			char *inner = join(path, names.all[i]);
			int known = fstatat(fd, names.all[i], &stat, AT_SYMLINK_NOFOLLOW) == 0;
			if (inner && known && report)
				say("created", inner, "");
			if (inner && known && S_ISDIR(stat.st_mode))
				add_tree(inner, depth + 1, report);
			free(inner);
		}
		free_names(&names);
	} else if (recursive) {
		overflow();
	}
	close(fd);
}

static void forget(const char *path)
{
	size_t length = strlen(path);

	for (int id = 0; id <= top; id++)
		if (watched[id] && !strncmp(watched[id], path, length) &&
		    (watched[id][length] == '/' || !watched[id][length])) {
			inotify_rm_watch(inotify, id);
			free(watched[id]);
			watched[id] = NULL;
		}
}

static struct {
	uint32_t cookie;
	char *path;
} moving;

static void settle(void)
{
	if (moving.path)
		say("deleted", moving.path, "");
	free(moving.path);
	moving.path = NULL;
}

static void handle(const struct inotify_event *event)
{
	int arrives = (event->mask & (IN_CREATE | IN_MOVED_TO)) != 0;
	char *path;

	if (!(event->mask & IN_MOVED_TO) || event->cookie != moving.cookie)
		settle();
	if (event->mask & IN_Q_OVERFLOW) {
		say("overflow", "", "");
		return;
	}
	if (event->wd < 0 || event->wd > MAX_WATCHES || !watched[event->wd])
		return;
	if (event->mask & IN_IGNORED) {
		free(watched[event->wd]);
		watched[event->wd] = NULL;
		return;
	}
	if (!event->len)
		return;
	path = join(watched[event->wd], event->name);
	if (!path)
		return;
	if (event->mask & IN_MOVED_FROM) {
		moving.cookie = event->cookie;
		moving.path = strdup(path);
		if (event->mask & IN_ISDIR)
			forget(path);
	} else if (event->mask & IN_MOVED_TO && moving.path) {
		say("moved", path, moving.path);
		free(moving.path);
		moving.path = NULL;
	} else {
		say(arrives ? "created" : event->mask & IN_DELETE ? "deleted" : "modified", path, "");
	}
	if (recursive && arrives && event->mask & IN_ISDIR)
		add_tree(path, 0, (event->mask & IN_CREATE) != 0);
	free(path);
}

int do_watch(struct request *it)
{
	static char room[1 << 16] __attribute__((aligned(8)));
	struct pollfd ends[2] = {{.events = POLLIN}, {.fd = 1}};
	ssize_t got;

	root = it->root;
	recursive = it->recursive;
	inotify = inotify_init1(IN_CLOEXEC);
	if (inotify < 0)
		return failed("watch");
	add_tree(it->paths[0], 0, 0);
	if (!top)
		return failed("watch");
	puts("ready");
	ends[0].fd = inotify;
	for (;;) {
		fflush(stdout);
		/* A reader that went away shows as an error on our output. */
		if (poll(ends, 2, -1) < 0 || ends[1].revents)
			return OK;
		got = read(inotify, room, sizeof room);
		for (char *at = room; got > 0 && at < room + got;) {
			const struct inotify_event *event = (const void *)at;
			handle(event);
			at += sizeof *event + event->len;
		}
		settle();
	}
}
