"""What is said of a sandbox's safety layers is what is in force, no more."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.ids import SandboxId
from atoll.domain.principal import LOCAL_PERSON
from atoll.domain.profile import Network, NetworkMode, Profile, RootMode, Safety
from atoll.domain.safety_layers import Layer, layers_of
from atoll.domain.sandbox import CreateSandbox
from atoll.domain.wish import Circumstances, grant

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAIN = Profile("profile.x", "1.0.0")
AROUND = Circumstances(LOCAL_PERSON, NOW, frozenset(), SandboxId("sb_abcdefghij234567"))


def layers(profile: Profile) -> tuple[Layer, ...]:
    return layers_of(grant(CreateSandbox(), profile, AROUND))


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
        (Network(mode=NetworkMode.FULL), "every public address"),
    ],
)
def test_network_says_how_far_it_reaches(network: Network, text: str) -> None:
    assert text in layers(replace(PLAIN, network=network))[4].text


def test_root_that_can_be_written_is_no_layer_in_force() -> None:
    overlay = layers(replace(PLAIN, root=RootMode.OVERLAY))[5]
    assert not overlay.in_force and "layer of this sandbox's own" in overlay.text
