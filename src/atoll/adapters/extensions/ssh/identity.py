"""The key pair by which this installation logs in on machines: made once, kept in its home.

OpenSSH's own programs make and read it; nothing here knows the format.
"""

import asyncio
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.extensions.ssh.client import openssh_argv
from atoll.domain.errors import Failed

KEYGEN_SECONDS = 30.0
OPTIONS = "restrict"
"""An option of authorized_keys, sshd(8): commands only, without a terminal or forwarding."""


@dataclass(frozen=True, slots=True)
class SshIdentity:
    """The key pair in `folder`, which is the control plane's alone. `label` is its comment."""

    folder: Path
    label: str

    @property
    def file(self) -> Path:
        """The private key, mode 0600."""
        return self.folder / "identity"

    async def authorized_line(self) -> str:
        """Return the line for `~/.ssh/authorized_keys` on a machine. Makes the pair when there is
        none. Raises `Failed`."""
        await self.ensure()
        public = await _keygen("-y", "-f", str(self.file))
        return f"{OPTIONS} {public.strip()}"

    async def ensure(self) -> Path:
        """Return the private key's file, made when there is none. Raises `Failed`."""
        if not await asyncio.to_thread(self.file.exists):
            await self._make()
        return self.file

    async def _make(self) -> None:
        new = await asyncio.to_thread(self._new_folder)
        try:
            private = new / "identity"
            words = ("-q", "-t", "ed25519", "-N", "", "-C", self.label, "-f", str(private))
            await _keygen(*words)
            # Linked, not renamed: of two that make it at once, the first one's stays.
            with suppress(FileExistsError):
                await asyncio.to_thread(os.link, private, self.file)
        finally:
            await asyncio.to_thread(shutil.rmtree, new, ignore_errors=True)

    def _new_folder(self) -> Path:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix="new-", dir=self.folder))
        except OSError as error:
            raise Failed(f"{self.folder} cannot be written: {error.strerror}") from error


async def _keygen(*words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *openssh_argv("ssh-keygen"),
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(KEYGEN_SECONDS):
            output, complaint = await process.communicate()
    except TimeoutError as error:
        raise Failed("ssh-keygen did not end") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        reason = complaint.decode(errors="replace").strip()[:500]
        raise Failed(f"this installation's SSH key cannot be made or read: {reason}")
    return output.decode()
