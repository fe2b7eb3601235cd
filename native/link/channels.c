/* Channels that are pipes and sockets, and the list of all channels. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct channel *channels;
static size_t living;

struct channel *channel_add(uint32_t number, enum passed kind, int fd)
{
	struct channel *made = allocate(sizeof *made), **at = &channels;

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	made->number = number;
	made->kind = kind;
	made->fd = fd;
	made->credit = made->allowance = WINDOW;
	made->reads = kind == PASSED_OUTPUT || kind == PASSED_SOCKET || kind == PASSED_MASTER;
	made->writes = kind == PASSED_INPUT || kind == PASSED_SOCKET || kind == PASSED_MASTER;
	while (*at)
		at = &(*at)->next;
	*at = made;
	living++;
	return made;
}

struct channel *channel_of(uint32_t number)
{
	struct channel *one;

	for (one = channels; one; one = one->next)
		if (one->number == number && one->fd >= 0)
			return one;
	return NULL;
}

size_t channels_room(void)
{
	return living < MAX_CHANNELS ? MAX_CHANNELS - living : 0;
}

void channel_close(struct channel *channel)
{
	if (channel->fd < 0)
		return;
	close(channel->fd);
	channel->fd = -1;
	channel->reads = channel->writes = channel->undrained = false;
	channel->owed = 0;
	drop_all(&channel->waiting);
	living--;
}

/* The other side was told everything, or is told here that it will hear no more. */
static void end_reading(struct channel *channel)
{
	channel->reads = channel->undrained = false;
	send_frame(channel->deaf ? CLOSE : END_OF_FILE, channel->number, NULL, 0);
	if (channel->deaf || !channel->writes)
		channel_close(channel);
}

void channel_read(struct channel *channel)
{
	static uint8_t data[MAX_DATA];
	size_t most = channel->credit < MAX_DATA ? (size_t)channel->credit : MAX_DATA;
	ssize_t got;

	if (channel->fd < 0 || !channel->reads || !most || !near_takes_data())
		return;
	got = read(channel->fd, data, most);
	if (got > 0) {
		channel->credit -= got;
		send_frame(DATA, channel->number, data, (size_t)got);
	} else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		channel->undrained = false;
	} else {
		end_reading(channel);
	}
}

/* Nobody reads what is written. What a socket's other side wrote still counts, and a terminal may
 * be opened again. */
static void unheard(struct channel *channel)
{
	size_t count = count_of(&channel->waiting);

	if (channel->kind == PASSED_MASTER) {
		channel->owed += (int64_t)count;
		drop(&channel->waiting, count);
	} else if (channel->reads) {
		channel->deaf = true;
		drop_all(&channel->waiting);
	} else {
		send_frame(CLOSE, channel->number, NULL, 0);
		channel_close(channel);
	}
}

static void end_writing(struct channel *channel)
{
	channel->writes = false;
	if (channel->reads)
		shutdown(channel->fd, SHUT_WR);
	else
		channel_close(channel);
}

/* Writes these bytes; returns how many were taken, or -1 when nobody reads. */
static ssize_t written(struct channel *channel, const uint8_t *data, size_t count)
{
	ssize_t done = write(channel->fd, data, count);

	if (done < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (done > 0)
		channel->owed += done;
	return done;
}

void channel_write(struct channel *channel)
{
	ssize_t done;

	if (channel->deaf || channel->fd < 0)
		return;
	done = written(channel, first_of(&channel->waiting), count_of(&channel->waiting));
	if (done < 0) {
		unheard(channel);
		return;
	}
	drop(&channel->waiting, (size_t)done);
	if (channel->finishing && !count_of(&channel->waiting))
		end_writing(channel);
}

enum verdict channel_take(struct channel *channel, const uint8_t *data, size_t count)
{
	ssize_t done = 0;

	channel->allowance -= (int64_t)count;
	if (!channel->writes || channel->finishing || channel->allowance < 0)
		return GARBLED;
	if (channel->deaf || !count)
		return FINE;
	if (!count_of(&channel->waiting))
		done = written(channel, data, count);
	append(&channel->waiting, data + (done > 0 ? done : 0), count - (size_t)(done > 0 ? done : 0));
	if (done < 0)
		unheard(channel);
	return FINE;
}

enum verdict channel_credit(struct channel *channel, uint32_t count)
{
	channel->credit += count;
	return channel->credit > WINDOW ? GARBLED : FINE;
}

void channel_finish(struct channel *channel)
{
	if (!channel->writes || channel->kind == PASSED_MASTER)
		return;
	channel->finishing = true;
	if (!count_of(&channel->waiting))
		end_writing(channel);
}

static void is_ready(void *of, short seen)
{
	struct channel *channel = of;

	if (count_of(&channel->waiting) && seen & ~POLLIN)
		channel_write(channel);
	if (seen & ~POLLOUT)
		channel_read(channel);
}

void channels_watch(void)
{
	bool takes_data = near_takes_data();
	struct channel *one;

	for (one = channels; one; one = one->next) {
		short events = 0;
		if (one->fd < 0 || one->terminal || one->kind == PASSED_FILE)
			continue;
		if (one->reads && one->credit > 0 && takes_data)
			events |= POLLIN;
		if (count_of(&one->waiting) && !one->deaf)
			events |= POLLOUT;
		if (events)
			watch(one->fd, events, is_ready, one);
	}
}

void channels_pay(void)
{
	struct stream *stream = near_stream();
	struct channel *one;
	uint8_t count[4];

	if (!stream->connected || !stream_room(stream))
		return;
	for (one = channels; one; one = one->next) {
		if (one->fd < 0 || !one->owed)
			continue;
		put32(count, (uint32_t)one->owed);
		send_frame(CREDIT, one->number, count, sizeof count);
		one->allowance += one->owed;
		one->owed = 0;
	}
}

void channels_sweep(void)
{
	struct channel **at = &channels;

	while (*at) {
		struct channel *one = *at;
		if (one->fd >= 0) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one->terminal);
		free(one);
	}
}
