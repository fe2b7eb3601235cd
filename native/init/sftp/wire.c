/* Messages on standard input, answers on standard output: each is a length and so many bytes.
 * Answers are collected, and written when more input would have to be waited for. */
#include "sftp.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IN_BYTES = 1024 * 1024, OUT_BYTES = 1024 * 1024, FULL_BYTES = 512 * 1024 };
enum { HEAD = 4, DATA_HEAD = 13, MAX_ANSWER = DATA_HEAD + MAX_DATA + 1024 };

static uint8_t *in, *out;
static size_t in_start, in_end, out_end, answer_start;
static int deaf; /* nobody reads the answers */

int open_wire(void)
{
	in = malloc(IN_BYTES);
	out = malloc(OUT_BYTES);
	return in && out ? 0 : -1;
}

static uint32_t number_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Whether to try again what could not be done at once. */
static int wait_for(int fd, short events)
{
	struct pollfd one = {.fd = fd, .events = events};

	if (errno == EAGAIN)
		return poll(&one, 1, -1) >= 0 || errno == EINTR;
	return errno == EINTR;
}

/* 1 for more, 0 for the end. */
static int read_more(size_t length)
{
	ssize_t got;

	if (in_start == in_end)
		in_start = in_end = 0;
	if (length > IN_BYTES - in_start) {
		memmove(in, in + in_start, in_end - in_start);
		in_end -= in_start;
		in_start = 0;
	}
	do
		got = read(0, in + in_end, IN_BYTES - in_end);
	while (got < 0 && wait_for(0, POLLIN));
	if (got > 0)
		in_end += (size_t)got;
	return got > 0;
}

int next_message(struct message *into)
{
	for (;;) {
		size_t there = in_end - in_start, length = 0;

		if (there >= HEAD) {
			length = number_at(in + in_start);
			if (length < 1 || length > MAX_MESSAGE)
				return -1;
			if (there >= HEAD + length) {
				const uint8_t *at = in + in_start + HEAD;
				*into = (struct message){.at = at, .end = at + length};
				in_start += HEAD + length;
				return 1;
			}
		}
		if (flush_answers() < 0 || !read_more(HEAD + length))
			return 0;
	}
}

static const uint8_t *take(struct message *from, size_t length)
{
	const uint8_t *at = from->at;

	if (from->cut || length > (size_t)(from->end - at)) {
		from->cut = 1;
		return NULL;
	}
	from->at += length;
	return at;
}

uint32_t take_number(struct message *from)
{
	const uint8_t *at = take(from, 4);

	return at ? number_at(at) : 0;
}

uint64_t take_long(struct message *from)
{
	uint64_t high = take_number(from);

	return high << 32 | take_number(from);
}

const char *take_text(struct message *from, size_t *length)
{
	const uint8_t *at;

	*length = take_number(from);
	at = take(from, *length);
	if (!at)
		*length = 0;
	return at ? (const char *)at : "";
}

int is_whole(const struct message *message)
{
	if (message->cut)
		errno = GARBLED;
	return !message->cut;
}

int take_path(struct message *from, char path[MAX_PATH])
{
	size_t length;
	const char *text = take_text(from, &length);

	if (!is_whole(from))
		return -1;
	if (length >= MAX_PATH || memchr(text, 0, length)) {
		errno = length >= MAX_PATH ? ENAMETOOLONG : GARBLED;
		return -1;
	}
	memcpy(path, text, length);
	path[length] = 0;
	return 0;
}

int flush_answers(void)
{
	size_t gone = 0;

	while (!deaf && gone < out_end) {
		ssize_t put = write(1, out + gone, out_end - gone);
		if (put >= 0)
			gone += (size_t)put;
		else if (!wait_for(1, POLLOUT))
			deaf = 1;
	}
	out_end = 0;
	return deaf ? -1 : 0;
}

static void put(const void *bytes, size_t length)
{
	memcpy(out + out_end, bytes, length);
	out_end += length;
}

void put_number(uint32_t value)
{
	uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
	                    (uint8_t)value};

	put(bytes, sizeof bytes);
}

void put_long(uint64_t value)
{
	put_number((uint32_t)(value >> 32));
	put_number((uint32_t)value);
}

void put_text(const char *text, size_t length)
{
	put_number((uint32_t)length);
	put(text, length);
}

void put_word(const char *text)
{
	put_text(text, strlen(text));
}

size_t mark_number(void)
{
	out_end += 4;
	return out_end - 4;
}

void set_number(size_t mark, uint32_t value)
{
	size_t end = out_end;

	out_end = mark;
	put_number(value);
	out_end = end;
}

void begin_answer(int type, uint32_t id)
{
	uint8_t byte = (uint8_t)type;

	if (OUT_BYTES - out_end < MAX_ANSWER)
		flush_answers();
	answer_start = mark_number();
	put(&byte, 1);
	put_number(id);
}

size_t answer_length(void)
{
	return out_end - answer_start;
}

void end_answer(void)
{
	set_number(answer_start, (uint32_t)(out_end - answer_start - HEAD));
	if (out_end >= FULL_BYTES)
		flush_answers();
}

void drop_answer(void)
{
	out_end = answer_start;
}

uint8_t *begin_data(uint32_t id)
{
	begin_answer(DATA, id);
	return out + mark_number() + 4;
}

void end_data(size_t length)
{
	set_number(answer_start + DATA_HEAD - 4, (uint32_t)length);
	out_end += length;
	end_answer();
}

static uint32_t status_of(int number)
{
	switch (number) {
	case 0:
		return FX_OK;
	case AT_END:
		return FX_EOF;
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
		return FX_NO_SUCH_FILE;
	case EPERM:
	case EACCES:
	case EROFS:
	case OUTSIDE:
	case READ_ONLY:
		return FX_PERMISSION_DENIED;
	case ENAMETOOLONG:
	case GARBLED:
		return FX_BAD_MESSAGE;
	case ENOSYS:
	case EOPNOTSUPP:
	case UNKNOWN:
		return FX_OP_UNSUPPORTED;
	default:
		return FX_FAILURE;
	}
}

static const char *reason_of(int number)
{
	switch (number) {
	case 0:
		return "ok";
	case AT_END:
		return "there is no more";
	case OUTSIDE:
		return "the path, or a link on it, leads out of the folders that can be reached";
	case NOT_A_FILE:
		return "this is a pipe, a socket or a device, not a file";
	case TOO_LARGE:
		return "no file may be larger than its disk, or than 1 TiB";
	case NO_HANDLE:
		return "no such handle is open";
	case HANDLES_FULL:
		return "256 handles are open, and no more may be: close one first";
	case READ_ONLY:
		return "nothing may be changed here";
	case GARBLED:
		return "the request is garbled";
	case UNKNOWN:
		return "there is no such request here";
	default:
		return strerror(number);
	}
}

void answer_failure(uint32_t id, int number)
{
	begin_answer(STATUS, id);
	put_number(status_of(number));
	put_word(reason_of(number));
	put_word("en");
	end_answer();
}

void answer_ok(uint32_t id)
{
	answer_failure(id, 0);
}
