/* tar: a tree as a POSIX (pax) archive on stdout. Names that do not fit a plain header, and
 * sizes over 8 GiB, get an extended one; sockets, pipes and devices are left out. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 512, MAX_PATH = 1 << 20 };
#define PLAIN_SIZE 077777777777LL

static char path[MAX_PATH];
static char data[1 << 16];
static int partial;

/* Told once: nobody reads our complaints before we end, and a pipe holds only so many. */
static void left_out(void)
{
	if (!partial)
		failed("tar: left out");
	partial = 1;
}

static void pad(long long size)
{
	static const char zeros[BLOCK];
	size_t over = (size_t)(size % BLOCK);

	if (over)
		fwrite(zeros, 1, BLOCK - over, stdout);
}

static void header(const char *name, char type, const struct stat *stat, long long size,
                   const char *link)
{
	char block[BLOCK] = {0};
	unsigned sum = 0;

	strncpy(block, name, 100);
	snprintf(block + 100, 8, "%07o", stat->st_mode & 0777);
	memcpy(block + 108, "0000000", 8);
	memcpy(block + 116, "0000000", 8);
	snprintf(block + 124, 12, "%011llo", (unsigned long long)(size > PLAIN_SIZE ? 0 : size));
	snprintf(block + 136, 12, "%011llo",
	         (unsigned long long)(stat->st_mtime < 0 ? 0 : stat->st_mtime) & PLAIN_SIZE);
	block[156] = type;
	strncpy(block + 157, link, 100);
	memcpy(block + 257, "ustar\00000", 8);
	memset(block + 148, ' ', 8);
	for (int i = 0; i < BLOCK; i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum);
	fwrite(block, 1, BLOCK, stdout);
}

/* "LENGTH KEY=VALUE\n", where LENGTH counts its own digits. Returns the bytes written. */
static size_t record(char *out, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, length = rest + 1;

	while (length != rest + (size_t)snprintf(NULL, 0, "%zu", length))
		length = rest + (size_t)snprintf(NULL, 0, "%zu", length);
	return (size_t)sprintf(out, "%zu %s=%s\n", length, key, value);
}

static int extended(const char *name, const struct stat *stat, long long size, const char *link)
{
	char *text, digits[24];
	size_t used = 0;

	if (strlen(name) <= 100 && strlen(link) <= 100 && size <= PLAIN_SIZE)
		return 0;
	text = malloc(strlen(name) + strlen(link) + 256);
	if (!text)
		return -1;
	if (strlen(name) > 100)
		used += record(text + used, "path", name);
	if (strlen(link) > 100)
		used += record(text + used, "linkpath", link);
	if (size > PLAIN_SIZE) {
		snprintf(digits, sizeof digits, "%lld", size);
		used += record(text + used, "size", digits);
	}
	header("PaxHeader", 'x', stat, (long long)used, "");
	fwrite(text, 1, used, stdout);
	pad((long long)used);
	free(text);
	return 0;
}

static int put(const char *name, char type, const struct stat *stat, long long size,
               const char *link)
{
	if (extended(name, stat, size, link) < 0)
		return -1;
	header(name, type, stat, size, link);
	return 0;
}

/* Exactly the announced size, whatever happens to the file meanwhile. */
static int put_file(int fd, const struct stat *stat, const char *name)
{
	long long left = stat->st_size;

	if (put(name, '0', stat, left, "") < 0)
		return -1;
	while (left > 0) {
		size_t want = left < (long long)sizeof data ? (size_t)left : sizeof data;
		ssize_t got = read(fd, data, want);
		if (got < 0)
			return -1;
		if (got == 0) {
			memset(data, 0, sizeof data);
			got = (ssize_t)want;
			partial = 1;
		}
		if (fwrite(data, 1, (size_t)got, stdout) != (size_t)got)
			return -1;
		left -= got;
	}
	pad(stat->st_size);
	return 0;
}

static int put_leaf(int directory, const char *name, const struct stat *seen)
{
	struct stat stat;
	ssize_t length;
	int fd, code;

	if (S_ISLNK(seen->st_mode)) {
		length = readlinkat(directory, name, data, 4095);
		if (length < 0)
			return partial = 1, 0;
		data[length] = 0;
		return put(path, '2', seen, 0, data);
	}
	if (!S_ISREG(seen->st_mode))
		return 0;
	fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode)) {
		left_out();
		if (fd >= 0)
			close(fd);
		return 0;
	}
	code = put_file(fd, &stat, path);
	close(fd);
	return code;
}

/* Takes the descriptor and returns one of the same directory, or -1. */
static int put_directory(int directory, size_t length)
{
	struct names names;
	struct stat stat, was;
	int child;

	if (read_names(directory, &names) < 0)
		return left_out(), directory;
	keep_smallest(&names, names.count);
	for (size_t i = 0; i < names.count && directory >= 0; i++) {
		size_t extra = strlen(names.all[i]);
		if (length + extra + 2 > MAX_PATH)
			return errno = ENAMETOOLONG, -1;
		memcpy(path + length, names.all[i], extra + 1);
		if (fstatat(directory, names.all[i], &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!S_ISDIR(stat.st_mode)) {
			if (put_leaf(directory, names.all[i], &stat) < 0)
				directory = -1;
			continue;
		}
		memcpy(path + length + extra, "/", 2);
		if (put(path, '5', &stat, 0, "") < 0)
			return -1;
		child = enter(directory, names.all[i], &was);
		if (child < 0) {
			left_out();
			continue;
		}
		child = put_directory(child, length + extra + 1);
		directory = child < 0 ? -1 : leave(child, &was);
	}
	free_names(&names);
	return directory;
}

static int end(void)
{
	memset(data, 0, 2 * BLOCK);
	fwrite(data, 1, 2 * BLOCK, stdout);
	return partial ? PARTIAL : OK;
}

int do_tar(struct request *it)
{
	const char *name;
	struct stat stat;
	int parent, fd = open_beneath(it->root, it->paths[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd >= 0)
		return put_directory(fd, 0) < 0 ? failed("tar") : end();
	if (errno != ENOTDIR)
		return failed("tar");
	parent = open_parent(it->root, it->paths[0], &name);
	if (parent < 0 || fstatat(parent, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return failed("tar");
	strcpy(path, name);
	return put_leaf(parent, name, &stat) < 0 ? failed("tar") : end();
}
