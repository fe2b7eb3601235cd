"""Actors as runtimes note them: read back as they were spelled, and nothing else is one."""

import pytest

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON, Principal, is_local, read_actor, spell_actor
from atoll.wire.words.events import ActorKind

ORG = OrgId("acme")


@pytest.mark.parametrize("kind", list(ActorKind))
def test_actor_is_read_back_as_it_was_spelled(kind: ActorKind) -> None:
    actor = Principal(ORG, PrincipalId("ci:main"), kind)
    assert read_actor(ORG, spell_actor(actor)) == actor


def test_person_of_the_installation_is_known_in_their_own_organization() -> None:
    assert is_local(LOCAL_PERSON) and not is_local(
        Principal(ORG, LOCAL_PERSON.id, ActorKind.PERSON)
    )


def test_actor_that_is_read_may_do_nothing() -> None:
    read = read_actor(LOCAL_PERSON.org_id, spell_actor(LOCAL_PERSON))
    assert read is not None
    assert (read.id, read.capabilities, read.roles) == (LOCAL_PERSON.id, frozenset(), ())


@pytest.mark.parametrize("spelled", [None, 7, "", "adm", "adm:", "root:ada", ":ada", ["adm:ada"]])
def test_anything_else_is_no_actor(spelled: object) -> None:
    assert read_actor(ORG, spelled) is None
