/* untar: an archive from stdin into a directory, trusting none of it. No absolute or `..`
 * name, no device, links only to places within; no symlink is followed on the way to a
 * name, not even one the archive itself just made. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 512, MAX_META = 1 << 20, MAX_NAME = 1 << 16 };

struct entry {
	char path[MAX_NAME], link[MAX_NAME];
	int has_path, has_link;
	long long size; /* from a pax record, or -1 */
};

static char block[BLOCK], data[1 << 16];
static struct entry next;
static int base; /* the directory we extract into */
static long long bytes, files;

static int full_read(char *into, size_t want)
{
	size_t got = 0;

	while (got < want) {
		ssize_t more = read(0, into + got, want - got);
		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0)
			break;
		got += (size_t)more;
	}
	return got == want ? 1 : got == 0 ? 0 : -1;
}

/* Octal text, or base 256 with the high bit set (GNU, for what octal cannot hold). */
static long long number(const char *field, int width)
{
	unsigned long long value = 0;

	if ((unsigned char)field[0] == 0x80) {
		for (int i = 1; i < width; i++)
			value = value > (1ULL << 54) ? 1ULL << 62 : value << 8 | (unsigned char)field[i];
		return (long long)value;
	}
	for (int i = 0; i < width && field[i]; i++)
		if (field[i] >= '0' && field[i] <= '7')
			value = value << 3 | (unsigned)(field[i] - '0');
		else if (field[i] != ' ')
			return -1;
	return (long long)value;
}

static int sum_is_right(void)
{
	unsigned sum = 0;

	for (int i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block[i];
	return number(block + 148, 8) == (long long)sum;
}

static int is_end(void)
{
	for (int i = 0; i < BLOCK; i++)
		if (block[i])
			return 0;
	return 1;
}

/* Whether text leads nowhere outside when it starts `depth` directories deep. */
static int stays_within(const char *text, int depth)
{
	if (*text == '/')
		return 0;
	while (*text) {
		size_t part = strcspn(text, "/");
		if (part == 2 && !memcmp(text, "..", 2)) {
			if (--depth < 0)
				return 0;
		} else if (part > 1 || (part == 1 && *text != '.')) {
			depth++;
		}
		text += part + (text[part] == '/');
	}
	return 1;
}

/* Drops "." and empty parts in place; how many parts are left, -1 for an unsafe name. */
static int tidy(char *name)
{
	char *out = name;
	const char *in = name;
	int depth = 0;

	if (*in == '/')
		return -1;
	while (*in) {
		size_t part = strcspn(in, "/");
		if (part == 2 && !memcmp(in, "..", 2))
			return -1;
		if (part > 1 || (part == 1 && *in != '.')) {
			if (out != name)
				*out++ = '/';
			memmove(out, in, part);
			out += part;
			depth++;
		}
		in += part + (in[part] == '/');
	}
	*out = 0;
	return depth;
}

static int child(int at, const char *name, int make)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, flags);

	if (fd < 0 && errno == ENOENT && make && (mkdirat(at, name, 0755) == 0 || errno == EEXIST))
		fd = openat(at, name, flags);
	return fd;
}

/* Opens the directory a tidy name lies in, making what is missing; `last` is its last part. */
static int walk_from(int at, char *name, char **last, int make)
{
	char *slash;

	while (at >= 0 && (slash = strchr(name, '/'))) {
		int deeper;
		*slash = 0;
		deeper = child(at, name, make);
		*slash = '/';
		close(at);
		at = deeper;
		name = slash + 1;
	}
	*last = name;
	return at;
}

static int walk(char *name, char **last, int make)
{
	int from = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return walk_from(from, name, last, make);
}

/* The same for the next file: most lie in or below the directory of the one before, and a
 * deep tree would otherwise be walked from its top for every name. */
static int walk_on(char *name, char **last)
{
	static char before[MAX_NAME];
	static int place = -1;
	size_t length = strlen(before);
	int at;

	if (place < 0 || strncmp(name, before, length) != 0 || name[length] != '/') {
		at = walk(name, last, 1);
	} else {
		int from = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		at = walk_from(from, name + length + 1, last, 1);
	}
	if (place >= 0)
		close(place);
	place = -1;
	if (at >= 0 && *last > name) {
		place = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		memcpy(before, name, (size_t)(*last - name - 1));
		before[*last - name - 1] = 0;
	}
	return at;
}

static int skip(long long size)
{
	long long left = (size + BLOCK - 1) / BLOCK * BLOCK;

	while (left > 0) {
		size_t want = left < (long long)sizeof data ? (size_t)left : sizeof data;
		if (full_read(data, want) != 1)
			return denied(UNSAFE, "the archive ends in the middle of a file");
		left -= (long long)want;
	}
	return OK;
}

static int write_out(int fd, const char *from, size_t size)
{
	while (size > 0) {
		ssize_t put = write(fd, from, size);
		if (put < 0)
			return -1;
		from += put;
		size -= (size_t)put;
	}
	return 0;
}

static int write_file(int at, const char *name, long long size)
{
	struct timespec times[2] = {{0, UTIME_OMIT}, {number(block + 136, 12), 0}};
	mode_t mode = (mode_t)number(block + 100, 8) & 0777;
	long long left = size;
	int fd;

	if (unlinkat(at, name, 0) < 0 && errno != ENOENT)
		return failed("untar");
	fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed("untar");
	while (left > 0) {
		size_t whole = left < (long long)sizeof data ? (size_t)left : sizeof data;
		size_t want = (whole + BLOCK - 1) / BLOCK * BLOCK;
		if (full_read(data, want) != 1)
			return denied(UNSAFE, "the archive ends in the middle of a file");
		if (write_out(fd, data, whole) < 0)
			return failed("untar");
		left -= (long long)whole;
	}
	fchmod(fd, mode);
	futimens(fd, times);
	close(fd);
	return OK;
}

static int make_directory(int at, const char *name)
{
	int fd = child(at, name, 1);

	if (fd < 0)
		return failed("untar");
	/* Never a directory its owner could not enter: the rest must go into it. */
	fchmod(fd, ((mode_t)number(block + 100, 8) & 0777) | 0700);
	close(fd);
	return OK;
}

static int make_link(int at, const char *name, char *target, int depth, char type)
{
	char *last;
	int from, made;

	if (type == '2') {
		if (!*target || !stays_within(target, depth - 1))
			return denied(UNSAFE, "the archive holds a link that leads outside");
		unlinkat(at, name, 0);
		return symlinkat(target, at, name) < 0 ? failed("untar") : OK;
	}
	if (tidy(target) < 1)
		return denied(UNSAFE, "the archive holds a link that leads outside");
	from = walk(target, &last, 0);
	if (from < 0)
		return failed("untar");
	unlinkat(at, name, 0);
	made = linkat(from, last, at, name, 0);
	close(from);
	return made < 0 ? failed("untar") : OK;
}

static int extract(const struct request *it, char type, long long size)
{
	int depth = tidy(next.path), at, code;
	char *name;

	if (depth < 0)
		return denied(UNSAFE, "the archive holds an absolute name or one with '..'");
	if (++files > it->max_files || size > it->max_bytes - bytes)
		return denied(OVER_LIMIT, "the archive holds more files or bytes than allowed");
	if (depth == 0)
		return skip(size);
	at = walk_on(next.path, &name);
	if (at < 0)
		return failed("untar");
	if (type == '5')
		code = make_directory(at, name);
	else if (type == '1' || type == '2')
		code = make_link(at, name, next.link, depth, type);
	else
		code = write_file(at, name, size);
	close(at);
	if (type == '0')
		bytes += size;
	return code;
}

/* One "LENGTH KEY=VALUE\n" after the other. */
static int read_pax(char *text, long long size)
{
	char *end = text + size;

	while (text < end) {
		char *space = memchr(text, ' ', (size_t)(end - text)), *equals, *stop;
		long length = atol(text);
		if (!space || length <= space - text || length > end - text)
			return denied(UNSAFE, "the archive holds a garbled header");
		stop = text + length - 1;
		equals = memchr(space, '=', (size_t)(stop - space));
		if (!equals || stop - equals > MAX_NAME)
			return denied(UNSAFE, "the archive holds a garbled header");
		*stop = *equals = 0;
		if (!strcmp(space + 1, "path"))
			strcpy(next.path, equals + 1), next.has_path = 1;
		else if (!strcmp(space + 1, "linkpath"))
			strcpy(next.link, equals + 1), next.has_link = 1;
		else if (!strcmp(space + 1, "size"))
			next.size = atoll(equals + 1);
		text += length;
	}
	return OK;
}

static int read_meta(char type, long long size)
{
	long long padded = (size + BLOCK - 1) / BLOCK * BLOCK;
	char *text = size > MAX_META ? NULL : calloc(1, (size_t)padded + 1);
	int code = OK;

	if (!text || full_read(text, (size_t)padded) != 1)
		code = denied(UNSAFE, "the archive holds a garbled or huge header");
	else if (type == 'x')
		code = read_pax(text, size);
	else if (type != 'g' && size >= MAX_NAME)
		code = denied(UNSAFE, "the archive holds a name that is too long");
	else if (type == 'L')
		strcpy(next.path, text), next.has_path = 1;
	else if (type == 'K')
		strcpy(next.link, text), next.has_link = 1;
	free(text);
	return code;
}

static void names_from_header(void)
{
	if (!next.has_link)
		snprintf(next.link, sizeof next.link, "%.100s", block + 157);
	if (next.has_path)
		return;
	if (!memcmp(block + 257, "ustar\0", 6) && block[345])
		snprintf(next.path, sizeof next.path, "%.155s/%.100s", block + 345, block);
	else
		snprintf(next.path, sizeof next.path, "%.100s", block);
}

static int one(const struct request *it)
{
	long long size = number(block + 124, 12);
	char type = block[156] == 0 || block[156] == '7' ? '0' : block[156];
	int code;

	if (!sum_is_right() || size < 0)
		return denied(UNSAFE, "this is not a tar archive");
	if (strchr("xgLK", type))
		return read_meta(type, size);
	if (next.size >= 0)
		size = next.size;
	names_from_header();
	if (!strchr("0125", type))
		return denied(UNSAFE, "the archive holds a device, a pipe or a kind unknown here");
	if (type == '0' && *next.path && next.path[strlen(next.path) - 1] == '/')
		type = '5';
	code = extract(it, type, type == '0' ? size : 0);
	if (code == OK && type != '0')
		code = skip(size);
	next.has_path = next.has_link = 0;
	next.size = -1;
	return code;
}

int do_untar(struct request *it)
{
	int got = 0, started = 0, code = OK;

	umask(022);
	if (make_parents(it->root, it->paths[0]) < 0)
		return failed("untar");
	base = open_beneath(it->root, it->paths[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (base < 0)
		return failed("untar");
	next.size = -1;
	while (code == OK && (got = full_read(block, BLOCK)) == 1 && !is_end()) {
		started = 1;
		code = one(it);
	}
	if (code == OK && got == 0 && !started)
		code = denied(UNSAFE, "there is no archive");
	if (code == OK && got < 0)
		code = denied(UNSAFE, "the archive ends in the middle of a header");
	/* The sender may pad: let it finish. */
	while (code == OK && read(0, data, sizeof data) > 0)
		;
	if (code == OK)
		printf("%lld %lld\n", files, bytes);
	return code;
}
