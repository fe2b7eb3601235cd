"""Hosts that a sandbox was refused, which a person may allow for it."""

from datetime import timedelta

import pytest

from atoll.domain.approvals.approval import (
    HOST_COOLDOWN,
    MAX_HOSTS,
    ApprovalGrant,
    digest,
    shown_lines,
)
from atoll.domain.errors import Invalid
from atoll.domain.network.switch import NetworkChange
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.wire.words.approvals import ApprovalState, GrantScope
from atoll.wire.words.networks import NetworkMode
from tests.services.approvals.test_approvals import asked, entry, yes
from tests.services.scene import Scene, scene
from tests.services.test_secrets import accepting


def refused(s: Scene, host: str, port: int = 443, **changed: object) -> None:
    """The runtime reports that its egress door refused a host."""
    told = {"door": "egress", "host": host, "port": port, "code": "not_listed", **changed}
    s.runtime.journal.append(entry(len(s.runtime.journal) + 1, "door.refused", told))


async def test_refused_host_is_allowed_exactly_and_for_its_sandbox_until_revoked() -> None:
    async with scene() as s:
        accepting(s)
        box = await s.ready(name="box")
        refused(s, "api.example.com", 8443)
        (one,) = await asked(s)
        assert "connect to api.example.com:8443" in shown_lines(one)[0]
        said = await s.approvals.approve(LOCAL_PERSON, one.id, yes(one))
        assert (said.verdict, said.until) == (ApprovalState.GRANTED, None)
        network = (await s.sandboxes.get(LOCAL_PERSON, box.id)).profile.network
        assert network.allowed == ("api.example.com:8443",)
        await s.approvals.revoke(LOCAL_PERSON, one.id)
        network = (await s.sandboxes.get(LOCAL_PERSON, box.id)).profile.network
        assert network.allowed == ()
        kinds = await s.kinds(box)
        assert kinds.count("door.refused") == 1
        assert [kind for kind in kinds if kind.startswith("approval")] == [
            "approval.asked", "approval.granted", "approval.revoked",
        ]  # fmt: skip


async def test_denied_host_is_not_asked_again_for_a_day() -> None:
    async with scene() as s:
        await s.ready(name="box")
        refused(s, "a.example.com")
        (one,) = await asked(s)
        await s.approvals.deny(LOCAL_PERSON, one.id)
        refused(s, "a.example.com")
        assert await asked(s) == []
        s.clock.turn(HOST_COOLDOWN / timedelta(seconds=1))
        refused(s, "a.example.com")
        assert len(await asked(s)) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"host": "203.0.113.7"},
        {"host": "intranet"},
        {"host": "*.example.com"},
        {"host": "A.example.com"},
        {"host": "a.example.com/x"},
        {"host": "a.example.com:1,2"},
        {"host": "preset:pypi"},
        {"host": "evil\x1b[2J.example.com"},
        {"port": 0},
        {"port": "443"},
        {"code": "denied"},
        {"code": "address_not_public"},
        {"door": "broker"},
    ],
)
async def test_refusal_that_no_single_rule_would_end_is_not_asked(
    changed: dict[str, object],
) -> None:
    async with scene() as s:
        await s.ready(name="box")
        told = {"door": "egress", "host": "a.example.com", "port": 443, "code": "not_listed"}
        s.runtime.journal.append(entry(1, "door.refused", {**told, **changed}))
        assert await asked(s) == []


async def test_hosts_leave_room_for_other_requests() -> None:
    async with scene() as s:
        await s.ready(name="box")
        for number in range(3 * MAX_HOSTS):
            refused(s, f"h{number}.example.com")
        assert len(await asked(s)) == MAX_HOSTS
        s.clock.turn(120)
        refused(s, "late.example.com")
        assert len(await asked(s)) == MAX_HOSTS


async def test_host_that_was_allowed_meanwhile_is_not_asked() -> None:
    async with scene() as s:
        accepting(s)
        box = await s.ready(name="box")
        change = NetworkChange(allow=("*.example.com",))
        await s.sandboxes.switch_network(LOCAL_PERSON, box.id, change)
        refused(s, "a.example.com")
        assert await asked(s) == []


async def test_host_is_allowed_for_its_sandbox_only_and_without_an_end() -> None:
    async with scene() as s:
        await s.ready(name="box")
        refused(s, "a.example.com")
        (one,) = await asked(s)
        for reach, ttl in (
            (GrantScope.ONCE, None),
            (GrantScope.ORGANIZATION, None),
            (GrantScope.SANDBOX, timedelta(hours=1)),
        ):
            with pytest.raises(Invalid):
                await s.approvals.approve(
                    LOCAL_PERSON, one.id, ApprovalGrant(reach, ttl, digest(one))
                )


async def test_host_that_an_agent_calls_for_itself_asks_nobody() -> None:
    async with scene() as s:
        await s.ready(name="box")
        started = {"id": "t_1", "agent": "codex", "mode": "tui"}
        s.runtime.journal.append(entry(1, "agent.started", started))
        refused(s, "chatgpt.com")
        refused(s, "api.example.com")
        (one,) = await asked(s)
        assert "api.example.com" in shown_lines(one)[0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (NetworkChange(allow=("api.example.com",)), "A rule allows it by now."),
        (NetworkChange(deny=("api.example.com",)), "A rule denies it by now."),
        (NetworkChange(mode=NetworkMode.FULL), "The network of its sandbox is full by now."),
    ],
)
async def test_host_that_a_rule_settles_by_now_waits_no_more(
    change: NetworkChange, reason: str
) -> None:
    async with scene() as s:
        accepting(s)
        box = await s.ready(name="box")
        refused(s, "api.example.com")
        (one,) = await asked(s)
        await s.sandboxes.switch_network(LOCAL_PERSON, box.id, change)
        # At once: whoever follows the log need not look.
        kinds = [one.event_type for one in await s.events.list(LOCAL_PERSON)]
        assert kinds.count("approval.expired") == 1
        assert await asked(s) == []
        ended = await s.approvals.get(LOCAL_PERSON, one.id)
        assert (ended.verdict, ended.reason) == (ApprovalState.EXPIRED, reason)
