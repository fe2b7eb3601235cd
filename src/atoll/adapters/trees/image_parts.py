"""The parts of an image: its layers as stretches of open files, lowest first.

Reads OCI layouts (directories and tars), `docker save`'s archives and plain tars. It verifies every
size and digest it can. Unpacks nothing.
"""

import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from atoll.domain.errors import Failed, Invalid
from atoll.domain.sandboxes.image import hex_of
from atoll.wire.http.unreadable import UNREADABLE

MAX_DOCUMENT_BYTES = 4 * 2**20
MAX_LAYERS = 256
MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "riscv64": "riscv64"}
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Stretch:
    """The bytes `start` to `start + size` of the open file `fd`."""

    fd: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class LayerFile:
    """A layer. `digest` is that of the bytes as they are, `diff_id` of the tar in them."""

    stretch: Stretch
    digest: str | None = None
    diff_id: str | None = None


@dataclass(frozen=True, slots=True)
class ImageContents:
    """An image. `digest` is its manifest's, None for an image without one."""

    layers: tuple[LayerFile, ...]
    digest: str | None = None
    env: tuple[tuple[str, str], ...] = ()


class Platform(msgspec.Struct, frozen=True):
    """The platform of a manifest in an index."""

    architecture: str = ""
    os: str = ""


class Descriptor(msgspec.Struct, frozen=True, rename="camel"):
    """A blob by digest (OCI image specification)."""

    digest: str
    size: int = 0
    media_type: str = ""
    platform: Platform | None = None


class Manifest(msgspec.Struct, frozen=True):
    """A manifest, or an index of them."""

    layers: tuple[Descriptor, ...] = ()
    config: Descriptor | None = None
    manifests: tuple[Descriptor, ...] = ()


class _Rootfs(msgspec.Struct, frozen=True):
    diff_ids: tuple[str, ...] = ()


class _Inner(msgspec.Struct, frozen=True, rename="pascal"):
    env: tuple[str, ...] | None = None


class Config(msgspec.Struct, frozen=True):
    """The used parts of an image's configuration."""

    rootfs: _Rootfs = _Rootfs()
    config: _Inner | None = None


class _Saved(msgspec.Struct, frozen=True, rename="pascal"):
    config: str
    layers: tuple[str, ...]


Files = Callable[[str], Stretch]
"""A function that opens the file of a name in a layout. Raises `Invalid` when there is none."""


_T = TypeVar("_T")


def read_document(data: bytes, kind: type[_T]) -> _T:
    """Return JSON as one of the shapes above. Raises `Invalid`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except UNREADABLE as err:
        raise Invalid(f"the image's description cannot be understood: {err}") from err


@contextmanager
def open_image(source: Path, machine: str) -> Iterator[ImageContents]:
    """Open the image at `source` for this kind of machine, with its files open meanwhile.

    Raises `Invalid` for what is no image, `Failed` when it contradicts itself.
    """
    with ExitStack() as held:
        try:
            if source.is_dir():
                yield _from_layout(_folder_files(source, held), machine)
                return
            fd = os.open(source, _READ & ~os.O_NOFOLLOW)
        except OSError as err:
            raise Invalid(f"{source} cannot be read: {err.strerror}") from err
        held.callback(os.close, fd)
        yield _from_file(fd, source, machine)


def _from_file(fd: int, source: Path, machine: str) -> ImageContents:
    whole = Stretch(fd, 0, os.fstat(fd).st_size)
    members = _members(fd)
    if members is None or not ({"manifest.json", "index.json"} & members.keys()):
        return ImageContents((LayerFile(whole),))

    def file(name: str) -> Stretch:
        if name not in members:
            raise Invalid(f"{source} is no whole image: {name[:200]!r} is missing")
        return members[name]

    if "index.json" in members and "oci-layout" in members:
        return _from_layout(file, machine)
    return _from_saved(file)


def _members(fd: int) -> dict[str, Stretch] | None:
    """Return the plain files of an uncompressed tar by name.

    Returns None for anything else, which can only be the tar of a root.
    """
    found: dict[str, Stretch] = {}
    try:
        with (
            os.fdopen(os.dup(fd), "rb") as file,
            tarfile.open(fileobj=file, mode="r:") as archive,
        ):
            for entry in archive:
                if entry.isreg():
                    name = entry.name.removeprefix("./")
                    found[name] = Stretch(fd, entry.offset_data, entry.size)
                if len(found) > 4096 and "manifest.json" not in found:
                    return None
    except (tarfile.TarError, UnicodeDecodeError):
        return None
    return found


def _folder_files(folder: Path, held: ExitStack) -> Files:
    def file(name: str) -> Stretch:
        if ".." in name.split("/") or name.startswith("/"):
            raise Invalid(f"an image names {name[:200]!r}, which leads out of it")
        try:
            fd = os.open(folder / name, _READ)
        except OSError as err:
            raise Invalid(f"{folder} is no whole image: {name[:200]!r}: {err.strerror}") from err
        held.callback(os.close, fd)
        return Stretch(fd, 0, os.fstat(fd).st_size)

    return file


def _from_layout(file: Files, machine: str) -> ImageContents:
    index = read_document(document(file("index.json")), Manifest)
    chosen = choose(index.manifests, machine)
    manifest, digest = _manifest(file, chosen, machine)
    config = _config(_blob(file, manifest.config)) if manifest.config else Config()
    layers = tuple(
        LayerFile(_check_size(file(_place(each.digest)), each), each.digest, diff_id)
        for each, diff_id in zip(manifest.layers, _diff_ids(manifest, config), strict=True)
    )
    return ImageContents(layers, digest, _env(config))


def _manifest(file: Files, wanted: Descriptor, machine: str) -> tuple[Manifest, str]:
    """Return the manifest, through one more index as multi-platform images have it."""
    found = read_document(_blob(file, wanted), Manifest)
    if found.manifests:
        wanted = choose(found.manifests, machine)
        found = read_document(_blob(file, wanted), Manifest)
    if found.manifests or not 1 <= len(found.layers) <= MAX_LAYERS:
        raise Invalid(f"the image has {len(found.layers)} layers; 1 to {MAX_LAYERS} can be")
    return found, wanted.digest


def choose(manifests: tuple[Descriptor, ...], machine: str) -> Descriptor:
    """Return the manifest for this kind of machine. Raises `Invalid`."""
    architecture = MACHINES.get(machine, machine)
    for one in manifests:
        if one.platform is None or one.platform.architecture in ("", architecture):
            return one
    have = ", ".join(each.platform.architecture for each in manifests if each.platform) or "none"
    raise Invalid(f"the image is not for {architecture} machines; it has: {have}")


def _from_saved(file: Files) -> ImageContents:
    saved = read_document(document(file("manifest.json")), tuple[_Saved, ...])
    if len(saved) != 1:
        raise Invalid(f"the archive holds {len(saved)} images: save one at a time")
    raw = document(file(saved[0].config))
    config = _config(raw)
    if not 1 <= len(saved[0].layers) <= MAX_LAYERS:
        raise Invalid(f"the image has {len(saved[0].layers)} layers; 1 to {MAX_LAYERS} can be")
    if len(config.rootfs.diff_ids) != len(saved[0].layers):
        raise Failed("the image contradicts itself: its configuration lists other layers")
    layers = tuple(
        LayerFile(file(name), None, diff_id)
        for name, diff_id in zip(saved[0].layers, config.rootfs.diff_ids, strict=True)
    )
    return ImageContents(layers, f"sha256:{hashlib.sha256(raw).hexdigest()}", _env(config))


def _place(digest: str) -> str:
    return f"blobs/sha256/{hex_of(digest)}"


def _blob(file: Files, wanted: Descriptor) -> bytes:
    data = document(_check_size(file(_place(wanted.digest)), wanted))
    if hashlib.sha256(data).hexdigest() != hex_of(wanted.digest):
        raise Failed(f"the image is damaged: {wanted.digest[:19]}… has another content")
    return data


def _check_size(stretch: Stretch, wanted: Descriptor) -> Stretch:
    """Return the stretch. Raises `Failed` when its size is not that of the descriptor."""
    if wanted.size and stretch.size != wanted.size:
        raise Failed(f"the image is damaged: {wanted.digest[:19]}… has another size")
    return stretch


def document(stretch: Stretch) -> bytes:
    """Return a small file, whole. Raises `Invalid` past `MAX_DOCUMENT_BYTES`."""
    if stretch.size > MAX_DOCUMENT_BYTES:
        raise Invalid(f"a description in the image is larger than {MAX_DOCUMENT_BYTES} bytes")
    return os.pread(stretch.fd, stretch.size, stretch.start)


def _config(data: bytes) -> Config:
    return read_document(data, Config)


def _diff_ids(manifest: Manifest, config: Config) -> tuple[str | None, ...]:
    """Return the digest of each layer's tar; only a container's configuration has them."""
    if len(config.rootfs.diff_ids) == len(manifest.layers):
        return config.rootfs.diff_ids
    return (None,) * len(manifest.layers)


def _env(config: Config) -> tuple[tuple[str, str], ...]:
    words = (config.config.env if config.config else None) or ()
    pairs = (word.partition("=") for word in words[:128])
    return tuple((name, value) for name, equals, value in pairs if name and equals)
