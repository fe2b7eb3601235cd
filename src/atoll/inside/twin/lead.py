"""The leader of an agent's session: no shell, so it never takes the terminal.

The C one is `native/init/lead.c`. It waits for its one job. It gives the job the terminal back when
the terminal stopped it, and leaves it stopped when somebody else did. It ends as the job ended.
"""

import os
import signal
from contextlib import suppress
from typing import NoReturn

BROKEN = 125


def lead() -> None:
    """Fork: the caller continues in the child, the terminal's foreground job; the parent leads."""
    settle(signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    job = os.fork()
    if job == 0:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        return
    with suppress(OSError):
        os.setpgid(job, job)
    os.closerange(3, 65536)
    # A terminal that hangs up signals only the leader of its session.
    signal.signal(signal.SIGHUP, lambda *_: _continue(job, signal.SIGHUP))
    try:
        _wait(job)
    finally:
        os._exit(BROKEN)


def settle(disposition: signal.Handlers) -> None:
    """Set every signal that can be set to `disposition`."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):
            signal.signal(number, disposition)


def _wait(job: int) -> NoReturn:
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if os.WIFEXITED(status):
            os._exit(os.WEXITSTATUS(status))
        if os.WIFSIGNALED(status):
            with suppress(OSError):  # KILL cannot be changed
                signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
            os._exit(128 + os.WTERMSIG(status))
        if os.WSTOPSIG(status) != signal.SIGSTOP:
            with suppress(OSError):
                os.tcsetpgrp(0, job)
            _continue(job)


def _continue(group: int, number: int | None = None) -> None:
    with suppress(OSError):
        if number is not None:
            os.killpg(group, number)
        os.killpg(group, signal.SIGCONT)
