/* Names: made, moved, removed, linked, looked up. Each lies in a folder that is opened first, and
 * no link at its own end is followed. */
#define _GNU_SOURCE
#include "sftp.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOREPLACE = 1 };

static int remove_name(struct message *message, int flags)
{
	struct place place;
	const char *name;
	int folder;

	if (take_place(message, &place) < 0)
		return -1;
	folder = open_folder_of(&place, &name);
	return folder < 0 ? -1 : close_after(folder, unlinkat(folder, name, flags));
}

int answer_remove(struct message *message)
{
	return remove_name(message, 0);
}

int answer_rmdir(struct message *message)
{
	return remove_name(message, AT_REMOVEDIR);
}

int answer_mkdir(struct message *message)
{
	struct attributes wanted;
	struct place place;
	const char *name;
	int folder;

	if (take_place(message, &place) < 0)
		return -1;
	take_attributes(message, &wanted);
	if (!is_whole(message))
		return -1;
	/* A client that makes each folder on the way may go on. */
	if (place.leads || (place.root >= 0 && !strcmp(place.beneath, "."))) {
		errno = EEXIST;
		return -1;
	}
	folder = open_folder_of(&place, &name);
	if (folder < 0)
		return -1;
	return close_after(folder, mkdirat(folder, name, wanted.flags & HAS_MODE ? wanted.mode & 0777 : 0777));
}

/* Two places, both of which are in folders that can be opened. */
struct pair {
	struct place from, to;
	int from_folder, to_folder;
	const char *from_name, *to_name;
};

static int open_pair(struct message *message, struct pair *out)
{
	if (take_place(message, &out->from) < 0 || take_place(message, &out->to) < 0)
		return -1;
	out->from_folder = open_folder_of(&out->from, &out->from_name);
	if (out->from_folder < 0)
		return -1;
	out->to_folder = open_folder_of(&out->to, &out->to_name);
	return out->to_folder < 0 ? close_after(out->from_folder, -1) : 0;
}

static int close_pair(struct pair *pair, int done)
{
	return close_after(pair->from_folder, close_after(pair->to_folder, done));
}

static int move(struct message *message, unsigned flags)
{
	struct pair pair;

	if (open_pair(message, &pair) < 0)
		return -1;
	return close_pair(&pair, (int)syscall(SYS_renameat2, pair.from_folder, pair.from_name,
	                                      pair.to_folder, pair.to_name, flags));
}

int answer_rename(struct message *message)
{
	return move(message, NOREPLACE);
}

int answer_replace(struct message *message)
{
	return move(message, 0);
}

int answer_hardlink(struct message *message)
{
	struct pair pair;

	if (open_pair(message, &pair) < 0)
		return -1;
	return close_pair(&pair, linkat(pair.from_folder, pair.from_name, pair.to_folder, pair.to_name, 0));
}

/* As OpenSSH orders them: what the link says, then where it lies. It may say anything: whoever
 * follows it here stays beneath. */
int answer_symlink(struct message *message)
{
	char target[MAX_PATH];
	struct place place;
	const char *name;
	int folder;

	if (take_path(message, target) < 0 || take_place(message, &place) < 0)
		return -1;
	folder = open_folder_of(&place, &name);
	return folder < 0 ? -1 : close_after(folder, symlinkat(target, folder, name));
}

static int answer_name(uint32_t id, const char *name, size_t length)
{
	begin_answer(NAME, id);
	put_number(1);
	put_text(name, length);
	put_text(name, length);
	put_number(0);
	end_answer();
	return ANSWERED;
}

int answer_readlink(struct message *message)
{
	char target[MAX_PATH];
	struct place place;
	const char *name;
	ssize_t length;
	int folder;

	if (take_place(message, &place) < 0)
		return -1;
	folder = open_folder_of(&place, &name);
	if (folder < 0)
		return -1;
	length = readlinkat(folder, name, target, sizeof target);
	close_after(folder, 0);
	return length < 0 ? -1 : answer_name(message->id, target, (size_t)length);
}

static int answer_real_path(uint32_t id, const char *path)
{
	struct place place;

	if (find_place(path, &place) < 0 || resolve_place(&place) < 0)
		return -1;
	return answer_name(id, place.path, strlen(place.path));
}

int answer_realpath(struct message *message)
{
	char path[MAX_PATH];

	return take_path(message, path) < 0 ? -1 : answer_real_path(message->id, path);
}

static const char *home(void)
{
	const char *found = getenv("HOME");

	return found && *found == '/' && strlen(found) < MAX_PATH ? found : ".";
}

/* expand-path: `~` is the home of whom the server runs as; nobody else has one here. */
int answer_expand(struct message *message)
{
	char path[MAX_PATH], whole[2 * MAX_PATH];

	if (take_path(message, path) < 0)
		return -1;
	if (*path != '~')
		return answer_real_path(message->id, path);
	if (path[1] && path[1] != '/') {
		errno = ENOENT;
		return -1;
	}
	snprintf(whole, sizeof whole, "%s%s", home(), path + 1);
	return answer_real_path(message->id, whole);
}

int answer_home(struct message *message)
{
	char user[MAX_PATH];

	return take_path(message, user) < 0 ? -1 : answer_real_path(message->id, home());
}
