/* What programs inside hold of the kernel's memory that no control group counts and no filter can
 * bound: locks on files, objects behind open files, sockets, and connections that nobody accepts.
 *
 * All is counted at once where one number of the machine grew, which somebody outside tells
 * (growth.c), and every four seconds in any case. Where nobody tells, the number is read four times
 * a second, and all is counted once a second. Counting takes a fifth of the time at most, or little:
 * who reads /proc/locks has every lock of the machine wait. Whoever holds too much is killed. */
#define _GNU_SOURCE
#include "init.h"
#include "slab.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 250, SOON_MS = 50, SOONEST_MS = 5, COUNT_MS = 1000, TOLD_MS = 4000 };
enum { FEW_MORE = 128, LIMITS = 3 };
enum { READING_MS = 500, REST_FACTOR = 4 };
enum { MOST_LOCKS = 10000, FEW_LOCKS = 1000, MOST_FILES = 131072, SMALL_TABLE = 256 };
/* Before Linux 6.12 an accepted socket counts as nobody's. */
enum { MOST_SOCKETS = 16384 };
/* Ordinary programs map fewer files. */
enum { USUAL_MAPS = 256, MOST_MAPS = 65536 };
/* One that was read in part keeps the names of a block, 21 KiB. */
enum { MOST_DIRECTORIES = 2048 };

static const struct slot *slots;

long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int open_lines(struct lines *from, const char *path)
{
	from->length = from->at = 0;
	from->fd = open(path, O_RDONLY | O_CLOEXEC);
	return from->fd;
}

char *next_line(struct lines *from)
{
	char *begin, *end;
	ssize_t got;

	for (;;) {
		begin = from->text + from->at;
		end = memchr(begin, '\n', from->length - from->at);
		if (end) {
			*end = 0;
			from->at = (size_t)(end + 1 - from->text);
			return begin;
		}
		from->length -= from->at;
		memmove(from->text, begin, from->length);
		from->at = 0;
		if (from->length == sizeof from->text)
			from->length = 0;
		got = read(from->fd, from->text + from->length, sizeof from->text - from->length);
		if (got <= 0)
			return NULL;
		from->length += (size_t)got;
	}
}

long number_of(const char *path, const char *word)
{
	struct lines file;
	long found = -1;
	char *line;

	if (open_lines(&file, path) < 0)
		return -1;
	while (found < 0 && (line = next_line(&file)))
		if (!strncmp(line, word, strlen(word)))
			found = strtol(line + strlen(word), NULL, 10);
	close(file.fd);
	return found;
}

void add_holder(struct holders *to, pid_t pid, long count)
{
	int at = to->known;

	to->total += count;
	while (at > 0 && to->all[at - 1].pid != pid)
		at--;
	if (at > 0)
		to->all[at - 1].count += count;
	else if (to->known < MOST_HOLDERS)
		to->all[to->known++] = (struct holder){pid, count};
}

/* Kills those who hold most, until the others hold half of what may be held. */
int end_holders(struct holders *who, long most)
{
	int ended = 0;

	if (who->total <= most)
		return 0;
	while (who->total > most / 2 && who->known > 0) {
		int largest = 0;

		for (int i = 1; i < who->known; i++)
			if (who->all[i].count > who->all[largest].count)
				largest = i;
		kill(who->all[largest].pid, SIGKILL);
		who->total -= who->all[largest].count;
		who->all[largest] = who->all[--who->known];
		ended++;
	}
	return ended;
}

/* The process of a line of /proc/locks, as in `1: -> POSIX  ADVISORY  WRITE 123 …`. Those of
 * other sandboxes are not shown, or have -1. */
static long lock_holder(char *line)
{
	char *rest, *word = strtok_r(line, " ", &rest);

	for (int i = 0; word && i < 4; i++) {
		word = strtok_r(NULL, " ", &rest);
		if (word && !strcmp(word, "->"))
			word = strtok_r(NULL, " ", &rest);
	}
	return word ? strtol(word, NULL, 10) : -1;
}

/* No longer than needed to know that there are too many: others wait for their locks meanwhile.
 * Every 4 KiB the kernel passes over all that was read, and over all locks of other sandboxes. Where
 * that takes too long, somebody here has to do with it. Returns how many there may be. */
static long count_locks(struct holders *who)
{
	long until = milliseconds() + READING_MS, pid;
	struct lines file;
	char *line;

	if (open_lines(&file, "/proc/locks") < 0)
		return MOST_LOCKS;
	while (who->total <= MOST_LOCKS && (line = next_line(&file)) && milliseconds() < until)
		if ((pid = lock_holder(line)) > 1)
			add_holder(who, (pid_t)pid, 1);
	close(file.fd);
	return milliseconds() < until ? MOST_LOCKS : FEW_LOCKS;
}

/* The size of its folder fd is the number of open files of a task from Linux 6.2 on; before, the
 * size of the table stands for it. Both can be read whatever the process makes of itself. */
static long open_files(const char *task)
{
	struct stat seen;
	char path[80];
	long size;

	snprintf(path, sizeof path, "%.60s/fd", task);
	if (stat(path, &seen) < 0)
		return 0;
	if (seen.st_size > 0)
		return (long)seen.st_size;
	snprintf(path, sizeof path, "%.60s/status", task);
	size = number_of(path, "FDSize:");
	return size > SMALL_TABLE ? size : 0;
}

/* What the threads of a process have open whose first one has ended: all share one table. */
static long files_of_others(const char *process)
{
	struct dirent *each;
	char path[60];
	long found = 0;
	DIR *all;

	snprintf(path, sizeof path, "%.30s/task", process);
	all = opendir(path);
	while (!found && all && (each = readdir(all)))
		if (isdigit((unsigned char)each->d_name[0])) {
			snprintf(path, sizeof path, "%.30s/task/%.20s", process, each->d_name);
			found = open_files(path);
		}
	if (all)
		closedir(all);
	return found;
}

/* A process that init forked for work of its own and that runs none of a sandbox's programs. */
static int is_own(pid_t pid)
{
	for (int i = 0; i < MAX_SLOTS; i++)
		if (slots[i].warden == pid || (slots[i].leader == pid && slots[i].waits))
			return 1;
	return 0;
}

/* Files that stay open because they are mapped, beyond those of ordinary programs; where a process
 * hides them, as many as its pages or the kernel allow. */
static long mapped_of(const char *process)
{
	struct lines file;
	unsigned long inode;
	long found = 0;
	char path[60], *line;

	snprintf(path, sizeof path, "%.30s/maps", process);
	if (open_lines(&file, path) < 0) {
		if (is_own((pid_t)atol(process + strlen("/proc/"))))
			return 0;
		snprintf(path, sizeof path, "%.30s/statm", process);
		found = number_of(path, "");
		found = found < MOST_MAPS ? found : MOST_MAPS;
	} else {
		while (found <= MOST_FILES && (line = next_line(&file)))
			found += sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 && inode != 0;
		close(file.fd);
	}
	return found > USUAL_MAPS ? found - USUAL_MAPS : 0;
}

/* Every process but our own. */
void each_process(struct room *room, void (*visit)(struct room *room, const char *pid))
{
	struct dirent *each;
	DIR *all = opendir("/proc");

	room->holders.total = room->holders.known = 0;
	while (all && (each = readdir(all)))
		if (isdigit((unsigned char)each->d_name[0]) && strcmp(each->d_name, "1"))
			visit(room, each->d_name);
	if (all)
		closedir(all);
}

static void count_files(struct room *room, const char *pid)
{
	char process[40];
	long held;

	snprintf(process, sizeof process, "/proc/%.20s", pid);
	held = open_files(process);
	if (!held)
		held = files_of_others(process);
	/* Maps are looked at only where the whole machine has more files open than one may. */
	if (room->many_files)
		held += mapped_of(process);
	add_holder(&room->holders, (pid_t)atol(pid), held);
}

/* Timers, events and polls are open files with an object behind them. Their number is never too low:
 * what a copy of a table has counts again, and so does everything that a process hides. */
static int is_object(const char *link)
{
	return !strcmp(link, "anon_inode:[eventpoll]") || !strcmp(link, "anon_inode:[timerfd]") ||
	       !strncmp(link, "anon_inode:[eventfd", strlen("anon_inode:[eventfd"));
}

static int opens_object(int files, const char *name)
{
	char link[40];
	ssize_t got = readlinkat(files, name, link, sizeof link - 1);

	link[got > 0 ? got : 0] = 0;
	return is_object(link);
}

static int opens_directory(int files, const char *name)
{
	struct stat seen;

	return name[0] != '.' && fstatat(files, name, &seen, 0) == 0 && S_ISDIR(seen.st_mode);
}

typedef int (*wanted)(int files, const char *name);

/* Those of one kind that a task has open; -1 where it hides what it has. */
static long opened_by_task(const char *task, wanted is_one)
{
	char path[80];
	struct dirent *each;
	long found = 0;
	DIR *files;

	snprintf(path, sizeof path, "%.60s/fd", task);
	files = opendir(path);
	if (!files)
		return -1;
	while ((each = readdir(files)))
		found += is_one(dirfd(files), each->d_name);
	closedir(files);
	return found;
}

/* Threads share one table, which is seen by those that have not ended. */
static long opened_by(const char *pid, wanted is_one)
{
	char tasks[60], path[90];
	struct dirent *each;
	long found = 0, one;
	DIR *all;

	snprintf(tasks, sizeof tasks, "/proc/%.20s/task", pid);
	all = opendir(tasks);
	while (!found && all && (each = readdir(all)))
		if (isdigit((unsigned char)each->d_name[0])) {
			snprintf(path, sizeof path, "%s/%.20s", tasks, each->d_name);
			one = opened_by_task(path, is_one);
			found = one < 0 ? open_files(path) : one;
		}
	if (all)
		closedir(all);
	return found;
}

long count_objects(void)
{
	struct dirent *each;
	DIR *all = opendir("/proc");
	long found = 0;

	while (all && (each = readdir(all)))
		if (isdigit((unsigned char)each->d_name[0]) && strcmp(each->d_name, "1") &&
		    !is_own((pid_t)atol(each->d_name)))
			found += opened_by(each->d_name, opens_object);
	if (all)
		closedir(all);
	return found;
}

/* Everything that a process hides is taken for directories. */
static void count_directories(struct room *room, const char *pid)
{
	if (!is_own((pid_t)atol(pid)))
		add_holder(&room->holders, (pid_t)atol(pid), opened_by(pid, opens_directory));
}

static int end_directories(struct room *room)
{
	each_process(room, count_directories);
	return end_holders(&room->holders, MOST_DIRECTORIES);
}

/* `held` becomes the number of all things there are. */
static int count_everything(struct room *room, long *held)
{
	long most, opened, files, sockets = count_sockets();
	int ended;

	room->holders.total = room->holders.known = 0;
	most = count_locks(&room->holders);
	*held = room->holders.total + sockets;
	ended = end_holders(&room->holders, most);
	opened = number_of("/proc/sys/fs/file-nr", "");
	room->many_files = opened < 0 || opened > MOST_FILES;
	each_process(room, count_files);
	files = room->holders.total;
	*held += files;
	ended += end_holders(&room->holders, sockets > MOST_SOCKETS ? MOST_SOCKETS : MOST_FILES);
	if (files > MOST_DIRECTORIES)
		ended += end_directories(room);
	return ended + end_unaccepted(room);
}

/* Returns whether memory grew, after some time at most. `held` is what it was, in KiB; where it just
 * grew it is looked at soon again, since what grew may grow on. */
static int wait_for_growth(long *held, int just_grew)
{
	int grown = await_growth(TOLD_MS);
	long now;

	if (grown >= 0)
		return grown;
	rest_untold(just_grew ? SOON_MS : LOOK_MS);
	now = number_of("/proc/meminfo", "SUnreclaim:");
	grown = now >= *held + GROWN_KIB;
	if (grown || now < *held)
		*held = now;
	return grown;
}

/* Returns whether somebody was killed: those that are left may hold too much, too. Rests after it:
 * longest where it is others that grow, or one sandbox could keep the inits of all busy. */
static int count_and_rest(struct room *room)
{
	static long before;
	long begun = milliseconds(), pause = SOON_MS, held;
	int ended = count_everything(room, &held);

	madvise(room, sizeof *room, MADV_DONTNEED);
	if (ended || held > before + FEW_MORE)
		pause = (milliseconds() - begun) * REST_FACTOR;
	before = held;
	rest(pause < SOONEST_MS ? SOONEST_MS : pause < SOON_MS ? pause : SOON_MS);
	return ended > 0;
}

/* What is needed to look: descriptors and memory. Programs inside have our uid, and may lower the
 * limits of any process of it where no filter refuses that (prlimit(2)). */
static void read_limits(struct rlimit *limits)
{
	getrlimit(RLIMIT_NOFILE, limits);
	getrlimit(RLIMIT_AS, limits + 1);
	getrlimit(RLIMIT_DATA, limits + 2);
}

static void end_if_blinded(const struct rlimit *since)
{
	struct rlimit now[LIMITS];

	read_limits(now);
	if (memcmp(now, since, sizeof now))
		_exit(1); /* and everything inside ends */
}

void spare_slots(const struct slot *all)
{
	slots = all;
}

void watch_slab(void)
{
	void *room = mmap(NULL, sizeof(struct room), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	long held = number_of("/proc/meminfo", "SUnreclaim:"), counted = milliseconds();
	struct rlimit limits[LIMITS];
	int grown = 0;

	if (room == MAP_FAILED)
		_exit(1);
	read_limits(limits);
	for (;;) {
		end_if_blinded(limits);
		if (grown || milliseconds() >= counted + COUNT_MS) {
			while (count_and_rest(room))
				;
			counted = milliseconds();
		}
		grown = wait_for_growth(&held, grown);
	}
}
