/* The far end: what each frame does, and the life of the sandbox from READY to its end. */
#include "link.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINGER_SECONDS 5.0 /* the time for which a near end may still fetch the last words */
#define LOOK_SECONDS 0.02

enum life { RUNNING, ENDING, OVER };

static enum life phase;
static char reason[160];
static bool hurried;
static double grace, until = NEVER, drain_until = NEVER;

/* Has the stream begin with init's READY and the doors. */
static void announce(const struct reply *ready)
{
	uint8_t list[1 + MAX_DOORS * 5], head[FRAME_HEAD] = {0};
	size_t count = 1 + doors_listed(list + 1);
	struct bytes frame = {0};

	list[0] = (uint8_t)(count / 5);
	put32(head, PACKET | (uint32_t)(count + ready->count) << 8);
	append(&frame, head, sizeof head);
	append(&frame, list, count);
	append(&frame, ready->packet, ready->count);
	near_begin(first_of(&frame), count_of(&frame));
	drop_all(&frame);
}

const char *far_begin(char **command, double seconds)
{
	struct reply ready;
	const char *why;

	grace = seconds;
	if (init_start(command) < 0)
		return strerror(errno);
	why = init_ready(&ready);
	if (why)
		return why;
	if (doors_open(ready.fds, ready.fd_count) < 0)
		return strerror(errno);
	announce(&ready);
	return NULL;
}

static void end(const char *why)
{
	if (phase != RUNNING)
		return;
	phase = ENDING;
	snprintf(reason, sizeof reason, "%s", why);
	until = now;
	init_close();
}

void far_hurry(void)
{
	hurried = true;
	end("a signal ended the sandbox");
}

/* Frames of the near end. An unknown channel is one that was closed meanwhile. */

static void close_channel(struct channel *channel)
{
	if (channel->terminal)
		terminal_close(channel);
	else
		file_close(channel);
}

static enum verdict on_channel(enum kind kind, uint32_t number, const uint8_t *data, size_t count)
{
	struct channel *channel = channel_of(number);

	if (kind == CLOSE && number < FAR_CHANNELS)
		request_drop_memory(number);
	if ((kind == CREDIT && count != 4) || (kind == DATA && count > MAX_DATA))
		return GARBLED;
	if (!channel)
		return FINE;
	switch (kind) {
	case CLOSE:
		close_channel(channel);
		return FINE;
	case CREDIT:
		return channel_credit(channel, get32(data));
	case END_OF_FILE:
		channel_finish(channel);
		return FINE;
	default:
		return channel->terminal ? terminal_take(channel, data, count)
		                         : channel_take(channel, data, count);
	}
}

static enum verdict on_terminal(enum kind kind, uint32_t number, const uint8_t *data, size_t count)
{
	struct channel *channel = channel_of(number);

	if (count != 4 || (channel && !channel->terminal))
		return GARBLED;
	if (!channel)
		return FINE;
	if (kind == SIZE)
		terminal_resize(channel, get16(data), get16(data + 2));
	else if (get32(data))
		terminal_signal(channel, get32(data));
	return FINE;
}

static enum verdict on_file(enum kind kind, uint32_t number, const uint8_t *data, size_t count)
{
	struct channel *channel = channel_of(number);

	if (!channel)
		return FINE;
	return channel->kind == PASSED_FILE ? file_take(channel, kind, data, count) : GARBLED;
}

enum verdict far_frame(enum kind kind, uint32_t channel, const uint8_t *data, size_t count)
{
	switch (kind) {
	case PACKET:
		return phase == RUNNING ? request_packet(data, count) : FINE;
	case MEMORY:
		return phase == RUNNING ? request_memory(channel, data, count) : FINE;
	case END:
		end("the near end ended the sandbox");
		return FINE;
	case DATA:
	case CREDIT:
	case END_OF_FILE:
	case CLOSE:
		return on_channel(kind, channel, data, count);
	case SIZE:
	case SIGNAL:
		return on_terminal(kind, channel, data, count);
	case READ:
	case WRITE:
	case STAT:
		return on_file(kind, channel, data, count);
	default:
		return GARBLED;
	}
}

void far_takeover(void)
{
	struct channel *one;

	for (one = channels; one; one = one->next)
		if (!one->terminal)
			close_channel(one);
	requests_renew();
	if (phase == OVER)
		send_frame(ENDED, 0, reason, strlen(reason));
}

/* The end. */

static bool lingers(void)
{
	double lost_at = connections_lost_at();

	if (hurried)
		return lost_at == NEVER;
	return near_seen() && (lost_at == NEVER || now < lost_at + grace);
}

/* Whether all that programs wrote is in the stream: nobody writes any more. */
static bool is_drained(void)
{
	struct channel *one;
	bool drained = true;

	for (one = channels; one; one = one->next) {
		if (one->fd < 0 || !one->reads)
			continue;
		one->undrained = true;
		drain(one);
		drained = drained && !one->undrained;
	}
	return drained;
}

static void over(void)
{
	size_t count = strlen(reason);

	requests_act();
	snprintf(reason + count, sizeof reason - count, " (%s)", init_how());
	send_frame(ENDED, 0, reason, strlen(reason));
	phase = OVER;
	until = now + (lingers() ? LINGER_SECONDS : 0);
}

static void ending(void)
{
	until = now + LOOK_SECONDS;
	if (!init_is_gone())
		return;
	if (drain_until == NEVER)
		drain_until = now + LINGER_SECONDS;
	if (is_drained() || !lingers() || now >= drain_until)
		over();
}

/* False at the very end. */
static bool live(void)
{
	double lost_at = connections_lost_at();
	char why[80];

	if (phase == RUNNING && requests_ended()) {
		end("the sandbox's init ended");
	} else if (phase == RUNNING && now >= lost_at + grace) {
		snprintf(why, sizeof why, "no near end was there for %g s", grace);
		end(why);
	} else if (phase == ENDING) {
		ending();
	} else if (phase == OVER && (now >= until || near_is_idle() || !lingers())) {
		return false;
	}
	return true;
}

static double due(void)
{
	double at = fmin(until, connections_lost_at() + grace);

	at = fmin(at, fmin(near_due(), connections_due()));
	return fmin(at, fmin(doors_due(), terminals_due()));
}

bool far_turn(void)
{
	connections_act();
	doors_act();
	terminals_act();
	files_act();
	requests_act();
	channels_pay();
	near_act();
	if (!live())
		return false;
	channels_sweep();
	connections_watch();
	if (phase == RUNNING) {
		requests_watch();
		doors_watch();
	}
	channels_watch();
	terminals_watch();
	init_watch();
	wait_and_call(due());
	return true;
}
