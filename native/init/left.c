/* Processes whose program has ended: a command's daemons and background jobs. One packet
 * lists them as {u32 tag of the command, i32 pid, command line, NUL}, in no special order. */
#define _GNU_SOURCE
#include "init.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LISTED = 200, MAX_WORDS = 200 };

struct list {
	int count, more;
	size_t length;
	char bytes[MAX_LISTED * (8 + MAX_WORDS + 1)];
};

static size_t read_file(pid_t pid, const char *name, char *text)
{
	char path[40];
	ssize_t got;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, MAX_WORDS);
	close(fd);
	return got > 0 ? (size_t)got : 0;
}

/* The command line with blanks between its words; the short name where it has none. */
static size_t describe(pid_t pid, char *text)
{
	size_t length = read_file(pid, "cmdline", text);

	if (!length)
		length = read_file(pid, "comm", text);
	while (length && (text[length - 1] == 0 || text[length - 1] == '\n'))
		length--;
	for (size_t i = 0; i < length; i++)
		if (!text[i])
			text[i] = ' ';
	return length;
}

static void add(struct list *all, uint32_t tag, int32_t pid)
{
	char text[MAX_WORDS];
	size_t length = describe(pid, text);

	if (!length)
		return; /* ended meanwhile */
	if (all->count == MAX_LISTED) {
		all->more = 1;
		return;
	}
	all->count++;
	memcpy(all->bytes + all->length, &tag, sizeof tag);
	memcpy(all->bytes + all->length + 4, &pid, sizeof pid);
	memcpy(all->bytes + all->length + 8, text, length);
	all->bytes[all->length + 8 + length] = 0;
	all->length += 8 + length + 1;
}

void report_left(const struct world *world, uint32_t tag)
{
	static struct list all;
	static pid_t kin[MAX_LISTED + 1];
	struct header head = {KIN, tag, 0, 0};

	all.count = all.more = 0;
	all.length = 0;
	for (int i = 0; i < MAX_SLOTS; i++) {
		const struct slot *slot = &world->slots[i];
		uint32_t whose = slot->tag;
		pid_t warden = slot->warden;
		int count;

		if (!warden || !whose || slot->leader != ENDED)
			continue;
		count = list_kin(warden, kin, MAX_LISTED + 1);
		if (slot->warden != warden || slot->tag != whose)
			continue; /* its pid may already be somebody else's */
		for (int each = 0; each < count; each++)
			add(&all, whose, kin[each]);
	}
	head.a = all.count;
	head.b = all.more;
	reply_with(world->control, head, all.bytes, all.length, NULL, 0);
}
