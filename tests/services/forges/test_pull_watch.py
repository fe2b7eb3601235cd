"""The watch over pull requests: what is merged or closed at the forge is an event."""

from datetime import timedelta
from typing import Any

from atoll.domain.errors import Unavailable
from atoll.domain.ids import PERSONAL_ORG, SecretId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.repository.forge import ForgeRepository, NewPull, PullRequest
from atoll.domain.sandboxes.sandbox import RepoRequest, Sandbox
from atoll.domain.secrets.secret import Secret, Use, bound_to
from atoll.services.forges.forge_tokens import ForgeTokens
from atoll.services.forges.pull_watch import MAX_LOOKS, PullWatch
from atoll.services.work.states import WorkLog, WorkStates
from atoll.testing import FakeForge
from atoll.wire.words.forges import ForgeKind, PullState
from atoll.wire.words.sandboxes import WorkState
from atoll.wire.words.secrets import Purpose
from tests.services.scene import Scene, scene

SITE = "https://forge.example"
AT = ForgeRepository(ForgeKind.GITEA, SITE, "o", "r", "tea-token")


class Watched:
    """A sandbox with a pull request that is open, and the watch over it."""

    def __init__(self, s: Scene, sandbox: Sandbox) -> None:
        self.s, self.sandbox, self.forge = s, sandbox, FakeForge()
        self.forge.keep("o/r", {"main": "a" * 40, "fix": "b" * 40})
        self.log = WorkLog(s.ground, s.background.projections)
        tokens = ForgeTokens(s.store, s.vault)
        self.watch = PullWatch(s.ground, tokens=tokens, reader=self.forge, log=self.log)

    async def open(self, branch: str = "fix") -> PullRequest:
        """Open a pull request, as the use case does."""
        pull = await self.forge.open_pull(AT, NewPull(branch, "main", "Fix it"))
        payload: dict[str, Any] = {"repo": 0, "pull": pull.number}
        payload |= {"branch": branch, "base": "main", "commit": pull.commit}
        await self.log.append(LOCAL_PERSON, self.sandbox, "git.pull_opened", payload)
        return pull

    async def look(self, *, after: timedelta = timedelta()) -> int:
        """Let the watch look; return how many requests the forge had."""
        self.s.clock.turn(after.total_seconds())
        before = len(self.forge.tokens)
        await self.watch.look()
        return len(self.forge.tokens) - before

    async def state(self) -> WorkState | None:
        return (await WorkStates(self.s.store).one(self.sandbox)).state


async def watched(s: Scene) -> Watched:
    sandbox = await s.ready(name="box", repos=(RepoRequest(f"{SITE}/o/r", "fix"),))
    use = Use(Purpose.FORGE, target=SITE, forge=ForgeKind.GITEA)
    now = s.clock.now()
    secret = Secret(
        SecretId("sec_1"), PERSONAL_ORG, sandbox.owner, "FORGE", "person", use, 1, "f", "", 9, now,
        now,
    )  # fmt: skip
    async with s.store.begin() as rows:
        await rows.secrets.put(secret, s.vault.seal("tea-token", bound_to(secret)))
    return Watched(s, sandbox)


async def changes(s: Scene, sandbox: Sandbox) -> list[object]:
    log = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}", limit=1000)
    return [one.payload["state"] for one in log if one.event_type == "git.pull_changed"]


async def test_pull_request_that_is_merged_closed_or_opened_again_changes_the_state() -> None:
    async with scene() as s:
        w = await watched(s)
        pull = await w.open()
        assert await w.look() == 1 and await w.state() is WorkState.PR_OPEN
        w.forge.settle(pull, PullState.CLOSED)
        assert await w.look(after=timedelta(seconds=61)) == 1
        assert await w.state() is None  # of a change that is nowhere
        (closed,) = w.forge.kept["o/r"].pulls
        w.forge.settle(closed, PullState.OPEN)
        assert await w.look(after=timedelta(minutes=61)) == 1
        assert await w.state() is WorkState.PR_OPEN
        (again,) = w.forge.kept["o/r"].pulls
        w.forge.settle(again, PullState.MERGED)
        assert await w.look(after=timedelta(minutes=61)) == 1
        assert await w.state() is WorkState.PR_MERGED
        assert await changes(s, w.sandbox) == ["closed", "open", "merged"]
        assert await w.look(after=timedelta(days=1)) == 0


async def test_forge_that_fails_is_asked_less_and_less_often() -> None:
    async with scene() as s:
        w = await watched(s)
        await w.open()
        w.forge.failure = Unavailable("It is away.")
        asked = [await w.look(after=timedelta(minutes=1, seconds=1)) for _ in range(8)]
        assert asked == [1, 0, 1, 0, 0, 0, 1, 0]
        w.forge.failure = None
        assert await w.look(after=timedelta(hours=2)) == 1
        assert await changes(s, w.sandbox) == []


async def test_pull_request_without_a_token_is_not_asked_for() -> None:
    async with scene() as s:
        w = await watched(s)
        await w.open()
        async with s.store.begin() as rows:
            await rows.secrets.remove(SecretId("sec_1"))
        assert await w.look() == 0


async def test_round_asks_for_few_and_the_next_for_the_others() -> None:
    async with scene() as s:
        w = await watched(s)
        for name in ("two", "three", "four"):
            w.sandbox = await s.ready(name=name, repos=(RepoRequest(f"{SITE}/o/r", "fix"),))
            for number in range(15):
                w.forge.kept["o/r"].branches[f"b-{name}-{number}"] = "c" * 40
                await w.open(f"b-{name}-{number}")
        assert await w.look() == MAX_LOOKS
        assert await w.look() == 45 - MAX_LOOKS
        assert await w.look() == 0
