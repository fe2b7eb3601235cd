"""Work that is only in a sandbox is in the log when its end is announced."""

import asyncio
import json
from typing import Any, cast

from atoll.domain.event import Event
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.inbox.end_reports import EndReports
from atoll.services.journals.push_notes import PushNotes
from atoll.services.library.pushes import HeldPushes
from atoll.services.library.settings import KeptSettings
from atoll.services.library.unpulled import UnpulledPlace
from tests.services.inbox.test_inbox import Held, held
from tests.services.scene import Scene, scene

PLACE = UnpulledPlace(
    "/workspace", 0, branch="fix", commits=2, tip="a" * 40, subject="mend \x1b[2J",
    changed=("evil \x1b[2J",), untracked=("b", "c"), more=4,
)  # fmt: skip


class Unpulled:
    """Use cases on unpulled work that always find these places."""

    def __init__(self, *places: UnpulledPlace) -> None:
        self._places = places

    async def of(self, *_: object) -> tuple[UnpulledPlace, ...]:
        return self._places


def reports_of(s: Scene, unpulled: Unpulled, shelf: Held) -> EndReports:
    ground = Ground(s.store, s.bus, s.clock, Identifiers())
    pushes = HeldPushes(
        ground, s.sandboxes, cast(Any, None), access=s.access, shelf=cast(Any, shelf),
        notes=PushNotes(), settings=KeptSettings(30),
    )  # fmt: skip
    found = cast(Any, unpulled)
    return EndReports(ground, s.events, s.sandboxes, access=s.access, unpulled=found, pushes=pushes)


async def last(s: Scene, made: Sandbox) -> Event:
    stream = f"sandbox:{made.id}"
    (event,) = await s.events.list(LOCAL_PERSON, stream=stream, latest=True, limit=1)
    return event


async def test_announced_end_is_followed_by_what_is_only_there() -> None:
    async with scene() as s, asyncio.TaskGroup() as tasks:
        made = await s.ready(name="box")
        shelf = Held((held(s, made, "kept_1"),))
        reports = reports_of(s, Unpulled(PLACE), shelf)
        running = tasks.create_task(reports.run())
        async with asyncio.timeout(30):
            # What is announced before that is reported by nobody.
            await reports.started()
            with s.bus.listen(f"sandbox:{made.id}") as listener:
                s.clock.turn(1800)
                while (await last(s, made)).event_type != "sandbox.unpulled":
                    await listener.wait()
        running.cancel()
        (notice,) = [call for call in s.runtime.calls if call.path == "/notice"]
        assert isinstance(notice.body, bytes)
        end = f"{made.expires_at:%Y-%m-%d %H:%M}"
        assert json.loads(notice.body) == {
            "text": f"box ends at {end} UTC: extend it, or pull its work"
        }
        event = await last(s, made)
        assert (event.actor_id, event.payload["expires_at"]) == (
            "atoll", made.expires_at.isoformat(),
        )  # fmt: skip
        assert event.payload["places"] == [
            {
                "path": "/workspace", "repo": 0, "branch": "fix", "commits": 2, "tip": "a" * 40,
                "stashes": 0, "files": 7,
            }
        ]  # fmt: skip
        assert event.payload["pushed"] == ["fix"]
        assert "\\u001b" not in str(event.payload) and "\x1b" not in str(event.payload)


async def test_end_of_a_sandbox_with_nothing_of_its_own_is_not_reported() -> None:
    async with scene() as s:
        made = await s.ready(name="box")
        await reports_of(s, Unpulled(), Held(())).report(made.id)
        assert (await last(s, made)).event_type != "sandbox.unpulled"
