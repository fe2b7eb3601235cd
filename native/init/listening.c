/* `init listening --`: the addresses and ports on which TCP sockets of this network namespace
 * listen, one a line, in the digits of the kernel's own tables (proc(5)). */
#define _GNU_SOURCE
#include "tree.h"
#include <errno.h>
#include <stdio.h>

enum { LISTENING = 0x0A }; /* TCP_LISTEN of the kernel's tcp_states.h */

static int print_table(const char *path)
{
	FILE *table = fopen(path, "re");
	char line[512], address[33];
	unsigned port, state;

	if (!table)
		return errno == ENOENT ? OK : failed("the table of sockets"); /* no IPv6 */
	while (fgets(line, sizeof line, table))
		if (sscanf(line, " %*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x", address, &port, &state) == 3 &&
		    state == LISTENING)
			printf("%s %X\n", address, port);
	fclose(table);
	return OK;
}

int do_listening(struct request *it)
{
	(void)it;
	int code = print_table("/proc/net/tcp");

	return code == OK ? print_table("/proc/net/tcp6") : code;
}
