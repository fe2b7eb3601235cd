"""The reason of a sandbox whose machine is gone, from the moment that this is known."""

import asyncio
from pathlib import Path
from typing import Any, cast

from atoll.adapters.extensions.microvm.entry import microvm_backend
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.domain.ids import SandboxId
from atoll.ports.extension import ExtensionSetup
from atoll.ports.far import FarBox

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
        tasks.create_task(extension._machine_lost(BOX, "its machine ended"))
        await zygote.asked.wait()
        # A survey that finds no runtime any more asks for the reason now.
        assert await extension.why_ended(BOX.sandbox_id) == "its machine ended"
        zygote.goes_on.set()
    ends = extension.ended()
    assert (await anext(ends)).reason == "its machine ended"
    await ends.aclose()  # type: ignore[attr-defined]
