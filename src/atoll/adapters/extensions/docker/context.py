"""The folder of a Dockerfile, packed for the daemon: bounded, and the same every time.

Its Dockerfile is packed as it was checked, not as it lies there. Nothing outside the folder gets
in: links are packed as links and may not lead out, sockets, pipes and devices are refused.
Times and owners are left out, so the digest changes only with what the build can see.
`.dockerignore` is heard as Docker does (moby's patternmatcher).
"""

import hashlib
import io
import os
import posixpath
import re
import shutil
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.size import MIB

if TYPE_CHECKING:
    from typing_extensions import Buffer

RECIPE = "Dockerfile"
IGNORE = ".dockerignore"
MAX_ENTRIES = 50_000
MAX_RECIPE_BYTES = 256 * 1024
MAX_IGNORE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Pattern:
    regex: re.Pattern[str]
    keeps: bool


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The paths that `.dockerignore` leaves out."""

    patterns: tuple[_Pattern, ...] = ()

    def __call__(self, path: str) -> bool:
        """Return whether `path` (relative, `/` between) is left out: the last pattern that fits
        it or a folder above it decides."""
        above = [path, *(str(p) for p in Path(path).parents if str(p) != ".")]
        out = False
        for pattern in self.patterns:
            if any(pattern.regex.fullmatch(each) for each in above):
                out = not pattern.keeps
        return out

    @property
    def keeps_some(self) -> bool:
        """Return whether a file of an ignored directory may still be included."""
        return any(pattern.keeps for pattern in self.patterns)


def read_ignored(text: str) -> IgnoreRules:
    """Return the patterns of a `.dockerignore`. Raises `Invalid` for a malformed pattern."""
    patterns = []
    for line in text.removeprefix("\ufeff").splitlines():
        word = line.strip()
        if not word or line.startswith("#"):
            continue
        keeps = word.startswith("!")
        plain = posixpath.normpath(word.removeprefix("!").strip()).lstrip("/")
        if plain and plain != ".":
            patterns.append(_Pattern(_compile(plain), keeps))
    return IgnoreRules(tuple(patterns))


_PARTS = re.compile(r"\*\*/|\*\*|\*|\?|\[\^?[^\]]+\]|\\.|.", re.DOTALL)


def _compile(pattern: str) -> re.Pattern[str]:
    regexes = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}

    def to_regex(text: str) -> str:
        if text in regexes:
            return regexes[text]
        if text.startswith("[") and len(text) > 1:
            return text.replace("\\", "\\\\")
        return re.escape(text[-1])

    try:
        return re.compile("".join(to_regex(each) for each in _PARTS.findall(pattern)), re.DOTALL)
    except re.error as err:
        raise Invalid(f"{IGNORE} has no such pattern: {pattern[:80]!r}", field="image") from err


def recipe_of(folder: Path) -> str:
    """Return the Dockerfile of a folder. Raises `Invalid`, `OSError`."""
    recipe = folder / RECIPE
    if not stat.S_ISREG(recipe.lstat().st_mode if recipe.exists() else 0):
        raise Invalid(f"{folder} has no file {RECIPE}", field="image")
    with _open_regular_file(recipe) as file:
        data = file.read(MAX_RECIPE_BYTES + 1)
    if len(data) > MAX_RECIPE_BYTES:
        raise Invalid(f"the {RECIPE} is larger than {MAX_RECIPE_BYTES // 1024} KiB", field="image")
    try:
        return data.decode()
    except UnicodeDecodeError as err:
        raise Invalid(f"the {RECIPE} is not UTF-8", field="image") from err


def pack(folder: Path, into: IO[bytes], *, recipe: str, max_bytes: int) -> str:
    """Write the tar of `folder` into `into`, with `recipe` in place of its Dockerfile. Returns the
    digest. Raises `Invalid` naming the file that may not be in it, `LimitReached`, `OSError`."""
    hashed = _HashedFile(into, max_bytes)
    ignored = _read_ignore_rules(folder)
    with tarfile.open(fileobj=hashed, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo(RECIPE)
        info.size = len(recipe.encode())
        tar.addfile(info, io.BytesIO(recipe.encode()))
        for count, path in enumerate(_walk(folder, "", ignored), 1):
            if count > MAX_ENTRIES:
                raise LimitReached(f"{folder} holds more than {MAX_ENTRIES} files to build with")
            _add(tar, folder, path)
    return hashed.digest.hexdigest()


def with_recipe(context: IO[bytes], into: IO[bytes], *, old: str, new: str) -> None:
    """Copy the tar that `pack` wrote with the recipe `old`, with `new` in its place."""
    info = tarfile.TarInfo(RECIPE)
    info.size = len(new.encode())
    into.write(info.tobuf(tarfile.PAX_FORMAT) + _pad(new))
    context.seek(tarfile.BLOCKSIZE + len(_pad(old)))
    shutil.copyfileobj(context, into)


def _pad(recipe: str) -> bytes:
    data = recipe.encode()
    return data.ljust(-(-len(data) // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE, b"\0")


def _read_ignore_rules(folder: Path) -> IgnoreRules:
    try:
        with _open_regular_file(folder / IGNORE) as file:
            data = file.read(MAX_IGNORE_BYTES + 1)
    except FileNotFoundError:
        return IgnoreRules()
    try:
        text = data.decode()
    except UnicodeDecodeError as err:
        raise Invalid(f"{folder / IGNORE} is not UTF-8", field="image") from err
    if len(data) > MAX_IGNORE_BYTES:
        raise Invalid(f"{folder / IGNORE} is larger than 64 KiB", field="image")
    return read_ignored(text)


def _walk(folder: Path, below: str, ignored: IgnoreRules) -> Iterator[str]:
    """Yield the paths to pack, in a fixed order."""
    with os.scandir(folder / below) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        path = f"{below}/{entry.name}" if below else entry.name
        if path == RECIPE:
            continue  # sent as it was checked, whatever lies there by now
        is_folder = entry.is_dir(follow_symlinks=False)
        out = ignored(path)
        if not out:
            yield path
        if is_folder and (not out or ignored.keeps_some):
            yield from _walk(folder, path, ignored)


def _add(tar: tarfile.TarFile, folder: Path, path: str) -> None:
    place = folder / path
    status = place.lstat()
    info = tarfile.TarInfo(path)
    info.mode = 0o755 if stat.S_ISDIR(status.st_mode) or status.st_mode & 0o100 else 0o644
    if stat.S_ISDIR(status.st_mode):
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    elif stat.S_ISLNK(status.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, _inner(path, str(place.readlink()))
        tar.addfile(info)
    elif stat.S_ISREG(status.st_mode):
        with _open_regular_file(place) as file:
            info.size = os.fstat(file.fileno()).st_size
            tar.addfile(info, file)
    else:
        raise Invalid(f"{place} is neither a file, a folder nor a link", field="image")


def _inner(path: str, target: str) -> str:
    """Return a link's target if it lies in the folder."""
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if target.startswith("/") or end == ".." or end.startswith("../"):
        raise Invalid(f"the link {path} leads out of its folder, to {target[:80]!r}", field="image")
    return target


def _open_regular_file(path: Path) -> IO[bytes]:
    """Open a regular file for reading. Raises `Invalid` for any other kind."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Invalid(f"{path} is not a plain file", field="image")
    return os.fdopen(fd, "rb")


class _HashedFile(io.RawIOBase):
    """A file written once from the beginning, whose size and digest are computed."""

    def __init__(self, into: IO[bytes], max_bytes: int) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self._into, self._left, self._max = into, max_bytes, max_bytes

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer") -> int:
        data = bytes(data)
        self._left -= len(data)
        if self._left < 0:
            raise LimitReached(
                f"the folder holds more than {self._max // MIB} MiB to build with: leave files "
                f"out by a {IGNORE}, or raise `builds.context_mb`"
            )
        self.digest.update(data)
        return self._into.write(data)
