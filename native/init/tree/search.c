/* search: names that hold a text, or with --text the lines of files that do, in the order of the
 * names' bytes. Links are not followed, and nothing but regular files is opened.
 * Records: `n TYPE PATH`, or `t PATH LINE BEGIN LENGTH AROUND`, where AROUND are the bytes of the
 * file around a match that begins at BEGIN in them; at last `e REASON FILES BYTES LARGE MORE`. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DEPTH = 512, MAX_PATH = 1 << 16, MAX_FILE = 16 << 20, MAX_OF_FILE = 100 };

/* Written by programs: left out unless --all. */
static const char *const left_out[] = {".git",          "node_modules", ".venv",         "__pycache__",
                                       ".mypy_cache",   ".ruff_cache",  ".pytest_cache", ".tox",
                                       ".gradle",       ".next",        ".cache"};

static const struct request *asked;
static const char *stop; /* why it ended before the end */
static long long files, bytes;
static long matches, large, more;
static time_t end;
static char path[MAX_PATH], *data, *folded, *wanted;
static size_t length; /* of what is wanted */

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static void fold_all(char *to, const char *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = fold(from[i]);
}

static time_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec;
}

static int over(void)
{
	if (!stop && matches >= asked->limit)
		stop = "matches";
	if (!stop && files >= asked->max_files)
		stop = "files";
	if (!stop && bytes >= asked->max_bytes)
		stop = "bytes";
	if (!stop && now() >= end)
		stop = "time";
	return stop != NULL;
}

static void look_at_name(const char *name, const struct stat *stat)
{
	const char *text = strchr(wanted, '/') ? path : name;
	size_t count = strlen(text);
	const char *in = text;

	files++;
	if (!asked->exact) {
		fold_all(folded, text, count);
		in = folded;
	}
	if (!memmem(in, count, wanted, length))
		return;
	matches++;
	printf("n %c ", S_ISREG(stat->st_mode)   ? 'f'
	                : S_ISDIR(stat->st_mode) ? 'd'
	                : S_ISLNK(stat->st_mode) ? 'l'
	                                         : 'o');
	print_base64(path);
	putchar('\n');
	fflush(stdout);
}

static void report(size_t line, size_t at, size_t size)
{
	size_t reach = (size_t)asked->reach;
	size_t from = at > reach ? at - reach : 0;
	size_t to = size - at - length > reach ? at + length + reach : size;

	matches++;
	printf("t ");
	print_base64(path);
	printf(" %zu %zu %zu ", line, at - from, length);
	print_base64_of(data + from, to - from);
	putchar('\n');
}

/* One match of a line is enough, and so many of a file. */
static void look_through(size_t size)
{
	const char *in = asked->exact ? data : folded, *found, *newline;
	size_t at = 0, counted = 0, line = 1, of_file = 0;

	if (!asked->exact)
		fold_all(folded, data, size);
	while ((found = memmem(in + at, size - at, wanted, length)) && !over()) {
		size_t place = (size_t)(found - in);
		if (of_file++ == MAX_OF_FILE) {
			more++;
			break;
		}
		while ((newline = memchr(data + counted, '\n', place - counted))) {
			line++;
			counted = (size_t)(newline - data) + 1;
		}
		report(line, place, size);
		newline = memchr(data + place, '\n', size - place);
		if (!newline)
			break;
		at = (size_t)(newline - data) + 1;
	}
	if (of_file)
		fflush(stdout);
}

/* A pipe that took the place of the file meanwhile does not hold us up. */
static void look_into(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat stat;
	size_t size = 0;
	ssize_t got = 0;

	if (fd < 0)
		return;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
		files++;
		if (stat.st_size > MAX_FILE)
			large++;
		else
			while (size < MAX_FILE && (got = read(fd, data + size, MAX_FILE - size)) > 0)
				size += (size_t)got;
	}
	close(fd);
	bytes += (long long)size;
	if (got >= 0 && size >= length && !memchr(data, 0, size))
		look_through(size);
}

static void look_at(int directory, const char *name, const struct stat *stat)
{
	if (!asked->text)
		look_at_name(name, stat);
	else if (S_ISREG(stat->st_mode))
		look_into(directory, name);
}

static int is_left_out(const char *name)
{
	for (size_t i = 0; !asked->all && i < sizeof left_out / sizeof *left_out; i++)
		if (!strcmp(name, left_out[i]))
			return 1;
	return 0;
}

/* Takes the descriptor and returns one of the same directory, or -1. */
static int look_beneath(int directory, size_t begin, int depth)
{
	struct names names;
	struct stat stat, was;
	int child;

	if (depth > MAX_DEPTH || read_names(directory, &names) < 0)
		return directory;
	keep_smallest(&names, names.count);
	for (size_t i = 0; i < names.count && directory >= 0 && !over(); i++) {
		const char *name = names.all[i];
		size_t extra = strlen(name);
		if (begin + extra + 2 > MAX_PATH)
			continue;
		memcpy(path + begin, name, extra + 1);
		if (fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(stat.st_mode) && is_left_out(name))
			continue;
		look_at(directory, name, &stat);
		if (!S_ISDIR(stat.st_mode) || (child = enter(directory, name, &was)) < 0)
			continue;
		memcpy(path + begin + extra, "/", 2);
		child = look_beneath(child, begin + extra + 1, depth + 1);
		directory = child < 0 ? -1 : leave(child, &was);
	}
	free_names(&names);
	return directory;
}

static int prepared(const struct request *it)
{
	size_t room = it->text ? MAX_FILE : MAX_PATH;

	asked = it;
	end = now() + it->seconds;
	length = strlen(it->paths[1]);
	wanted = strdup(it->paths[1]);
	data = malloc(room);
	folded = malloc(room);
	if (!wanted || !data || !folded)
		return 0;
	if (!it->exact)
		fold_all(wanted, wanted, length);
	return 1;
}

int do_search(struct request *it)
{
	const char *name, *place = it->paths[0];
	int parent, fd = open_beneath(it->root, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	size_t begin = strcmp(place, ".") != 0 ? strlen(place) : 0;
	struct stat stat;

	if ((fd < 0 && errno != ENOTDIR) || !prepared(it))
		return failed("search");
	if (begin + 2 > MAX_PATH)
		return errno = ENAMETOOLONG, failed("search");
	memcpy(path, place, begin + 1);
	if (fd >= 0) {
		if (begin)
			memcpy(path + begin++, "/", 2);
		look_beneath(fd, begin, 0);
	} else {
		parent = open_parent(it->root, place, &name);
		if (parent < 0 || fstatat(parent, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
			return failed("search");
		look_at(parent, name, &stat);
	}
	printf("e %s %lld %lld %ld %ld\n", stop ? stop : "all", files, bytes, large, more);
	return OK;
}
