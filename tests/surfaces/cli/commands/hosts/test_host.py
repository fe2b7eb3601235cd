"""Hosts at the command line: the fingerprint and the line to install are printed, and problems end
with an error."""

from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

HOST: dict[str, Any] = {
    "host_id": "ho_1",
    "name": "box",
    "kind": "ssh",
    "address": "ssh://ada@box.example:2222",
    "fingerprint": "SHA256:r9/sKKnqU3ny4yf96muQ7mchci96PmcaZVlm9c9rr50",
    "region": "eu-1",
    "labels": {"disk": "nvme"},
    "capacity": {"sandboxes": 50, "cpu": 8.0, "memory_mb": None},
    "overcommit": 1.0,
    "cost_per_hour": {"micros": 120000, "currency": "USD"},
    "organization": None,
    "profile": None,
    "state": "active",
    "used": {"sandboxes": 3, "cpu": 1.5, "memory_mb": 4096},
    "kept": 2,
}
LINE = "restrict ssh-ed25519 AAAA atoll-x"
CHECK = {"reachable": True, "key_unchanged": True, "wall": True, "problems": [], "lacks": ["pids"]}


def answers(server: Scripted, route: str, value: object, status: int = 200) -> None:
    server.answers[route] = lambda _seen: web.json_response(value, status=status)


def test_add_prints_the_fingerprint_and_the_line_for_the_machine(
    server: Scripted, cli: Cli
) -> None:
    answers(server, "POST /v1/hosts", {**HOST, "authorized_key": LINE}, 201)
    words = ["--region", "eu-1", "--label", "disk=nvme", "--capacity", "50", "--cost", "0.12"]
    ran = cli("host", "add", HOST["address"], *words)
    assert (ran.code, ran.out) == (0, f"box {HOST['fingerprint']}\n{LINE}\n")
    assert "compare the fingerprint" in ran.err and "authorized_keys" in ran.err
    assert server.seen[-1].json == {
        "address": HOST["address"],
        "name": None,
        "host_key": None,
        "fingerprint": None,
        "region": "eu-1",
        "overcommit": None,
        "organization": None,
        "profile": None,
        "labels": {"disk": "nvme"},
        "capacity": {"sandboxes": 50, "cpu": None, "memory_mb": None},
        "cost_per_hour": {"micros": 120000, "currency": "USD"},
    }


def test_add_sends_the_key_of_a_file(server: Scripted, cli: Cli, tmp_path: Any) -> None:
    answers(server, "POST /v1/hosts", {**HOST, "authorized_key": LINE}, 201)
    file = tmp_path / "host.pub"
    file.write_text("ssh-ed25519 AAAA root@box\n")
    ran = cli("host", "add", HOST["address"], "--key", str(file), "--name", "b")
    assert ran.code == 0 and "compare the fingerprint" not in ran.err
    assert server.seen[-1].json["host_key"] == "ssh-ed25519 AAAA root@box"


def test_list_and_info_show_room_and_price(server: Scripted, cli: Cli) -> None:
    answers(server, "GET /v1/hosts", {"hosts": [HOST]})
    answers(server, "GET /v1/hosts/box", HOST)
    out = cli("host", "list").out
    assert "3/50" in out and "1.5/8" in out and "4096" in out and "eu-1" in out
    shown = cli("host", "info", "box").out
    for words in ("50 sandboxes, 8 cores", "0.12 USD an hour", "disk=nvme", "2 sandboxes"):
        assert words in shown


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["--cpu", "4"], {"capacity": {"sandboxes": None, "cpu": 4.0, "memory_mb": None}}),
        (["--for-profile", ""], {"profile": ""}),
        (["--for-organization", "acme"], {"organization": "acme"}),
        (["--overcommit", "1.5"], {"overcommit": 1.5}),
        (["--memory-mb", "9"], {"capacity": {"sandboxes": None, "cpu": None, "memory_mb": 9}}),
    ],
)
def test_change_sends_what_was_said(
    server: Scripted, cli: Cli, words: list[str], body: dict[str, Any]
) -> None:
    answers(server, "PATCH /v1/hosts/box", HOST)
    assert cli("host", "change", "box", *words).code == 0
    plain = dict.fromkeys(("region", "overcommit", "organization", "profile"))
    assert server.seen[-1].json == {**plain, **body}


def test_check_ends_with_an_error_where_no_sandbox_can_be(server: Scripted, cli: Cli) -> None:
    answers(server, "POST /v1/hosts/box/check", CHECK)
    ran = cli("host", "check", "box")
    assert (ran.code, ran.out) == (0, "lacks: pids\n")
    bad = {**CHECK, "wall": False, "problems": ["it shows \x1b[2Janother key"]}
    answers(server, "POST /v1/hosts/box/check", bad)
    for words in ((), ("--json",)):
        ran = cli("host", "check", "box", *words)
        assert ran.code == 1 and "\x1b[2J" not in ran.out


def test_drain_undrain_and_remove_say_what_they_did(server: Scripted, cli: Cli) -> None:
    for act in ("drain", "undrain"):
        answers(server, f"POST /v1/hosts/box/{act}", HOST)
    assert cli("host", "drain", "box").out == "box takes no new sandbox\n"
    assert server.seen[-1].json == {"evacuate": False}
    assert cli("host", "undrain", "box").out == "box takes sandboxes again\n"
    server.answers["DELETE /v1/hosts/box"] = lambda _seen: web.Response(status=204)
    assert cli("host", "remove", "box", "--yes").out == "removed box\n"


def test_trust_shows_both_fingerprints_and_needs_an_answer(server: Scripted, cli: Cli) -> None:
    both = {"name": "box", "pinned": "SHA256:old", "shown": ["SHA256:new\x1b[2J"]}
    answers(server, "POST /v1/hosts/box/trust", both)
    ran = cli("host", "trust", "box")
    assert ran.code == 1 and "pinned  SHA256:old" in ran.err and "shown   SHA256:new" in ran.err
    assert "--fingerprint" in ran.err and "\x1b" not in ran.err
    assert server.seen[-1].json == {}
    answers(server, "POST /v1/hosts/box/trust", {**both, "pinned": "SHA256:new"})
    ran = cli("host", "trust", "box", "--fingerprint", "SHA256:new")
    assert (ran.code, ran.out) == (0, "box is trusted by SHA256:new\n")
    assert server.seen[-1].json == {"fingerprint": "SHA256:new"}


def test_evacuation_prints_what_moves_and_what_stays(server: Scripted, cli: Cli) -> None:
    moving = [{"sandbox_id": "sb_1", "name": "one", "to": "other"}]
    staying = [{"sandbox_id": "sb_2", "name": "two", "reason": "it runs: \x1b[2J stop it first"}]
    told = {**HOST, "evacuation": {"moving": moving, "staying": staying}}
    answers(server, "POST /v1/hosts/box/drain", told)
    ran = cli("host", "drain", "box", "--evacuate")
    assert server.seen[-1].json == {"evacuate": True}
    first, second, third = ran.out.splitlines()
    assert (first, second) == ("box takes no new sandbox", "one moves to other")
    assert third.startswith("two stays: it runs: ") and "\x1b" not in third


@pytest.mark.parametrize("words", [["--label", "x"], ["--cost", "much"]])
def test_wrong_words_are_refused_before_anything_is_sent(
    server: Scripted, cli: Cli, words: list[str]
) -> None:
    before = len(server.seen)
    assert cli("host", "add", HOST["address"], *words).code != 0
    assert len(server.seen) == before
