/* Channels that are terminals: output, echo modes, size, signals and hang-ups. */
#define _GNU_SOURCE
#include "link.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif
#ifndef TIOCSIG
#define TIOCSIG 0x40045436
#endif

/* All a terminal holds (Linux's N_TTY_BUF_SIZE, less one): after so much there may be more. */
enum { FULL_PIECE = 4095 };
#define LOOK_SECONDS 0.02
#define HUNG_RETRY_SECONDS 0.2

struct channel *terminal_add(uint32_t number, int master, int slave)
{
	struct channel *made = channel_add(number, PASSED_MASTER, master);

	made->terminal = allocate(sizeof *made->terminal);
	made->terminal->slave = slave;
	made->terminal->look_at = NEVER;
	return made;
}

struct channel *terminal_of_program(uint32_t tag)
{
	struct channel *one;

	for (one = channels; tag && one; one = one->next)
		if (one->terminal && one->fd >= 0 && one->tag == tag)
			return one;
	return NULL;
}

int terminal_program_side(struct channel *channel)
{
	int slave = channel->terminal->slave;

	channel->terminal->slave = -1;
	return slave >= 0 ? slave : ioctl(channel->fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

void terminal_close(struct channel *channel)
{
	if (channel->fd >= 0 && channel->terminal->slave >= 0)
		close(channel->terminal->slave);
	channel_close(channel);
}

void terminal_renew(struct channel *channel)
{
	channel->credit = channel->allowance = WINDOW;
	channel->owed = 0;
	drop_all(&channel->waiting);
	channel->terminal->echo_off = false;
	channel->terminal->look_at = 0;
}

void terminal_adopted(struct channel *channel)
{
	struct winsize size = {0};
	uint8_t body[12];

	ioctl(channel->fd, TIOCGWINSZ, &size);
	put32(body, channel->tag);
	put32(body + 4, (uint32_t)channel->terminal->pid);
	put16(body + 8, size.ws_col);
	put16(body + 10, size.ws_row);
	send_frame(ADOPT, channel->number, body, sizeof body);
}

/* Sends the echo mode if it changed. */
static void look(struct channel *channel)
{
	struct termios modes;
	uint8_t off;

	if (tcgetattr(channel->fd, &modes) < 0)
		return;
	off = modes.c_lflag & ICANON && !(modes.c_lflag & ECHO);
	if (off == channel->terminal->echo_off)
		return;
	channel->terminal->echo_off = off;
	send_frame(MODES, channel->number, &off, 1);
}

static void moved(struct channel *channel)
{
	channel->terminal->look_at = now + LOOK_SECONDS;
}

enum verdict terminal_take(struct channel *channel, const uint8_t *data, size_t count)
{
	enum verdict verdict;

	look(channel);
	verdict = channel_take(channel, data, count);
	moved(channel);
	return verdict;
}

/* Reads what there is, so that it travels in few frames. `error` is what ended it, or 0. */
static size_t turn(int fd, uint8_t *data, size_t most, int *error)
{
	size_t count = 0;

	*error = 0;
	while (count < most) {
		ssize_t got = read(fd, data + count, most - count);
		if (got <= 0) {
			*error = got < 0 ? errno : EIO;
			break;
		}
		count += (size_t)got;
		if (got < FULL_PIECE)
			break;
	}
	return count;
}

void terminal_read(struct channel *channel)
{
	static uint8_t data[MAX_DATA];
	size_t most = channel->credit < MAX_DATA ? (size_t)channel->credit : MAX_DATA, count;
	int error;

	if (channel->fd < 0 || !most || !near_takes_data())
		return;
	count = turn(channel->fd, data, most, &error);
	if (count) {
		look(channel);
		channel->credit -= (int64_t)count;
		send_frame(DATA, channel->number, data, count);
		moved(channel);
	}
	if (!error)
		return;
	channel->undrained = false;
	if (error == EAGAIN || error == EINTR)
		return;
	channel->terminal->hung_until = now + HUNG_RETRY_SECONDS;
	send_frame(HANGUP, channel->number, NULL, 0);
}

void terminal_resize(struct channel *channel, uint16_t cols, uint16_t rows)
{
	struct winsize size = {.ws_row = rows, .ws_col = cols};
	ioctl(channel->fd, TIOCSWINSZ, &size);
}

/* The kernel takes INT, QUIT and TSTP, and signals the foreground group, from outside its pid
 * namespace too. */
void terminal_signal(struct channel *channel, uint32_t number)
{
	ioctl(channel->fd, TIOCSIG, (unsigned long)number);
}

static void is_ready(void *of, short seen)
{
	struct channel *channel = of;

	if (channel->fd < 0)
		return;
	if (count_of(&channel->waiting) && seen & ~POLLIN) {
		look(channel);
		channel_write(channel);
		moved(channel);
	}
	if (seen & ~POLLOUT)
		terminal_read(channel);
}

void terminals_watch(void)
{
	bool takes_data = near_takes_data();
	struct channel *one;

	for (one = channels; one; one = one->next) {
		short events = 0;
		/* A hung-up terminal would always be ready. */
		if (!one->terminal || one->fd < 0 || now < one->terminal->hung_until)
			continue;
		if (one->credit > 0 && takes_data)
			events |= POLLIN;
		if (count_of(&one->waiting))
			events |= POLLOUT;
		if (events)
			watch(one->fd, events, is_ready, one);
	}
}

double terminals_due(void)
{
	bool takes_data = near_takes_data();
	struct channel *one;
	double due = NEVER;

	for (one = channels; one; one = one->next) {
		if (!one->terminal || one->fd < 0)
			continue;
		if (one->terminal->hung_until > now)
			due = fmin(due, one->terminal->hung_until);
		if (takes_data)
			due = fmin(due, one->terminal->look_at);
	}
	return due;
}

void terminals_act(void)
{
	struct channel *one;

	if (!near_takes_data())
		return;
	for (one = channels; one; one = one->next) {
		if (!one->terminal || one->fd < 0 || now < one->terminal->look_at)
			continue;
		one->terminal->look_at = NEVER;
		look(one);
	}
}
