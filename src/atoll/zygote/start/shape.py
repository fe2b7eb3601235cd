"""The shape of a sandbox that waits for a request: what its wall was built for.

Everything else comes with the request: its name and limits, its variables and agents, and the
views that can be shown in a wall that stands.
"""

from dataclasses import replace
from pathlib import Path

import msgspec

from atoll.domain.errors import Conflict, Failed, Invalid
from atoll.wire.words.walls import WORKSPACE
from atoll.wire.zygote import messages as wire
from atoll.zygote.disk.host_root import etc_tree
from atoll.zygote.host.home import POOL_PREFIX
from atoll.zygote.host_resources import HostResources
from atoll.zygote.records.entry import Shape, StartOrder
from atoll.zygote.records.record import SandboxRecord
from atoll.zygote.wall.late_views import is_late


def may_wait(request: wire.Start) -> bool:
    """Return whether a sandbox can wait for a request like this one. Host folders are never kept
    open, nor disks made, for a sandbox that may not come."""
    return not request.mounts and request.seed is None and request.maintenance_seconds is None


def template_of(host: HostResources, request: wire.Start) -> wire.Start:
    """Return the request without everything that can be assigned later. Fields not listed here
    count as part of the shape."""
    pids = None if host.groups.has("pids") else request.limits.pids
    return msgspec.structs.replace(  # noqa: S604  no subprocess has this `shell`
        request,
        sandbox_id=POOL_PREFIX,
        generation=1,
        hostname="sandbox",
        limits=msgspec.structs.replace(
            request.limits, memory_bytes=None, cpu_millis=None, pids=pids
        ),
        views=tuple(view for view in request.views if not is_late(view)),
        env=(),
        shell=("/bin/bash",),
        cwd=WORKSPACE,
        broker=(),
        agents=(),
        fresh=False,
        sudo=(),
        pooled=False,
    )


def shape_of(host: HostResources, request: wire.Start) -> Shape:
    """Return the shape of a request. Raises `OSError` when a folder to show is missing."""
    template = template_of(host, request)
    trees = () if template.tree is None else (template.tree,)
    shown = (*trees, *(view.source for view in template.views))
    found = (Path(each).lstat() for each in shown)
    identities = tuple((each.st_dev, each.st_ino) for each in found)
    return Shape(template, etc_tree(host.home.roots), identities)


def fits_shape(host: HostResources, request: wire.Start, shape: Shape) -> bool:
    """Return whether a sandbox of a shape can serve a request."""
    try:
        return may_wait(request) and shape == shape_of(host, request)
    except OSError:
        return False


def pooled_order(
    host: HostResources, order: StartOrder, known: SandboxRecord | None
) -> tuple[StartOrder, Shape]:
    """Return the order to build a pooled sandbox, and its shape. Raises `Conflict` where files are
    kept, `Invalid` for a request that nothing can wait for, `Failed` without root."""
    request = order.start
    if not host.root:
        raise Failed("only an Atoll that runs as root keeps sandboxes ready")
    if known is not None:
        raise Conflict(
            f"sandbox {request.sandbox_id} has files: no pooled sandbox can take its place"
        )
    if not may_wait(request):
        raise Invalid("nothing waits for folders of the host, snapshots or maintenance")
    try:
        shape = shape_of(host, request)
    except OSError as err:
        raise Invalid(f"a folder that it shows is missing: {err}", field="views") from err
    named = msgspec.structs.replace(
        shape.request, sandbox_id=request.sandbox_id, generation=request.generation, pooled=True
    )
    return replace(order, start=named), shape
