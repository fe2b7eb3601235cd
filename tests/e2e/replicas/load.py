"""Clients that change things through any replica, and note what was acknowledged to them."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import aiohttp

from tests.e2e.replicas.readers import CUT, Doors

MOST = 2
"""Sandboxes of one client at a time."""

PROFILE = """\
id: profile.{name}
version: "{version}.0.0"
extension: ext.namespaces
"""


@dataclass
class Made:
    """A sandbox that was acknowledged. `ending`: its destruction was asked for, `ended`: and
    acknowledged."""

    name: str
    ending: bool = False
    ended: bool = False
    words: list[str] = field(default_factory=list)
    begun: list[tuple[str, str]] = field(default_factory=list)
    """Kinds and ids that must be in the log."""


@dataclass
class Client:
    """One client. `made` has its sandboxes by id, `saved` the newest acknowledged version of its
    profile and `asked` the newest one that was sent."""

    name: str
    session: aiohttp.ClientSession
    doors: Doors
    dice: random.Random
    made: dict[str, Made] = field(default_factory=dict)
    saved: int = 0
    asked: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    async def run(self, seconds: float) -> None:
        """Do one thing after another for so long."""
        acts: list[Callable[[], Awaitable[None]]] = [
            *(self.create, self.create, self.execute, self.execute, self.execute),
            *(self.attach, self.destroy, self.save),
        ]
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            try:
                await self.dice.choice(acts)()
            except CUT as error:
                self.answers[f"cut: {type(error).__name__}"] += 1
            await asyncio.sleep(0.05)  # so that the machine has time for what was asked

    def living(self) -> list[str]:
        """Its sandboxes that it did not ask to be destroyed."""
        return [one for one, made in self.made.items() if not made.ending]

    async def create(self) -> None:
        if len(self.living()) >= MOST:
            return
        name = f"{self.name}-{self.answers.total()}"
        body = {"profile": "shell", "name": name}
        told = await self._call("POST", "/v1/sandboxes", body)
        if told is not None:
            self.made[str(told["sandbox_id"])] = Made(name)

    async def execute(self) -> None:
        """Append a word to a file of the sandbox, once it is ready."""
        if not (sandbox := self._one()):
            return
        word = f"w{self.answers.total()}"
        body = {"shell": f"echo {word} >> words; sync words", "timeout": 20}
        told = await self._call("POST", f"/v1/sandboxes/{sandbox}/exec", body)
        if told is not None and told["exit_code"] == 0:
            self.made[sandbox].words.append(word)
            self.made[sandbox].begun.append(("exec.exited", str(told["exec_id"])))

    async def attach(self) -> None:
        """Open a terminal and type into it; what is printed comes back."""
        if not (sandbox := self._one()):
            return
        base = f"/v1/sandboxes/{sandbox}/terminals"
        told = await self._call("POST", base, {"argv": ["cat"]})
        if told is None:
            return
        self.made[sandbox].begun.append(("terminal.opened", str(told["terminal_id"])))
        url = f"{self.doors.any()}{base}/{told['terminal_id']}/attach"
        async with asyncio.timeout(30), self.session.ws_connect(url) as socket:
            await socket.send_bytes(b"typed\r")
            async for message in socket:
                if message.type is aiohttp.WSMsgType.BINARY and b"typed" in message.data:
                    self.answers["attached"] += 1
                    return

    async def destroy(self) -> None:
        if not (sandbox := self._one()):
            return
        made = self.made[sandbox]
        made.ending = True
        wait = self.dice.choice(("", "?wait=true&timeout=30"))
        told = await self._call("POST", f"/v1/sandboxes/{sandbox}/destroy{wait}")
        made.ended = told is not None

    async def save(self) -> None:
        """Save the next version of a profile."""
        self.asked += 1
        text = PROFILE.format(name=self.name, version=self.asked)
        if await self._call("PUT", f"/v1/profiles/{self.name}", text) is not None:
            self.saved = self.asked

    def _one(self) -> str:
        return self.dice.choice(self.living() or [""])

    async def _call(
        self, method: str, path: str, body: object | None = None
    ) -> dict[str, object] | None:
        """Return an acknowledgement, None when there is none."""
        form = {"data": body} if isinstance(body, str) else {"json": body}
        url = f"{self.doors.any()}{path}"
        wait = aiohttp.ClientTimeout(total=60)
        async with self.session.request(method, url, timeout=wait, **form) as answer:
            told = await answer.json(content_type=None)
        code = told.get("code", "") if answer.status >= 400 else ""
        self.answers[f"{method} {path.rpartition('/')[2][:9]} {answer.status} {code}"] += 1
        if answer.status < 300:
            return dict(told)
        if answer.status not in (409, 503):
            self.faults.append(f"{method} {path}: {answer.status} {told}")
        return None
