"""The audit log over HTTP and by `atoll audit`: shown, exported, and followed by who doubts it."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from atoll.surfaces.cli.entry import run
from tests.surfaces.http.world import World, client_of


async def _acts(client: httpx.AsyncClient) -> None:
    for name in ("one", "two"):
        made = await client.post("/v1/sandboxes?wait=ready", json={"name": name})
        assert made.status_code == 201, made.text


async def _cli(atoll: World, *arguments: str) -> int:
    environ = {"ATOLL_URL": atoll.url, "ATOLL_TOKEN": atoll.token, "ATOLL_HOME": "/nonexistent"}

    def no_host() -> None:
        raise AssertionError

    return await asyncio.to_thread(run, ["audit", *arguments], environ, no_host)  # type: ignore[arg-type]


async def _exported(client: httpx.AsyncClient) -> list[str]:
    answer = await client.get("/v1/audit/export")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return answer.text.splitlines()


async def test_entry_says_who_did_what_from_where(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await _acts(client)
        page = (await client.get("/v1/audit", params={"limit": 1000})).json()
        first = page["entries"][0]
        assert (first["n"], first["event_type"]) == (1, "sandbox.requested")
        assert (first["actor_kind"], first["actor_id"]) == ("adm", "person")
        assert first["address"] == "127.0.0.1"
        assert page["next"] == page["entries"][-1]["n"]
        rest = (await client.get("/v1/audit", params={"after": 1, "limit": 1})).json()
        assert [one["n"] for one in rest["entries"]] == [2]
        verdict = (await client.get("/v1/audit/verify")).json()
        assert (verdict["wrong"], verdict["n"]) == (None, page["next"])


async def test_entries_are_found_by_actor_kind_stream_and_time(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await client.post("/v1/sandboxes?wait=ready", json={"name": "first"})
        atoll.clock.at += timedelta(minutes=1)
        await client.post("/v1/sandboxes?wait=ready", json={"name": "second"})
        entries = (await client.get("/v1/audit")).json()["entries"]
        box = entries[0]["stream"]
        made = {"kind": "sandbox.req", "stream": box, "actor": "person", "limit": 1}

        async def found(**query: str | int) -> tuple[list[int], int | None]:
            page = (await client.get("/v1/audit", params=query)).json()
            return [one["n"] for one in page["entries"]], page["previous"]

        assert await found(**made) == ([1], 1)
        assert await found(**made, before=1) == ([], None)
        assert await found(actor="nobody") == ([], None)
        newest = entries[-1]["n"]
        assert await found(limit=1) == ([newest], newest)
        assert await found(limit=1, before=newest) == ([newest - 1], newest - 1)
        later = [one["n"] for one in entries if one["at"] == entries[-1]["at"]]
        assert await found(until=entries[-1]["at"]) == ([*range(1, later[0])], None)
        assert await found(since=entries[-1]["at"], kind="sandbox.") == (later, None)
        filtered = await client.get("/v1/audit/export", params={"kind": "sandbox.requested"})
        lines = [json.loads(line) for line in filtered.text.splitlines()[1:]]
        assert {one["event_type"] for one in lines} == {"sandbox.requested"}
        assert len(lines) == 2
        assert (await client.get("/v1/audit", params={"since": "today"})).status_code == 422
        for number in ("9999999", "0", "-1", "1.5"):
            for word in ("since", "until"):
                for place in ("/v1/audit", "/v1/audit/export"):
                    refused = await client.get(place, params={word: number})
                    assert (refused.status_code, refused.json()["field"]) == (422, word)
                    assert "a number goes in `after`" in refused.json()["detail"]


async def test_reader_ahead_of_the_log_is_told_and_no_filter_is_dropped(
    atoll: World, capsys: pytest.CaptureFixture[str]
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await _acts(client)
        page = (await client.get("/v1/audit?after=0")).json()
        assert page["gap"] is None
        ahead = (await client.get("/v1/audit?after=5000")).json()
        assert (ahead["entries"], ahead["gap"]) == ([], {"after": 5000, "to": ahead["next"]})
        assert ahead["next"] >= page["next"]
        for more in ("kind=sandbox.", "before=3"):
            refused = await client.get(f"/v1/audit?after=1&{more}")
            assert (refused.status_code, refused.json()["field"]) == (422, "after")
    assert await _cli(atoll, "list", "--after", "5000") == 0
    assert "the log was set back" in capsys.readouterr().err


async def test_export_is_verified_without_the_server(
    atoll: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await _acts(client)
    file = str(tmp_path / "audit.jsonl")
    assert await _cli(atoll, "export", "-o", file) == 0
    assert await _cli(atoll, "verify", file) == 0
    said = capfd.readouterr().out
    assert "entries hold; the newest is" in said
    head = said.partition("the newest is ")[2].split()[0]
    assert await _cli(atoll, "verify", "--head", head) == 0
    assert await _cli(atoll, "list", "--limit", "1") == 0
    assert "adm:person" in capfd.readouterr().out
    assert await _cli(atoll, "verify", "--json") == 0
    assert json.loads(capfd.readouterr().out)["wrong"] is None
    assert await _cli(atoll, "list", "--json", "--after", "0") == 0
    assert json.loads(capfd.readouterr().out)["entries"][0]["n"] == 1


async def test_forged_export_is_noticed(
    atoll: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await _acts(client)
        lines = await _exported(client)
    last = json.loads(lines[-1])
    point = {
        "org_id": last["org_id"],
        "n": 1,
        "hash": json.loads(lines[1])["hash"],
        "at": last["at"],
        "key_id": "k",
        "signature": "00" * 64,
    }
    head = json.loads(lines[0])
    forged = {
        "changed": [*lines[:1], lines[1].replace('"person"', '"nobody"'), *lines[2:]],
        "is missing": [lines[0], *lines[2:]],
        "another organization": [json.dumps(head | {"org_id": "other"}), *lines[1:]],
        "not signed by this key": [json.dumps(head | {"checkpoint": point}), *lines[2:]],
        "the end was cut off": lines[:-1],
    }
    for words, text in forged.items():
        file = tmp_path / "forged.jsonl"
        file.write_text("\n".join(text) + "\n")
        noted = f"{last['n']}:{last['hash']}"
        assert await _cli(atoll, "verify", str(file), "--head", noted) != 0
        assert words in capfd.readouterr().err
    rewritten = f"{last['n']}:{'ab' * 32}"
    assert await _cli(atoll, "verify", "--head", rewritten) != 0
    assert "written anew" in capfd.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "not json",
        '{"org_id": "personal", "checkpoint": 1, "public_key": ""}',
        '{"org_id": "personal", "checkpoint": {}, "public_key": ""}',
        '{"org_id": "personal", "checkpoint": null, "public_key": ""}\n{"n": 1}',
        '{"org_id": "personal", "checkpoint": null, "public_key": ""}\n' + "[" * 100_000,
    ],
)
async def test_file_that_is_no_export_gets_a_sentence(
    atoll: World, tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_text(text)
    assert await _cli(atoll, "verify", str(file)) != 0
    said = capfd.readouterr().err
    assert said.startswith("atoll: this is no export of an audit log")
    assert said.count("\n") == 1


async def test_wrong_words_on_the_command_line_get_a_sentence(
    atoll: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert await _cli(atoll, "verify", str(tmp_path / "absent")) != 0
    assert "cannot be read" in capfd.readouterr().err
    assert await _cli(atoll, "verify", "--head", "x") != 0
    assert "N:HASH" in capfd.readouterr().err
    assert await _cli(atoll, "export", "-o", str(tmp_path / "no" / "where")) != 0
    assert "cannot be written" in capfd.readouterr().err


async def test_guest_and_stranger_get_nothing(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        for path in ("/v1/audit", "/v1/audit/export", "/v1/audit/verify"):
            assert (await client.get(path)).status_code == 401
