"""What is said of a sandbox's safety layers is what is in force, no more."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.ids import SandboxId
from atoll.domain.network.network import Network
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.profile import Profile, RootMode, Safety
from atoll.domain.sandboxes.create import Circumstances, grant
from atoll.domain.sandboxes.safety_layers import Layer, layers_of, wall_of
from atoll.domain.sandboxes.sandbox import Attachment, CreateSandbox, Sandbox
from atoll.domain.wall.isolation import Isolation
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.walls import IsolationLevel

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAIN = Profile("profile.x", "1.0.0")
AROUND = Circumstances(LOCAL_PERSON, NOW, frozenset(), SandboxId("sb_abcdefghij234567"))


def layers(profile: Profile) -> tuple[Layer, ...]:
    return layers_of(grant(CreateSandbox(), profile, AROUND))


BWRAP = Isolation(IsolationLevel.CONTAINER, "bubblewrap", host_uid=700_001, init="c")
ALL_ON = Safety(True, (("git", "push"),), (("apt-get", "update"),))


def standing(isolation: Isolation | None, safety: Safety = ALL_ON) -> Sandbox:
    made = grant(CreateSandbox(), replace(PLAIN, safety=safety), AROUND)
    return replace(made, attachment=Attachment(isolation=isolation))


def test_plain_profile_turns_on_what_always_holds_only() -> None:
    found = layers(PLAIN)
    assert [layer.number for layer in found] == [1, 2, 3, 4, 5, 6]
    assert [layer.in_force for layer in found] == [False, True, False, False, True, True]
    assert [layer.bypassable for layer in found] == [True, False, True, False, False, False]
    assert found[0].text.startswith("off")
    assert found[2].text.startswith("off")
    assert found[3].text == "sudo does nothing here"


def test_any_layer_brings_the_word_for_asking_a_person() -> None:
    layer = layers(replace(PLAIN, safety=Safety(shell=True)))[2]
    assert layer.in_force and layer.text.endswith("no command asks by itself")


def test_layers_that_are_turned_on_name_their_rules() -> None:
    safety = Safety(True, (("git", "push"), ("npm", "publish")), (("apt-get", "update"),))
    found = layers(replace(PLAIN, safety=safety))
    assert found[0].in_force and "any other way" in found[0].text
    assert found[2].text.endswith("git push, npm publish")
    assert found[3].in_force and found[3].text.startswith("1 commands, word for word")


@pytest.mark.parametrize(
    ("network", "text"),
    [
        (Network(mode=NetworkMode.NONE), "nothing leaves but model calls"),
        (Network(egress=("preset:nothing", "a.example"), allowed=("b.example",)), "2 rules"),
        (Network(mode=NetworkMode.HOST_ONLY), "ports none of this machine, 0 ranges"),
        (
            Network(mode=NetworkMode.HOST_ONLY, host_ports=(80, 5432), ranges=("10.0.0.0/8",)),
            "ports 80, 5432 of this machine, 1 ranges",
        ),
        (Network(mode=NetworkMode.FULL, ports=(8443,)), "ports 80, 443, 22, 8443 of every"),
    ],
)
def test_network_says_how_far_it_reaches(network: Network, text: str) -> None:
    assert text in layers(replace(PLAIN, network=network))[4].text


def test_root_that_can_be_written_is_no_layer_in_force() -> None:
    overlay = layers(replace(PLAIN, root=RootMode.OVERLAY))[5]
    assert not overlay.in_force and "layer of this sandbox's own" in overlay.text


@pytest.mark.parametrize(
    ("isolation", "why"),
    [
        (replace(BWRAP, mechanism="docker"), "docker cannot give that"),
        (replace(BWRAP, init=""), "only a wall of Atoll's own machine"),
        (replace(BWRAP, degraded=("disk: x", "uid: rootless")), "without root"),
    ],
)
def test_sudo_that_a_wall_refuses_is_no_layer_in_force(isolation: Isolation, why: str) -> None:
    layer = layers_of(standing(isolation))[3]
    assert not layer.in_force
    assert layer.text.startswith("refuses all of the profile's 1 commands here") and (
        why in layer.text
    )


def test_sudo_where_it_can_be_had_is_in_force() -> None:
    assert layers_of(standing(BWRAP))[3].in_force
    assert layers_of(standing(None))[3].in_force


def test_backend_without_a_wall_claims_none() -> None:
    none = Isolation(IsolationLevel.NONE, "in-memory")
    found = layers_of(standing(none))
    assert [layer.in_force for layer in found[4:]] == [False, False]
    assert not found[3].in_force
    assert {layer.text for layer in found[4:]} == {wall_of(standing(none))[0].text}
    assert [part.in_force for part in wall_of(standing(none))] == [False]


def test_wall_says_what_stands_and_which_filter() -> None:
    wall, calls = wall_of(standing(BWRAP))
    assert wall.text == "bubblewrap, a static init, user 700001 of this machine"
    assert (wall.in_force, wall.weakened, calls.weakened) == (True, False, False)
    assert "ptrace is refused" in calls.text
    weaker = replace(BWRAP, degraded=("memory: no cgroup",))
    wall, calls = wall_of(standing(weaker, Safety(debug=True)))
    assert wall.weakened
    assert calls.weakened and "debug variant" in calls.text
    assert wall_of(standing(None)) == ()


def test_redaction_names_what_its_owner_put_inside() -> None:
    exposed = replace(standing(BWRAP), exposed_secrets=("ONE", "TWO"))
    assert layers_of(exposed)[1].text.endswith("by the owner's own word: ONE, TWO")
