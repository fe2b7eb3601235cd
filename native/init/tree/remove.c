/* remove: one name, or with -r a whole tree of any depth, holding one descriptor. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct level {
	struct stat was; /* the directory above */
	char *name;      /* of this one in it */
	struct level *above;
};

/* Removes what it can; the name of a directory that is not empty (to be freed), or NULL
 * with errno 0 when nothing is left. */
static char *clear(int directory)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *each;
	char *full = NULL;

	if (!entries)
		return NULL;
	while (!full && (errno = 0, each = readdir(entries))) {
		if (!strcmp(each->d_name, ".") || !strcmp(each->d_name, ".."))
			continue;
		if (unlinkat(directory, each->d_name, 0) == 0 || errno == ENOENT)
			continue;
		if (errno != EISDIR && errno != EPERM)
			break;
		if (unlinkat(directory, each->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			continue;
		if (errno != ENOTEMPTY && errno != EEXIST)
			break;
		full = strdup(each->d_name);
	}
	closedir(entries);
	return full;
}

/* A directory whose owner may not read it is made readable first, as its owner could. */
static int descend(int directory, const char *name, struct stat *was)
{
	int child = enter(directory, name, was);

	if (child < 0 && errno == EACCES && fchmodat(directory, name, 0700, 0) == 0)
		child = enter(directory, name, was);
	return child;
}

static int remove_tree(int directory, const char *name)
{
	struct level *level = NULL, *above;
	char *next = strdup(name);
	int saved;

	while (next || level) {
		if (next) {
			struct level *deeper = malloc(sizeof *deeper);
			int child = deeper ? descend(directory, next, &deeper->was) : -1;
			if (child < 0)
				return -1;
			*deeper = (struct level){deeper->was, next, level};
			level = deeper;
			directory = child;
			fchmod(directory, 0700);
		}
		next = clear(directory);
		saved = errno;
		if (next)
			continue;
		if (saved)
			return errno = saved, -1;
		directory = leave(directory, &level->was);
		if (directory < 0)
			return -1;
		if (unlinkat(directory, level->name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
			/* Filled again behind our back: go in once more. */
			if (errno != ENOTEMPTY)
				return -1;
			next = strdup(level->name);
		}
		above = level->above;
		free(level->name);
		free(level);
		level = above;
	}
	return 0;
}

int do_remove(struct request *it)
{
	const char *name;
	int parent = open_parent(it->root, it->paths[0], &name);
	struct stat stat;

	if (parent < 0 || fstatat(parent, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return failed("remove");
	if (!S_ISDIR(stat.st_mode))
		return unlinkat(parent, name, 0) < 0 ? failed("remove") : OK;
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return OK;
	if (!it->recursive || (errno != ENOTEMPTY && errno != EEXIST))
		return failed("remove");
	return remove_tree(parent, name) < 0 ? failed("remove") : OK;
}
