"""Errors that pass from the leader to whoever asked it."""

import pytest

from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Invalid,
    LimitReached,
    NoConnection,
    NoRoute,
    NotFound,
    Unavailable,
)
from atoll.domain.snapshots.disk_order import DiskRefusal, refusal_of


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (NotFound("gone"), NotFound),
        (Conflict("elsewhere", code="snapshot_elsewhere"), Conflict),
        (Failed("changed", code="content_damaged"), Failed),
        (LimitReached("full"), LimitReached),
        (Invalid("no disk", field="snapshot"), Invalid),
        # Those that callers know by their parents alone.
        (NoConnection("away"), Unavailable),
        (NoRoute("nowhere"), Conflict),
        (AtollError("something"), Failed),
    ],
)
def test_error_of_the_leader_is_raised_with_its_code(
    error: AtollError, kind: type[AtollError]
) -> None:
    raised = refusal_of(error).error()
    assert type(raised) is kind
    assert (raised.message, raised.code, raised.field) == (error.message, error.code, error.field)


def test_error_of_a_newer_leader_is_a_failure() -> None:
    raised = DiskRefusal("Elsewise", "it is so", "elsewise").error()
    assert (type(raised), raised.message, raised.code) == (Failed, "it is so", "elsewise")
