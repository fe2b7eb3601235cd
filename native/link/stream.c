/* A byte stream that survives cuts: numbered, acknowledged, sent again from where it was cut.
 * What came of a record counts at once, also when the rest of it never comes. */
#include "link.h"
#include <string.h>

enum { RECORD_DATA = 1, RECORD_ACK, RECORD_PING, RECORD_PONG };
enum { RECORD_HEAD = 4, ACK_BYTES = 32 * 1024, STREAM_WINDOW = (256 + 64) * 1024 };

size_t stream_room(const struct stream *stream)
{
	size_t have = count_of(&stream->unacknowledged);
	return have < STREAM_WINDOW ? STREAM_WINDOW - have : 0;
}

uint64_t stream_written(const struct stream *stream)
{
	return stream->acknowledged + count_of(&stream->unacknowledged);
}

static void add_head(struct bytes *to, uint8_t kind, size_t count)
{
	uint8_t head[RECORD_HEAD];
	put32(head, (uint32_t)(kind | count << 8));
	append(to, head, sizeof head);
}

void stream_acknowledge(struct stream *stream)
{
	uint8_t number[8];

	if (!stream->connected || stream->received <= stream->announced)
		return;
	stream->announced = stream->received;
	put64(number, stream->received);
	add_head(&stream->control, RECORD_ACK, sizeof number);
	append(&stream->control, number, sizeof number);
}

void stream_drain(struct stream *stream, struct bytes *out)
{
	size_t count = (size_t)(stream_written(stream) - stream->sent);

	if (!stream->connected)
		return;
	if (stream->received - stream->announced >= ACK_BYTES)
		stream_acknowledge(stream);
	append(out, first_of(&stream->control), count_of(&stream->control));
	drop(&stream->control, count_of(&stream->control));
	if (!count)
		return;
	if (count > MAX_RECORD)
		count = MAX_RECORD;
	add_head(out, RECORD_DATA, count);
	append(out, first_of(&stream->unacknowledged) + (stream->sent - stream->acknowledged), count);
	stream->sent += count;
}

static void forget(struct stream *stream, uint64_t acknowledged)
{
	drop(&stream->unacknowledged, (size_t)(acknowledged - stream->acknowledged));
	stream->acknowledged = acknowledged;
}

/* A record of another kind than DATA, whole in `head`. */
static enum verdict control(struct stream *stream, uint32_t length)
{
	uint64_t number = get64(stream->head + RECORD_HEAD);

	switch (stream->head[0]) {
	case RECORD_ACK:
		if (length != 8 || number < stream->acknowledged || number > stream->sent)
			return BROKEN;
		forget(stream, number);
		return FINE;
	case RECORD_PING:
		if (length)
			return BROKEN;
		/* One that pings and does not read must not fill the memory with answers. */
		if (count_of(&stream->control) < 4096)
			add_head(&stream->control, RECORD_PONG, 0);
		return FINE;
	case RECORD_PONG:
		return length ? BROKEN : FINE;
	default:
		return BROKEN;
	}
}

/* One byte of a record's head, or of a control record's payload. */
static enum verdict head_byte(struct stream *stream, uint8_t byte)
{
	uint32_t length;

	stream->head[stream->have++] = byte;
	if (stream->have < RECORD_HEAD)
		return FINE;
	length = get32(stream->head) >> 8;
	if (stream->head[0] == RECORD_DATA) {
		stream->left = length;
		stream->have = 0;
		return length > MAX_RECORD ? BROKEN : FINE;
	}
	if (length > 8)
		return BROKEN;
	if (stream->have < RECORD_HEAD + length)
		return FINE;
	stream->have = 0;
	return control(stream, length);
}

enum verdict stream_feed(struct stream *stream, const uint8_t *data, size_t count, taker take)
{
	enum verdict verdict = FINE;

	while (count && verdict == FINE) {
		size_t piece = stream->left < count ? stream->left : count;
		if (piece) {
			stream->left -= (uint32_t)piece;
			stream->received += piece;
			verdict = take(data, piece);
		} else {
			piece = 1;
			verdict = head_byte(stream, *data);
		}
		data += piece;
		count -= piece;
	}
	return verdict;
}

void stream_cut(struct stream *stream)
{
	stream->connected = false;
	stream->have = stream->left = 0;
	drop_all(&stream->control);
}

enum verdict stream_resume(struct stream *stream, uint64_t received)
{
	if (received < stream->acknowledged || received > stream_written(stream))
		return BROKEN;
	forget(stream, received);
	stream->sent = received;
	stream->announced = stream->received;
	stream->connected = true;
	return FINE;
}

void stream_restart(struct stream *stream)
{
	stream_cut(stream);
	drop_all(&stream->unacknowledged);
	stream->acknowledged = stream->sent = stream->received = stream->announced = 0;
}
