/* mkdir, move and commit: changes of one name. Each prints the entry that came of it. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOREPLACE = 1, MOST_LINKS = 40 };

static int make(int root, const char *path)
{
	const char *name;
	int parent = open_parent(root, path, &name), made, saved;

	if (parent < 0)
		return -1;
	made = mkdirat(parent, name, 0755);
	saved = errno;
	close(parent);
	errno = saved;
	return made;
}

/* Every directory on the way to path, and path itself. */
int make_parents(int root, const char *path)
{
	char *prefix = strdup(path);
	int fd;

	if (!prefix)
		return -1;
	for (char *slash = prefix; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		if (*prefix && make(root, prefix) < 0 && errno != EEXIST)
			return free(prefix), -1;
		*slash = '/';
	}
	free(prefix);
	if (strcmp(path, ".") != 0 && make(root, path) < 0 && errno != EEXIST)
		return -1;
	fd = open_beneath(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

int do_mkdir(struct request *it)
{
	const char *path = it->paths[0];

	umask(022);
	if ((it->parents ? make_parents(it->root, path) : make(it->root, path)) < 0)
		return failed("mkdir");
	return print_place(it->root, path);
}

int do_move(struct request *it)
{
	const char *from, *to;
	int source = open_parent(it->root, it->paths[0], &from);
	int target = source < 0 ? -1 : open_parent(it->root, it->paths[1], &to);

	if (target < 0)
		return failed("move");
	if (syscall(SYS_renameat2, source, from, target, to, it->overwrite ? 0 : NOREPLACE) < 0)
		return failed("move");
	return print_place(it->root, it->paths[1]);
}

/* Opens the directory of what *path names once the links at its end are followed, each step
 * beneath the root. Sets *path to that place. */
static int open_goal(int root, const char **path, const char **name)
{
	char target[4096], *next;

	for (int links = 0; links < MOST_LINKS; links++) {
		int parent = open_parent(root, *path, name);
		ssize_t length = parent < 0 ? -1 : readlinkat(parent, *name, target, sizeof target);
		if (length < 0)
			return parent;
		close(parent);
		int before = *target == '/' ? 0 : (int)(*name - *path);
		if (asprintf(&next, "%.*s%.*s", before, *path, (int)length, target) < 0)
			return -1;
		*path = next;
	}
	errno = ELOOP;
	return -1;
}

/* The end of an atomic write: the temporary file takes the final name, or that of the file a
 * link there leads to. Without a mode it keeps the mode of the file it replaces. */
int do_commit(struct request *it)
{
	const char *from, *to, *goal = it->paths[1];
	int source = open_parent(it->root, it->paths[0], &from);
	int target = source < 0 ? -1 : open_goal(it->root, &goal, &to);
	struct stat stat;
	int there;

	if (target < 0)
		return failed("commit");
	there = fstatat(target, to, &stat, AT_SYMLINK_NOFOLLOW) == 0;
	if (there && !S_ISREG(stat.st_mode)) {
		errno = S_ISDIR(stat.st_mode) ? EISDIR : S_ISLNK(stat.st_mode) ? ESTALE : EINVAL;
		return failed("commit");
	}
	if (there && it->mode < 0)
		it->mode = stat.st_mode & 0777;
	if (it->mode >= 0 && fchmodat(source, from, (mode_t)it->mode, 0) < 0)
		return failed("commit");
	if (renameat(source, from, target, to) < 0)
		return failed("commit");
	puts(there ? "replaced" : "created");
	return print_place(it->root, goal);
}
