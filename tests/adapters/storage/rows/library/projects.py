"""Checks of the rows of decisions on project files."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.repository.project import MAX_DECISIONS, DecidedProject, ProjectFile
from atoll.ports import Store
from atoll.testing.samples import NOW, OTHER, OWNER
from atoll.wire.words.library import ProjectDecision


def decided(number: int, *, owner: PrincipalId = OWNER) -> DecidedProject:
    """Return an approved project file."""
    return DecidedProject(
        org_id=PERSONAL_ORG,
        owner=owner,
        repository="github.com/o/r",
        digest=f"{number:064d}",
        decision=ProjectDecision.APPROVED,
        content=ProjectFile(".atoll.yaml", setup=("a",), env=(("A", "1"),), ports=(1,)),
        decided_at=NOW + timedelta(seconds=number),
        decided_by="person",
    )


async def check_decisions_are_kept_by_person_repository_and_digest(store: Store) -> None:
    one, two, other = decided(1), decided(2), decided(3, owner=OTHER)
    elsewhere = replace(decided(4), repository="github.com/o/other")
    async with store.begin() as rows:
        for each in (one, two, other, elsewhere):
            await rows.projects.put(each)
        assert await rows.projects.of(PERSONAL_ORG, OWNER, one.repository) == [two, one]
        first = await rows.projects.page(PERSONAL_ORG, OWNER, PageQuery(2))
        assert first.rows == [elsewhere, two]
        last = await rows.projects.page(PERSONAL_ORG, OWNER, PageQuery(2, first.following))
        assert last == RowPage([one])
        assert await rows.projects.of(OrgId("else"), OWNER, one.repository) == []
        declined = replace(one, decision=ProjectDecision.DECLINED)
        await rows.projects.put(declined)
        assert await rows.projects.of(PERSONAL_ORG, OWNER, one.repository) == [two, declined]
        assert await rows.projects.forget(PERSONAL_ORG, OWNER, one.repository) == 2
        assert await rows.projects.forget(PERSONAL_ORG, OWNER, one.repository) == 0
        others = await rows.projects.page(PERSONAL_ORG, OTHER, PageQuery(2))
        assert others == RowPage([other])


async def check_oldest_decisions_of_a_repository_are_dropped(store: Store) -> None:
    async with store.begin() as rows:
        for number in range(MAX_DECISIONS + 2):
            await rows.projects.put(decided(number))
        kept = await rows.projects.of(PERSONAL_ORG, OWNER, "github.com/o/r")
        assert len(kept) == MAX_DECISIONS
        assert kept[-1] == decided(2)
