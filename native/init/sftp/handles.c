/* Handles: what a client holds open, at most 256. A handle is its number and a serial, so that one
 * that was closed is not taken for its successor. */
#include "sftp.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { HANDLE_BYTES = 8 };

static struct handle handles[MAX_HANDLES];

struct handle *spare_handle(void)
{
	for (int i = 0; i < MAX_HANDLES; i++) {
		uint32_t serial = handles[i].serial + 1;
		if (handles[i].used)
			continue;
		handles[i] = (struct handle){.fd = -1, .serial = serial};
		return &handles[i];
	}
	errno = HANDLES_FULL;
	return NULL;
}

void answer_handle(uint32_t id, struct handle *handle)
{
	handle->used = 1;
	begin_answer(HANDLE, id);
	put_number(HANDLE_BYTES);
	put_number((uint32_t)(handle - handles));
	put_number(handle->serial);
	end_answer();
}

struct handle *take_handle(struct message *from)
{
	uint32_t size = take_number(from), at, serial;

	if (size != HANDLE_BYTES) {
		errno = from->cut ? GARBLED : NO_HANDLE;
		return NULL;
	}
	at = take_number(from);
	serial = take_number(from);
	if (!is_whole(from))
		return NULL;
	if (at < MAX_HANDLES && handles[at].used && handles[at].serial == serial)
		return &handles[at];
	errno = NO_HANDLE;
	return NULL;
}

struct handle *take_file(struct message *from)
{
	struct handle *handle = take_handle(from);

	if (handle && (handle->entries || handle->leading)) {
		errno = EISDIR;
		return NULL;
	}
	return handle;
}

int close_handle(struct handle *handle)
{
	int done = 0;

	if (handle->entries)
		done = closedir(handle->entries);
	else if (handle->fd >= 0)
		done = close(handle->fd);
	free(handle->leading);
	*handle = (struct handle){.fd = -1, .serial = handle->serial};
	return done;
}
