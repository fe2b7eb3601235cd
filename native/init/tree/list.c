/* list: one page of a directory in the order of its names' bytes. Memory is bounded by the
 * page, not by the directory. */
#define _GNU_SOURCE
#include "tree.h"
#include "init.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int add(struct names *page, size_t room, const char *name)
{
	if (page->count == room)
		keep_smallest(page, room / 2);
	page->all[page->count] = strdup(name);
	return page->all[page->count++] ? 0 : -1;
}

int do_list(struct request *it)
{
	int fd = open_beneath(it->root, it->paths[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	size_t room = (size_t)(it->limit < 1 ? 1 : it->limit) * 2;
	struct names page = {calloc(room, sizeof(char *)), 0, room};
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *each;

	if (!entries || !page.all)
		return failed("list");
	while ((each = readdir(entries))) {
		if (!strcmp(each->d_name, ".") || !strcmp(each->d_name, ".."))
			continue;
		if (it->after && strcmp(each->d_name, it->after) <= 0)
			continue;
		if (add(&page, room, each->d_name) < 0)
			return failed("list");
	}
	keep_smallest(&page, room / 2);
	for (size_t i = 0; i < page.count; i++) {
		char target[4096] = "";
		struct stat stat;
		ssize_t length;
		/* Gone since it was read: then it is not in the list. */
		if (fstatat(fd, page.all[i], &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISLNK(stat.st_mode) &&
		    (length = readlinkat(fd, page.all[i], target, sizeof target - 1)) >= 0)
			target[length] = 0;
		print_entry(page.all[i], &stat, target);
	}
	return OK;
}
