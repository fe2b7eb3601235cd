"""The packing of folders for another machine, by this machine's tar, since they may be large.

An archive ends with a file that says it is whole. Its end is sent only once tar has read
everything, so that nothing is put in place there which was changed or cut here.
"""

import asyncio
import os
import tempfile
from asyncio.subprocess import Process
from collections.abc import Sequence
from pathlib import Path

from atoll.adapters.linked.shell import ScriptInput
from atoll.domain.errors import Failed

SEND_SECONDS = 1800.0
CHUNK_BYTES = 1024 * 1024
COMPLETE = ".atoll-complete"
"""The last file of an archive that was sent whole."""

END_BYTES = 2 * 20 * 512
"""Bytes that hold the last file of an archive, and its end: tar fills up a record of 20 blocks."""

CHANGED = b": file changed as we read it"
"""The end of tar's complaint about a file whose inode was changed, if only by a link to it."""

SOME_DIFFER = 1
"""The status of tar for an archive that may differ from the files (GNU tar, "Status Returned")."""


async def send_packed(source: Path, names: Sequence[str], into: ScriptInput) -> None:
    """Pack these of a folder, and a last file that says the archive is whole. Raises `Failed` when
    something cannot be read, or was changed meanwhile."""
    with tempfile.TemporaryDirectory(prefix="at") as folder:
        own = Path(folder)
        names_file = await asyncio.to_thread(_write_names, own, names)
        complaint = own / "complaint"
        with complaint.open("wb") as errors:
            tar = await asyncio.create_subprocess_exec(
                *(
                    "tar",
                    "-c",
                    "-f",
                    "-",
                    "-C",
                    str(source),
                    "--null",
                    "--files-from",
                    str(names_file),
                ),
                *("-C", folder, COMPLETE),
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "LC_ALL": "C"},
            )
        try:
            async with asyncio.timeout(SEND_SECONDS):
                end = await _send_all_but_end(tar, into)
                if code := await tar.wait():
                    text = complaint.read_bytes()
                    began = (own / COMPLETE).stat().st_mtime_ns
                    if not await asyncio.to_thread(
                        _only_links_changed, code, text, (source, began)
                    ):
                        why = text[:300].decode(errors="replace").strip()
                        raise Failed(f"a folder that is to be sent cannot be read: {why or code}")
                into.write(end)
                await into.drain()
        finally:
            if tar.returncode is None:
                tar.kill()
                await tar.wait()


async def _send_all_but_end(tar: Process, into: ScriptInput) -> bytes:
    """Send what tar prints, and return the last bytes of it."""
    pending = bytearray()
    while tar.stdout and (chunk := await tar.stdout.read(CHUNK_BYTES)):
        pending += chunk
        if len(pending) > END_BYTES:
            into.write(bytes(pending[:-END_BYTES]))
            del pending[:-END_BYTES]
            await into.drain()
    return bytes(pending)


def _write_names(folder: Path, names: Sequence[str]) -> Path:
    """Write the last file of an archive, and the list of the others, which is returned."""
    (folder / COMPLETE).touch()
    names_file = folder / "names"
    names_file.write_bytes(b"".join(os.fsencode(name) + b"\0" for name in names))
    return names_file


def _only_links_changed(code: int, complaint: bytes, since: tuple[Path, int]) -> bool:
    """Report whether tar found nothing but inodes that changed, and no content did: another
    installation links the same files, which changes a count of links. `since` is the folder and
    the time at which tar began, in nanoseconds."""
    source, began = since
    lines = complaint.splitlines()
    if code != SOME_DIFFER or not lines or not all(line.endswith(CHANGED) for line in lines):
        return False
    everything = (source, *source.rglob("*"))
    return all(path.lstat().st_mtime_ns < began for path in everything)
