/* Channels that are files: READ, WRITE and STAT, each answered in its turn. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WAITING = 1024, MAX_WAITING_BYTES = 64 * 1024, READ_REQUEST = 12 };

struct request {
	struct request *next;
	enum kind kind;
	size_t count;
	uint8_t data[];
};

static void answer(struct channel *channel, int number, const void *result, size_t count)
{
	uint8_t head[4];

	put32(head, (uint32_t)number);
	send_two(ANSWER, channel->number, (struct part){head, sizeof head},
	         (struct part){result, number ? 0 : count});
}

static void answer_read(struct channel *channel, const uint8_t *at)
{
	static uint8_t data[MAX_FILE];
	uint64_t offset = get64(at);
	ssize_t got;

	if (offset > INT64_MAX) {
		answer(channel, EINVAL, NULL, 0);
		return;
	}
	got = pread(channel->fd, data, get32(at + 8), (off_t)offset);
	answer(channel, got < 0 ? errno : 0, data, got < 0 ? 0 : (size_t)got);
}

static void answer_stat(struct channel *channel)
{
	struct stat seen;
	uint8_t result[12];

	if (fstat(channel->fd, &seen) < 0) {
		answer(channel, errno, NULL, 0);
		return;
	}
	put32(result, seen.st_mode);
	put64(result + 4, (uint64_t)seen.st_size);
	answer(channel, 0, result, sizeof result);
}

static void answer_write(struct channel *channel, const uint8_t *data, size_t count)
{
	while (count) {
		ssize_t done = write(channel->fd, data, count);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			answer(channel, errno, NULL, 0);
			return;
		}
		data += done;
		count -= (size_t)done;
	}
	answer(channel, 0, NULL, 0);
}

static void serve(struct channel *channel)
{
	while (channel->requests && near_takes_data()) {
		struct request *one = channel->requests;
		channel->requests = one->next;
		if (one->kind == READ)
			answer_read(channel, one->data);
		else if (one->kind == STAT)
			answer_stat(channel);
		else
			answer_write(channel, one->data, one->count);
		free(one);
	}
}

enum verdict file_take(struct channel *channel, enum kind kind, const uint8_t *data, size_t count)
{
	struct request *made, **at = &channel->requests;
	size_t waiting = 1, bytes = count;

	if ((kind == READ && (count != READ_REQUEST || get32(data + 8) > MAX_FILE)) ||
	    (kind == STAT && count) || count > MAX_FILE)
		return GARBLED;
	made = allocate(sizeof *made + count);
	made->kind = kind;
	made->count = count;
	if (count)
		memcpy(made->data, data, count);
	for (; *at; at = &(*at)->next) {
		waiting++;
		bytes += (*at)->count;
	}
	*at = made;
	if (near_takes_data())
		serve(channel);
	else if (waiting > MAX_WAITING || bytes > MAX_WAITING_BYTES)
		return GARBLED;
	return FINE;
}

void file_close(struct channel *channel)
{
	while (channel->requests) {
		struct request *one = channel->requests;
		channel->requests = one->next;
		free(one);
	}
	channel_close(channel);
}

void files_act(void)
{
	struct channel *one;

	for (one = channels; one; one = one->next)
		if (one->requests && one->fd >= 0)
			serve(one);
}
