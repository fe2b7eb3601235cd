from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.approvals.approval import (
    COOLDOWN,
    HOST_COOLDOWN,
    MAX_HOSTS,
    MAX_PER_MINUTE,
    MAX_TTL,
    MAX_WORDS,
    ONCE_LIFE,
    Approval,
    ApprovalGrant,
    ApprovalId,
    CommandAsk,
    HostAsk,
    Requester,
    SecretAsk,
    ToolAsk,
    check_command,
    check_host,
    deny_approval,
    digest,
    grant_approval,
    has_room,
    is_in_force,
    overtaken,
    revoke_approval,
    rule_of,
    same_question,
    shown_lines,
    silences,
    spelled_out,
)
from atoll.domain.errors import Conflict, Invalid
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.wire.words.approvals import ApprovalState, GrantScope

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=2)
OPEN = Approval(
    ApprovalId("ap_1"),
    OrgId("org"),
    PrincipalId("me"),
    Requester(SandboxId("sb_1"), "box", 1, "ask_1"),
    SecretAsk("KEY", "sec_1", 3, "api.example.com", 443),
    NOW,
    NOW + timedelta(days=1),
)
TOOL = replace(OPEN, ask=ToolAsk("db.drop", '{"name":"one"}'))
COMMAND = replace(OPEN, ask=CommandAsk(("rm", "-rf", "x"), "/workspace"))


def yes(
    reach: GrantScope = GrantScope.SANDBOX, *, ttl: timedelta | None = None, of: Approval = OPEN
) -> ApprovalGrant:
    return ApprovalGrant(reach, ttl, digest(of))


def test_yes_is_bound_to_what_was_shown() -> None:
    said = grant_approval(OPEN, yes(), by="me", now=NOW)
    assert (said.verdict, said.reach, said.until) == (
        ApprovalState.GRANTED,
        GrantScope.SANDBOX,
        None,
    )
    assert is_in_force(said, LATER)
    with pytest.raises(Conflict) as caught:
        grant_approval(OPEN, ApprovalGrant(GrantScope.ONCE, None, "0" * 64), by="me", now=NOW)
    assert caught.value.code == "not_as_shown"


@pytest.mark.parametrize(
    "other",
    [
        replace(OPEN, id=ApprovalId("ap_2")),
        replace(OPEN, ask=SecretAsk("KEY", "sec_1", 4, "api.example.com", 443)),
        replace(OPEN, ask=SecretAsk("KEY", "sec_1", 3, "api.example.com", 8443)),
        replace(OPEN, ask=SecretAsk("KEY", "sec_1", 3, "api.example.net", 443)),
        replace(OPEN, ask=SecretAsk("KEY", "sec_2", 3, "api.example.com", 443)),
        replace(OPEN, requester=replace(OPEN.requester, sandbox_id=SandboxId("sb_2"))),
        replace(OPEN, requester=replace(OPEN.requester, ask_id="ask_2")),
        replace(OPEN, requester=replace(OPEN.requester, generation=2)),
        COMMAND,
        replace(COMMAND, ask=CommandAsk(("rm", "-rf x"), "/workspace")),
        replace(COMMAND, ask=CommandAsk(("rm", "-rf", "x"), "/")),
        TOOL,
        replace(TOOL, ask=ToolAsk("db.drop", '{"name":"two"}')),
    ],
)  # fmt: skip
def test_digest_tells_any_two_questions_apart(other: Approval) -> None:
    assert digest(other) != digest(OPEN)
    assert other == COMMAND or digest(other) != digest(COMMAND)


def test_tool_is_shown_with_its_arguments() -> None:
    assert shown_lines(TOOL)[:2] == ("Call the tool db.drop with", '  {"name":"one"}')


def test_digest_covers_what_was_cut_off() -> None:
    long = [replace(COMMAND, ask=CommandAsk(("x" * 3000 + end,), "/")) for end in "ab"]
    assert shown_lines(long[0]) == shown_lines(long[1])
    assert digest(long[0]) != digest(long[1])


def test_once_and_long_times_are_bounded() -> None:
    assert grant_approval(OPEN, yes(GrantScope.ONCE), by="me", now=NOW).until == NOW + ONCE_LIFE
    short = grant_approval(OPEN, yes(ttl=timedelta(seconds=5)), by="me", now=NOW)
    assert short.until == NOW + timedelta(seconds=5)
    assert not is_in_force(short, NOW + timedelta(seconds=5))
    assert grant_approval(OPEN, yes(ttl=MAX_TTL), by="me", now=NOW).until == NOW + MAX_TTL
    for one, grant in (
        (OPEN, yes(ttl=MAX_TTL + timedelta(seconds=1))),
        (COMMAND, yes(GrantScope.ONCE, ttl=timedelta(seconds=5), of=COMMAND)),
    ):
        with pytest.raises(Invalid) as refused:
            grant_approval(one, grant, by="me", now=NOW)
        assert refused.value.field == "ttl"


@pytest.mark.parametrize("one", [COMMAND, TOOL])
def test_command_and_tool_are_approved_once_only(one: Approval) -> None:
    said = grant_approval(one, yes(GrantScope.ONCE, of=one), by="me", now=NOW)
    assert said.reach is GrantScope.ONCE
    with pytest.raises(Invalid):
        grant_approval(one, yes(of=one), by="me", now=NOW)


@pytest.mark.parametrize(
    "verdict", [one for one in ApprovalState if one is not ApprovalState.PENDING]
)
def test_decided_is_decided(verdict: ApprovalState) -> None:
    done = replace(OPEN, verdict=verdict)
    acts: tuple[Callable[[], object], ...] = (
        lambda: grant_approval(done, yes(), by="me", now=NOW),
        lambda: deny_approval(done, by="me", now=NOW),
    )
    for act in acts:
        with pytest.raises(Conflict) as caught:
            act()
        assert caught.value.code == "already_decided"


def test_old_question_cannot_be_decided() -> None:
    with pytest.raises(Conflict, match="too old"):
        grant_approval(OPEN, yes(), by="me", now=LATER)
    assert (
        deny_approval(replace(OPEN, until=None), by="me", now=LATER).verdict is ApprovalState.DENIED
    )


def test_no_keeps_the_question_away_for_a_while() -> None:
    said = deny_approval(OPEN, by="me", now=NOW)
    assert silences(said, NOW + COOLDOWN - timedelta(seconds=1))
    assert not silences(said, NOW + COOLDOWN)
    assert silences(OPEN, NOW) and not silences(OPEN, LATER)
    assert not silences(grant_approval(OPEN, yes(), by="me", now=NOW), NOW)


def test_yes_can_be_taken_back_once() -> None:
    given_ = grant_approval(OPEN, yes(), by="me", now=NOW)
    back = revoke_approval(given_, reason="enough", now=NOW)
    assert (back.verdict, back.reason) == (ApprovalState.REVOKED, "enough")
    assert not is_in_force(back, NOW)
    for other in (back, OPEN):
        with pytest.raises(Conflict):
            revoke_approval(other, reason="again", now=NOW)


def test_change_overtakes_what_is_open_or_granted() -> None:
    given_ = grant_approval(OPEN, yes(), by="me", now=NOW)
    assert overtaken(OPEN, reason="x", now=NOW).verdict is ApprovalState.EXPIRED
    assert overtaken(given_, reason="x", now=NOW).verdict is ApprovalState.REVOKED
    no = deny_approval(OPEN, by="me", now=NOW)
    assert overtaken(no, reason="x", now=NOW) is no


def test_same_question_is_about_person_sandbox_and_subject() -> None:
    assert same_question(OPEN, replace(OPEN, id=ApprovalId("ap_2"), times=9))
    assert not same_question(OPEN, COMMAND)
    assert not same_question(OPEN, replace(OPEN, owner=PrincipalId("you")))
    other = replace(OPEN.requester, sandbox_id=SandboxId("sb_2"))
    assert not same_question(OPEN, replace(OPEN, requester=other))


def test_lines_show_words_apart_and_addresses_in_brackets() -> None:
    assert "  1: -rf" in shown_lines(COMMAND)
    six = replace(OPEN, ask=SecretAsk("KEY", "sec_1", 3, "2001:db8::1", 443))
    assert "to https://[2001:db8::1]:443" in shown_lines(six)
    odd = shown_lines(replace(OPEN, ask=SecretAsk("KEY", "sec_1", 3, "xn--pi-6kc.openai.com", 443)))
    assert odd[1] == "to https://xn--pi-6kc.openai.com:443"
    assert odd[2].startswith("which reads \u0430pi.openai.com, ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u202eb", "a\\u202eb"),
        ("a\\x1b", "a\\\\x1b"),
        ("a\nb", "a\\x0ab"),
        ("\U000e0041", "\\U000e0041"),
        ("ä", "ä"),
        ("a\u00a0b\u2003c", "a\\xa0b\\u2003c"),
        ("a\u3164\u2800\uffa0\u034fb", "a\\u3164\\u2800\\uffa0\\u034fb"),
        ("a\ufe0f\U000e0100", "a\\ufe0f\\U000e0100"),
        ("e\u0301 語", "e\u0301 語"),
    ],
)
def test_text_is_spelled_out(text: str, shown: str) -> None:
    assert spelled_out(text) == shown


@given(st.text(max_size=50), st.text(max_size=50))
def test_spelling_never_makes_two_texts_one(one: str, two: str) -> None:
    assert (spelled_out(one) == spelled_out(two)) == (one == two)
    assert spelled_out(one).isprintable()


def test_long_text_is_cut_and_says_so() -> None:
    assert spelled_out("x" * 12, 10) == "x" * 10 + "… (2 characters more)"


def test_command_has_bounds() -> None:
    assert check_command(["a", "b"], "/x") == CommandAsk(("a", "b"), "/x")
    for argv in ([], ["x"] * (MAX_WORDS + 1), ["x" * 5000]):
        with pytest.raises(Invalid):
            check_command(argv, "/x")


def test_sandbox_has_room_for_five_new_requests_a_minute() -> None:
    open_ones = [replace(OPEN, id=ApprovalId(f"ap_{n}")) for n in range(MAX_PER_MINUTE)]
    assert has_room(open_ones[0], open_ones[1:], NOW)
    assert not has_room(open_ones[0], open_ones, NOW + timedelta(seconds=59))
    assert has_room(open_ones[0], open_ones, NOW + timedelta(seconds=60))


def test_host_is_approved_for_its_sandbox_alone_until_that_is_revoked() -> None:
    host = replace(OPEN, ask=check_host("api.example.com", 443))
    assert shown_lines(host)[0] == "Let this sandbox connect to api.example.com:443"
    assert rule_of(HostAsk("api.example.com", 443)) == "api.example.com:443"
    said = grant_approval(host, yes(of=host), by="me", now=NOW)
    assert (said.verdict, said.until) == (ApprovalState.GRANTED, None)
    for grant in (yes(GrantScope.ONCE, of=host), yes(ttl=timedelta(hours=1), of=host)):
        with pytest.raises(Invalid):
            grant_approval(host, grant, by="me", now=NOW)
    assert deny_approval(host, by="me", now=NOW).until == NOW + HOST_COOLDOWN
    assert digest(host) != digest(OPEN)


def test_host_that_no_rule_could_name_is_refused() -> None:
    for bad in ("*.example.com", "API.example.com"):
        with pytest.raises(Invalid):
            check_host(bad, 443)


def test_sandbox_asks_for_few_hosts_at_once() -> None:
    host = replace(OPEN, ask=HostAsk("a.example", 443))
    asked = [
        replace(host, id=ApprovalId(f"ap_{n}"), asked_at=NOW - timedelta(hours=1))
        for n in range(MAX_HOSTS)
    ]
    assert has_room(host, asked[1:], NOW)
    assert not has_room(host, asked, NOW)
    assert has_room(OPEN, asked, NOW)
