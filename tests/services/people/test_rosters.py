"""How a member is named: by id, name or email."""

from datetime import UTC, datetime

import pytest

from atoll.domain.errors import Conflict, NotFound
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.organization import Member
from atoll.services.people.rosters import one_member
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole


def member(id_: str, name: str) -> Member:
    made = datetime(2026, 12, 2, tzinfo=UTC)
    who = (OrgId("org_a"), PrincipalId(id_), ActorKind.PERSON, name, f"{name}@Example.com")
    return Member(*who, OrgRole.MEMBER, (), made)


@pytest.mark.parametrize("ref", ["Bob", "bob", "BOB@example.com", "p_1"])
def test_member_is_found_by_id_name_and_email_whatever_its_capitals(ref: str) -> None:
    assert one_member([member("p_1", "Bob"), member("p_2", "Ada")], ref).id == "p_1"


def test_member_whose_name_another_has_in_other_capitals_is_found_exactly() -> None:
    both = [member("p_1", "Bob"), member("p_2", "BOB")]
    assert one_member(both, "BOB").id == "p_2"
    with pytest.raises(Conflict, match="p_1, p_2"):
        one_member(both, "bob")


def test_member_that_is_not_there_is_not_found_for_no_name_either() -> None:
    with pytest.raises(NotFound):
        one_member([member("p_1", "Bob")], "")
