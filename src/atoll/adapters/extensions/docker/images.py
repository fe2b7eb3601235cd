"""The image of a profile, found in the daemon: an OCI reference, or an archive of ours.

A reference that is not there is pulled. `archive:NAME` names a tar in `$ATOLL_HOME/images`,
and nothing else of the host: `docker save`'s is loaded, a root tree imported.
"""

import asyncio
import hashlib
import os
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from atoll.adapters.extensions.docker.engine import Engine, Image
from atoll.domain.errors import AtollError, Failed, Invalid, Unavailable

ARCHIVE = "archive:"
REPOSITORY = "atoll-archive"
MAX_REFERENCE = 255
_ARCHIVE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_PART = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_REFERENCE = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?"
    rf"{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?"
)
"""An OCI reference (distribution's grammar): it becomes a part of the Engine's paths, where
`..` would lead elsewhere."""

_LOADED = re.compile(r"Loaded image(?: ID)?: (\S+)")
_SAVED = {"manifest.json", "oci-layout", "index.json", "repositories"}
_NAMES_READ = 64
"""Entries at the beginning of an archive that are looked at."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image by its digest, the environment it wants and what it calls volumes."""

    id: str
    env: tuple[tuple[str, str], ...] = ()
    volumes: tuple[str, ...] = ()


async def find(engine: Engine, wanted: str, archives: Path) -> Picture:
    """The image of a profile. Raises `Invalid` for what can never be one, `Failed` with the
    daemon's words, `Unavailable`."""
    if wanted == "host":
        raise Invalid(
            "image `host` is the machine's own /usr, which ext.namespaces shows: for ext.docker "
            "name an OCI image, or `archive:NAME` of a tar in the home's images folder",
            field="image",
        )
    if wanted.startswith(ARCHIVE):
        return _picture(await _archived(engine, wanted.removeprefix(ARCHIVE), archives))
    if not is_reference(wanted):
        raise Invalid(f"{wanted[:80]!r} is not the reference of an image", field="image")
    found = await engine.image(wanted)
    if found is None:
        await _pull(engine, wanted)
        found = await engine.image(wanted)
    if found is None:
        raise Failed(f"the image {wanted} was pulled and is still not there: look at the daemon")
    return _picture(found)


def _picture(image: Image) -> Picture:
    config = image.config
    if config is None:
        return Picture(image.id)
    pairs = (text.partition("=") for text in config.env or ())
    env = tuple((name, value) for name, equals, value in pairs if name and equals)
    # A volume's path is the image's word: only a plain absolute one is used.
    volumes = (os.path.normpath(each) for each in config.volumes or ())
    return Picture(image.id, env, tuple(each for each in volumes if each.startswith("/")))


def is_reference(text: str) -> bool:
    """Whether it names an image: repository, tag or digest, as `docker pull` takes it."""
    return len(text) <= MAX_REFERENCE and _REFERENCE.fullmatch(text) is not None


async def _pull(engine: Engine, wanted: str) -> None:
    repository, tag = split_reference(wanted)
    try:
        await engine.pull(repository, tag)
    except Unavailable:
        raise
    except AtollError as err:
        raise Failed(
            f"the image {wanted} is not in the Docker daemon and cannot be pulled: {err.message}; "
            "`docker pull` or `docker load` it, or check its name"
        ) from err


def split_reference(reference: str) -> tuple[str, str]:
    """(repository, tag); a digest stays with the repository, no tag is `latest`: without one
    the Engine would fetch every tag there is."""
    if "@" in reference:
        return reference, ""
    head, slash, last = reference.rpartition("/")
    name, colon, tag = last.partition(":")
    return head + slash + name, tag if colon else "latest"


async def _archived(engine: Engine, name: str, archives: Path) -> Image:
    if not _ARCHIVE_NAME.fullmatch(name):
        raise Invalid(f"{name[:80]!r} is not the name of an archive", field="image")
    path = archives / name
    try:
        archive = await asyncio.to_thread(_open, path)
    except OSError as err:
        raise Invalid(f"the archive {path} cannot be read: {err.strerror}", field="image") from err
    with archive:
        tag = _key(name, os.fstat(archive.fileno()))
        found = await engine.image(f"{REPOSITORY}:{tag}")
        if found is not None:
            return found
        if await asyncio.to_thread(_is_saved, archive):
            lines = await engine.load(archive)
            named = [match[1] for line in lines if (match := _LOADED.search(line))]
            if not named or not is_reference(named[0]):
                raise Failed(f"the archive {name} held no image")
            await engine.tag(named[0], REPOSITORY, tag)
        else:
            await engine.import_tree(archive, REPOSITORY, tag)
    found = await engine.image(f"{REPOSITORY}:{tag}")
    if found is None:
        raise Failed(f"the archive {name} was taken in, yet its image is not there")
    return found


def _open(path: Path) -> BinaryIO:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    return os.fdopen(fd, "rb")


def _key(name: str, found: os.stat_result) -> str:
    """A tag that changes with the file."""
    text = f"{name} {found.st_size} {found.st_mtime_ns}"
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _is_saved(archive: BinaryIO) -> bool:
    """Whether it is `docker save`'s (or an OCI layout) and not a root tree; rewinds."""
    try:
        with tarfile.open(fileobj=archive, mode="r:*") as tar:
            names = [
                entry.name.removeprefix("./")
                for _n, entry in zip(range(_NAMES_READ), tar, strict=False)
            ]
    except tarfile.TarError as err:
        raise Invalid(f"the archive is not a tar: {err}", field="image") from err
    finally:
        archive.seek(0)
    return bool(_SAVED.intersection(names)) or any(each.startswith("blobs/") for each in names)
