"""A person without rights, whom tests that run as root become.

In this process by `become`, or before another program by `python -m atoll.testing.stranger`, whose
argv `words` gives. Neither goes back to root.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from atoll.testing import subordinate_ids
from atoll.wiring.launch import mount_view
from atoll.zygote.host import kernel

_OWN_RANGE = "subordinates"


@dataclass(frozen=True, slots=True)
class Stranger:
    """The uid that root becomes to use a server in `home`. With `subordinates` it has a name, a
    range of uids, and a home of its own beside the server's."""

    uid: int
    home: str
    subordinates: bool = False

    def become(self) -> None:
        """Become this person, in `/`. Raises `OSError`."""
        mount_view.enter(Path(self.home))
        if self.subordinates:
            subordinate_ids.enter(self.uid, Path(self.home).parent / "own")
        kernel.drop_to(self.uid)
        # A person's own process is: only an undumpable one may not write its files in /proc.
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
        os.chdir("/")

    def words(self) -> tuple[str, ...]:
        """Return the words that, put before an argv, run it as this person."""
        ids = _OWN_RANGE if self.subordinates else "-"
        return (sys.executable, "-P", "-m", __name__, self.home, str(self.uid), ids)


def main() -> None:
    """Become the person of `sys.argv`, then the program of its rest."""
    home, uid, ids, *argv = sys.argv[1:]
    Stranger(int(uid), home, ids == _OWN_RANGE).become()
    os.execv(argv[0], argv)  # noqa: S606  an argv list of ours


if __name__ == "__main__":
    main()
