"""The protocol's own conformance suite against the real server, at both of its current revisions.

What fails is exactly what `unoffered.toml` lists, each with its reason: a feature that Atoll does
not offer. A listed check that passes fails the test.
"""

import asyncio
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from atoll.domain.event import Json
from atoll.services.journals.events import Note
from tests.peers.mcp.node import REQUIREMENTS, SUITE, lacking, node
from tests.peers.mcp.token_proxy import token_proxy
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, world
from tests.surfaces.mcp.conformance.fixture_tools import MEMBER
from tests.surfaces.mcp.conformance.fixture_tools import test as fixtures

pytestmark = pytest.mark.skipif(bool(lacking()), reason=str(lacking()))

UNOFFERED = Path(__file__).with_name("unoffered.toml")
NAMES = {
    "test://watched-resource": "atoll://preview/watched",
    "test://static-text": "atoll://preview/text",
    "test://template/123/data": "atoll://preview/123",
    "test://nonexistent-resource-for-conformance-testing": "atoll://preview/nonexistent",
}
"""The resources of the suite, and those here that stand for them."""

RUN = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
"""The name of a folder of results."""

GOOD = {"SUCCESS", "INFO", "SKIPPED"}


def _unoffered() -> dict[str, str]:
    """Each check that fails, as `scenario:check`, with the reason."""
    features = tomllib.loads(UNOFFERED.read_text())["feature"]
    return {check: one["reason"] for one in features for check in one["checks"]}


async def _prepare(atoll: World) -> Team:
    """A member with a role to lose and to win, and resources that the suite reads."""
    team = await team_of(atoll, **{MEMBER: "viewer"})
    ada = team.people[f"token-of-{MEMBER}"]
    for preview in ("text", "123"):
        payload: dict[str, Json] = {
            "sandbox_id": "sb_1",
            "preview_id": preview,
            "app": "web",
            "port": 80,
            "state": "ready",
        }
        await atoll.services.events.record(ada, Note("sandbox:sb_1", "preview.ready", payload))
    return team


async def _run(url: str, revision: str, folder: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        node(),
        SUITE,
        "server",
        *("--url", f"{url}/mcp?names=flat"),
        *("--requirements", revision),
        *("--output-dir", folder),
        cwd=folder,
        stdout=asyncio.subprocess.DEVNULL,
    )
    await process.wait()


def _extensions(revision: str) -> set[str]:
    """The scenarios of extensions of the protocol: they run, and conformance does not ask for
    them."""
    required = yaml.safe_load((REQUIREMENTS / f"{revision}.yaml").read_text())
    return {one["scenario"] for one in required["not_scored"] if one["reason"] == "extension"}


def _checks(folder: Path, revision: str) -> dict[str, str]:
    """Each check that ran, as `scenario:check`, with the worst of its results."""
    found: dict[str, str] = {}
    for path in folder.glob("server-*/checks.json"):
        scenario = RUN.fullmatch(path.parent.name)[1]  # type: ignore[index]
        if scenario in _extensions(revision):
            continue
        for check in json.loads(path.read_text()):
            name = f"{scenario}:{check['id']}"
            if found.get(name, "SUCCESS") in GOOD:
                found[name] = check["status"]
    return found


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_what_fails_is_what_is_not_offered(revision: str, tmp_path: Path) -> None:
    async with world(namespaces=(fixtures,)) as atoll:
        await _prepare(atoll)
        async with token_proxy(atoll.url, f"token-of-{MEMBER}", NAMES) as url:
            await _run(url, revision, tmp_path)
    checks = _checks(tmp_path, revision)
    failed = {name for name, status in checks.items() if status not in GOOD}
    assert len(checks) > 50, "the suite did not run"
    assert failed == {name for name in _unoffered() if name in checks}
