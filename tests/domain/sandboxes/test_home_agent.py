"""An agent without an account: what it asks for is bounded by its home."""

from dataclasses import replace

import pytest

from atoll.domain.errors import Forbidden
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, Sandbox
from atoll.domain.sandboxes.steps.home_agent import REMEDY, check_home, home_request
from atoll.testing.samples import sandbox
from atoll.wire.words.networks import NetworkMode

KNOWN = frozenset({"git.example.org/acme/app"})
OUTSIDE = [one for one in NetworkMode if one is not NetworkMode.NONE]


def with_network(mode: NetworkMode) -> Sandbox:
    made = sandbox("box")
    network = replace(made.profile.network, mode=mode)
    return replace(made, profile=replace(made.profile, network=network))


@pytest.mark.parametrize("mode", [None, NetworkMode.NONE])
def test_request_without_a_network_gets_none_whatever_its_profile_says(
    mode: NetworkMode | None,
) -> None:
    asked = CreateSandbox(name="one", network_mode=mode)
    assert home_request(asked, KNOWN) == replace(asked, network_mode=NetworkMode.NONE)


@pytest.mark.parametrize("mode", OUTSIDE)
def test_request_for_a_network_is_refused_with_the_remedy(mode: NetworkMode) -> None:
    with pytest.raises(Forbidden) as at:
        home_request(CreateSandbox(network_mode=mode), KNOWN)
    assert at.value.field == "network_mode"
    assert mode.value in at.value.message
    assert REMEDY in at.value.message


@pytest.mark.parametrize(
    "repo",
    [
        RepoRequest("https://git.example.org/acme/app.git"),
        RepoRequest("git@git.example.org:acme/app"),
        RepoRequest("https://git.example.org/acme/other", key="0123456789abcdef"),
    ],
)
def test_repository_that_is_here_is_granted(repo: RepoRequest) -> None:
    assert home_request(CreateSandbox(repos=(repo,)), KNOWN).repos == (repo,)


@pytest.mark.parametrize(
    "repo",
    [
        RepoRequest("https://git.example.org/acme/other"),
        RepoRequest("http://127.0.0.1:5432/x"),
        RepoRequest("no remote at all"),
        RepoRequest("https://git.example.org/acme/other", key="git.example.org/acme/app"),
    ],
)
def test_repository_that_had_to_be_fetched_is_refused(repo: RepoRequest) -> None:
    here = RepoRequest("https://git.example.org/acme/app")
    with pytest.raises(Forbidden) as at:
        home_request(CreateSandbox(repos=(here, repo)), KNOWN)
    assert at.value.field == "repo_url"
    assert repo.repo_url in at.value.message


def test_act_in_a_sandbox_without_a_network_is_allowed() -> None:
    check_home(with_network(NetworkMode.NONE), "a command")


@pytest.mark.parametrize("mode", OUTSIDE)
def test_act_in_a_sandbox_with_a_network_is_refused(mode: NetworkMode) -> None:
    with pytest.raises(Forbidden, match=f"a command in box .* {mode.value}") as at:
        check_home(with_network(mode), "a command")
    assert at.value.field == "sandbox"
