"""A machine that is not ours: its facts, the programs on it, and the folders that were sent there.

Facts are asked for once; programs and folders travel once for each content.
"""

import asyncio
import hashlib
import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from atoll.adapters.linked import scripts
from atoll.adapters.linked.mirror import plan_mirror, read_listing, sizes_of
from atoll.adapters.linked.packing import CHUNK_BYTES, SEND_SECONDS, send_packed
from atoll.adapters.linked.shell import ScriptResult, ScriptRunner, Shell
from atoll.domain.errors import Failed
from atoll.domain.interior.remote import RemoteMachine
from atoll.domain.wall.interior import MASKED

COMMAND_SECONDS = 60.0


def programs_of(home: Path) -> Path:
    """Return the archive of programs for other machines."""
    return home / "run" / "bin" / "far.tar"


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a machine: its kind as uname(1) gives it, and our directory there."""

    kind: str
    base: str
    machine: RemoteMachine


@dataclass(slots=True)
class Machine:
    """A machine and its known facts. `programs` is the archive of programs for other machines
    that the zygote wrote, `kind` the machine that these run on."""

    client: Shell
    tag: str
    programs: Path
    kind: str
    _facts: Facts | None = None
    _sent: str = ""
    _ready: str = ""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def facts(self) -> Facts:
        """Return the facts. Raises `Failed` for a machine that cannot hold sandboxes."""
        if self._facts is None:
            ran = await self.client.run(scripts.FACTS, self.tag, *MASKED, seconds=COMMAND_SECONDS)
            if ran.code:
                raise Failed(f"{self.client.label} cannot be prepared: {ran.complaint}")
            facts = read_facts(ran.output.decode(errors="replace"))
            if facts.kind != f"Linux {self.kind}":
                raise Failed(
                    f"{self.client.label} is {facts.kind}: this Atoll has programs for Linux "
                    f"{self.kind} only"
                )
            self._facts = facts
        return self._facts

    async def place_programs(self) -> str:
        """Return the directory of init, link and bwrap there, sent when they are not there yet.
        Raises `Failed` where an ordinary user may not build a wall."""
        place = await self.send_programs()
        async with self._turn:
            if self._ready:
                return self._ready
            ran = await self._run(scripts.PROBE, place)
            if ran.code:
                raise Failed(
                    f"{self.client.label} lets an ordinary user build no wall: "
                    f"{ran.complaint}. Allow unprivileged user namespaces there"
                )
            self._ready = place
            return place

    async def send_programs(self) -> str:
        """Return the directory of our programs there, sent when they are not there yet. Builds no
        wall."""
        async with self._turn:
            if not self._sent:
                facts = await self.facts()
                archive = await asyncio.to_thread(self.programs.read_bytes)
                digest = hashlib.sha256(archive).hexdigest()[:24]
                place = f"{facts.base}/bin/{digest}"
                if (await self._run(scripts.HAS, place)).code:
                    await self._send(place, archive)
                self._sent = place
            return self._sent

    async def place_folder(self, source: Path, version: str) -> str:
        """Return the place of a read-only folder of ours there, sent when this version of it is not
        there yet."""
        facts = await self.facts()
        digest = hashlib.sha256(f"{source}\0{version}".encode()).hexdigest()[:24]
        place = f"{facts.base}/sent/{digest}"
        async with self._turn:
            if (await self._run(scripts.HAS, place)).code:
                await self._send_tree(place, source)
        return place

    async def place_live(self, source: Path) -> str:
        """Return the place of a shared repository there, with everything it holds by now. Sandboxes
        that have it mounted see what is new."""
        facts = await self.facts()
        digest = hashlib.sha256(str(source).encode()).hexdigest()[:24]
        place = f"{facts.base}/sent/live-{digest}"
        async with self._turn:
            await mirror_to(self.client, place, source)
        return place

    async def _run(self, script: str, *words: str) -> ScriptResult:
        return await self.client.run(script, *words, seconds=COMMAND_SECONDS)

    async def _send(self, place: str, archive: bytes) -> None:
        async with asyncio.timeout(SEND_SECONDS), self.client.pipe(scripts.UNPACK, place) as into:
            for start in range(0, len(archive), CHUNK_BYTES):
                into.write(archive[start : start + CHUNK_BYTES])
                await into.drain()

    async def _send_tree(self, place: str, source: Path) -> None:
        async with self.client.pipe(scripts.UNPACK, place) as into:
            await send_packed(source, (".",), into)


async def mirror_to(shell: ScriptRunner, place: str, source: Path) -> None:
    """Make a folder there equal to a shared repository of ours, but for objects that only it has.
    Raises `Failed`, `Unavailable`."""
    ran = await shell.run(scripts.LISTING, place, seconds=COMMAND_SECONDS)
    if ran.code:
        raise Failed(f"{shell.label} has no place for it: {ran.complaint}")
    here = await asyncio.to_thread(sizes_of, source)
    plan = plan_mirror(here, read_listing(ran.output))
    async with shell.pipe(scripts.UPDATE, place, *plan.remove) as into:
        await send_packed(source, plan.send, into)


async def refresh_machines(machines: Sequence[Machine], source: str) -> None:
    """Bring a shared repository's new objects to these machines, at once. Raises the error of the
    first one that did not take them, after the others did."""
    results = await asyncio.gather(
        *(machine.place_live(Path(source)) for machine in machines), return_exceptions=True
    )
    for result in results:
        if isinstance(result, BaseException):
            raise result


def read_facts(text: str) -> Facts:
    """Return the facts that `scripts.FACTS` printed. Raises `Failed` when it printed none."""
    words: dict[str, list[str]] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        words.setdefault(word, []).append(rest)
    kind, base = (words.get(word, [""])[-1] for word in ("machine", "base"))
    if not base.startswith("/") or not kind:
        raise Failed("the machine's shell prints something of its own: it cannot be used")
    links = (each.partition(" ")[::2] for each in words.get("link", ()))
    machine = RemoteMachine(
        tuple((name, target.lstrip("/")) for name, target in links),
        tuple(words.get("folder", ())),
        tuple(words.get("masked-folder", ())),
        tuple(words.get("masked-file", ())),
    )
    return Facts(kind, base, machine)


def _pack(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def pack_texts(texts: dict[str, str]) -> bytes:
    """Return an archive of text files that anybody may read."""
    return _pack({name: text.encode() for name, text in texts.items()})
