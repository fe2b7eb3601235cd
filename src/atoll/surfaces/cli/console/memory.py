"""Memory of the command line between two runs: the last sandbox, and whose directory it is in.

A small file of this person's, beside the home or, where that belongs to someone else, in
the XDG state folder. Losing it costs a name to type; it is never trusted for more.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from atoll.client.fields import Json
from atoll.client.server import home_of

MAX_FOLDERS = 200


@dataclass(frozen=True, slots=True)
class Memory:
    """Content of the memory: `last` is a sandbox id or empty; `folders` maps absolute folders to
    sandbox ids."""

    last: str
    folders: Mapping[str, str]

    def of_folder(self, folder: Path) -> str:
        """Return the sandbox made from `folder` or the nearest folder above it; empty if none."""
        for place in (folder, *folder.parents):
            sandbox_id = self.folders.get(str(place))
            if sandbox_id:
                return sandbox_id
        return ""


def recall(environ: Mapping[str, str]) -> Memory:
    """Return the remembered values; nothing when the file is absent or unreadable."""
    try:
        memory = json.loads(_path(environ).read_text())
    except (OSError, ValueError):
        return Memory("", {})
    if not isinstance(memory, dict):
        return Memory("", {})
    last, folders = memory.get("last"), memory.get("folders")
    known = folders if isinstance(folders, dict) else {}
    return Memory(
        last if isinstance(last, str) else "",
        {key: value for key, value in known.items() if isinstance(value, str)},
    )


def remember(environ: Mapping[str, str], sandbox_id: str, *, folder: Path | None = None) -> None:
    """Make `sandbox_id` the last one, and the one of `folder`. A file that cannot be written
    is no reason to fail."""
    before = recall(environ)
    folders = dict(before.folders)
    if folder is not None:
        folders.pop(str(folder), None)
        folders[str(folder)] = sandbox_id
    newest: dict[str, Json] = dict(list(folders.items())[-MAX_FOLDERS:])
    if before.last == sandbox_id and newest == dict(before.folders):
        return
    path = _path(environ)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent, delete=False) as new:
            json.dump({"last": sandbox_id, "folders": newest}, new)
        Path(new.name).replace(path)
    except OSError:
        return


def state_file(environ: Mapping[str, str], name: str) -> Path:
    """Return the path of a small file of this person's."""
    home = home_of(environ)
    if os.access(home, os.W_OK | os.X_OK):
        return home / name
    state = environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "atoll-cli" / name


def _path(environ: Mapping[str, str]) -> Path:
    return state_file(environ, "cli.json")
