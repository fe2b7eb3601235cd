/* What is known of an entry, and what a client may set of it: size within bounds, mode without the
 * three bits that give rights away, times. Owners stay. */
#define _GNU_SOURCE
#include "sftp.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

void take_attributes(struct message *from, struct attributes *out)
{
	size_t length;

	*out = (struct attributes){.flags = take_number(from)};
	if (out->flags & HAS_SIZE)
		out->size = take_long(from);
	if (out->flags & HAS_OWNER) {
		out->uid = take_number(from);
		out->gid = take_number(from);
	}
	if (out->flags & HAS_MODE)
		out->mode = take_number(from);
	if (out->flags & HAS_TIMES) {
		out->atime = take_number(from);
		out->mtime = take_number(from);
	}
	if (out->flags & (uint32_t)HAS_MORE)
		for (uint32_t left = take_number(from); left > 0 && !from->cut; left--) {
			take_text(from, &length);
			take_text(from, &length);
		}
}

static uint32_t seconds_of(time_t time)
{
	return time < 0 ? 0 : time > UINT32_MAX ? UINT32_MAX : (uint32_t)time;
}

void put_attributes(const struct stat *stat)
{
	put_number(HAS_SIZE | HAS_OWNER | HAS_MODE | HAS_TIMES);
	put_long((uint64_t)stat->st_size);
	put_number(stat->st_uid);
	put_number(stat->st_gid);
	put_number(stat->st_mode);
	put_number(seconds_of(stat->st_atime));
	put_number(seconds_of(stat->st_mtime));
}

/* Folders above the roots say nothing of what is really there. */
void describe_leading(struct stat *out)
{
	*out = (struct stat){.st_mode = S_IFDIR | 0555, .st_nlink = 2};
}

static int answer_attributes(uint32_t id, const struct stat *stat)
{
	begin_answer(ATTRS, id);
	put_attributes(stat);
	end_answer();
	return ANSWERED;
}

static int answer_place(struct message *message, int flags)
{
	struct place place;
	struct stat stat;
	int fd;

	if (take_place(message, &place) < 0)
		return -1;
	if (place.leads) {
		describe_leading(&stat);
		return answer_attributes(message->id, &stat);
	}
	fd = open_place(&place, O_PATH | flags, 0);
	if (fd < 0 || close_after(fd, fstat(fd, &stat)) < 0)
		return -1;
	return answer_attributes(message->id, &stat);
}

int answer_stat(struct message *message)
{
	return answer_place(message, 0);
}

int answer_lstat(struct message *message)
{
	return answer_place(message, O_NOFOLLOW);
}

int answer_fstat(struct message *message)
{
	struct handle *handle = take_handle(message);
	struct stat stat;

	if (!handle)
		return -1;
	if (handle->leading)
		describe_leading(&stat);
	else if (fstat(handle->fd, &stat) < 0)
		return -1;
	return answer_attributes(message->id, &stat);
}

/* A file that is larger than its disk holds nothing but holes, and is read for days. */
int64_t most_bytes(int fd)
{
	struct statvfs disk;

	if (fstatvfs(fd, &disk) < 0 || !disk.f_blocks || !disk.f_frsize ||
	    disk.f_blocks > (uint64_t)MAX_FILE_BYTES / disk.f_frsize)
		return MAX_FILE_BYTES;
	return (int64_t)(disk.f_blocks * disk.f_frsize);
}

static int set_size(int fd, uint64_t size)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -1;
	if (size > (uint64_t)most_bytes(fd) && size > (uint64_t)stat.st_size) {
		errno = TOO_LARGE;
		return -1;
	}
	return ftruncate(fd, (off_t)size);
}

/* Of a descriptor by which nothing may be read or written (O_PATH), by its name in /proc: that is
 * the entry itself, whatever its path names by now. */
static const char *name_of(int fd, char name[32])
{
	snprintf(name, 32, "/proc/self/fd/%d", fd);
	return name;
}

static int set_mode(int fd, mode_t mode)
{
	char name[32];

	if (fchmod(fd, mode) == 0)
		return 0;
	return errno == EBADF ? chmod(name_of(fd, name), mode) : -1;
}

static int set_times(int fd, const struct attributes *wanted)
{
	struct timespec times[2] = {{wanted->atime, 0}, {wanted->mtime, 0}};
	char name[32];

	if (futimens(fd, times) == 0)
		return 0;
	return errno == EBADF ? utimensat(AT_FDCWD, name_of(fd, name), times, 0) : -1;
}

int set_attributes(int fd, const struct attributes *wanted)
{
	struct stat stat;

	if ((wanted->flags & HAS_MODE) && set_mode(fd, wanted->mode & 0777) < 0)
		return -1;
	if ((wanted->flags & HAS_TIMES) && set_times(fd, wanted) < 0)
		return -1;
	if (!(wanted->flags & HAS_OWNER))
		return 0;
	if (fstat(fd, &stat) < 0)
		return -1;
	errno = EPERM;
	return stat.st_uid == wanted->uid && stat.st_gid == wanted->gid ? 0 : -1;
}

static int truncate_place(const struct place *place, int flags, uint64_t size)
{
	int fd = open_file(place, O_WRONLY | flags, 0);

	return fd < 0 ? -1 : close_after(fd, set_size(fd, size));
}

static int set_place(struct message *message, int flags)
{
	struct attributes wanted;
	struct place place;
	int fd;

	if (take_place(message, &place) < 0)
		return -1;
	take_attributes(message, &wanted);
	if (!is_whole(message))
		return -1;
	if ((wanted.flags & HAS_SIZE) && truncate_place(&place, flags, wanted.size) < 0)
		return -1;
	fd = open_place(&place, O_PATH | flags, 0);
	return fd < 0 ? -1 : close_after(fd, set_attributes(fd, &wanted));
}

int answer_setstat(struct message *message)
{
	return set_place(message, 0);
}

int answer_lsetstat(struct message *message)
{
	return set_place(message, O_NOFOLLOW);
}

int answer_fsetstat(struct message *message)
{
	struct handle *handle = take_handle(message);
	struct attributes wanted;

	take_attributes(message, &wanted);
	if (!handle || !is_whole(message))
		return -1;
	if (handle->leading) {
		errno = OUTSIDE;
		return -1;
	}
	if ((wanted.flags & HAS_SIZE) && set_size(handle->fd, wanted.size) < 0)
		return -1;
	return set_attributes(handle->fd, &wanted);
}
