"""The home of one check, with a zygote of its own: a control plane of the person's home sees none
of its sandboxes, and would end them as orphans if it did.

Nothing of the person's home is written. The settings, the SSH key and the image are taken over;
hosts and vendors' keys are read from its database.
"""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import msgspec

from atoll.adapters.storage.store import Settings as StoreSettings
from atoll.adapters.storage.store import open_store
from atoll.adapters.trees.found import FoundTrees
from atoll.domain.errors import AtollError, Failed, Invalid, NotFound
from atoll.domain.hosts.host import Host
from atoll.ports.extension import VendorKey
from atoll.services.lifecycle.vendor_keys import VendorKeys
from atoll.wire.words.hosts import HostKind
from atoll.wiring.control.settings import read_settings
from atoll.wiring.control.vaulting import open_vault
from atoll.wiring.database import HomeDatabase, as_user, owner_of
from atoll.wiring.doctor import microvm
from atoll.wiring.launch import zygote_process
from atoll.wiring.launch.home_setup import prepare_home
from atoll.zygote.host.home import Home


@contextmanager
def home_of_run(real: Path | None, image: str, *, zygote: bool) -> Iterator[Path]:
    """Yield a new home, which takes over from `real` what a check needs; with a running zygote on
    request. Afterwards nothing of it is left. Raises `Invalid`, `Failed`."""
    if real is not None and not real.is_dir():
        raise Invalid(f"{real} is no directory", field="home")
    home = Path(tempfile.mkdtemp(prefix="atck", dir="/tmp"))
    try:
        prepare_home(home)
        if real is not None:
            _take_over(real.resolve(), home, image)
        with _zygote_of(home) if zygote else nullcontext():
            yield home
    finally:
        _remove(home)


@contextmanager
def _zygote_of(home: Path) -> Iterator[None]:
    """Run the home's zygote. It ends with this process, too, should that be killed."""
    place = Home(home)
    with ExitStack() as stack:
        link = zygote_process.start(place)
        if link is not None:
            stack.enter_context(link)
        stack.callback(microvm.clear, home)
        stack.callback(zygote_process.end, place)
        yield


def _take_over(real: Path, home: Path, image: str) -> None:
    """Copy what the suites use of a home. Broker keys stay there: no test of the suites calls a
    provider."""
    try:
        for name in ("config.toml", "ssh/identity"):
            if (real / name).is_file():
                shutil.copy(real / name, home / name)
        if (real / "vm-images").is_dir():
            (home / "vm-images").symlink_to(real / "vm-images")
        if image:
            _take_image(real / "images", home / "images", image)
    except OSError as err:
        raise Failed(f"{real} cannot be read: {err.strerror}") from err


def _take_image(real: Path, images: Path, image: str) -> None:
    """Copy an image that the home has: a tree, an archive or a recipe. Any other one is fetched by
    its backend, or found missing there."""
    name = image.rpartition(":")[2] if image.startswith(("archive:", "build:")) else ""
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        place = real / name
    else:
        try:
            place = Path(FoundTrees(real).look(image).path)
        except AtollError:
            return
        shutil.copy(real / "index.json", images / "index.json")
    if place.exists():
        target = images / place.relative_to(real)
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(place, target)


def _copy(source: Path, target: Path) -> None:
    """Copy a tree as it is, by hard links where both are on one file system."""
    how = "--link" if source.stat().st_dev == target.parent.stat().st_dev else "--reflink=auto"
    words = ("cp", "-a", how, "-T", "--", str(source), str(target))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the image {source.name} cannot be copied: {done.stderr.strip()[:300]}")


def _remove(home: Path) -> None:
    try:
        shutil.rmtree(home)
    except OSError as err:
        raise Failed(f"{home} is left over, the home of this check: {err}") from err


class HomeAccess(msgspec.Struct, frozen=True):
    """Hosts and the keys of a vendor from the database of a home, lent to a check."""

    hosts: tuple[Host, ...] = ()
    keys: tuple[VendorKey, ...] = ()


def read_access(real: Path, extension: str) -> HomeAccess:
    """Return the hosts of a home, and the keys of its vault that may pay for an extension's
    machines. Nothing is written. Raises `Failed`, `Unavailable`."""
    home = Home(real.resolve())
    status = HomeDatabase(home).status()
    if status.revision is None:
        return HomeAccess()
    if status.revision != status.newest:
        # Opening it would migrate it, maybe beside a control plane of another version.
        raise Failed(f"the database of {real} is of another version: `atoll db migrate` first")
    return as_user(
        owner_of(home),
        home.root,
        lambda _: asyncio.run(_read_access(home.root, extension)),
        HomeAccess,
    )


async def _read_access(real: Path, extension: str) -> HomeAccess:
    settings = read_settings(real, os.environ, {})
    async with open_store(StoreSettings(settings.storage.url_in(real))) as store:
        async with store.read() as rows:
            hosts = await rows.hosts.everything()
        keys = await VendorKeys(store, open_vault(settings, os.environ)).find(extension, None)
    return HomeAccess(tuple(hosts), tuple(keys))


def find_host(access: HomeAccess, name: str) -> str:
    """Return the address and the pinned key of a host, with a space between. Raises `NotFound`."""
    for host in access.hosts:
        if host.name == name and host.kind is HostKind.SSH:
            return f"{host.address} {host.host_key}"
    raise NotFound(f"the home has no host {name[:80]!r} that SSH reaches", field="host")
