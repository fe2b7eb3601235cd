"""The reasons of ends on other machines: what befell the machine, and what a backend knows."""

import asyncio
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from atoll.adapters.extensions.microvm.backend import NAME, MicrovmBackend
from atoll.adapters.extensions.microvm.entry import microvm_backend
from atoll.adapters.linked.end_reasons import INIT_GONE
from atoll.adapters.linked.extension import WALL, LinkedExtension, LinkedSettings
from atoll.domain.errors import Invalid, Unavailable
from atoll.domain.files.host_mount import HostMount
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import ExtensionSetup, Provision
from atoll.ports.far import FarBox
from atoll.wire.zygote import messages as wire

BOX = FarBox(SandboxId("sb_aaaaaaaaaaaaaaaa"), 1)


class _Zygote:
    """A zygote that takes its time to end a runtime."""

    def __init__(self) -> None:
        self.asked, self.goes_on = asyncio.Event(), asyncio.Event()

    async def request(self, _request: object, **_more: object) -> None:
        self.asked.set()
        await self.goes_on.wait()

    async def next_end(self) -> None:
        await asyncio.Event().wait()


async def test_reason_is_known_while_the_runtime_is_being_ended(tmp_path: Path) -> None:
    setup = ExtensionSetup(tmp_path, "atoll-test")
    extension = LinkedExtension(LinkedSettings(tmp_path), microvm_backend(setup))
    zygote = _Zygote()
    extension._link = cast("Any", zygote)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(extension._end_lost(BOX, "its machine ended"))
        await zygote.asked.wait()
        # A survey that finds no runtime any more asks for the reason now.
        assert await extension.why_ended(BOX.sandbox_id) == "its machine ended"
        zygote.goes_on.set()
    ends = extension.ended()
    assert (await anext(ends)).reason == "its machine ended"
    await ends.aclose()  # type: ignore[attr-defined]


@dataclass
class _Knowing(MicrovmBackend):
    """A backend that knows what befell a far end, once it can be asked."""

    cause_known: str = "its container was removed"
    failures: float = 0
    silent: str = ""

    async def cause(self, box: FarBox) -> str | None:
        if box.sandbox_id == self.silent:
            await asyncio.Event().wait()
        if self.failures:
            self.failures -= 1
            raise Unavailable("its host is away")
        return self.cause_known


@pytest.mark.parametrize(
    ("failures", "cause"),
    [
        (0, "its container was removed"),
        (2, "its container was removed"),
        (math.inf, "its host is away"),
    ],
)
async def test_end_of_everything_inside_is_told_with_what_its_backend_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: float, cause: str
) -> None:
    """A daemon that ended everything may be on its way back when it is asked."""
    monkeypatch.setattr("atoll.adapters.linked.end_reasons.CAUSE_PAUSE_SECONDS", 0.001)
    if failures == math.inf:
        monkeypatch.setattr("atoll.adapters.linked.end_reasons.CAUSE_SECONDS", 0.05)
    plain = microvm_backend(ExtensionSetup(tmp_path, "atoll-test"))
    backend = _Knowing(plain.home, plain.programs, plain.disks, failures=failures)
    extension = LinkedExtension(LinkedSettings(tmp_path), backend)
    box = wire.Box(BOX.sandbox_id, 1, live=False, socket="", host_uid=0, reason=INIT_GONE)
    extension._link = cast("Any", _Records(box))
    assert await extension.why_ended(BOX.sandbox_id) == f"{INIT_GONE} ({cause})"


async def test_cause_of_one_end_keeps_no_other_waiting(tmp_path: Path) -> None:
    plain = microvm_backend(ExtensionSetup(tmp_path, "atoll-test"))
    backend = _Knowing(plain.home, plain.programs, plain.disks, silent=BOX.sandbox_id)
    extension = LinkedExtension(LinkedSettings(tmp_path), backend)
    other = SandboxId("sb_bbbbbbbbbbbbbbbb")
    extension._link = cast("Any", _Deaths(BOX.sandbox_id, other))
    ends = extension.ended()
    async with asyncio.timeout(5):
        assert (await anext(ends)).sandbox_id == other
    await ends.aclose()  # type: ignore[attr-defined]


class _Records:
    """The records of a zygote."""

    def __init__(self, *boxes: wire.Box) -> None:
        self._boxes = boxes

    async def boxes(self, _wall: str) -> AsyncIterator[wire.Box]:
        for box in self._boxes:
            yield box


class _Deaths(_Records):
    """A zygote that reports ends of everything inside."""

    def __init__(self, *sandboxes: str) -> None:
        boxes = [
            wire.Box(sandbox, 1, live=False, socket="", host_uid=0, backend=NAME)
            for sandbox in sandboxes
        ]
        super().__init__(*boxes)
        self._reports = [wire.Ended(sandbox, 1, INIT_GONE, wall=WALL) for sandbox in sandboxes]

    async def next_end(self) -> wire.Ended:
        if not self._reports:
            await asyncio.Event().wait()
        return self._reports.pop(0)

    async def lives(self, _sandbox: str, _wall: str) -> bool:
        return False


async def test_end_of_a_machine_is_no_end_of_the_next_start(tmp_path: Path) -> None:
    """A survey may have reported the first end while the runtime was being ended."""
    extension = LinkedExtension(
        LinkedSettings(tmp_path), microvm_backend(ExtensionSetup(tmp_path, "atoll-test"))
    )
    zygote = _Zygote()
    zygote.goes_on.set()
    extension._link = cast("Any", zygote)
    other = replace(BOX, sandbox_id=SandboxId("sb_bbbbbbbbbbbbbbbb"))
    await extension._end_lost(BOX, "its machine ended")
    await extension._end_lost(other, "its machine ended, too")
    mount = HostMount("/srv", "/srv", writable=False, grant="", private=False)
    wanted = Provision(BOX.sandbox_id, 1, "x", Profile("p", "1"), host_mounts=(mount,))
    with pytest.raises(Invalid):  # the next start has begun, and is refused
        await extension.provision(wanted)
    ends = extension.ended()
    assert (await anext(ends)).sandbox_id == other.sandbox_id
    await ends.aclose()  # type: ignore[attr-defined]
