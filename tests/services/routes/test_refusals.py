"""One shape for every cause: a sandbox that no place takes is `no_route`, an explicit one, too."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.errors import Failed, NoRoute, Unavailable
from atoll.domain.hosts.host import LOCAL_HOST, Capacity
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.demands import SUDO
from atoll.domain.profile.profile import Profile
from atoll.domain.quota import Quota
from atoll.domain.routes.policy import RouteOptions, RouteRules
from atoll.domain.sandboxes.sandbox import CreateSandbox, Inputs
from atoll.ports import Capabilities
from atoll.services.routes import candidates
from atoll.wire.words.hosts import HostKind, HostState
from atoll.wire.words.walls import IsolationLevel
from tests.services.routes.test_routes import routes
from tests.services.scene import BARE, Scene, scene

NONE = Capabilities(IsolationLevel.NONE)


@dataclass(slots=True)
class Broken(InMemory):
    """A backend that says why it is not there."""

    error: Exception = field(default_factory=lambda: Failed("there is no program `far` here"))

    def capabilities(self) -> Capabilities:
        raise self.error


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the backend of profile `it` cannot take a create, and the reason that is told. None is
    no backend; `words` are added to the profile and `more` to the create.
    """

    backend: Callable[[], InMemory] | None
    reason: str
    words: str = ""
    more: dict[str, Any] = field(default_factory=dict)


def _in_memory(able: Capabilities) -> Callable[[], InMemory]:
    return lambda: InMemory(called="ext.it", able=able)


@dataclass(slots=True)
class Judging(InMemory):
    """A backend that asks its machine what it gives, and that knows its images."""

    async def examine(self) -> None:
        self.able = replace(NONE, ignores=((SUDO, "its machine gives no root"),))

    def lacks(self, profile: Profile) -> tuple[str, ...]:
        return () if profile.image == "host" else (f"there is no image {profile.image}",)


CAUSES: dict[str, Cause] = {
    "not installed": Cause(None, "this Atoll does not have it"),
    "not set up": Cause(lambda: Broken(called="ext.it"), "there is no program `far` here"),
    "no answer": Cause(
        lambda: Broken(called="ext.it", error=Unavailable("no daemon answers")),
        "no daemon answers",
    ),
    "no host": Cause(
        _in_memory(replace(NONE, host_kind=HostKind.SSH)), "no host of the kind ssh is there"
    ),
    "unknown host": Cause(
        lambda: InMemory(called="ext.it"), "there is no host gone", more={"host": "gone"}
    ),
    "no key": Cause(_in_memory(replace(NONE, host_kind=None, needs_key=True)), "key"),
    "too weak": Cause(
        lambda: InMemory(called="ext.it"),
        "its isolation is none, and microvm is needed",
        words="isolation: {level: microvm}",
    ),
    "no such image": Cause(
        _in_memory(replace(NONE, images=frozenset())), "it cannot show the machine's own /usr"
    ),
    "no image of this name": Cause(
        lambda: Judging(called="ext.it"), "there is no image smal", words="image: smal\n"
    ),
    "not given by its machine": Cause(
        lambda: Judging(called="ext.it"),
        "it cannot act on safety.sudo: its machine gives no root",
        words="safety: {sudo: [[apt-get, update]]}\n",
    ),
    "open network": Cause(
        _in_memory(replace(NONE, closes_network=False)), "it cannot close its network"
    ),
    "no compose": Cause(
        _in_memory(NONE),
        "it cannot act on inputs.compose_bundle: it runs no compose file",
        more={"inputs": Inputs(compose_bundle="services: {web: {image: nginx}}")},
    ),
    "compose alone": Cause(
        _in_memory(replace(NONE, compose=True, needs_compose=True)),
        "name one as inputs.compose_bundle_ref",
    ),
    "placement of a vendor": Cause(
        _in_memory(replace(NONE, host_kind=None)),
        "it cannot act on placement",
        words="placement: {prefer: [box]}",
    ),
}


async def _refuse_create(s: Scene, request: CreateSandbox) -> NoRoute:
    """The error of a create; the try-out says the same."""
    explained = await s.within.admission.explain(LOCAL_PERSON, request)
    with pytest.raises(NoRoute) as refused:
        await s.sandboxes.create(LOCAL_PERSON, request)
    error = refused.value
    assert error.code == "no_route"
    assert [one.reasons for one in error.candidates] == [one.reasons for one in explained.verdicts]
    assert (await s.sandboxes.list(LOCAL_PERSON)).sandboxes == ()
    return error


def _profile(words: str, extension: str) -> str:
    text = BARE.replace("bare", "it").replace("extension: ext.in-memory\n", extension)
    return text.replace("isolation: {level: none}", words) if "isolation" in words else text + words


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES)
@pytest.mark.parametrize("chosen", ["by the profile", "by the create"])
async def test_explicit_backend_that_cannot_take_it_is_one_refusal(
    cause: Cause, chosen: str
) -> None:
    by_profile = chosen == "by the profile"
    async with scene(others=() if cause.backend is None else (cause.backend(),)) as s:
        text = _profile(cause.words, "extension: ext.it\n" if by_profile else "")
        await s.profiles.save(LOCAL_PERSON, "it", text)
        options = RouteOptions() if by_profile else RouteOptions(extension="it")
        error = await _refuse_create(s, CreateSandbox(profile="it", route=options, **cause.more))
        assert {one.extension for one in error.candidates} == {"ext.it"}
        reasons = error.candidates[0].reasons
        assert cause.reason in error.message and any(cause.reason in one for one in reasons)


async def test_hosts_that_are_full_or_drained_are_the_same_refusal() -> None:
    async with scene() as s:
        for host, why in (
            (replace(LOCAL_HOST, capacity=Capacity(sandboxes=0)), "it holds 0 sandboxes of 0"),
            (replace(LOCAL_HOST, state=HostState.DRAINING), "it is drained"),
        ):
            async with s.store.begin() as rows:
                await rows.hosts.put(host)
            error = await _refuse_create(s, CreateSandbox(profile="bare"))
            assert [(one.host, one.reasons) for one in error.candidates] == [("local", (why,))]


async def test_backend_that_is_not_allowed_is_the_same_refusal() -> None:
    async with scene() as s:
        rules = RouteRules(None, ("ext.off",))
        await routes(s).put_rules(LOCAL_PERSON, rules, installation=True)
        error = await _refuse_create(s, CreateSandbox(profile="bare"))
        assert "it is not allowed here" in error.message


@dataclass(slots=True)
class Whole(InMemory):
    """A backend whose machines have no such size."""

    def lacks(self, profile: Profile) -> tuple[str, ...]:
        cpu = profile.resources.cpu
        return () if cpu is None else (f"resources.cpu is {cpu:g}",)


async def test_size_is_refused_where_it_is_named_and_not_where_a_quota_adds_it() -> None:
    async with scene(others=(Whole(called="ext.it", able=NONE),)) as s:
        async with s.store.begin() as rows:
            await rows.quotas.put(LOCAL_PERSON.org_id, None, Quota(cpu=8.0, memory_mb=100_000))
        plain = _profile("", "extension: ext.it\n")
        await s.profiles.save(LOCAL_PERSON, "it", plain + "resources: {cpu: 1.0}\n")
        error = await _refuse_create(s, CreateSandbox(profile="it"))
        assert "resources.cpu is 1" in error.message
        await s.profiles.save(LOCAL_PERSON, "it", plain.replace("1.0.0", "1.1.0"))
        assert (await s.ready(profile="it")).profile.resources.cpu == 1.0


async def test_named_extension_of_a_profile_that_names_none_is_any_that_is_on() -> None:
    async with scene(others=(InMemory(called="ext.it"),)) as s:
        await s.profiles.save(LOCAL_PERSON, "it", _profile("", ""))
        request = CreateSandbox(profile="it", route=RouteOptions(extension="it"))
        made = await s.sandboxes.create(LOCAL_PERSON, request)
        assert made.profile.extension == "ext.it"


@dataclass(slots=True)
class Hanging(InMemory):
    """A backend whose machine does not say what it gives."""

    asked: int = 0

    async def examine(self) -> None:
        self.asked += 1
        await asyncio.Event().wait()


async def test_backend_that_does_not_say_what_it_gives_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(candidates, "EXAMINE_SECONDS", 0.01)
    async with scene(others=(far := Hanging(called="ext.it", able=NONE),)) as s:
        for asked, seconds in ((1, 0.0), (1, 29.0), (2, 2.0)):
            s.clock.turn(seconds)
            await s.ready(profile="bare")
            assert far.asked == asked
