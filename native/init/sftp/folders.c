/* Folders, read in parts of at most 32 KiB: their memory does not grow with them. */
#define _GNU_SOURCE
#include "sftp.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PART_BYTES = 32 * 1024, LINE_BYTES = 512, HALF_A_YEAR = 15778476 };

int answer_opendir(struct message *message)
{
	struct handle *handle = spare_handle();
	struct place place;
	int fd;

	if (!handle || take_place(message, &place) < 0)
		return -1;
	if (place.leads) {
		handle->leading = strdup(place.path);
		if (!handle->leading)
			return -1;
		answer_handle(message->id, handle);
		return ANSWERED;
	}
	fd = open_place(&place, O_RDONLY | O_DIRECTORY, 0);
	handle->entries = fd < 0 ? NULL : fdopendir(fd);
	if (!handle->entries) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	handle->fd = fd;
	answer_handle(message->id, handle);
	return ANSWERED;
}

static void spell_mode(mode_t mode, char out[11])
{
	static const char letters[] = "rwxrwxrwx";

	strcpy(out, "----------");
	*out = S_ISDIR(mode)    ? 'd'
	       : S_ISLNK(mode)  ? 'l'
	       : S_ISCHR(mode)  ? 'c'
	       : S_ISBLK(mode)  ? 'b'
	       : S_ISFIFO(mode) ? 'p'
	       : S_ISSOCK(mode) ? 's'
	                        : '-';
	for (int i = 0; i < 9; i++)
		if (mode & (0400 >> i))
			out[i + 1] = letters[i];
	if (mode & S_ISUID)
		out[3] = mode & S_IXUSR ? 's' : 'S';
	if (mode & S_ISGID)
		out[6] = mode & S_IXGRP ? 's' : 'S';
	if (mode & S_ISVTX)
		out[9] = mode & S_IXOTH ? 't' : 'T';
}

/* A line as `ls -l` writes it, by which clients show a folder. */
static void put_entry(const char *name, const struct stat *stat)
{
	char line[LINE_BYTES], mode[11], day[32] = "";
	time_t now = time(NULL), changed = stat->st_mtime;
	int is_recent = changed <= now && now - changed < HALF_A_YEAR;
	struct tm parts;

	if (localtime_r(&changed, &parts))
		strftime(day, sizeof day, is_recent ? "%b %e %H:%M" : "%b %e  %Y", &parts);
	spell_mode(stat->st_mode, mode);
	put_word(name);
	snprintf(line, sizeof line, "%s %3u %-8u %-8u %8llu %s %s", mode, (unsigned)stat->st_nlink,
	         (unsigned)stat->st_uid, (unsigned)stat->st_gid, (unsigned long long)stat->st_size, day, name);
	put_word(line);
	put_attributes(stat);
}

/* A root is shown as it is, -1 when it is not there; what leads on says nothing of itself. */
static int describe_part(const char *leading, const char *name, struct stat *stat)
{
	char path[PLACE_ROOM + 256];
	struct place place;
	int fd;

	snprintf(path, sizeof path, "%s/%s", leading, name);
	if (find_place(path, &place) < 0)
		return -1;
	if (place.leads)
		return describe_leading(stat), 0;
	fd = open_place(&place, O_PATH, 0);
	return fd < 0 ? -1 : close_after(fd, fstat(fd, stat));
}

/* 1 with the next name that leads to a root, 0 at the end. */
static int next_leading(struct handle *handle, char name[256], struct stat *stat)
{
	while ((handle->next = next_part(handle->leading, handle->next, name)) < MAX_ROOTS + 1)
		if (describe_part(handle->leading, name, stat) == 0)
			return 1;
	return 0;
}

/* 1 with the next entry, 0 at the end, -1 with errno. */
static int next_entry(struct handle *handle, char name[256], struct stat *stat)
{
	struct dirent *each;

	if (handle->leading)
		return next_leading(handle, name, stat);
	while ((errno = 0, each = readdir(handle->entries))) {
		if (!strcmp(each->d_name, ".") || !strcmp(each->d_name, ".."))
			continue;
		/* Gone since it was read: then it is not in the list. */
		if (fstatat(handle->fd, each->d_name, stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		snprintf(name, 256, "%s", each->d_name);
		return 1;
	}
	return errno ? -1 : 0;
}

int answer_readdir(struct message *message)
{
	struct handle *handle = take_handle(message);
	uint32_t count = 0;
	char name[256];
	struct stat stat;
	size_t mark;
	int more = 0;

	if (!handle)
		return -1;
	if (!handle->entries && !handle->leading) {
		errno = ENOTDIR;
		return -1;
	}
	begin_answer(NAME, message->id);
	mark = mark_number();
	while (answer_length() < PART_BYTES && (more = next_entry(handle, name, &stat)) > 0) {
		put_entry(name, &stat);
		count++;
	}
	if (count == 0) {
		drop_answer();
		if (more == 0)
			errno = AT_END;
		return -1;
	}
	set_number(mark, count);
	end_answer();
	return ANSWERED;
}
