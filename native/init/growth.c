/* How inits learn at once that the kernel's memory grew: one process outside reads
 * /proc/meminfo for all sandboxes of a machine, often, and wakes every init by a page of memory that
 * only it may write to. An init that has no such page, or whose page is not written to any more,
 * reads for itself.
 *
 *   init tell-growth PARENT   (descriptor 3 is the page; it ends with its parent) */
#define _GNU_SOURCE
#include "init.h"
#include "slab.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 }; /* linux/futex.h */
enum { PAGE_FD = 3, PAGE_BYTES = 4096, MEMINFO_BYTES = 4096 };
/* The fastest thing known takes 1.5 GB a second for each core: 15 MB between two looks, then 6. */
enum { IDLE_MS = 10, BUSY_MS = 4, BUSY_LOOKS = 50 };
enum { SILENT_MS = 1000 };

/* Both only count up, and wrap. */
struct page {
	_Atomic uint32_t told;  /* how often memory grew by GROWN_KIB */
	_Atomic uint32_t looks; /* how often it was read: that somebody is there */
};

static struct page *_Atomic shared; /* of an init: read-only */
static _Atomic uint32_t arrived;    /* it was, just now or earlier */

/* In KiB, what no one can reclaim; -1 when that cannot be read. Kept open: opening costs more. */
static long read_unreclaimed(int meminfo)
{
	char text[MEMINFO_BYTES], *found;
	ssize_t got = pread(meminfo, text, sizeof text - 1, 0);

	if (got <= 0)
		return -1;
	text[got] = 0;
	found = strstr(text, "SUnreclaim:");
	return found ? strtol(found + strlen("SUnreclaim:"), NULL, 10) : -1;
}

void rest(long ms)
{
	struct timespec pause = {0, ms * 1000000L};

	nanosleep(&pause, NULL);
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Waits until a word is no longer what it was, or for so long. */
static void await_change(const _Atomic uint32_t *word, uint32_t was, long ms)
{
	struct timespec most = {ms / 1000, ms % 1000 * 1000000L};

	syscall(SYS_futex, word, FUTEX_WAIT, was, &most, NULL, 0);
}

int tell_growth(pid_t parent)
{
	struct page *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, PAGE_FD, 0);
	int meminfo = open("/proc/meminfo", O_RDONLY | O_CLOEXEC), busy = 0;
	long held = read_unreclaimed(meminfo), now;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (page == MAP_FAILED || held < 0)
		return 1;
	while (getppid() == parent && (now = read_unreclaimed(meminfo)) >= 0) {
		if (now >= held + GROWN_KIB) {
			page->told++;
			wake(&page->told);
			busy = BUSY_LOOKS;
		}
		if (now < held || now >= held + GROWN_KIB)
			held = now;
		page->looks++;
		rest(busy > 0 ? BUSY_MS : IDLE_MS);
		busy -= busy > 0;
	}
	return 1;
}

void share_growth(struct packet *in)
{
	void *page = in->count == 1 ? mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, in->fds[0], 0)
	                            : MAP_FAILED;

	if (page == MAP_FAILED || shared)
		return;
	shared = page;
	arrived = 1;
	wake(&arrived);
}

int await_growth(long ms)
{
	static uint32_t told, looks;
	static long seen;
	struct page *page = shared;
	int grown;

	if (!page)
		return -1;
	if (page->looks != looks) {
		looks = page->looks;
		seen = milliseconds();
	}
	if (milliseconds() > seen + SILENT_MS)
		return -1;
	await_change(&page->told, told, ms);
	grown = page->told != told;
	told = page->told;
	return grown;
}

void rest_untold(long ms)
{
	if (shared)
		rest(ms);
	else
		await_change(&arrived, 0, ms);
}
