/* A queue of bytes, and little-endian numbers. */
#define _GNU_SOURCE
#include "link.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL = 4096, KEPT = 64 * 1024 };

void *allocate(size_t count)
{
	void *made = calloc(1, count);
	if (!made)
		_exit(71);
	return made;
}

/* Gives a queue another room. Larger ones are mapped, so that the system has them back at once. */
static void resize(struct bytes *one, size_t room)
{
	bool mapped = one->room > SMALL;
	void *made;

	if (room <= SMALL)
		made = realloc(one->data, room);
	else if (mapped)
		made = mremap(one->data, one->room, room, MREMAP_MAYMOVE);
	else
		made = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!made || made == MAP_FAILED)
		_exit(71);
	if (room > SMALL && !mapped) {
		if (one->end)
			memcpy(made, one->data, one->end);
		free(one->data);
	}
	one->data = made;
	one->room = room;
}

void append(struct bytes *to, const void *data, size_t count)
{
	size_t have = count_of(to);

	if (!count)
		return;
	if (to->start && to->end + count > to->room) {
		memmove(to->data, to->data + to->start, have);
		to->start = 0;
		to->end = have;
	}
	/* A quarter stays free, so that not every call moves everything. */
	if (to->end + count > to->room / 4 * 3) {
		size_t room = to->room ? to->room : SMALL;
		while (to->end + count > room / 4 * 3)
			room *= 2;
		resize(to, room);
	}
	memcpy(to->data + to->end, data, count);
	to->end += count;
}

void drop(struct bytes *from, size_t count)
{
	from->start += count;
	if (from->start < from->end)
		return;
	from->start = from->end = 0;
	if (from->room > KEPT)
		drop_all(from);
}

void drop_all(struct bytes *from)
{
	if (from->room > SMALL)
		munmap(from->data, from->room);
	else
		free(from->data);
	memset(from, 0, sizeof *from);
}

void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

void put32(uint8_t *at, uint32_t value)
{
	put16(at, (uint16_t)value);
	put16(at + 2, (uint16_t)(value >> 16));
}

void put64(uint8_t *at, uint64_t value)
{
	put32(at, (uint32_t)value);
	put32(at + 4, (uint32_t)(value >> 32));
}

uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

uint32_t get32(const uint8_t *at)
{
	return get16(at) | (uint32_t)get16(at + 2) << 16;
}

uint64_t get64(const uint8_t *at)
{
	return get32(at) | (uint64_t)get32(at + 4) << 32;
}
