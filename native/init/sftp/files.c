/* Regular files: opened, read, written, copied. */
#define _GNU_SOURCE
#include "sftp.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { READS = 1, WRITES = 2, APPENDS = 4, CREATES = 8, TRUNCATES = 16, MUST_CREATE = 32 };
enum { COPY_BYTES = 256 * 1024 };

static int flags_of(uint32_t asked)
{
	int flags = (asked & WRITES) ? (asked & READS) ? O_RDWR : O_WRONLY : O_RDONLY;

	flags |= asked & APPENDS ? O_APPEND : 0;
	flags |= asked & CREATES ? O_CREAT : 0;
	flags |= asked & TRUNCATES ? O_TRUNC : 0;
	flags |= (asked & MUST_CREATE) && (asked & CREATES) ? O_EXCL : 0;
	return flags;
}

int open_file(const struct place *place, int flags, int mode)
{
	int fd = open_place(place, flags | O_NONBLOCK | O_NOCTTY, mode), number;
	struct stat stat;

	if (fd < 0) {
		if (errno == ENXIO)
			errno = NOT_A_FILE;
		return -1;
	}
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		return fd;
	number = S_ISDIR(stat.st_mode) ? EISDIR : NOT_A_FILE;
	close(fd);
	errno = number;
	return -1;
}

int answer_open(struct message *message)
{
	struct handle *handle = spare_handle();
	struct attributes wanted;
	struct place place;
	uint32_t asked;

	if (!handle || take_place(message, &place) < 0)
		return -1;
	asked = take_number(message);
	take_attributes(message, &wanted);
	if (!is_whole(message))
		return -1;
	if (is_read_only() && (asked & ~(uint32_t)READS)) {
		errno = READ_ONLY;
		return -1;
	}
	handle->fd = open_file(&place, flags_of(asked), wanted.flags & HAS_MODE ? (int)wanted.mode & 0777 : 0666);
	if (handle->fd < 0)
		return -1;
	handle->appends = (asked & APPENDS) != 0;
	handle->most = asked & WRITES ? most_bytes(handle->fd) : 0;
	answer_handle(message->id, handle);
	return ANSWERED;
}

int answer_close(struct message *message)
{
	struct handle *handle = take_handle(message);

	return handle ? close_handle(handle) : -1;
}

int answer_read(struct message *message)
{
	struct handle *handle = take_file(message);
	uint64_t offset = take_long(message);
	uint32_t length = take_number(message);
	ssize_t got;

	if (!handle || !is_whole(message))
		return -1;
	if (length > MAX_DATA)
		length = MAX_DATA;
	if (offset > INT64_MAX - MAX_DATA) {
		errno = AT_END;
		return -1;
	}
	got = pread(handle->fd, begin_data(message->id), length, (off_t)offset);
	if (got > 0) {
		end_data((size_t)got);
		return ANSWERED;
	}
	drop_answer();
	if (got == 0)
		errno = AT_END;
	return -1;
}

/* Whether a file may reach from an offset so much further; one that is only read has no bound. */
static int has_room(const struct handle *handle, uint64_t offset, uint64_t length)
{
	if (!handle->most)
		return 1;
	if (length <= (uint64_t)handle->most && offset <= (uint64_t)handle->most - length)
		return 1;
	errno = TOO_LARGE;
	return 0;
}

static int write_all(int fd, const char *data, size_t length, off_t offset)
{
	while (length > 0) {
		ssize_t put = pwrite(fd, data, length, offset);
		if (put < 0 && errno != EINTR)
			return -1;
		if (put > 0) {
			data += put;
			offset += put;
			length -= (size_t)put;
		}
	}
	return 0;
}

int answer_write(struct message *message)
{
	struct handle *handle = take_file(message);
	uint64_t offset = take_long(message);
	size_t length;
	const char *data = take_text(message, &length);

	if (!handle || !is_whole(message))
		return -1;
	/* The kernel appends, whatever the offset says. */
	if (handle->appends)
		offset = 0;
	else if (!has_room(handle, offset, length))
		return -1;
	return write_all(handle->fd, data, length, (off_t)offset);
}

int answer_fsync(struct message *message)
{
	struct handle *handle = take_file(message);

	return handle ? fsync(handle->fd) : -1;
}

static int copy_bytes(const struct handle *from, off_t read_at, struct handle *to, off_t write_at,
                      uint64_t length)
{
	char data[COPY_BYTES];

	while (length > 0) {
		size_t want = length < sizeof data ? (size_t)length : sizeof data;
		ssize_t got = pread(from->fd, data, want, read_at);
		if (got <= 0)
			return (int)got;
		if (write_all(to->fd, data, (size_t)got, write_at) < 0)
			return -1;
		read_at += got;
		write_at += got;
		length -= (uint64_t)got;
	}
	return 0;
}

/* copy-data: what the file holds now, so a copy never runs after its own end. */
int answer_copy(struct message *message)
{
	struct handle *from = take_file(message), *to;
	uint64_t read_at = take_long(message), length = take_long(message), write_at, there;
	struct stat source, target;

	if (!from)
		return -1;
	to = take_file(message);
	write_at = take_long(message);
	if (!to || !is_whole(message))
		return -1;
	if (fstat(from->fd, &source) < 0 || fstat(to->fd, &target) < 0)
		return -1;
	if (source.st_dev == target.st_dev && source.st_ino == target.st_ino) {
		errno = EINVAL;
		return -1;
	}
	there = (uint64_t)source.st_size > read_at ? (uint64_t)source.st_size - read_at : 0;
	if (!length || length > there)
		length = there;
	if (!has_room(to, write_at, length))
		return -1;
	return copy_bytes(from, (off_t)read_at, to, (off_t)write_at, length);
}
