/* The version, and what OpenSSH's clients ask for beside version 3. */
#define _GNU_SOURCE
#include "sftp.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What other servers say, and clients reckon with. We take and give a little more. */
enum { TOLD_MESSAGE = 256 * 1024, TOLD_DATA = 255 * 1024 };
enum { IS_READ_ONLY = 1, HAS_NO_SETUID = 2 };

static int answer_limits(struct message *message)
{
	begin_answer(EXTENDED_REPLY, message->id);
	put_long(TOLD_MESSAGE);
	put_long(TOLD_DATA);
	put_long(TOLD_DATA);
	put_long(MAX_HANDLES);
	end_answer();
	return ANSWERED;
}

static int answer_disk(uint32_t id, int fd)
{
	struct statvfs disk;

	if (fstatvfs(fd, &disk) < 0)
		return -1;
	begin_answer(EXTENDED_REPLY, id);
	put_long(disk.f_bsize);
	put_long(disk.f_frsize);
	put_long(disk.f_blocks);
	put_long(disk.f_bfree);
	put_long(disk.f_bavail);
	put_long(disk.f_files);
	put_long(disk.f_ffree);
	put_long(disk.f_favail);
	put_long(disk.f_fsid);
	put_long((disk.f_flag & ST_RDONLY ? IS_READ_ONLY : 0) | (disk.f_flag & ST_NOSUID ? HAS_NO_SETUID : 0));
	put_long(disk.f_namemax);
	end_answer();
	return ANSWERED;
}

static int answer_statvfs(struct message *message)
{
	struct place place;
	int fd;

	if (take_place(message, &place) < 0)
		return -1;
	if (place.leads && find_place(".", &place) < 0)
		return -1;
	fd = open_place(&place, O_PATH, 0);
	return fd < 0 ? -1 : close_after(fd, answer_disk(message->id, fd));
}

static int answer_fstatvfs(struct message *message)
{
	struct handle *handle = take_handle(message);

	if (!handle)
		return -1;
	return answer_disk(message->id, handle->leading ? open_first_root() : handle->fd);
}

static const struct {
	const char *name, *version;
	int changes;
	int (*answer)(struct message *);
} extensions[] = {{"posix-rename@openssh.com", "1", 1, answer_replace},
                  {"statvfs@openssh.com", "2", 0, answer_statvfs},
                  {"fstatvfs@openssh.com", "2", 0, answer_fstatvfs},
                  {"hardlink@openssh.com", "1", 1, answer_hardlink},
                  {"fsync@openssh.com", "1", 0, answer_fsync},
                  {"lsetstat@openssh.com", "1", 1, answer_lsetstat},
                  {"limits@openssh.com", "1", 0, answer_limits},
                  {"expand-path@openssh.com", "1", 0, answer_expand},
                  {"copy-data", "1", 1, answer_copy},
                  {"home-directory", "1", 0, answer_home}};

enum { EXTENSIONS = sizeof extensions / sizeof *extensions };

int answer_extended(struct message *message)
{
	size_t length;
	const char *name = take_text(message, &length);

	if (!is_whole(message))
		return -1;
	for (int i = 0; i < EXTENSIONS; i++) {
		if (length != strlen(extensions[i].name) || memcmp(name, extensions[i].name, length) != 0)
			continue;
		if (extensions[i].changes && is_read_only()) {
			errno = READ_ONLY;
			return -1;
		}
		return extensions[i].answer(message);
	}
	errno = UNKNOWN;
	return -1;
}

void answer_version(void)
{
	begin_answer(VERSION_3, 3);
	for (int i = 0; i < EXTENSIONS; i++) {
		put_word(extensions[i].name);
		put_word(extensions[i].version);
	}
	end_answer();
}
