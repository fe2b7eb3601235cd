/* Places by their paths. A path is made absolute and plain by its text alone; then it lies beneath
 * one of the roots, leads to one, or is outside. What lies beneath is opened by the kernel's word
 * (place.c), so no link leads out, whoever changes the tree meanwhile. */
#define _GNU_SOURCE
#include "sftp.h"
#include "init.h"
#include "tree.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TRIES = 64 };

struct root {
	char *path; /* without a slash at its end: "" is / itself */
	size_t length;
	int fd; /* or -1: it was not there yet */
};

static struct root roots[MAX_ROOTS];
static int root_count;

/* Appends the parts of a text to a plain path. */
static int append_parts(char *path, const char *text)
{
	size_t used = strlen(path);

	while (*text) {
		size_t part = strcspn(text, "/");
		if (part == 2 && !memcmp(text, "..", 2)) {
			while (used > 0 && path[--used] != '/')
				;
		} else if (part > 1 || (part == 1 && *text != '.')) {
			if (used + part + 2 > PLACE_ROOM)
				return errno = ENAMETOOLONG, -1;
			path[used++] = '/';
			memcpy(path + used, text, part);
			used += part;
		}
		path[used] = 0;
		text += part + (text[part] == '/');
	}
	return 0;
}

static int covers(const struct root *root, const char *path)
{
	return !strncmp(path, root->path, root->length) && (path[root->length] == '/' || !path[root->length]);
}

/* Returns -1 for a path that is not absolute, or when there are too many. */
int add_root(const char *path)
{
	char plain[PLACE_ROOM] = "";

	if (*path != '/' || append_parts(plain, path) < 0)
		return -1;
	for (int i = 0; i < root_count; i++)
		if (!strcmp(roots[i].path, plain))
			return 0;
	if (root_count == MAX_ROOTS)
		return -1;
	roots[root_count].path = strdup(plain);
	roots[root_count].length = strlen(plain);
	roots[root_count].fd = -1;
	return roots[root_count].path ? root_count++, 0 : -1;
}

/* The first root is whatever Atoll says it is. The way to another one may be the agent's. */
static int root_fd(int at)
{
	struct root *root = &roots[at];
	const char *path = *root->path ? root->path : "/";
	int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

	if (root->fd < 0)
		root->fd = at ? open_without_links(path, flags) : open(path, flags);
	return root->fd;
}

int open_first_root(void)
{
	return root_fd(0);
}

const char *first_root(void)
{
	return roots[0].path;
}

static void find_root(struct place *out)
{
	size_t length = strlen(out->path), best = 0;

	out->root = -1;
	out->leads = 0;
	for (int i = 0; i < root_count; i++) {
		const struct root *root = &roots[i];
		if (covers(root, out->path) && (out->root < 0 || root->length > best)) {
			out->root = i;
			best = root->length;
		}
		if (!strncmp(root->path, out->path, length) && root->path[length] == '/')
			out->leads = 1;
	}
	if (out->root >= 0) {
		out->leads = 0;
		out->beneath = out->path[best] ? out->path + best + 1 : ".";
	}
}

int find_place(const char *path, struct place *out)
{
	*out->path = 0;
	out->beneath = NULL;
	if (*path != '/')
		strcpy(out->path, first_root());
	if (append_parts(out->path, path) < 0)
		return -1;
	find_root(out);
	if (!*out->path)
		strcpy(out->path, "/");
	return 0;
}

int take_place(struct message *from, struct place *out)
{
	char path[MAX_PATH];

	return take_path(from, path) < 0 ? -1 : find_place(path, out);
}

/* -1 with errno for what lies beneath no root. */
static int folder_of(const struct place *place)
{
	if (place->root >= 0)
		return root_fd(place->root);
	errno = OUTSIDE;
	return -1;
}

static int outside(void)
{
	if (errno == EXDEV)
		errno = OUTSIDE;
	return -1;
}

/* The kernel asks to try again where names on the way were moved meanwhile. */
int open_place(const struct place *place, int flags, int mode)
{
	int root = folder_of(place), fd = -1;

	if (root < 0)
		return -1;
	for (int tries = 0; fd < 0 && tries < MOST_TRIES && (!tries || errno == EAGAIN); tries++)
		fd = open_beneath(root, place->beneath, flags | O_CLOEXEC, mode);
	return fd < 0 ? outside() : fd;
}

int close_after(int fd, int done)
{
	int number = errno;

	close(fd);
	errno = number;
	return done;
}

/* A root itself is no name in a folder of ours: nothing removes, moves or replaces it. */
int open_folder_of(const struct place *place, const char **name)
{
	int root = folder_of(place), fd = -1;

	if (root < 0)
		return -1;
	if (!strcmp(place->beneath, ".")) {
		errno = OUTSIDE;
		return -1;
	}
	for (int tries = 0; fd < 0 && tries < MOST_TRIES && (!tries || errno == EAGAIN); tries++)
		fd = open_parent(root, place->beneath, name);
	return fd < 0 ? outside() : fd;
}

/* The next part below a path that leads to roots, each once. Returns where to go on, which is beyond
 * MAX_ROOTS at the end. */
int next_part(const char *path, int from, char name[256])
{
	size_t length = strcmp(path, "/") != 0 ? strlen(path) : 0;

	for (int i = from; i < root_count; i++) {
		const char *part = roots[i].path + length + 1;
		size_t size;
		int seen = 0;

		if (strncmp(roots[i].path, path, length) != 0 || roots[i].path[length] != '/')
			continue;
		size = strcspn(part, "/");
		for (int before = 0; before < i && !seen; before++)
			seen = !strncmp(roots[before].path, roots[i].path, length + 1 + size) &&
			       strchr("/", roots[before].path[length + 1 + size]);
		if (seen || size > 255)
			continue;
		memcpy(name, part, size);
		name[size] = 0;
		return i + 1;
	}
	return MAX_ROOTS + 1;
}

/* Where a descriptor leads, by the kernel's word; -1 where it tells nobody. */
static int path_of(int fd, char path[MAX_PATH])
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, MAX_PATH - 1);
	if (length <= 0 || *path != '/')
		return -1;
	path[length] = 0;
	return strcmp(path, "/") != 0 ? 0 : (*path = 0, 0);
}

/* Replaces the path of an open place, but for `last`, by where it really is. */
static void set_real_path(struct place *place, int fd, const char *last)
{
	char real[MAX_PATH], top[MAX_PATH], name[256] = "";
	size_t length;

	if (path_of(fd, real) < 0 || path_of(root_fd(place->root), top) < 0)
		return;
	length = strlen(top);
	if (strncmp(real, top, length) != 0 || (real[length] && real[length] != '/'))
		return;
	snprintf(name, sizeof name, "%s", last);
	strcpy(place->path, roots[place->root].path);
	append_parts(place->path, real + length);
	if (*name)
		append_parts(place->path, name);
}

int resolve_place(struct place *place)
{
	const char *name = "";
	int fd;

	if (place->leads)
		return 0;
	fd = open_place(place, O_PATH, 0);
	/* As elsewhere, the last part need not be there: a client asks before it makes it. */
	if (fd < 0 && errno == ENOENT)
		fd = open_folder_of(place, &name);
	if (fd < 0)
		return -1;
	set_real_path(place, fd, name);
	close(fd);
	if (!*place->path)
		strcpy(place->path, "/");
	return 0;
}
