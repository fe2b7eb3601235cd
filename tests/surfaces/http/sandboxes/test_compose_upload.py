"""`atoll new --compose FILE` at a real server: what it refuses is said with the file's line."""

import asyncio
from pathlib import Path

import httpx
import pytest

from atoll.surfaces.cli.entry import run
from tests.surfaces.http.world import World, client_of

BEGINS = "atoll: inputs.compose_bundle: the compose file cannot be used: "
REFUSED = {
    "services:\n  web:\n    image: nginx\n    privileged: true\n": ("Line 4,", "privileged"),
    "services:\n  web:\n    image: nginx\n    volumes:\n      - /etc:/etc\n": (
        *("Line 5,", "services.web.volumes[0]"),
    ),
    "services: [\n": ("Line 2,", "YAML"),
}


async def new(atoll: World, *words: str) -> int:
    """Run `atoll new`; return its exit code."""
    environ = {"ATOLL_URL": atoll.url, "ATOLL_TOKEN": atoll.token, "ATOLL_HOME": "/nonexistent"}

    def no_host() -> None:
        raise AssertionError

    return await asyncio.to_thread(run, ["new", *words, "--detach"], environ, no_host)  # type: ignore[arg-type]


async def listed(client: httpx.AsyncClient) -> list[str]:
    return [one["name"] for one in (await client.get("/v1/sandboxes")).json()["sandboxes"]]


@pytest.mark.parametrize("text", REFUSED)
async def test_upload_that_is_refused_ends_with_2_its_line_and_no_sandbox(
    atoll: World, tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(text)
    assert await new(atoll, "--compose", str(file)) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.startswith(BEGINS), said.err
    for words in REFUSED[text]:
        assert words in said.err
    async with client_of(atoll.url, atoll.token) as client:
        assert await listed(client) == []


async def test_upload_that_is_taken_makes_one_and_a_file_that_is_absent_none(
    atoll: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "compose.yaml"
    assert await new(atoll, "--compose", str(file)) == 2
    assert "--compose" in capfd.readouterr().err
    file.write_text("services: {agent: {image: a}, web: {image: nginx}}\n")
    assert await new(atoll, "--compose", str(file), "--name", "stack") == 0
    async with client_of(atoll.url, atoll.token) as client:
        assert await listed(client) == ["stack"]
