"""The import of a git bundle: fixed git, foreign uid, no network, bounded time and size.

An agent made the bundle, so no process with anything to lose reads it. What git wrote is returned
only as plain files and folders.
"""

import contextlib
import os
import resource
import signal
import socket
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import AtollError, Failed, Invalid, LimitReached
from atoll.domain.interior.etc import ROOT_LINKS
from atoll.domain.repository.repository import HARMLESS_FLAWS
from atoll.wire.zygote import messages as wire
from atoll.zygote.disk.host_root import etc_tree
from atoll.zygote.host import kernel
from atoll.zygote.host.children import detach
from atoll.zygote.host.home import Home
from atoll.zygote.records.reports import refusal
from atoll.zygote.wall.bwrap_argv import Programs
from atoll.zygote.wall.views import beneath

MEMORY_BYTES = 2 * 2**30
_MAX_ERROR_CHARS = 1000
_MAX_ENTRIES = 200_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_INDEX = (
    *("git", "-c", "core.hooksPath=/dev/null", "-C", "/repo"),
    *("index-pack", "--stdin", "--fix-thin"),
    "--strict=" + ",".join(f"{flaw}=ignore" for flaw in HARMLESS_FLAWS),
)
_GIT = (
    "git",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "protocol.allow=never",
    "-c",
    "protocol.file.allow=always",
    "-c",
    "transfer.fsckObjects=true",
    "-c",
    "fetch.unpackLimit=1",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-C",
    "/repo",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "/bundle",
)


@dataclass(frozen=True, slots=True)
class BundleImporter:
    """Importer of bundles below the home's `run/import/`. The results belong to `control_uid`."""

    home: Home
    programs: Programs
    control_uid: int

    def check(self, request: wire.Import) -> None:
        """Check the paths of a request. Raises `Invalid` for one that an import may not touch."""
        imports, repositories = str(self.home.imports), str(self.home.repositories)
        for path in (request.repo_dir, request.bundle):
            if not beneath(path, imports):
                raise Invalid(f"{path} cannot be used for an import: only below {imports}")
        if (request.pack_at is None) == (not request.refspecs):
            raise Invalid("an import names either refs to fetch or the pack to index")
        if beneath(request.bundle, request.repo_dir):
            raise Invalid("the bundle lies inside the repository it is to fill")
        for path in request.alternates:
            if not beneath(path, repositories):
                raise Invalid(f"{path} cannot be an alternate: only below {repositories}")

    def work(self, request: wire.Import, uid: int | None, channel: socket.socket) -> None:
        """Run the import as `uid` (None keeps this process's) and send the answer. Call it in a
        child."""
        detach({channel.fileno()})
        answer: wire.Answer
        try:
            self._import(request, uid)
            answer = wire.Imported()
        except AtollError as err:
            answer = refusal(err)
        except OSError as err:
            answer = wire.Refused("failed", f"the import of {request.bundle} failed: {err}")
        channel.send(wire.encode_answer(0, answer))

    def _import(self, request: wire.Import, uid: int | None) -> None:
        with contextlib.ExitStack() as held:
            repository = self._reach(request.repo_dir, os.O_DIRECTORY)
            held.callback(os.close, repository)
            bundle = self._reach(request.bundle, os.O_NONBLOCK)
            held.callback(os.close, bundle)
            found = os.fstat(bundle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > request.max_bytes:
                raise LimitReached(
                    f"the bundle is not a plain file of at most {request.max_bytes} bytes"
                )
            if uid is None:
                self._run_git(request, uid, repository=repository, bundle=bundle)
                return
            _change_owner(repository, self.control_uid, uid)
            os.fchown(bundle, uid, uid)
            try:
                self._run_git(request, uid, repository=repository, bundle=bundle)
            finally:
                os.fchown(bundle, self.control_uid, self.control_uid)
                _change_owner(repository, uid, self.control_uid)

    def _reach(self, place: str, flags: int) -> int:
        """Return a descriptor of a file of the control plane's below `imports`, and open the
        directories on the way for the foreign uid. A user who may rename these directories may put
        links in their place at any moment. So the path is walked once, one component at a time, and
        later steps use the descriptor. Raises `Failed`, `OSError`."""
        *folders, last = Path(place).relative_to(self.home.run).parts
        at = os.open(self.home.run, _FOLDER)
        try:
            for name in folders:
                inner = os.open(name, _FOLDER, dir_fd=at)
                os.close(at)
                at = inner
                self._check_owner(at, name)
                os.fchmod(at, 0o711)
            fd = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=at)
        finally:
            os.close(at)
        try:
            self._check_owner(fd, last)
        except Failed:
            os.close(fd)
            raise
        return fd

    def _check_owner(self, fd: int, name: str) -> None:
        """Check that the control plane owns a file, and that it has one link. Raises `Failed`."""
        found = os.fstat(fd)
        folder = stat.S_ISDIR(found.st_mode)
        if found.st_uid != self.control_uid or not (folder or found.st_nlink == 1):
            raise Failed(f"an import names {name!r}, which is nothing of the control plane's own")

    def _run_git(
        self, request: wire.Import, uid: int | None, *, repository: int, bundle: int
    ) -> None:
        def become() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (request.max_bytes, request.max_bytes))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CPU, (request.seconds, request.seconds))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if uid is not None:
                kernel.drop_to(uid)

        seccomp = os.open(self.programs.import_seccomp, os.O_RDONLY | os.O_CLOEXEC)
        if request.pack_at is not None:
            os.lseek(bundle, request.pack_at, os.SEEK_SET)
        process = subprocess.Popen(
            self._argv(request, seccomp=seccomp, repository=repository, bundle=bundle),
            stdin=subprocess.DEVNULL if request.pack_at is None else bundle,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            pass_fds=(seccomp, repository, bundle),
            preexec_fn=become,
        )
        try:
            _out, errors = process.communicate(timeout=request.seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            raise LimitReached(
                f"taking the bundle in took more than {request.seconds} s: send less at a time"
            ) from None
        finally:
            os.close(seccomp)
        if process.returncode != 0:
            said = errors.decode(errors="replace").strip()[-_MAX_ERROR_CHARS:]
            raise Invalid(f"git refused the bundle (status {process.returncode}): {said}")

    def _argv(
        self, request: wire.Import, *, seccomp: int, repository: int, bundle: int
    ) -> list[str]:
        argv = [str(self.programs.bwrap), "--unshare-all", "--unshare-user", "--disable-userns"]
        argv += ["--cap-drop", "ALL", "--new-session", "--die-with-parent", "--clearenv"]
        argv += ["--uid", "1000", "--gid", "1000", "--seccomp", str(seccomp)]
        argv += ["--setenv", "PATH", "/usr/bin:/bin", "--setenv", "GIT_CONFIG_NOSYSTEM", "1"]
        argv += ["--setenv", "HOME", "/nonexistent", "--ro-bind", "/usr", "/usr"]
        for name in ROOT_LINKS:
            place = Path("/") / name
            if place.is_symlink():
                argv += ["--symlink", str(place.readlink()).lstrip("/"), str(place)]
            elif place.is_dir():
                argv += ["--ro-bind", str(place), str(place)]
        argv += ["--ro-bind", str(etc_tree(self.home.roots)), "/etc"]
        argv += ["--proc", "/proc", "--dev", "/dev", "--size", str(64 * 2**20), "--tmpfs", "/tmp"]  # noqa: S108
        for path in request.alternates:
            argv += ["--ro-bind", path, path]
        # bwrap compares what it bound with the descriptor: a name put there meanwhile is no use.
        argv += ["--bind-fd", str(repository), "/repo", "--ro-bind-fd", str(bundle), "/bundle"]
        work = _INDEX if request.pack_at is not None else (*_GIT, *request.refspecs)
        return [*argv, "--remount-ro", "/", "--", *work]


def _change_owner(tree: int, old: int, new: int) -> None:
    """Change the owner of a tree, by descriptors and without following links. Raises `Failed` for
    anything but a plain file or folder of `old` with a single name."""
    count = 0
    for _folder, names, files, at in os.fwalk(".", follow_symlinks=False, dir_fd=tree):
        if os.fstat(at).st_uid not in (old, new):
            raise Failed("an import holds a folder that is not its own")
        count += len(names) + len(files)
        if count > _MAX_ENTRIES:
            raise LimitReached(f"an imported repository has more than {_MAX_ENTRIES} files")
        for name in (*names, *files):
            _change_entry_owner(name, at, old, new)
        os.fchown(at, new, new)


def _change_entry_owner(name: str, at: int, old: int, new: int) -> None:
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        found = os.fstat(fd)
        plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
        if not (plain or stat.S_ISDIR(found.st_mode)) or found.st_uid not in (old, new):
            raise Failed(f"an import holds {name!r}, which is no plain file of its own")
        os.chown(f"/proc/self/fd/{fd}", new, new)
    finally:
        os.close(fd)
