import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.workers import codex_methods
from atoll.domain.workers.methods import (
    METHODS,
    RESPOND,
    SERVED,
    MethodAccess,
    agent_of_name,
    judge_request,
    lookup_method,
    needed_access,
    read_refusal,
    thread_request,
)
from atoll.wire.contract.workers import Receipt, RequestAnswer
from tests.places import ROOT

SCHEMA: dict[str, list[str]] = json.loads(
    Path(ROOT, "tests/fixtures/workers/codex-0.171.0-methods.json").read_text()
)
FIELDS: dict[str, list[str]] = json.loads(
    Path(ROOT, "tests/fixtures/workers/codex-0.171.0-fields.json").read_text()
)


def test_every_method_of_codex_is_classified_once() -> None:
    allowed = set(METHODS["codex"]) - {RESPOND}
    refused = codex_methods.REFUSED.split()
    assert len(SCHEMA) == 110
    assert sorted([*allowed, *refused]) == sorted(SCHEMA)
    lines = [*codex_methods.READ.split("\n"), *codex_methods.DRIVE.split("\n")]
    assert len([line for line in lines if line]) == len(allowed)


def test_required_fields_of_codex_are_those_of_its_schema() -> None:
    for method, (_, required) in METHODS["codex"].items():
        if method != RESPOND:
            assert sorted(required) == SCHEMA[method], method


def test_other_agents_take_a_part_of_codex_methods_alike() -> None:
    codex = METHODS["codex"]
    for agent in sorted(SERVED - {"codex"}):
        assert len(METHODS[agent]) == 9
        for method, (needed, required) in METHODS[agent].items():
            assert (needed, set(required)) == (codex[method][0], set(codex[method][1]))


@pytest.mark.parametrize("method", ["fs/readFile", "command/exec", "account/login/start", "x", ""])
def test_refused_and_unknown_methods_are_unsupported(method: str) -> None:
    assert needed_access("codex", method) is MethodAccess.REFUSED
    with pytest.raises(Invalid) as refusal:
        judge_request("codex", method, {})
    assert refusal.value.code == "unsupported_method"


@given(st.sampled_from(sorted(METHODS)), st.data())
def test_request_passes_only_with_every_required_field(agent: str, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(sorted(METHODS[agent])))
    needed, required = METHODS[agent][method]
    assert needed_access(agent, method) is needed
    names = [one.removesuffix("?") for one in required]
    assert judge_request(agent, method, dict.fromkeys(names, "x")) is needed
    for one in names:
        with pytest.raises(Invalid) as refusal:
            judge_request(agent, method, {name: "x" for name in names if name != one})
        assert (refusal.value.code, refusal.value.field) == (
            "invalid_request",
            f"request.params.{one}",
        )


def test_null_is_a_value_only_where_the_schema_takes_it() -> None:
    moved = {"threadId": "t", "sectionId": None}
    assert judge_request("codex", "thread/section/move", moved) is MethodAccess.DRIVE
    with pytest.raises(Invalid, match="threadId"):
        judge_request("codex", "thread/read", {"threadId": None})


def test_every_field_of_codex_is_classified_once() -> None:
    assert sorted(FIELDS) == sorted(set(METHODS["codex"]) - {RESPOND})
    known = {name for names in FIELDS.values() for name in names}
    classified = codex_methods.FIELDS.split() + codex_methods.REFUSED_FIELDS.split()
    assert sorted(classified) == sorted(known)


@pytest.mark.parametrize("method", ["thread/start", "thread/resume", "thread/fork", "turn/start"])
@pytest.mark.parametrize(
    "name", ["approvalPolicy", "sandbox", "sandboxPolicy", "permissions", "config", "modelProvider",
             "approval_policy", "environments", "runtimeWorkspaceRoots", "unheard-of"],
)  # fmt: skip
def test_fields_that_replace_what_holds_the_worker_are_refused(method: str, name: str) -> None:
    params: dict[str, Any] = {"threadId": "t", "input": [], name: None}
    with pytest.raises(Invalid) as refusal:
        judge_request("codex", method, params)
    told = refusal.value
    assert (told.code, told.field) == ("invalid_request", f"request.params.{name}")


@pytest.mark.parametrize(
    ("cwd", "taken"),
    [("/workspace", True), ("/workspace/a", True), (None, True), ("/", False), ("/tmp/a", False),
     ("workspace", False), ("/workspace/../etc", False), ("/workspacex", False), (7, False)],
)  # fmt: skip
def test_directory_of_a_thread_lies_in_the_workspace(cwd: Any, taken: bool) -> None:
    params: dict[str, Any] = {"cwd": cwd, "model": "m", "effort": "low"}
    if taken:
        assert judge_request("codex", "thread/start", params) is MethodAccess.DRIVE
    else:
        with pytest.raises(Invalid, match="cwd is a directory of the workspace"):
            judge_request("codex", "thread/start", params)
    assert judge_request("codex", "thread/list", {"cwd": cwd}) is MethodAccess.READ


def test_filters_of_what_only_reads_pass() -> None:
    assert judge_request("codex", "model/list", {"modelProvider": "x"}) is MethodAccess.READ
    with pytest.raises(Invalid, match="'other'"):
        judge_request("codex", "model/list", {"other": "x"})


def rows_of(page: str) -> list[list[str]]:
    """The cells of the rows that begin with a method."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()
            if line.startswith("| `")]  # fmt: skip


def test_table_of_the_docs_has_every_method_and_every_refused_field() -> None:
    page = Path(ROOT, "docs/program/workers.md").read_text()
    methods = page.partition("## Methods")[2].partition("## Other agents")[0]
    told = [
        (name.strip("`"), right, re.findall(r"`(\w+)`", needs))
        for name, right, needs in rows_of(methods)
    ]
    table = METHODS["codex"].items()
    assert told == sorted(
        (name, needed.value, [one.removesuffix("?") for one in fields])
        for name, (needed, fields) in table
    )
    fields = methods.partition("`invalid_request` where")[2].partition("So is")[0]
    assert re.findall(r"`(\w+)`", fields) == sorted(codex_methods.REFUSED_FIELDS.split())


def test_table_of_other_agents_has_every_method_and_every_agent() -> None:
    page = Path(ROOT, "docs/program/workers.md").read_text()
    others = page.partition("## Other agents")[2].partition("## Follow")[0]
    head = next(line for line in others.splitlines() if line.startswith("| method"))
    columns = [re.findall(r"`([\w-]+)`", cell) for cell in head.split("|")[2:-1]]
    assert sorted(["codex", *(name for names in columns for name in names)]) == sorted(SERVED)
    rows = {row[0].strip("`"): row[1:] for row in rows_of(others)}
    for at, names in enumerate(columns):
        for agent in names:
            assert list(rows) == sorted(METHODS[agent])
            for method, (_, required) in METHODS[agent].items():
                more = re.findall(r"takes `(\w+)`", rows[method][at])
                check_fields(agent, method, [*required, *more])


def check_fields(agent: str, method: str, fields: list[str]) -> None:
    """Check that these fields are taken, and no other one."""
    params = dict.fromkeys(fields, "x")
    judge_request(agent, method, params)
    for other in {"limit", "includeTurns", "model", "cwd"} - set(fields):
        if method != RESPOND:
            with pytest.raises(Invalid, match=other) as refusal:
                judge_request(agent, method, {**params, other: 1})
            assert refusal.value.code == "invalid_request"


def test_alias_means_its_agent_and_an_unknown_name_itself() -> None:
    assert agent_of_name("claude") == "claude-code"
    assert agent_of_name("codex") == "codex"
    assert agent_of_name("nobody") == "nobody"


def test_answer_to_the_agents_question_may_hold_anything() -> None:
    answer = judge_request("codex", RESPOND, {"server_request_id": "1", "result": {"a": [1]}})
    assert answer is MethodAccess.DRIVE


def test_agent_is_asked_for_a_conversation_by_its_own_method() -> None:
    assert lookup_method("codex") == "thread/resume"
    assert lookup_method("claude-code") == "thread/read"


def test_agent_that_refuses_a_conversation_does_not_know_it() -> None:
    asked = thread_request("r", "codex", "t-1")
    assert (asked.method, asked.params) == ("thread/resume", {"threadId": "t-1"})
    refused = msgspec.Raw(b'{"code":"internal_error","message":"no rollout","retryable":false}')
    answers = (
        RequestAnswer(),
        RequestAnswer(Receipt("r", "response", 1, msgspec.Raw(b"{}"))),
        RequestAnswer(Receipt("r", "error", 1, refused)),
    )
    found = [read_refusal("codex", "t-1", one) for one in answers]
    assert [one and one.message for one in found] == [
        None, None, "codex knows no conversation t-1: no rollout",
    ]  # fmt: skip
