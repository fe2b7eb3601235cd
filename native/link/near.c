/* The near end as this side sees it: the stream to it, its incarnation, and frames from it. */
#include "link.h"
#include <string.h>

enum { SLACK = 64 * 1024, STREAM_WINDOW = 256 * 1024 + SLACK };
/* Data leaves room for a packet of init's, which a flood must not hold back. */
enum { PACKET_ROOM = MAX_FRAME + FRAME_HEAD, DATA_ROOM = PACKET_ROOM + MAX_DATA + FRAME_HEAD };
#define ACK_SECONDS 0.1

static struct stream stream;
static struct bytes partial; /* a frame that is not complete yet */
static struct bytes ready;
static bool seen, known;
static uint64_t incarnation;
static double acknowledge_at = NEVER;

void near_begin(const uint8_t *frame, size_t count)
{
	append(&ready, frame, count);
	append(&stream.unacknowledged, frame, count);
}

struct stream *near_stream(void)
{
	return &stream;
}

bool near_seen(void)
{
	return seen;
}

bool near_takes_data(void)
{
	return stream_room(&stream) >= SLACK + DATA_ROOM;
}

bool near_takes_packet(void)
{
	return stream_room(&stream) >= SLACK + PACKET_ROOM;
}

bool near_is_idle(void)
{
	return stream_room(&stream) == STREAM_WINDOW;
}

enum continuation near_continuation(uint64_t other)
{
	if (!seen)
		return FRESH;
	return known && other == incarnation ? RESUMED : TAKEN_OVER;
}

uint64_t near_received(enum continuation how)
{
	return how == RESUMED ? stream.received : 0;
}

enum verdict near_accept(uint64_t who, enum continuation how, uint64_t received)
{
	if (how == TAKEN_OVER) {
		drop_all(&partial);
		stream_restart(&stream);
		append(&stream.unacknowledged, first_of(&ready), count_of(&ready));
	}
	if (stream_resume(&stream, received) != FINE)
		return BROKEN;
	seen = known = true;
	incarnation = who;
	acknowledge_at = NEVER;
	if (how == TAKEN_OVER)
		far_takeover();
	return FINE;
}

void near_forget(void)
{
	known = false;
}

void send_two(enum kind kind, uint32_t channel, struct part first, struct part second)
{
	uint8_t head[FRAME_HEAD];

	put32(head, (uint32_t)kind | (uint32_t)(first.count + second.count) << 8);
	put32(head + 4, channel);
	append(&stream.unacknowledged, head, sizeof head);
	append(&stream.unacknowledged, first.data, first.count);
	append(&stream.unacknowledged, second.data, second.count);
}

void send_frame(enum kind kind, uint32_t channel, const void *payload, size_t count)
{
	send_two(kind, channel, (struct part){payload, count}, (struct part){NULL, 0});
}

void send_packet(const void *packet, size_t count)
{
	send_two(PACKET, 0, (struct part){"", 1}, (struct part){packet, count});
}

/* The length of the frame at the front of these bytes, 0 while it is not whole. */
static size_t whole(const uint8_t *at, size_t have, enum verdict *verdict)
{
	size_t length;

	if (have < FRAME_HEAD)
		return 0;
	length = get32(at) >> 8;
	if (length > MAX_FRAME)
		*verdict = GARBLED;
	return *verdict == FINE && have >= FRAME_HEAD + length ? FRAME_HEAD + length : 0;
}

static enum verdict take(const uint8_t *data, size_t count)
{
	enum verdict verdict = FINE;
	size_t length;

	append(&partial, data, count);
	while ((length = whole(first_of(&partial), count_of(&partial), &verdict))) {
		const uint8_t *at = first_of(&partial);
		verdict = far_frame(at[0], get32(at + 4), at + FRAME_HEAD, length - FRAME_HEAD);
		drop(&partial, length);
		if (verdict != FINE)
			break;
	}
	return verdict;
}

enum verdict near_feed(const uint8_t *data, size_t count)
{
	enum verdict verdict = stream_feed(&stream, data, count, take);

	if (stream.received > stream.announced && acknowledge_at == NEVER)
		acknowledge_at = now + ACK_SECONDS;
	if (verdict == FINE && stream_room(&stream) == 0)
		verdict = GARBLED; /* it requests more than it acknowledges */
	return verdict;
}

double near_due(void)
{
	return acknowledge_at;
}

void near_act(void)
{
	if (now < acknowledge_at)
		return;
	acknowledge_at = NEVER;
	stream_acknowledge(&stream);
}
