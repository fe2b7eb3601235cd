from types import SimpleNamespace
from typing import Any, cast

import pytest

from atoll.domain.errors import Invalid, NotFound
from atoll.domain.inbox.conflict import ABORT, item_of_conflict
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.work.state import TreeConflict
from atoll.services.inbox.conflicts import Conflicts
from atoll.testing.samples import sandbox
from atoll.wire.contract.trees import TreeReport
from atoll.wire.words.library import ConflictKind


class Settled:
    """A control plane in which no sandbox is in conflict any more."""

    async def list(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(sandboxes=[])

    async def of(self, _: object) -> Any:
        return {}


async def test_answer_to_a_conflict_that_was_settled_meanwhile_is_refused() -> None:
    world = cast(Any, Settled())
    conflicts = Conflicts(world, world, syncs=world, terminals=world)
    tree = TreeReport("/workspace", "fix", "c" * 40, 1, 1, 0, 0, "m", ConflictKind.REBASE)
    item = item_of_conflict(sandbox("one"), TreeConflict(0, tree), since="", agent=None)
    with pytest.raises(NotFound, match="does not wait any more"):
        await conflicts.answer(LOCAL_PERSON, item, ABORT)
    with pytest.raises(Invalid):
        await conflicts.answer(LOCAL_PERSON, item, "theirs")
