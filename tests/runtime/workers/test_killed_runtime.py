"""SIGKILL of the runtime at each step of a request: the agent saw it at most once, and after a new
start it has one receipt."""

import asyncio
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.runtime.workers.stage import seen, served

KILLED = Path(__file__).with_name("killed.py")


@pytest.mark.parametrize(
    ("step", "was_seen", "code"),
    [
        ("before the ledger", 0, None),
        ("before the pipe", 0, "outcome_unknown"),
        ("after the pipe", 1, "outcome_unknown"),
        ("before the receipt", 1, "outcome_unknown"),
        ("within the receipt", 1, ""),
        ("after the receipt", 1, ""),
    ],
)
async def test_request_of_a_killed_runtime_is_never_sent_again(
    tmp_path: Path, step: str, was_seen: int, code: str | None
) -> None:
    # An answer must not come before the end.
    method = "test/hang" if step == "after the pipe" else "test/ping"
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as place:
        argv = (sys.executable, str(KILLED), str(tmp_path), place, step, method)
        environment = {"PYTHONPATH": str(ROOT)}
        process = await asyncio.create_subprocess_exec(*argv, cwd=ROOT, env=environment)
        assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL
    assert len(seen(tmp_path, method)) == was_seen
    async with served(tmp_path) as worker:
        before = (await worker.page())["entries"]
        status, answered = await worker.request("r1", method)
        assert status == 200
        receipt = answered["receipt"]
        assert receipt["data"].get("code", "") == (code or "")
        assert len(seen(tmp_path, method)) == (1 if code is None else was_seen)
        entries = (await worker.page())["entries"]
        assert [one["n"] for one in entries] == list(range(1, len(entries) + 1))
        receipts = [one["n"] for one in entries if one.get("request_id") == "r1"]
        assert receipts == [receipt["n"]]
        if code is not None:
            assert entries == before
        assert await worker.request("r1", method) == (200, answered)


async def test_torn_last_lines_are_cut_off(tmp_path: Path) -> None:
    async with served(tmp_path) as worker:
        await worker.request("r1", "test/ping")
        first = await worker.page()
    for path in (tmp_path / "workers").rglob("*.jsonl"):
        with path.open("ab") as torn:
            torn.write(b'{"n":2,"torn')
    async with served(tmp_path) as worker:
        assert await worker.page() == first
        await worker.request("r2", "test/ping")
        assert [one["n"] for one in (await worker.page())["entries"]] == [1, 2]
    async with served(tmp_path) as worker:
        assert (await worker.request("r1", "test/ping"))[1]["receipt"]["n"] == 1
