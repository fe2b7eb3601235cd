"""The report of `doctor` on uids: their owners, and the kernel pools that a sandbox's uid shares
with you.

The running zygote knows the uids it started with. The report also tries which ones a zygote would
get now.
"""

import os
from collections.abc import Iterator

from atoll.ports.host import Finding
from atoll.wire.zygote import messages as wire
from atoll.zygote.host.home import Home
from atoll.zygote.host_resources import ALL_SHARED
from atoll.zygote.wall.shared_uid import FILES, OWN_FILES, SHARE
from atoll.zygote.wall.subordinate_uids import (
    ALL_SANDBOXES_SHARE,
    MissingSubordinates,
    open_subordinates,
)


def uid_findings(home: Home, report: wire.Reported | None) -> Iterator[Finding]:
    """Report whose uids sandboxes get, and the pools that come with them."""
    if os.geteuid() == 0:
        yield Finding("uids", "ok", "as root: every sandbox gets a uid of its own")
        return
    lacking = _lacking(home)
    began_without = report is not None and ALL_SHARED in report.degraded
    again = "`atoll down`, then `atoll up`"
    if lacking is None and began_without:
        text = "rootless: Atoll was started before you had subordinate uids, and uses none"
        yield Finding("uids", "warn", text, f"{again}.")
    elif lacking is not None and (report is None or began_without):
        text = f"rootless: all sandboxes run under your uid, because {lacking.reason}"
        yield Finding("uids", "warn", text, f"{lacking.remedy} Then {again}.")
    else:
        yield Finding(
            "uids",
            "ok",
            "rootless: a sandbox gets a subordinate uid of yours; one with a folder of the host's "
            "or a root to write to has your own",
        )
        yield _apart()
        return
    yield _shared_pools()


def _lacking(home: Home) -> MissingSubordinates | None:
    found = open_subordinates(home.boxes)
    if isinstance(found, MissingSubordinates):
        return found
    os.close(found.namespace)
    return None


def _shared_pools() -> Finding:
    return Finding(
        "your uid's pools",
        "warn",
        f"sandboxes draw on them: up to {FILES} descriptors on their way between processes, "
        f"1/{SHARE} of your inotify watchers each, and all of your pipes' memory",
        "Subordinate uids (above), or Atoll started as root, give each sandbox pools of its own; "
        f"else programs of yours that pass descriptors need `ulimit -n` above {FILES + OWN_FILES} "
        "while one attacks.",
    )


def _apart() -> Finding:
    return Finding(
        "your uid's pools",
        "ok",
        f"sandboxes together take at most 1/{ALL_SANDBOXES_SHARE} of your inotify watchers; "
        "their pending signals and processes count as yours, too; descriptors on their way "
        "and pipes do not",
    )
