from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.audit import (
    AUDITED_KINDS,
    AUDITED_PREFIXES,
    BEGINNING,
    AuditEntry,
    AuditFilter,
    Checkpoint,
    canonical,
    entry_of,
    is_audited,
    signed_bytes,
    verify,
    with_hash,
)
from atoll.domain.event import Event
from atoll.domain.event_kind import KINDS
from atoll.domain.ids import EventId, OrgId
from atoll.domain.people.principal import CallOrigin

ORG = OrgId("acme")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FROM = CallOrigin("192.0.2.1", "req_1", "tok_1")


def event(number: int) -> Event:
    return Event(
        id=EventId(f"evt_{number}"),
        position=number,
        stream="secrets",
        seq=number,
        event_type="secret.set",
        event_version=1,
        at=NOW + timedelta(seconds=number),
        org_id=ORG,
        actor_kind="adm",
        actor_id="person",
        reason=None,
        payload={"name": "Schlüssel", "version": number},
    )


def chain(length: int) -> list[AuditEntry]:
    entries: list[AuditEntry] = []
    for n in range(1, length + 1):
        previous = entries[-1].hash if entries else BEGINNING
        entries.append(entry_of(event(n), FROM, n=n, previous=previous))
    return entries


def test_whole_chain_holds() -> None:
    entries = chain(5)
    verdict = verify(entries, org_id=ORG)
    assert (verdict.entries, verdict.n, verdict.hash, verdict.wrong) == (
        5,
        5,
        entries[4].hash,
        None,
    )


def test_empty_chain_holds() -> None:
    assert verify([], org_id=ORG).hash == BEGINNING


def test_verification_begins_at_a_checkpoint() -> None:
    entries = chain(5)
    point = Checkpoint(ORG, 3, entries[2].hash, "2026-01-01T00:00:00.000000+00:00")
    assert verify(entries[3:], point, org_id=ORG).n == 5
    assert "missing" in (verify(entries[4:], point, org_id=ORG).wrong or "")


def test_dropped_entry_is_missed() -> None:
    entries = chain(5)
    verdict = verify(entries[:2] + entries[3:], org_id=ORG)
    assert (verdict.entries, verdict.wrong) == (2, "entry 3 is missing: 4 follows 2")


def test_entry_put_in_the_place_of_another_is_noticed() -> None:
    entries = chain(3)
    forged = with_hash(replace(entries[1], actor_id="somebody"))
    wrong = verify([entries[0], forged, entries[2]], org_id=ORG).wrong
    assert wrong == "entry 3 does not follow entry 2: one of them was changed or replaced"


def test_entry_of_another_organization_is_noticed() -> None:
    assert "another organization" in (verify(chain(1), org_id=OrgId("other")).wrong or "")


@pytest.mark.parametrize(
    "change",
    [
        {"event_id": "evt_9"},
        {"event_type": "secret.removed"},
        {"stream": "other"},
        {"at": "2026-01-01T00:00:00.000000+00:00"},
        {"actor_kind": "agt"},
        {"actor_id": "somebody"},
        {"address": "192.0.2.9"},
        {"request_id": ""},
        {"token_id": ""},
        {"reason": "because"},
        {"payload": {"name": "Schlüssel", "version": 3}},
        {"hash": "f" * 64},
    ],
)
def test_every_field_is_covered(change: dict[str, object]) -> None:
    entries = chain(3)
    entries[1] = replace(entries[1], **change)  # type: ignore[arg-type]
    assert verify(entries, org_id=ORG).wrong == "entry 2 was changed: its hash does not fit"


def test_entry_without_origin_says_nothing_of_it() -> None:
    entry = entry_of(event(1), None, n=1, previous=BEGINNING)
    assert (entry.address, entry.request_id, entry.token_id) == ("", "", "")


@given(st.text())
def test_any_text_has_canonical_bytes(text: str) -> None:
    assert canonical({"reason": text}) == canonical({"reason": text})


def test_canonical_bytes_are_one_spelling() -> None:
    assert canonical({"b": [1, None], "a": "ä\ud800"}) == '{"a":"ä\\ud800","b":[1,null]}'.encode()


def test_signature_covers_the_whole_checkpoint() -> None:
    point = Checkpoint(ORG, 3, "a" * 64, "2026-01-01T00:00:00.000000+00:00", "key")
    changed = [
        replace(point, org_id=OrgId("other")),
        replace(point, n=4),
        replace(point, hash="b" * 64),
        replace(point, at="2026-01-02T00:00:00.000000+00:00"),
        replace(point, key_id="another"),
    ]
    assert len({signed_bytes(one) for one in [point, *changed]}) == 6
    assert signed_bytes(replace(point, signature="00")) == signed_bytes(point)


def test_acts_of_people_are_audited_and_the_noise_of_sandboxes_is_not() -> None:
    noise = {"exec.started", "terminal.input", "door.request", "file.changed", "agent.status"}
    acts = {"secret.set", "approval.granted", "share.created", "sandbox.requested", "auth.login"}
    assert noise | acts <= KINDS.keys()
    assert {one for one in noise | acts if is_audited(one)} == acts


def test_every_audited_kind_is_a_kind_of_event() -> None:
    assert KINDS.keys() >= AUDITED_KINDS
    assert all(any(kind.startswith(one) for kind in KINDS) for one in AUDITED_PREFIXES)


def test_filter_tells_which_entries_fit() -> None:
    entry = entry_of(event(1), None, n=1, previous=BEGINNING)
    at = datetime.fromisoformat(entry.at)
    later = at + timedelta(microseconds=1)
    fitting = (
        AuditFilter(),
        AuditFilter(actor=entry.actor_id, kind=entry.event_type[:4], stream=entry.stream),
        AuditFilter(since=at, until=later),
    )
    others = (
        AuditFilter(actor="x"),
        AuditFilter(kind="x"),
        AuditFilter(stream="x"),
        AuditFilter(since=later),
        AuditFilter(until=at),
    )
    assert [one.everything for one in fitting] == [True, False, False]
    assert all(one.fits(entry) for one in fitting)
    assert not any(one.fits(entry) for one in others)
