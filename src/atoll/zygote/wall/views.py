"""The rules on which host directories a sandbox may be shown, and where. Pure rules on names.

The zygote can read everything as root, so it shows only the home's own shared folders, whatever the
control plane requests.
"""

from pathlib import PurePosixPath

from atoll.domain.errors import Invalid
from atoll.wire.zygote.messages import View
from atoll.zygote.host.home import Home

TARGETS = ("/.atoll/repos/", "/opt/", "/mnt/", "/srv/")


def check_views(home: Home, views: tuple[View, ...]) -> None:
    """Check sources and targets. Raises `Invalid` for one that is not allowed."""
    for view in views:
        tops = (home.repositories, home.agents, home.installed, home.safety)
        if not any(beneath(view.source, str(top)) for top in tops):
            raise Invalid(
                f"{view.source} cannot be mounted: only what lies below {home.repositories}, "
                f"{home.agents} or {home.safety}",
                field="views",
            )
        if not any(beneath(view.target, top.rstrip("/")) for top in TARGETS):
            raise Invalid(
                f"nothing can be mounted at {view.target}: only below {', '.join(TARGETS)}",
                field="views",
            )


def check_tree(home: Home, tree: str | None) -> None:
    """Check a root. Raises `Invalid` for one that is none of the home's images."""
    if tree is not None and not beneath(tree, str(home.images)):
        raise Invalid(f"{tree} cannot be a root: only what lies below {home.images}", field="image")


def beneath(path: str, top: str) -> bool:
    """Return whether an absolute path, in normal form (no `..`, `.`, `//`), lies below `top`."""
    plain = str(PurePosixPath(path)) == path and ".." not in PurePosixPath(path).parts
    return plain and path.startswith(top + "/")
