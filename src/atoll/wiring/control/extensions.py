"""Extensions found by their entry points, Atoll's own and third parties' alike.

Those that come with Atoll are made when the setting `extensions` names them, so that a backend
nobody uses is never imported; a third party's is made because somebody installed it.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AsyncExitStack
from importlib.metadata import EntryPoint, entry_points

import structlog

from atoll.domain.errors import AtollError
from atoll.ports.extension import Closable, Extension, ExtensionSetup, MakeExtension

EXTENSION_GROUP = "atoll.extensions"
_log = structlog.get_logger(__name__)


def load_extensions(
    setup: ExtensionSetup, names: Collection[str], stack: AsyncExitStack
) -> Mapping[str, Extension]:
    """Make every extension that is on; the stack closes them. `names` are those that come with
    Atoll. Raises `Invalid` or `Failed` for one of these that cannot be made."""
    found: dict[str, Extension] = {}
    for point in _points(names):
        extension = _made(point, setup)
        if extension is None:
            continue
        if isinstance(extension, Closable):
            stack.push_async_callback(extension.close)
        found[extension.name] = extension
    return found


def _points(names: Collection[str]) -> Iterator[EntryPoint]:
    """Yield the entry points that are on: Atoll's own first, so that a stranger may replace one."""
    points = {point.name: point for point in entry_points(group=EXTENSION_GROUP) if _is_ours(point)}
    for name in names:
        if name in points:
            yield points[name]
        else:
            _log.error("extension_unknown", extension=name, known=sorted(points))
    yield from (p for p in entry_points(group=EXTENSION_GROUP) if not _is_ours(p))


def _is_ours(point: EntryPoint) -> bool:
    return point.module.partition(".")[0] == "atoll"


def _made(point: EntryPoint, setup: ExtensionSetup) -> Extension | None:
    """Make an extension. A third party's extension that cannot be made is logged and left out."""
    try:
        make: MakeExtension = point.load()
        return make(setup)
    except AtollError as error:
        if _is_ours(point):
            raise
        _log.error("extension_left_out", extension=point.name, reason=error.message)
    except Exception as error:
        if _is_ours(point):
            raise
        # Another project's code at its root: its fault must not keep Atoll from starting.
        _log.exception("extension_left_out", extension=point.name, reason=str(error))
    return None
