/* A terminal from the sandbox's own devpts; both ends go to the runtime. */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

void open_pty(struct world *world, struct packet *in)
{
	struct winsize size = {.ws_col = (unsigned short)in->head.a,
	                       .ws_row = (unsigned short)in->head.b};
	struct header head = {FDS, in->head.tag, 2, 0};
	struct termios modes;
	int unlock = 0, ends[2] = {-1, -1};

	ends[0] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ends[0] >= 0 && ioctl(ends[0], TIOCSPTLCK, &unlock) == 0)
		/* By descriptor, not by name: no path is looked up after pivot_root. */
		ends[1] = ioctl(ends[0], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ends[1] < 0) {
		reply(world->control, FAILED, in->head.tag, errno, STEP_OTHER);
	} else {
		ioctl(ends[0], TIOCSWINSZ, &size);
		/* Erasing in a cooked terminal must take whole characters. */
		if (tcgetattr(ends[1], &modes) == 0) {
			modes.c_iflag |= IUTF8;
			tcsetattr(ends[1], TCSANOW, &modes);
		}
		reply_with(world->control, head, NULL, 0, ends, 2);
		close(ends[1]);
	}
	if (ends[0] >= 0)
		close(ends[0]);
}
