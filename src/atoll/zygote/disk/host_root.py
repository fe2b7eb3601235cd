"""The /etc of a sandbox whose image is `host`: a few files of Atoll's, a few copies of the host's.

`bwrap_argv` binds everything else of the root (`/usr` read-only and its symlinks). One tree serves
all sandboxes; it is made anew when a copied file changed.
"""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from atoll.domain.wall.interior import GIT_EMAIL, GIT_NAME
from atoll.zygote.host.home import traversal_mode

COPIED = (
    "ssl/certs",
    "ssl/openssl.cnf",
    "pki/tls",
    "pki/ca-trust/extracted",
    "ca-certificates.conf",
    "crypto-policies",
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "timezone",
    "os-release",
    "debian_version",
    "services",
    "protocols",
    "mime.types",
    "inputrc",
    "terminfo",
    "fonts",
    "magic",
    "shells",
    "login.defs",
    "bash_completion",
    "vim",
    "nanorc",
    "java-17-openjdk",
    "perl",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
)
"""Below the host's /etc: nothing here names a person, a password or a host of the network."""

_PROFILE = """\
# Login shells keep the PATH the sandbox was given.
export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"
[ -n "$BASH_VERSION" ] && [ -n "$PS1" ] && [ -r /etc/bash.bashrc ] && . /etc/bash.bashrc
"""

_BASHRC = """\
[ -z "$PS1" ] && return
shopt -s checkwinsize
PS1='\\[\\e[32m\\]\\u@\\h\\[\\e[0m\\]:\\[\\e[34m\\]\\w\\[\\e[0m\\]\\$ '
alias ls='ls --color=auto'
alias grep='grep --color=auto'
[ -r /usr/share/bash-completion/bash_completion ] && . /usr/share/bash-completion/bash_completion
"""

_CHROMIUM = """\
# Chromium's own sandbox needs user namespaces, which no sandbox of Atoll's has.
export CHROMIUM_FLAGS="$CHROMIUM_FLAGS --no-sandbox"
"""

OWN = {
    "passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    "agent:x:1000:1000:agent:/home/agent:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\ntty:x:5:\nagent:x:1000:\nnogroup:x:65534:\n",
    "resolv.conf": "",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
    "services: files\nprotocols: files\n",
    # Shared repositories belong to another uid; git drops the environment form of this
    # setting for upload-pack, so it has to be in the system's file.
    "gitconfig": "[safe]\n\tdirectory = *\n"
    f"[user]\n\tname = {GIT_NAME}\n\temail = {GIT_EMAIL}\n"
    "[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n",
    "profile": _PROFILE,
    "bash.bashrc": _BASHRC,
    "hosts": "",
    "hostname": "sandbox\n",
    "environment": "",
    # Debian's launcher ends where this folder is empty. The host's may name its proxies and keys.
    "chromium.d/atoll": _CHROMIUM,
}

ROOT_LINKS = ("bin", "sbin", "lib", "lib64", "lib32", "libx32")
"""Names in / that are links into /usr on a merged host, directories of their own elsewhere."""


def hosts_text(hostname: str) -> str:
    """Return /etc/hosts of one sandbox: localhost and its own name, in both address families."""
    return f"127.0.0.1 localhost {hostname}\n::1 localhost ip6-localhost ip6-loopback {hostname}\n"


def etc_tree(roots: Path, host_etc: Path = Path("/etc")) -> Path:
    """Return the current tree below `roots`, world-readable. Makes it when it is missing."""
    tree = roots / _digest(host_etc)
    if not tree.exists():
        roots.mkdir(mode=traversal_mode(), parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(dir=roots, prefix="new-"))
        _fill(making, host_etc)
        making.chmod(0o755)
        _claim(making, tree)
    return tree


def _claim(making: Path, tree: Path) -> None:
    try:
        making.replace(tree)
    except OSError:
        if not tree.is_dir():
            raise
        shutil.rmtree(making)  # another start was faster


def _digest(host_etc: Path) -> str:
    seen = hashlib.blake2b(repr(OWN).encode(), digest_size=8)
    for name in COPIED:
        try:
            found = (host_etc / name).stat()
        except OSError:
            continue
        seen.update(f"{name} {found.st_mtime_ns} {found.st_size}".encode())
    return seen.hexdigest()


def _fill(tree: Path, host_etc: Path) -> None:
    for name in COPIED:
        _copy(host_etc / name, tree / name)
    for name, text in OWN.items():
        (tree / name).parent.mkdir(mode=0o755, exist_ok=True)
        (tree / name).write_text(text)
        (tree / name).chmod(0o644)
    (tree / "mtab").symlink_to("/proc/self/mounts")
    for folder, _names, _files in os.walk(tree):
        Path(folder).chmod(0o755)


def _copy(source: Path, target: Path) -> None:
    """Copy one file or tree. Links stay links, since their targets are below /usr or /etc."""
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if source.is_symlink() and not source.is_dir():
        if source.is_file():
            shutil.copyfile(source, target)
            target.chmod(0o644)
    elif source.is_dir():
        shutil.copytree(
            source, target, symlinks=True, ignore=_not_for_everyone, ignore_dangling_symlinks=True
        )
    elif source.is_file() and source.stat().st_mode & 0o004:
        shutil.copyfile(source, target)
        target.chmod(0o644)


def _not_for_everyone(folder: str, names: list[str]) -> set[str]:
    """Return the names that other users of the host cannot read: sandboxes do not get them
    either."""
    kept_away = set()
    for name in names:
        mode = (Path(folder) / name).lstat().st_mode
        if not mode & 0o004:
            kept_away.add(name)
    return kept_away
