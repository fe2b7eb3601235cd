from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

from atoll.domain.files.host_mount import HostMount
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.metadata import metadata_document, metadata_of
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo
from atoll.wire.words.sandboxes import Scope, State

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BARE = Sandbox(
    id=SandboxId("sb_1"),
    org_id=OrgId("personal"),
    owner=PrincipalId("person"),
    name="box",
    profile=Profile("profile.shell", "1.0.0"),
    scope=Scope.SESSION,
    ttl_seconds=60,
    created_at=AT,
    updated_at=AT,
    expires_at=AT.astimezone(timezone(timedelta(hours=2))),
    max_expires_at=AT,
)
REPO = SandboxRepo("https://github.com/o/r", "fix", "main", "/workspace")


def test_metadata_of_a_sandbox_without_repositories_names_none() -> None:
    told = metadata_of(BARE)
    assert (told["repo_url"], told["branch"], told["from_branch"]) == (None, None, None)
    assert (told["network_mode"], told["sync_ssh"], told["ssh_mode"]) == ("limited", 0, "gateway")


def test_metadata_names_the_first_repository_and_what_was_brought_in() -> None:
    mounts = (HostMount("/data", "/data"),)
    told = metadata_of(replace(BARE, repos=(REPO,), mounts=mounts, copies=("a:b",)))
    assert told["repo_url"] == "https://github.com/o/r"
    assert (told["branch"], told["from_branch"]) == ("fix", "main")
    assert (told["mounts"], told["copies"]) == ([str(mounts[0])], ["a:b"])


def test_document_says_where_the_life_stands_and_holds_the_metadata() -> None:
    told = metadata_document(replace(BARE, state=State.STOPPED, generation=3))
    assert (told["sandbox_id"], told["name"]) == ("sb_1", "box")
    assert (told["state"], told["generation"]) == ("stopped", 3)
    assert told["created_at"] == told["expires_at"] == "2026-01-02T03:04:05.000Z"
    assert told["retained_until"] is None
    assert metadata_of(BARE).items() <= told.items()
