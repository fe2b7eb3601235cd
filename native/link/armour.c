/* Bytes as lines of text, for a terminal that does not carry them unchanged. Each line is `~` and
 * base64 of a head, a payload and their CRC-32; one that was changed or lost is an error. */
#include "link.h"
#include <string.h>

enum { HEAD = 4, SUM = 4, OWED = ARMOUR_WINDOW / 8 };
enum { LONGEST = (HEAD + ARMOUR_PAYLOAD + SUM + 2) / 3 * 4 + 2 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static uint32_t crc32_of(const uint8_t *data, size_t count)
{
	static uint32_t table[256];
	uint32_t sum = 0xffffffffu;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i;
			for (int bit = 0; bit < 8; bit++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
		}
	while (count--)
		sum = sum >> 8 ^ table[(sum ^ *data++) & 0xff];
	return ~sum;
}

void armour_frame(struct armour *end, struct bytes *out, enum armoured kind, const void *payload,
                  size_t count)
{
	static uint8_t held[HEAD + ARMOUR_PAYLOAD + SUM + 3];
	size_t all = HEAD + count + SUM, i;
	char four[4];

	put32(held, (uint32_t)kind | end->sent << 8);
	end->sent = (end->sent + 1) & 0xffffff;
	if (count)
		memcpy(held + HEAD, payload, count);
	put32(held + HEAD + count, crc32_of(held, HEAD + count));
	memset(held + all, 0, 3);
	if (kind == OUTPUT || kind == COMPLAINT)
		end->room -= (int64_t)count;
	append(out, "~", 1);
	for (i = 0; i < all; i += 3) {
		uint32_t bits = (uint32_t)held[i] << 16 | (uint32_t)held[i + 1] << 8 | held[i + 2];
		four[0] = letters[bits >> 18];
		four[1] = letters[bits >> 12 & 63];
		four[2] = i + 1 < all ? letters[bits >> 6 & 63] : '=';
		four[3] = i + 2 < all ? letters[bits & 63] : '=';
		append(out, four, sizeof four);
	}
	append(out, "\n", 1);
}

void armour_took(struct armour *end, struct bytes *out, size_t count)
{
	uint8_t number[4];

	end->owed += (uint32_t)count;
	if (end->owed < OWED)
		return;
	end->due += end->owed;
	put32(number, end->owed);
	armour_frame(end, out, ARMOUR_CREDIT, number, sizeof number);
	end->owed = 0;
}

static int value_of(uint8_t letter)
{
	const char *at = letter ? strchr(letters, letter) : NULL;
	return at ? (int)(at - letters) : -1;
}

/* Decodes base64 in place; its length, or -1 for what is none. */
static ssize_t decoded(uint8_t *text, size_t count)
{
	size_t filled, made = 0, i, j;

	if (!count || count % 4)
		return -1;
	filled = count - (text[count - 1] == '=') - (text[count - 1] == '=' && text[count - 2] == '=');
	for (i = 0; i < count; i += 4) {
		uint32_t bits = 0;
		for (j = 0; j < 4; j++) {
			int value = i + j < filled ? value_of(text[i + j]) : 0;
			if (value < 0)
				return -1;
			bits = bits << 6 | (uint32_t)value;
		}
		for (j = 0; j < 3 && i + j + 1 < filled; j++)
			text[made++] = (uint8_t)(bits >> (16 - 8 * j));
	}
	return (ssize_t)made;
}

/* A frame that came whole. */
static bool taken(struct armour *end, enum armoured kind, const uint8_t *payload, size_t count,
                  armour_taker take)
{
	switch (kind) {
	case ARMOUR_CREDIT:
		if (count != 4)
			return false;
		end->room += get32(payload);
		return end->room <= ARMOUR_WINDOW;
	case INPUT:
		end->due -= (int64_t)count;
		return end->due >= 0 && take(kind, payload, count);
	case START:
	case INPUT_END:
		return take(kind, payload, count);
	default:
		return false;
	}
}

static bool line(struct armour *end, uint8_t *text, size_t count, armour_taker take)
{
	uint32_t head;
	ssize_t all;

	if (count && text[count - 1] == '\r')
		count--;
	if (!count || *text != '~' || (all = decoded(text + 1, count - 1)) < HEAD + SUM)
		return false;
	text++;
	if (all > HEAD + ARMOUR_PAYLOAD + SUM ||
	    get32(text + all - SUM) != crc32_of(text, (size_t)all - SUM))
		return false;
	head = get32(text);
	if (head >> 8 != end->received)
		return false;
	end->received = (end->received + 1) & 0xffffff;
	return taken(end, (enum armoured)(head & 0xff), text + HEAD, (size_t)all - HEAD - SUM, take);
}

bool armour_feed(struct armour *end, const uint8_t *data, size_t count, armour_taker take)
{
	const uint8_t *begin, *stop;
	size_t used = 0, have;

	append(&end->partial, data, count);
	begin = first_of(&end->partial);
	have = count_of(&end->partial);
	while ((stop = memchr(begin + used, '\n', have - used))) {
		size_t length = (size_t)(stop - begin) - used;
		if (!line(end, end->partial.data + end->partial.start + used, length, take))
			return false;
		used += length + 1;
	}
	drop(&end->partial, used);
	return have - used <= LONGEST;
}
