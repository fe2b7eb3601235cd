"""The images of a home: whose uid unpacks one, and which sandboxes are built on one."""

import os
from pathlib import Path

from atoll.adapters.trees.shelf import TreeShelf
from atoll.domain.errors import AtollError
from atoll.zygote.host.home import POOL_PREFIX, Home
from atoll.zygote.records import record
from atoll.zygote.records.uids import Counter


def image_shelf(home: Home) -> TreeShelf:
    """Return the shelf of a home, which need not exist yet."""

    def take_uid() -> int | None:
        if os.geteuid() != 0:
            return None
        home.boxes.mkdir(mode=0o711, parents=True, exist_ok=True)
        return Counter(home.boxes / "next-uid").take(1)

    def users(tree: Path) -> list[str]:
        return sorted(
            box.hostname or box.sandbox_id
            for box in _boxes(home)
            # A pooled sandbox has no owner, and is never taken once the tree is gone.
            if box.tree == str(tree) and not box.sandbox_id.startswith(POOL_PREFIX)
        )

    return TreeShelf(home.images, take_uid, users)


def _boxes(home: Home) -> list[record.SandboxRecord]:
    """Return every sandbox whose files are kept, living or not."""
    found = []
    for folder in home.boxes.iterdir() if home.boxes.is_dir() else ():
        try:
            known = record.load(folder / "box.json")
        except AtollError:
            continue  # it is being written, or gone
        if known is not None:
            found.append(known)
    return found
