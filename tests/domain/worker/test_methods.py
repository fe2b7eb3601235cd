import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.worker import codex_methods
from atoll.domain.worker.methods import METHODS, MethodAccess, access, judge_request
from tests.places import ROOT

SCHEMA: dict[str, list[str]] = json.loads(
    Path(ROOT, "tests/fixtures/workers/codex-0.169.0-methods.json").read_text()
)
RESPOND = "serverRequest/respond"


def test_every_method_of_codex_is_classified_once() -> None:
    allowed = set(METHODS["codex"]) - {RESPOND}
    refused = codex_methods.REFUSED.split()
    assert len(SCHEMA) == 109
    assert sorted([*allowed, *refused]) == sorted(SCHEMA)
    lines = [*codex_methods.READ.split("\n"), *codex_methods.DRIVE.split("\n")]
    assert len([line for line in lines if line]) == len(allowed)


def test_required_fields_of_codex_are_those_of_its_schema() -> None:
    for method, (_, required) in METHODS["codex"].items():
        if method != RESPOND:
            assert sorted(required) == SCHEMA[method], method


def test_other_agents_take_a_part_of_codex_methods_alike() -> None:
    codex = METHODS["codex"]
    for agent in ("claude", "opencode", "acp"):
        assert len(METHODS[agent]) == 8
        for method, (needed, required) in METHODS[agent].items():
            assert (needed, set(required)) == (codex[method][0], set(codex[method][1]))


@pytest.mark.parametrize("method", ["fs/readFile", "command/exec", "account/login/start", "x", ""])
def test_refused_and_unknown_methods_are_unsupported(method: str) -> None:
    assert access("codex", method) is MethodAccess.REFUSED
    with pytest.raises(Invalid) as refusal:
        judge_request("codex", method, {})
    assert refusal.value.code == "unsupported_method"


@given(st.sampled_from(sorted(METHODS)), st.data())
def test_request_passes_only_with_every_required_field(agent: str, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(sorted(METHODS[agent])))
    needed, required = METHODS[agent][method]
    assert access(agent, method) is needed
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
