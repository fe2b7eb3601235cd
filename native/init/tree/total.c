/* total: how much a tree holds before `tar` packs it: FILES BYTES STORED, where BYTES are what its
 * files claim and STORED what they take on the disk. A directory that cannot be read counts
 * nothing, as in an archive. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

static long long files, bytes, stored;

/* Saturates: a sparse file may claim 16 TiB, and there may be a million of them. */
static void add(long long *sum, long long more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = LLONG_MAX;
}

static void count(const struct stat *stat)
{
	if (!S_ISREG(stat->st_mode))
		return;
	files++;
	add(&bytes, stat->st_size);
	add(&stored, stat->st_blocks * 512LL);
}

/* Takes the descriptor and returns one of the same directory, or -1. */
static int count_directory(int directory)
{
	struct names names;
	struct stat stat, was;
	int child;

	if (read_names(directory, &names) < 0)
		return directory;
	for (size_t i = 0; i < names.count && directory >= 0; i++) {
		if (fstatat(directory, names.all[i], &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!S_ISDIR(stat.st_mode)) {
			count(&stat);
			continue;
		}
		child = enter(directory, names.all[i], &was);
		if (child < 0)
			continue;
		child = count_directory(child);
		directory = child < 0 ? -1 : leave(child, &was);
	}
	free_names(&names);
	return directory;
}

int do_total(struct request *it)
{
	const char *name;
	struct stat stat;
	int parent, fd = open_beneath(it->root, it->paths[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd >= 0) {
		if (count_directory(fd) < 0)
			return failed("total");
	} else {
		if (errno != ENOTDIR)
			return failed("total");
		parent = open_parent(it->root, it->paths[0], &name);
		if (parent < 0 || fstatat(parent, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
			return failed("total");
		count(&stat);
	}
	printf("%lld %lld %lld\n", files, bytes, stored);
	return OK;
}
