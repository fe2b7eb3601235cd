from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.profile.profile import Profile, Setup
from atoll.domain.sandboxes.instructions import instructions_path, read_instructions
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.sandbox import Attachment, SandboxRepo, SetupMetadata
from atoll.domain.sandboxes.stimulus import Instructed, Reached
from atoll.wire.words.sandboxes import MAX_INSTRUCTIONS, State
from tests.domain.sandboxes.test_lifecycle import new_sandbox

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROFILE = Profile("profile.x", "1.0.0", setup=Setup("By the profile."))
REPOS = (SandboxRepo("https://example.org/o/r", "b", None, "/workspace"),)


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        (SetupMetadata(), "By the profile."),
        (SetupMetadata(instructions="By the create."), "By the create."),
        (SetupMetadata(instructions_ref="repo:docs/start.md"), ""),
    ],
)
def test_create_takes_precedence_over_the_profile(setup: SetupMetadata, expected: str) -> None:
    assert read_instructions(setup, PROFILE, REPOS) == expected


@pytest.mark.parametrize(
    ("setup", "field"),
    [
        (SetupMetadata(instructions="x", instructions_ref="repo:x"), "instructions"),
        (SetupMetadata(instructions=" \n"), "instructions"),
        (SetupMetadata(instructions="a\0b"), "instructions"),
        (SetupMetadata(instructions="ä" * MAX_INSTRUCTIONS), "instructions"),
        (SetupMetadata(instructions_ref="s3://bucket/x"), "instructions_ref"),
        (SetupMetadata(instructions_ref="repo:../x"), "instructions_ref"),
        (SetupMetadata(instructions_ref="repo:"), "instructions_ref"),
    ],
)
def test_instructions_that_cannot_be_given_are_refused(setup: SetupMetadata, field: str) -> None:
    with pytest.raises(Invalid) as err:
        read_instructions(setup, PROFILE, REPOS)
    assert err.value.field == f"setup_metadata.{field}"


def test_file_is_named_relative_to_the_workspace_of_a_sandbox_with_a_repository() -> None:
    assert instructions_path("repo:docs/start.md", has_repo=True) == "docs/start.md"
    with pytest.raises(Invalid, match="has none"):
        instructions_path("repo:docs/start.md", has_repo=False)


def test_instructions_that_were_read_are_kept_with_the_sandbox() -> None:
    coming = replace(new_sandbox(), state=State.PROVISIONING)
    ready, _ = step(coming, Reached(1, Attachment(), instructions="From the repository."), NOW)
    assert (ready.instructions, ready.instructed) == ("From the repository.", False)
    again, _ = step(ready, Instructed(1), NOW)
    assert again.instructed
    assert step(again, Instructed(1), NOW)[0] is again


def test_instructions_received_before_a_recreate_are_given_again() -> None:
    renewed = replace(new_sandbox(), generation=2, instructions="Again.")
    assert step(renewed, Instructed(1), NOW)[0] is renewed
    assert step(renewed, Instructed(2), NOW)[0].instructed
