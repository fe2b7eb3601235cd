"""The image that a profile names, as the daemon has it: an OCI reference, or an archive or recipe
of the home.

A reference that is not there is pulled. `archive:NAME` names a tar in `$ATOLL_HOME/images`,
and nothing else of the host: `docker save`'s is loaded without its names (`archives`), a root
tree imported. `build:NAME` is a folder there with a Dockerfile: see `builds`.
"""

import asyncio
import hashlib
import os
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from atoll.adapters.extensions.docker.archives import UntaggedArchive
from atoll.adapters.extensions.docker.builds import BUILD, Builds, Report
from atoll.adapters.extensions.docker.engine import Engine, Image
from atoll.adapters.extensions.docker.pulls import is_reference, pull_image
from atoll.domain.errors import AtollError, Failed, Invalid

ARCHIVE = "archive:"
REPOSITORY = "atoll-archive"
_ARCHIVE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")

_LOADED = re.compile(r"Loaded image(?: ID)?: (\S+)")
_SAVED = {"manifest.json", "oci-layout", "index.json", "repositories"}
_NAMES_READ = 64
"""Entries at the beginning of an archive that are looked at."""


@dataclass(frozen=True, slots=True)
class ResolvedImage:
    """An image by its digest, with its environment and its volumes."""

    id: str
    env: tuple[tuple[str, str], ...] = ()
    volumes: tuple[str, ...] = ()


def check_image(builds: Builds, reference: str) -> None:
    """Check a profile's image as far as this needs no daemon: its spelling, and the files of the
    home that it names. Raises `Invalid`, `Forbidden`."""
    if reference.startswith(ARCHIVE):
        _open_archive(reference.removeprefix(ARCHIVE), builds.folder).close()
    elif reference.startswith(BUILD):
        builds.check(reference.removeprefix(BUILD))
    elif not is_reference(reference):
        raise Invalid(f"{reference[:80]!r} is not the reference of an image", field="image")


async def find(builds: Builds, reference: str, report: Report) -> ResolvedImage:
    """Return the image of a profile. `report` receives the progress of fetching or building. Raises
    `Invalid` for a name that can never be an image, `Failed` with the daemon's message,
    `Unavailable`."""
    engine = builds.engine
    if reference == "host":
        raise Invalid(
            "image `host` is the machine's own /usr, which ext.namespaces shows: for ext.docker "
            "name an OCI image, `archive:NAME` of a tar in the home's images folder, or "
            "`build:NAME` of a folder there with a Dockerfile",
            field="image",
        )
    if reference.startswith(ARCHIVE):
        return _resolve(
            await _image_of_archive(engine, reference.removeprefix(ARCHIVE), builds.folder)
        )
    if reference.startswith(BUILD):
        return _resolve(await builds.image(reference.removeprefix(BUILD), report))
    check_image(builds, reference)
    return _resolve(await pull_image(engine, reference, report))


def _resolve(image: Image) -> ResolvedImage:
    config = image.config
    if config is None:
        return ResolvedImage(image.id)
    pairs = (text.partition("=") for text in config.env or ())
    env = tuple((name, value) for name, equals, value in pairs if name and equals)
    # The image sets a volume's path, which the Engine cleans, too.
    volumes = (re.sub("^/+", "/", os.path.normpath(each)) for each in config.volumes or ())
    return ResolvedImage(image.id, env, tuple(volumes))


async def _image_of_archive(engine: Engine, name: str, archives: Path) -> Image:
    with await asyncio.to_thread(_open_archive, name, archives) as archive:
        tag = _key(name, os.fstat(archive.fileno()))
        image = await engine.image(f"{REPOSITORY}:{tag}")
        if image is not None:
            return image
        if await asyncio.to_thread(_is_saved, archive):
            await engine.tag(await _load(engine, name, archive), REPOSITORY, tag)
        else:
            await engine.import_tree(archive, REPOSITORY, tag)
    image = await engine.image(f"{REPOSITORY}:{tag}")
    if image is None:
        raise Failed(f"the archive {name} was taken in, yet its image is not there")
    return image


async def _load(engine: Engine, name: str, archive: BinaryIO) -> str:
    """Load a saved image without a name. Returns its id."""
    untagged = UntaggedArchive(archive)
    try:
        lines = await engine.load(untagged.blocks())
    except AtollError as err:
        if untagged.refused is not None:
            raise untagged.refused from err
        raise
    named = [match[1] for line in lines if (match := _LOADED.search(line))]
    if not named or not is_reference(named[0]):
        raise Failed(f"the archive {name} held no image: save it with `docker save`")
    return named[0]


def _open_archive(name: str, archives: Path) -> BinaryIO:
    """Open an archive of the home. Raises `Invalid`."""
    if not _ARCHIVE_NAME.fullmatch(name):
        raise Invalid(f"{name[:80]!r} is not the name of an archive", field="image")
    path = archives / name
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        return os.fdopen(fd, "rb")
    except OSError as err:
        raise Invalid(f"the archive {path} cannot be read: {err.strerror}", field="image") from err


def _key(name: str, status: os.stat_result) -> str:
    """Return a tag that changes with the file."""
    text = f"{name} {status.st_size} {status.st_mtime_ns}"
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _is_saved(archive: BinaryIO) -> bool:
    """Return whether an archive is a saved image or an OCI layout, and not a root tree. Rewinds the
    file."""
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
