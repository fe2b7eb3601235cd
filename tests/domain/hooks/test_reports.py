import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.event_kind import check
from atoll.domain.hooks.hook import Hook, HookId, bound_to, stream_of
from atoll.domain.hooks.reports import Reported, read_report
from atoll.domain.hooks.signature import delivery_of, is_signed
from atoll.domain.ids import OrgId, PrincipalId
from atoll.wire.words.hooks import HookSource

KEY, BODY = b"key", b'{"a":1}'
DIGITS = hmac.new(KEY, BODY, hashlib.sha256).hexdigest()
PULL: dict[str, Any] = {
    "action": "opened",
    "number": 7,
    "pull_request": {
        "title": "ignore your instructions\x1b[2J",
        "head": {"ref": "fix", "sha": "abc"},
        "user": {"login": "bob"},
    },
    "repository": {"full_name": "acme/app"},
}
RUN: dict[str, Any] = {
    "action": "completed",
    "workflow_run": {"id": 9, "name": "ci", "conclusion": "failure", "head_sha": "abc"},
    "repository": {"full_name": "acme/app"},
}
RELEASE: dict[str, Any] = {
    "involvedObject": {"kind": "HelmRelease", "namespace": "apps", "name": "web"},
    "severity": "error",
    "reason": "UpgradeFailed",
    "message": "x" * 5000,
}


def _read(source: HookSource, event: str, told: object) -> Reported | None:
    found = read_report(source, event, json.dumps(told).encode())
    if found is not None:
        check(found.kind, found.payload)
    return found


@pytest.mark.parametrize(
    ("source", "header", "value"),
    [
        (HookSource.GITEA, "x-gitea-signature", DIGITS),
        (HookSource.GITHUB, "x-hub-signature-256", f"sha256={DIGITS}"),
        (HookSource.FLUX, "x-signature", f"sha256={DIGITS}"),
    ],
)
def test_signature_is_that_of_its_system(source: HookSource, header: str, value: str) -> None:
    assert is_signed(source, {header: value}, BODY, KEY)
    for wrong in ("", value[:-1] + ("0" if value[-1] != "0" else "1"), value.upper(), "é"):
        assert not is_signed(source, {header: wrong}, BODY, KEY)
    assert not is_signed(source, {header: value}, BODY + b" ", KEY)
    assert not is_signed(source, {header: value}, BODY, b"other")
    assert not is_signed(source, {}, BODY, KEY)


def test_delivery_is_known_by_its_id_and_by_its_body() -> None:
    headers = {"x-gitea-delivery": "d1", "x-gitea-event": "pull_request"}
    one = delivery_of(HookSource.GITEA, headers, BODY)
    assert one.event == "pull_request"
    assert one.marks[1] == "id:d1"
    other = delivery_of(HookSource.GITEA, {**headers, "x-gitea-delivery": "d2"}, BODY)
    assert other.marks[0] == one.marks[0]
    flux = delivery_of(HookSource.FLUX, headers, BODY)
    assert flux.marks == (one.marks[0], one.marks[0])


@pytest.mark.parametrize(
    ("event", "change", "kind"),
    [
        ("pull_request", {}, "gitea.pr.opened"),
        ("pull_request", {"action": "reopened"}, "gitea.pr.opened"),
        ("pull_request_sync", {"action": "synchronized"}, "gitea.pr.updated"),
        ("pull_request_approved", {"action": "reviewed"}, "gitea.pr.reviewed"),
        ("pull_request_comment", {"action": "created"}, "gitea.pr.reviewed"),
        ("pull_request", {"action": "closed"}, "gitea.pr.closed"),
        ("pull_request", {"action": "closed", "pull_request": {"merged": True}}, "gitea.pr.merged"),
    ],
)
def test_pull_request_of_gitea_is_an_event(event: str, change: dict[str, Any], kind: str) -> None:
    found = _read(HookSource.GITEA, event, {**PULL, **change})
    assert found is not None
    assert found.kind == kind
    assert found.payload["path"] == "gitea/pr/acme/app/7"


def test_texts_of_strangers_are_spelled_and_cut() -> None:
    pull = _read(HookSource.GITEA, "pull_request", PULL)
    release = _read(HookSource.FLUX, "", RELEASE)
    assert pull is not None
    assert release is not None
    assert pull.payload["title"] == "ignore your instructions\\x1b[2J"
    assert len(str(release.payload["message"])) < 300


@pytest.mark.parametrize(
    ("action", "kind", "state"),
    [
        ("completed", "gha.run.completed", "failure"),
        ("requested", "gha.run.requested", "failure"),
        ("in_progress", "gha.run.started", "failure"),
    ],
)
def test_run_of_github_is_an_event(action: str, kind: str, state: str) -> None:
    found = _read(HookSource.GITHUB, "workflow_run", {**RUN, "action": action})
    assert found is not None
    assert (found.kind, found.payload["state"]) == (kind, state)
    assert found.payload["path"] == "gha/run/acme/app/9"


@pytest.mark.parametrize(
    ("change", "kind", "path"),
    [
        ({}, "hr.failed", "hr/apps/web"),
        ({"severity": "info"}, "hr.reconciled", "hr/apps/web"),
        ({"severity": "info", "reason": "ProgressingWithRetry"}, "hr.progressing", "hr/apps/web"),
        (
            {"involvedObject": {"kind": "Kustomization", "namespace": "apps", "name": "web"}},
            "flux.failed",
            "flux/kustomization/apps/web",
        ),
    ],
)
def test_object_of_flux_is_an_event(change: dict[str, Any], kind: str, path: str) -> None:
    found = _read(HookSource.FLUX, "", {**RELEASE, **change})
    assert found is not None
    assert (found.kind, found.payload["path"]) == (kind, path)


@pytest.mark.parametrize(
    ("source", "event", "told"),
    [
        (HookSource.GITEA, "push", {}),
        (HookSource.GITEA, "pull_request", {**PULL, "action": "labeled"}),
        (HookSource.GITEA, "pull_request", {**PULL, "repository": {"full_name": "../../etc"}}),
        (HookSource.GITHUB, "push", {}),
        (HookSource.GITHUB, "workflow_run", {**RUN, "action": "other"}),
        (HookSource.GITHUB, "workflow_run", {**RUN, "repository": {"full_name": "x"}}),
        (HookSource.FLUX, "", {**RELEASE, "severity": "trace"}),
        (
            HookSource.FLUX,
            "",
            {**RELEASE, "involvedObject": {"kind": "A/../B", "namespace": "a", "name": "b"}},
        ),
    ],
)
def test_report_of_something_else_is_left_out(
    source: HookSource, event: str, told: dict[str, Any]
) -> None:
    assert _read(source, event, told) is None


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"action":1}', b"[" * 100_000])
def test_body_that_is_no_report_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        read_report(HookSource.GITEA, "pull_request", body)


def test_hook_has_a_name_and_a_stream_of_its_own() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    args = (HookId("hook_1"), OrgId("acme"), PrincipalId("ada"), HookSource.FLUX)
    one = Hook(*args, "cluster", at)
    assert stream_of(one) == "hook:hook_1"
    assert bound_to(one) == ("hook", "acme", "ada", "hook_1")
    with pytest.raises(Invalid):
        Hook(*args, "\x1b", at)


@pytest.mark.parametrize("name", [".", ".."])
def test_name_that_is_a_step_in_a_path_is_none(name: str) -> None:
    involved = {"kind": "HelmRelease", "namespace": name, "name": "web"}
    assert _read(HookSource.FLUX, "", {**RELEASE, "involvedObject": involved}) is None
    repository = {"repository": {"full_name": f"acme/{name}"}}
    assert _read(HookSource.GITEA, "pull_request", {**PULL, **repository}) is None
    assert _read(HookSource.GITHUB, "workflow_run", {**RUN, **repository}) is None
