"""One table says which status says which error, both ways."""

import pytest

from atoll.domain.error_status import INTERNAL, kind_of, status_of
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    StaleCursor,
    Unauthenticated,
    Unavailable,
)

KINDS = (Invalid, Unauthenticated, Forbidden, NotFound, Conflict, LimitReached, Unavailable, Failed)


@pytest.mark.parametrize("kind", KINDS)
def test_status_of_an_error_stands_for_that_error(kind: type[AtollError]) -> None:
    assert kind_of(status_of(kind("no"))) is kind


def test_code_with_a_status_of_its_own_goes_before_the_class() -> None:
    assert status_of(LimitReached("no", code="too_large")) == 413
    assert status_of(Invalid("no", code="method_not_allowed")) == 405
    assert status_of(Forbidden("no", code="misdirected")) == 421


def test_subclass_has_the_status_of_its_class_and_a_stranger_that_of_a_defect() -> None:
    class Odd(Conflict):
        """A conflict of a kind of its own."""

    assert status_of(Odd("no")) == 409
    assert status_of(AtollError("no")) == INTERNAL


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, Invalid), (405, Invalid), (415, Invalid), (416, Invalid), (413, LimitReached)],
)
def test_status_nobody_here_sends_for_a_class_stands_for_the_nearest(
    status: int, kind: type[AtollError]
) -> None:
    assert kind_of(status) is kind


def test_status_that_names_no_error_stands_for_a_failure() -> None:
    assert kind_of(500) is Failed
    assert kind_of(599) is Failed


def test_stale_cursor_says_where_to_resume() -> None:
    error = StaleCursor("Events up to 7 are no longer kept.", resume_after=7)
    assert (error.code, error.resume_after) == ("stale_cursor", 7)
