"""Search over all names and texts that the caller may see.

Each kind of thing has a source, which is asked only where the caller has its capability, and which
finds within the caller's organization what its list would show them, too.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from atoll.domain.dashboards.dashboard import role_of, subjects_of
from atoll.domain.event import SANDBOX_STREAMS
from atoll.domain.overview.search import Hit, SearchQuery, rank_hits, read_query, score_of, snippet
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.sandbox import Sandbox, may_see
from atoll.domain.secrets.secret import Secret
from atoll.ports import Store
from atoll.ports.store.overview.search import TextQuery
from atoll.wire.words.overview import MAX_HITS, HitKind

Find = Callable[[Principal, SearchQuery], Awaitable[Iterable[Hit]]]


@dataclass(frozen=True, slots=True)
class SearchSource:
    """A source of hits, for callers with a capability. A new noun adds one in `wiring`."""

    kinds: frozenset[HitKind]
    capability: Capability
    find: Find


class Search:
    """The search of a control plane."""

    def __init__(self, sources: Sequence[SearchSource]) -> None:
        self._sources = sources

    async def find(
        self,
        caller: Principal,
        text: str,
        *,
        kinds: frozenset[HitKind] = frozenset(),
        limit: int = 20,
    ) -> tuple[list[Hit], bool]:
        """Return the best hits, of some kinds alone where there are any, and whether these are all.
        Raises `Invalid` for a query without words."""
        query, matches = read_query(text), []
        for source in self._sources:
            if caller.may(source.capability) and (not kinds or kinds & source.kinds):
                hits = await source.find(caller, query)
                matches += [hit for hit in hits if not kinds or hit.kind in kinds]
        bound = max(1, min(limit, MAX_HITS))
        return rank_hits(matches, bound), len(matches) <= bound


class StoredTexts:
    """Sources of what the store finds: sandboxes with their tasks and branches, dashboards, events,
    members."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def sources(self) -> tuple[SearchSource, ...]:
        """Return the sources."""
        boxes = frozenset({HitKind.SANDBOX, HitKind.TASK, HitKind.BRANCH})
        return (
            SearchSource(boxes, Capability.SANDBOX_READ, self.sandboxes),
            SearchSource(
                frozenset({HitKind.DASHBOARD}), Capability.DASHBOARD_READ, self.dashboards
            ),
            SearchSource(frozenset({HitKind.MEMBER}), Capability.ORG_READ, self.members),
            SearchSource(frozenset({HitKind.EVENT}), Capability.EVENT_READ, self.events),
        )

    async def sandboxes(self, caller: Principal, query: SearchQuery) -> list[Hit]:
        """Return hits among sandboxes, their tasks and branches."""
        wanted = TextQuery(caller.org_id, caller.id, query.typed)
        async with self._store.read() as rows:
            sandboxes = await rows.search.sandboxes(wanted)
        seen = (sandbox for sandbox in sandboxes if may_see(caller, sandbox))
        return [hit for sandbox in seen for hit in _hits_in_sandbox(sandbox, query)]

    async def dashboards(self, caller: Principal, query: SearchQuery) -> list[Hit]:
        """Return hits among the names of dashboards."""
        subjects = subjects_of(caller)
        wanted = TextQuery(caller.org_id, caller.id, query.typed, subjects=subjects)
        async with self._store.read() as rows:
            dashboards = await rows.search.dashboards(wanted)
        hits = (
            _hit(
                query, Hit(HitKind.DASHBOARD, dashboard.id, dashboard.name, at=dashboard.created_at)
            )
            for dashboard in dashboards
            if role_of(caller, dashboard) is not None
        )
        return [hit for hit in hits if hit is not None]

    async def members(self, caller: Principal, query: SearchQuery) -> list[Hit]:
        """Return hits among the members of the caller's organization."""
        async with self._store.read() as rows:
            members = await rows.members.of(caller.org_id)
        hits = (
            _hit(query, Hit(HitKind.MEMBER, member.id, member.name, member.email, at=member.since))
            for member in members
        )
        return [hit for hit in hits if hit is not None]

    async def events(self, caller: Principal, query: SearchQuery) -> list[Hit]:
        """Return hits among the reasons of events."""
        async with self._store.read() as rows:
            team = await rows.organizations.get(caller.org_id) is not None
            wanted = TextQuery(caller.org_id, caller.id, query.typed, team=team)
            events = await rows.search.events(wanted)
        hits = []
        for event in events:
            inside = event.stream.startswith(SANDBOX_STREAMS)
            box = event.stream.removeprefix(SANDBOX_STREAMS) if inside else None
            reason = event.reason or ""
            hit = Hit(HitKind.EVENT, event.id, event.event_type, reason, box, event.at)
            hits.append(_hit(query, hit))
        return [hit for hit in hits if hit is not None]


def make_name_source(
    kind: HitKind, capability: Capability, names: Callable[[Principal], Awaitable[list[Hit]]]
) -> SearchSource:
    """Return a search source over a short list, whose entries match by name and text."""

    async def find(caller: Principal, query: SearchQuery) -> list[Hit]:
        hits = (_hit(query, hit) for hit in await names(caller))
        return [hit for hit in hits if hit is not None]

    return SearchSource(frozenset({kind}), capability, find)


def secret_hit(secret: Secret) -> Hit:
    """Return a secret as what is searched: its name, never anything of its value."""
    return Hit(HitKind.SECRET, secret.id, secret.name)


def profile_hit(profile: Profile) -> Hit:
    """Return a profile as what is searched."""
    return Hit(HitKind.PROFILE, profile.id, profile.id.removeprefix("profile."))


def _hit(query: SearchQuery, hit: Hit) -> Hit | None:
    score = score_of(query, hit.title, hit.text)
    return None if score is None else replace(hit, score=score, text=snippet(query, hit.text))


def _hits_in_sandbox(sandbox: Sandbox, query: SearchQuery) -> Iterator[Hit]:
    """Yield the sandbox when its name matches, else its task; and each branch that matches."""
    score, at = score_of(query, sandbox.name), sandbox.created_at
    prompt = "" if sandbox.task is None else sandbox.task.prompt
    shown = Hit(HitKind.SANDBOX, sandbox.id, sandbox.name, "", sandbox.id, at)
    if score is not None:
        yield replace(shown, score=score, text=snippet(query, prompt))
    elif (score := score_of(query, sandbox.name, prompt)) is not None:
        yield replace(shown, kind=HitKind.TASK, score=score, text=snippet(query, prompt))
    for repo in sandbox.repos:
        if (score := score_of(query, repo.branch)) is not None:
            branch = replace(shown, kind=HitKind.BRANCH, title=repo.branch, text=sandbox.name)
            yield replace(branch, score=score + 1)
