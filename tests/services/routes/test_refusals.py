"""One shape for every cause: a sandbox that no place takes is `no_route`, an explicit one, too."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.errors import Failed, NoRoute, Unavailable
from atoll.domain.host.host import LOCAL_HOST, Capacity, HostKind, HostState
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.route.policy import RouteOptions, RouteRules
from atoll.domain.sandbox.sandbox import CreateSandbox, Inputs
from atoll.domain.wall.isolation import IsolationLevel
from atoll.ports import Capabilities
from tests.services.routes.test_routes import routes
from tests.services.scene import BARE, Scene, scene

NONE = Capabilities(IsolationLevel.NONE)


@dataclass(slots=True)
class Broken(InMemory):
    """A backend that says why it is not there."""

    error: Exception = field(default_factory=lambda: Failed("there is no program `far` here"))

    def capabilities(self) -> Capabilities:
        raise self.error


Backend = Callable[[], InMemory]
#: Cause, the backend that has it, its profile, more of the create, and the reason that is told.
CAUSES: dict[str, tuple[Backend | None, str, dict[str, Any], str]] = {
    "not installed": (None, "", {}, "this Atoll does not have it"),
    "not set up": (lambda: Broken(called="ext.it"), "", {}, "there is no program `far` here"),
    "no answer": (
        lambda: Broken(called="ext.it", error=Unavailable("no daemon answers")),
        *("", {}, "no daemon answers"),
    ),
    "no host": (
        lambda: InMemory(called="ext.it", able=replace(NONE, host_kind=HostKind.SSH)),
        *("", {}, "no host of the kind ssh is there"),
    ),
    "unknown host": (
        lambda: InMemory(called="ext.it"),
        *("", {"host": "gone"}, "there is no host gone"),
    ),
    "no key": (
        lambda: InMemory(called="ext.it", able=replace(NONE, host_kind=None, needs_key=True)),
        *("", {}, "key"),
    ),
    "too weak": (
        lambda: InMemory(called="ext.it"),
        *("isolation: {level: microvm}", {}, "its isolation is none, and microvm is needed"),
    ),
    "no such image": (
        lambda: InMemory(called="ext.it", able=replace(NONE, images=frozenset())),
        *("", {}, "it cannot show the machine's own /usr"),
    ),
    "open network": (
        lambda: InMemory(called="ext.it", able=replace(NONE, closes_network=False)),
        *("", {}, "it cannot close its network"),
    ),
    "no compose": (
        lambda: InMemory(called="ext.it", able=NONE),
        "",
        {"inputs": Inputs(compose_bundle="services: {web: {image: nginx}}")},
        "it cannot act on inputs.compose_bundle: it runs no compose file",
    ),
    "compose alone": (
        lambda: InMemory(called="ext.it", able=replace(NONE, compose=True, needs_compose=True)),
        *("", {}, "name one as inputs.compose_bundle_ref"),
    ),
    "placement of a vendor": (
        lambda: InMemory(called="ext.it", able=replace(NONE, host_kind=None)),
        *("placement: {prefer: [box]}", {}, "it cannot act on placement"),
    ),
}


async def _refused(s: Scene, request: CreateSandbox) -> NoRoute:
    """The error of a create; the try-out says the same."""
    explained = await routes(s).explain(LOCAL_PERSON, request)
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


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("chosen", ["by the profile", "by the create"])
async def test_explicit_backend_that_cannot_take_it_is_one_refusal(cause: str, chosen: str) -> None:
    backend, words, more, reason = CAUSES[cause]
    by_profile = chosen == "by the profile"
    async with scene(others=() if backend is None else (backend(),)) as s:
        text = _profile(words, "extension: ext.it\n" if by_profile else "")
        await s.profiles.save(LOCAL_PERSON, "it", text)
        options = RouteOptions() if by_profile else RouteOptions(extension="it")
        error = await _refused(s, CreateSandbox(profile="it", route=options, **more))
        assert {one.extension for one in error.candidates} == {"ext.it"}
        assert reason in error.message and any(reason in one for one in error.candidates[0].reasons)


async def test_hosts_that_are_full_or_drained_are_the_same_refusal() -> None:
    async with scene() as s:
        for host, why in (
            (replace(LOCAL_HOST, capacity=Capacity(sandboxes=0)), "it holds 0 sandboxes of 0"),
            (replace(LOCAL_HOST, state=HostState.DRAINING), "it is drained"),
        ):
            async with s.store.begin() as rows:
                await rows.hosts.put(host)
            error = await _refused(s, CreateSandbox(profile="bare"))
            assert [(one.host, one.reasons) for one in error.candidates] == [("local", (why,))]


async def test_backend_that_is_not_allowed_is_the_same_refusal() -> None:
    async with scene() as s:
        rules = RouteRules(None, ("ext.namespaces",))
        await routes(s).put_rules(LOCAL_PERSON, rules, installation=True)
        assert (
            "it is not allowed here" in (await _refused(s, CreateSandbox(profile="bare"))).message
        )


async def test_named_extension_of_a_profile_that_names_none_is_any_that_is_on() -> None:
    async with scene(others=(InMemory(called="ext.it"),)) as s:
        await s.profiles.save(LOCAL_PERSON, "it", _profile("", ""))
        request = CreateSandbox(profile="it", route=RouteOptions(extension="it"))
        made = await s.sandboxes.create(LOCAL_PERSON, request)
        assert made.profile.extension == "ext.it"
