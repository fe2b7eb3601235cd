/* Packets both ways: descriptors become channels, and channels descriptors. Also: the end of a
 * program is held back until its output was read, and running terminals are named to a near end
 * that takes over. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_MEMORY = 8 * 1024 * 1024, LISTED = 5 };

struct memory {
	struct memory *next;
	uint32_t number;
	int fd;
	size_t size;
};

struct held {
	struct held *next;
	uint32_t tag;
	size_t count;
	uint8_t packet[];
};

static struct memory *memories;
static size_t memory_count;
static struct held *held;
static uint32_t next = FAR_CHANNELS;
static bool ended;

uint32_t next_number(void)
{
	return next++;
}

bool requests_ended(void)
{
	return ended;
}

static void send_failed(uint32_t tag, int number)
{
	uint8_t packet[INIT_HEAD];

	put32(packet, INIT_FAILED);
	put32(packet + 4, tag);
	put32(packet + 8, (uint32_t)number);
	put32(packet + 12, INIT_OTHER);
	send_packet(packet, sizeof packet);
}

/* Memory files, which a later packet passes. */

static struct memory **memory_at(uint32_t number)
{
	struct memory **at = &memories;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

/* Forgets a memory file and returns its descriptor, or -1. */
static int taken_memory(uint32_t number)
{
	struct memory **at = memory_at(number), *one = *at;
	int fd;

	if (!one)
		return -1;
	*at = one->next;
	fd = one->fd;
	free(one);
	memory_count--;
	return fd;
}

void request_drop_memory(uint32_t number)
{
	int fd = taken_memory(number);

	if (fd >= 0)
		close(fd);
}

enum verdict request_memory(uint32_t number, const uint8_t *data, size_t count)
{
	struct memory **at = memory_at(number), *one = *at;

	if (!one) {
		if (channels_room() <= memory_count)
			return FINE; /* the packet that names it is refused */
		one = *at = allocate(sizeof *one);
		one->number = number;
		one->fd = memfd_create("link", MFD_CLOEXEC);
		memory_count++;
	}
	if (one->size + count > MAX_MEMORY)
		return GARBLED;
	one->size += count;
	while (count && one->fd >= 0) {
		ssize_t done = write(one->fd, data, count);
		if (done <= 0)
			break;
		data += done;
		count -= (size_t)done;
	}
	return FINE;
}

/* What an EXEC carries: each distinct descriptor is made once. */

struct wanted {
	enum passed kind;
	uint32_t channel;
	int fd;
};

/* Makes a pipe or socket pair; returns the program's end and keeps ours as a channel. */
static int new_channel(uint32_t tag, const struct wanted *one)
{
	int both[2], made;

	if (one->kind == PASSED_SOCKET)
		made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both);
	else
		made = pipe2(both, O_CLOEXEC);
	if (made < 0)
		return -1;
	/* The program's uid may be another, and opens its pipes again as /dev/stdout. */
	if (one->kind != PASSED_SOCKET)
		fchmod(both[0], 0666);
	if (one->kind == PASSED_INPUT) {
		int given = both[0];
		both[0] = both[1];
		both[1] = given;
	}
	channel_add(one->channel, one->kind, both[0])->tag = tag;
	return both[1];
}

static int program_side(uint32_t tag, uint32_t number)
{
	struct channel *channel = channel_of(number);

	if (!channel || !channel->terminal) {
		errno = EBADF;
		return -1;
	}
	channel->tag = tag;
	channel->terminal->pid = 0;
	channel->terminal->has_ended = false;
	return terminal_program_side(channel);
}

/* Fills in the descriptor that init is passed; -1 with errno in it where there is none. */
static enum verdict make(uint32_t tag, struct wanted *one)
{
	switch (one->kind) {
	case PASSED_NULL:
		one->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		return FINE;
	case PASSED_MEMORY:
		one->fd = taken_memory(one->channel);
		errno = EAGAIN;
		return FINE;
	case PASSED_SLAVE:
		one->fd = program_side(tag, one->channel);
		return FINE;
	case PASSED_INPUT:
	case PASSED_OUTPUT:
	case PASSED_SOCKET:
		if (!one->channel || one->channel >= FAR_CHANNELS || channel_of(one->channel))
			return GARBLED;
		one->fd = new_channel(tag, one);
		return FINE;
	default:
		return GARBLED; /* only this side sends the others */
	}
}

/* Closes the channels that an EXEC made which comes to nothing. */
static void undo(const struct wanted *made, int count)
{
	while (count-- > 0) {
		struct channel *channel = channel_of(made[count].channel);
		if (channel && !channel->terminal && made[count].fd >= 0 &&
		    made[count].kind != PASSED_NULL)
			channel_close(channel);
	}
}

/* Reads the list of descriptors: each distinct one into `wanted`, and which one comes at each
 * place. Returns how many are distinct, or -1 when one channel has two kinds. */
static int distinct(const uint8_t *at, int count, struct wanted *wanted, int *places)
{
	int found = 0, i, j;

	for (i = 0; i < count; i++, at += LISTED) {
		uint32_t channel = get32(at + 1);
		for (j = 0; j < found; j++) {
			if (wanted[j].kind == at[0] && wanted[j].channel == channel)
				break;
			if (wanted[j].channel == channel && wanted[j].kind != PASSED_NULL &&
			    at[0] != PASSED_NULL)
				return -1;
		}
		if (j == found)
			wanted[found++] = (struct wanted){at[0], channel, -1};
		places[i] = j;
	}
	return found;
}

static size_t channels_of(const struct wanted *wanted, int count)
{
	size_t found = 0;

	while (count-- > 0)
		found += wanted[count].kind != PASSED_NULL;
	return found;
}

/* Makes all descriptors of a packet, in their order. 0, or the errno that says why not. */
static enum verdict make_all(uint32_t tag, const uint8_t *list, int count, int *fds, int *error)
{
	struct wanted wanted[MAX_PASSED];
	int places[MAX_PASSED], used[MAX_PASSED] = {0}, found, i;
	enum verdict verdict = FINE;

	found = distinct(list, count, wanted, places);
	if (found < 0)
		return GARBLED;
	if (channels_room() < channels_of(wanted, found)) {
		*error = EAGAIN;
		return FINE;
	}
	for (i = 0; i < found && verdict == FINE && !*error; i++) {
		verdict = make(tag, &wanted[i]);
		if (verdict == FINE && wanted[i].fd < 0)
			*error = errno == EMFILE ? EAGAIN : errno;
	}
	for (i = 0; i < count && verdict == FINE && !*error; i++) {
		int fd = wanted[places[i]].fd;
		fds[i] = used[places[i]]++ ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : fd;
		if (fds[i] < 0) {
			*error = EAGAIN;
			while (i-- > 0)
				if (fds[i] != wanted[places[i]].fd)
					close(fds[i]);
			break;
		}
	}
	if (verdict == FINE && !*error)
		return FINE;
	if (verdict == FINE)
		undo(wanted, found);
	for (i = 0; i < found; i++)
		if (wanted[i].fd >= 0)
			close(wanted[i].fd);
	return verdict;
}

enum verdict request_packet(const uint8_t *payload, size_t count)
{
	int fds[MAX_PASSED] = {-1, -1, -1, -1}, error = 0, passed;
	enum verdict verdict;
	uint32_t tag;
	size_t start;

	passed = count ? payload[0] : 0;
	start = 1 + (size_t)passed * LISTED;
	if (passed > MAX_PASSED || count < start + INIT_HEAD)
		return GARBLED;
	if (passed && get32(payload + start) != INIT_EXEC)
		return GARBLED;
	tag = get32(payload + start + 4);
	verdict = make_all(tag, payload + 1, passed, fds, &error);
	if (verdict != FINE)
		return verdict;
	if (error)
		send_failed(tag, error);
	else if (!init_send(payload + start, count - start, fds, passed))
		send_failed(tag, EAGAIN);
	return FINE;
}

/* The ends of programs, which wait until their output was read. */

static void hold(uint32_t tag, const void *packet, size_t count)
{
	struct held *made = allocate(sizeof *made + count), **at = &held;

	made->tag = tag;
	made->count = count;
	memcpy(made->packet, packet, count);
	while (*at)
		at = &(*at)->next;
	*at = made;
}

void drain(struct channel *channel)
{
	int64_t before = -1;

	while (channel->fd >= 0 && channel->undrained && channel->credit != before) {
		before = channel->credit;
		if (channel->terminal)
			terminal_read(channel);
		else
			channel_read(channel);
	}
}

static bool is_drained(uint32_t tag)
{
	struct channel *one;
	bool drained = true;

	for (one = channels; one; one = one->next) {
		if (one->tag != tag || one->fd < 0)
			continue;
		drain(one);
		drained = drained && !one->undrained;
	}
	return drained;
}

void requests_act(void)
{
	struct held **at = &held;

	while (*at) {
		struct held *one = *at;
		if (!is_drained(one->tag) || !near_takes_packet()) {
			at = &one->next;
			continue;
		}
		send_packet(one->packet, one->count);
		*at = one->next;
		free(one);
	}
}

void requests_renew(void)
{
	struct channel *one;

	while (memories)
		request_drop_memory(memories->number);
	while (held) {
		struct held *first = held;
		held = first->next;
		free(first);
	}
	for (one = channels; one; one = one->next) {
		if (!one->terminal || one->fd < 0)
			continue;
		if (!one->tag) {
			terminal_close(one);
			continue;
		}
		terminal_renew(one);
		one->terminal->nameless = !one->terminal->pid;
		if (one->terminal->pid)
			terminal_adopted(one);
		if (one->terminal->has_ended) {
			one->undrained = true;
			hold(one->tag, one->terminal->end, one->terminal->end_count);
		}
	}
}

/* What init's packets bring. */

static void opened(struct reply *in)
{
	uint8_t head[1 + 2 * LISTED];
	uint32_t number;

	if (!channels_room() || in->fd_count < 1 || in->fd_count > 2) {
		close_all(in->fds, in->fd_count);
		send_failed(in->tag, EAGAIN);
		return;
	}
	number = next_number();
	head[0] = (uint8_t)in->fd_count;
	head[1] = in->fd_count == 2 ? PASSED_MASTER : PASSED_FILE;
	head[1 + LISTED] = PASSED_SLAVE;
	put32(head + 2, number);
	put32(head + 2 + LISTED, number);
	if (in->fd_count == 2)
		terminal_add(number, in->fds[0], in->fds[1]);
	else
		channel_add(number, PASSED_FILE, in->fds[0]);
	send_two(PACKET, 0, (struct part){head, 1 + (size_t)in->fd_count * LISTED},
	         (struct part){in->packet, in->count});
}

static void exited(const struct reply *in, struct channel *terminal)
{
	struct channel *one;

	if (terminal && terminal->terminal->nameless) {
		terminal_close(terminal);
		return;
	}
	if (terminal && in->count <= sizeof terminal->terminal->end) {
		terminal->terminal->has_ended = true;
		terminal->terminal->end_count = in->count;
		memcpy(terminal->terminal->end, in->packet, in->count);
	}
	for (one = channels; one; one = one->next)
		if (one->tag == in->tag && one->fd >= 0)
			one->undrained = one->reads;
	hold(in->tag, in->packet, in->count);
}

/* How a program on a terminal began, perhaps for a near end that is gone. */
static void begun(const struct reply *in, struct channel *channel)
{
	struct terminal *terminal = channel->terminal;
	bool adopted = terminal->nameless;

	if (in->op == INIT_STARTED) {
		terminal->pid = in->a;
	} else if (terminal->nameless) {
		terminal_close(channel);
		return;
	} else {
		channel->tag = 0;
	}
	terminal->nameless = false;
	if (adopted)
		terminal_adopted(channel);
	else
		send_packet(in->packet, in->count);
}

static void answered(struct reply *in)
{
	struct channel *terminal = terminal_of_program(in->tag);

	if (in->op == INIT_FDS) {
		opened(in);
		return;
	}
	close_all(in->fds, in->fd_count);
	if (in->op == INIT_EXITED)
		exited(in, terminal);
	else if (terminal && (in->op == INIT_STARTED || in->op == INIT_FAILED))
		begun(in, terminal);
	else
		send_packet(in->packet, in->count);
}

static void is_ready(void *of, short seen)
{
	struct reply in;
	int got;

	(void)of;
	if (init_fd() < 0)
		return;
	init_flush();
	if (!(seen & ~POLLOUT))
		return;
	got = init_receive(&in);
	if (got > 0)
		answered(&in);
	else if (got == 0)
		ended = true;
}

void requests_watch(void)
{
	short events = 0;

	if (init_fd() < 0)
		return;
	if (near_takes_packet() && !ended)
		events |= POLLIN;
	if (init_is_congested())
		events |= POLLOUT;
	if (events)
		watch(init_fd(), events, is_ready, NULL);
}
