"""The files by which OpenSSH's client finds sandboxes: below `$ATOLL_HOME/ssh`, and one line of the
person's own configuration.

The key is one that this machine alone has. Each login gets a certificate for it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from atoll.client.made.ssh.access import Ssh, SshGateway
from atoll.domain.errors import Failed, Invalid

SUFFIX: Final = ".atoll"
"""The end of the names that OpenSSH is given: `ssh box.atoll`."""

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_CIPHERS: Final = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
"""Put first: the client's own favourite takes half as long again."""

_USUAL_KEYS: Final = ("id_ed25519", "id_ecdsa", "id_rsa")


@dataclass(frozen=True, slots=True)
class ClientFiles:
    """The files of one home of Atoll."""

    home: Path

    @property
    def folder(self) -> Path:
        """Return the folder of all files."""
        return self.home / "ssh"

    @property
    def config(self) -> Path:
        """Return the configuration, which the person's own includes."""
        return self.folder / "config"

    @property
    def hosts(self) -> Path:
        """Return what the configuration says of the hosts, without what comes before a login."""
        return self.folder / "hosts"

    @property
    def key(self) -> Path:
        """Return the private key of this machine."""
        return self.folder / "id_ed25519"

    def certificate(self, name: str) -> Path:
        """Return the file of a sandbox's certificate. Raises `Invalid` for a name that is none."""
        return self.folder / "certificates" / f"{sandbox_name(name)}{SUFFIX}-cert.pub"

    def public_key(self) -> str:
        """Return the public key of this machine, which is made at the first use."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.key.exists():
            words = ("-q", "-t", "ed25519", "-N", "", "-C", "atoll", "-f", str(self.key))
            _run(["ssh-keygen", *words])
        return self.key.with_suffix(".pub").read_text(encoding="utf-8")

    def write(self, gateway: Ssh) -> None:
        """Write all files anew but the key and certificates."""
        self.public_key()
        self.certificate("box").parent.mkdir(mode=0o700, exist_ok=True)
        line = f"@cert-authority {gateway.alias} {gateway.host_authority}\n"
        replace_file(self.folder / "known_hosts", line.encode())
        replace_file(self.hosts, self.hosts_text(gateway.alias).encode())
        replace_file(self.config, self.text(gateway.alias).encode())

    def text(self, alias: str) -> str:
        """Return the configuration. A name with a quotation mark is none of ours: OpenSSH gives
        names to a shell."""
        match = f"""Match host "*{SUFFIX},!*'*" exec "{self._atoll()} --renew '%n'\""""
        head = "# Written by `atoll ssh config`, which overwrites changes."
        return f"{head}\n{match}\n{self.hosts_text(alias)}"

    def _atoll(self) -> str:
        """Return the command of this home, for a shell within double quotes. Raises `Invalid`."""
        text = f"env ATOLL_HOME={shlex.quote(str(self.home))} {_atoll()} ssh"
        if '"' in text or "%" in text:
            raise Invalid("OpenSSH cannot name this ATOLL_HOME: choose another one")
        return text

    def hosts_text(self, alias: str) -> str:
        """Return what the configuration says of the hosts."""
        atoll = self._atoll()
        keys = [Path.home() / ".ssh" / name for name in _USUAL_KEYS]
        usual = "".join(f"    IdentityFile {_quote(key)}\n" for key in keys if key.exists())
        return f"""\
Host *{SUFFIX} "!*'*"
    ProxyCommand {atoll} --proxy '%n'
    HostKeyAlias {alias}
    UserKnownHostsFile {_quote(self.folder / "known_hosts")}
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    UpdateHostKeys no
    IdentitiesOnly yes
    IdentityFile {_quote(self.key)}
    CertificateFile {_quote(self.folder / "certificates" / "%n-cert.pub")}
{usual}    Ciphers {_CIPHERS}
    ForwardAgent no
    ForwardX11 no
"""


def refresh(files: ClientFiles, gateway: SshGateway, name: str) -> None:
    """Get a certificate for a sandbox, for the key of this machine."""
    path = files.certificate(name)
    made = gateway.certify(sandbox_name(name), {"public_key": files.public_key()})
    path.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(path, made.certificate.encode() + b"\n")


def sandbox_name(name: str) -> str:
    """Return the name of a sandbox without its suffix. Raises `Invalid` for what is no name."""
    if not _NAME.fullmatch(name):
        raise Invalid(f"{name[:80]!r} is no name of a sandbox")
    return name.removesuffix(SUFFIX)


def include(config: Path, own: Path) -> bool:
    """Have the person's own configuration include ours, before everything else. Returns whether it
    changed; one that includes it already stays as it is."""
    line = f"Include {_quote(own)}".encode()
    config = config.resolve()  # a link to it stays one
    text = config.read_bytes() if config.exists() else b""
    for each in text.splitlines():
        if each.strip() == line:
            return False
        if each.strip().lower().startswith((b"host ", b"match ")):
            break
    config.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(config, line + b"\n" + (b"\n" + text if text else b""))
    return True


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file whole, with the mode that it has, or for its owner alone."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
        Path(draft).replace(path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError as error:
        raise Failed("OpenSSH is not installed here: there is no `ssh-keygen`") from error
    except subprocess.CalledProcessError as error:
        raise Failed(f"ssh-keygen failed: {error.stderr.decode(errors='replace')[:200]}") from error


def _atoll() -> str:
    """Return this very command, for a shell."""
    named = shutil.which(sys.argv[0])
    if named and Path(named).name == "atoll":
        return shlex.quote(str(Path(named).absolute()))
    return f"{shlex.quote(sys.executable)} -m atoll.wiring.command"


def _quote(path: Path) -> str:
    """Return a path for a file of OpenSSH. Raises `Invalid` for one that it cannot hold."""
    if set(str(path).replace("%n", "")) & set('"\n%'):
        raise Invalid(f"OpenSSH cannot name {path}: choose another ATOLL_HOME")
    return f'"{path}"'
