/* Places in the tree: opened beneath the root, listed, entered and left, printed. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Spelt out: musl's compiler wrapper does not see the kernel's headers. */
struct how {
	uint64_t flags, mode, resolve;
};
enum { BENEATH = 8, NO_MAGICLINKS = 2, NO_SYMLINKS = 4 };
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

int open_beneath(int root, const char *path, int flags, int mode)
{
	struct how how = {(uint64_t)(uint32_t)flags,
	                  flags & O_CREAT ? (uint64_t)(mode & 0777) : 0, BENEATH | NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

int open_without_links(const char *path, int flags)
{
	struct how how = {(uint64_t)(uint32_t)flags, 0, NO_SYMLINKS | NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

int failed(const char *what)
{
	int number = errno;

	fprintf(stderr, "%d %s: %s\n", number, what, strerror(number));
	return REFUSED_BY_KERNEL;
}

int denied(int code, const char *why)
{
	fprintf(stderr, "0 %s\n", why);
	return code;
}

int open_parent(int root, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char *parent;
	int fd;

	*name = slash ? slash + 1 : path;
	if (!**name || !strcmp(*name, ".") || !strcmp(*name, "..")) {
		errno = EINVAL;
		return -1;
	}
	if (*path == '/') {
		errno = EXDEV;
		return -1;
	}
	if (!slash)
		return open_beneath(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	parent = strndup(path, (size_t)(slash - path));
	if (!parent)
		return -1;
	fd = open_beneath(root, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	free(parent);
	return fd;
}

void print_base64(const char *text)
{
	print_base64_of(text, strlen(text));
}

void print_base64_of(const char *text, size_t length)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	if (!length)
		putchar('-');
	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		unsigned a = (unsigned char)text[i];
		unsigned b = left > 1 ? (unsigned char)text[i + 1] : 0;
		unsigned c = left > 2 ? (unsigned char)text[i + 2] : 0;
		putchar(digits[a >> 2]);
		putchar(digits[(a & 3) << 4 | b >> 4]);
		putchar(left > 1 ? digits[(b & 15) << 2 | c >> 6] : '=');
		putchar(left > 2 ? digits[c & 63] : '=');
	}
}

void print_entry(const char *name, const struct stat *stat, const char *target)
{
	char type = S_ISREG(stat->st_mode)   ? 'f'
	            : S_ISDIR(stat->st_mode) ? 'd'
	            : S_ISLNK(stat->st_mode) ? 'l'
	                                     : 'o';

	printf("%c %o %lld %lld%09ld ", type, stat->st_mode & 07777, (long long)stat->st_size,
	       (long long)stat->st_mtim.tv_sec, stat->st_mtim.tv_nsec);
	print_base64(name);
	putchar(' ');
	print_base64(target);
	putchar('\n');
}

int print_place(int root, const char *path)
{
	int fd = open_beneath(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	const char *slash = strrchr(path, '/');
	char target[4096] = "";
	struct stat stat;
	ssize_t length;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return failed("stat");
	if (S_ISLNK(stat.st_mode) && (length = readlinkat(fd, "", target, sizeof target - 1)) >= 0)
		target[length] = 0;
	close(fd);
	print_entry(slash ? slash + 1 : strcmp(path, ".") != 0 ? path : "", &stat, target);
	return OK;
}

int do_stat(struct request *it)
{
	return print_place(it->root, it->paths[0]);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void keep_smallest(struct names *names, size_t limit)
{
	if (names->count)
		qsort(names->all, names->count, sizeof *names->all, by_bytes);
	while (names->count > limit)
		free(names->all[--names->count]);
}

static int add_name(struct names *names, const char *name)
{
	if (names->count == names->room) {
		size_t room = names->room ? names->room * 2 : 64;
		char **all = realloc(names->all, room * sizeof *all);
		if (!all)
			return -1;
		names->all = all;
		names->room = room;
	}
	names->all[names->count] = strdup(name);
	if (!names->all[names->count])
		return -1;
	names->count++;
	return 0;
}

int read_names(int directory, struct names *out)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *each;

	*out = (struct names){0};
	if (!entries)
		return -1;
	while ((each = readdir(entries)))
		if (strcmp(each->d_name, ".") != 0 && strcmp(each->d_name, "..") != 0 &&
		    add_name(out, each->d_name) < 0)
			break;
	closedir(entries);
	if (each)
		return free_names(out), -1;
	return 0;
}

void free_names(struct names *names)
{
	while (names->count)
		free(names->all[--names->count]);
	free(names->all);
	*names = (struct names){0};
}

/* Descends holding one descriptor, however deep; `was` recognises the way back. */
int enter(int directory, const char *name, struct stat *was)
{
	int child = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (child < 0)
		return -1;
	if (fstat(directory, was) < 0) {
		close(child);
		return -1;
	}
	close(directory);
	return child;
}

int leave(int directory, const struct stat *was)
{
	int up = openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat now;

	close(directory);
	if (up >= 0 && fstat(up, &now) == 0 && now.st_dev == was->st_dev && now.st_ino == was->st_ino)
		return up;
	if (up >= 0) {
		/* Somebody moved the directory away while we were in it. */
		close(up);
		errno = ESTALE;
	}
	return -1;
}
