"""Snapshots of somebody else, exported or not, here or elsewhere: whoever asks for one hears what
they hear of one that nobody has, and nothing is read, kept or ordered for them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from atoll.domain.ids import SnapshotId
from atoll.services.contents.disk_returns import DiskReturns
from atoll.wire.words.people import OrgRole
from tests.services.snapshots.exporting import FolderDisks, have_disks
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import world

STRANGERS = ("eve", "mallory", "bob")
"""The owner and a member of another organization, and a member of the same one."""

KINDS = ("here", "exported", "lost", "elsewhere")
"""What became of a snapshot's disk: on this server, among the contents, too, or there alone, and
neither."""

CALLS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/v1/snapshots/{snapshot}", None),
    ("POST", "/v1/snapshots/{snapshot}/export", None),
    ("POST", "/v1/snapshots/{snapshot}/verify", None),
    ("POST", "/v1/snapshots/{snapshot}/import", None),
    ("DELETE", "/v1/snapshots/{snapshot}", None),
    ("POST", "/v1/sandboxes", {"seed": {"snapshot": "{snapshot}"}}),
    ("POST", "/v1/sandboxes/own/restore", {"snapshot": "{snapshot}"}),
    ("POST", "/v1/sandboxes/{sandbox}/restore", {"snapshot": "{snapshot}"}),
    ("POST", "/v1/sandboxes/{sandbox}/fork", {}),
    ("POST", "/v1/sandboxes/{sandbox}/snapshots", {}),
)


@dataclass
class Kept:
    """The snapshots of `ann`, by what became of their disks, and what is watched."""

    team: Team
    disks: FolderDisks
    returns: DiskReturns
    sandbox: str
    snapshots: dict[str, str]
    folder: Path

    async def state(self) -> tuple[Any, ...]:
        """Return what no stranger may change."""
        async with self.team.atoll.ground.store.read() as rows:
            stored = [await rows.snapshots.get(SnapshotId(one)) for one in self.snapshots.values()]
            sandboxes = await rows.sandboxes.unfinished(*self._ann())
            orders = await rows.disk_orders.everything()
        files = sorted(str(path) for path in self.folder.rglob("*") if path.is_file())
        return stored, sandboxes, orders, files

    def _ann(self) -> tuple[Any, Any]:
        ann = self.team.people["token-of-ann"]
        return ann.org_id, ann.id


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    async with world() as atoll:
        team = await team_of(atoll, ann="member", bob="member")
        await team.organization("elsewhere")
        await team.join("eve", OrgRole.OWNER, org="elsewhere")
        await team.join("mallory", OrgRole.MEMBER, org="elsewhere")
        returns = atoll.services.sandboxes._disks
        disks = have_disks(returns, atoll.ground, tmp_path)

        async def done(who: str, path: str, body: Any = None) -> dict[str, Any]:
            answer = await team.call(who, "POST", path, json=body)
            assert answer.is_success, answer.text
            view: dict[str, Any] = answer.json()
            return view

        box = (await done("ann", "/v1/sandboxes?wait=ready", {"name": "anns"}))["sandbox_id"]
        snapshots = {}
        for kind in KINDS:
            taken = await done("ann", f"/v1/sandboxes/{box}/snapshots", {"name": f"ann-{kind}"})
            disk = disks.kept / taken["snapshot_id"]
            disk.write_bytes(b"a disk")
            if kind in ("exported", "lost"):
                assert (await done("ann", f"/v1/snapshots/{disk.name}/export"))["exported"] is True
            if kind in ("lost", "elsewhere"):
                disk.unlink()
            snapshots[kind] = disk.name
        for who in STRANGERS:
            await done(who, "/v1/sandboxes?wait=ready", {"name": "own"})
        yield Kept(team, disks, returns, box, snapshots, tmp_path)


async def _answer(
    kept: Kept, who: str, call: tuple[str, str, Any], names: dict[str, str]
) -> tuple[int, str, list[tuple[str, str]]]:
    """Return an answer without the names that were asked for, and without what is of the moment."""
    method, path, body = call
    for name, value in names.items():
        path = path.replace(f"{{{name}}}", value)
    if body is not None:
        body = {key: _filled(value, names) for key, value in body.items()}
    answer = await kept.team.call(who, method, path, json=body)

    def masked(text: str) -> str:
        for value in names.values():
            text = text.replace(value, "<name>")
        return text

    skipped = ("date", "content-length")
    headers = [(name, masked(text)) for name, text in answer.headers.items() if name not in skipped]
    return answer.status_code, masked(answer.text), sorted(headers)


def _filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, names) for key, one in value.items()}
    return value.format(**names)


@pytest.mark.parametrize("leads", [True, False], ids=["leader", "follower"])
@pytest.mark.parametrize("who", STRANGERS)
async def test_snapshot_of_somebody_else_answers_exactly_like_a_missing_one(
    kept: Kept, who: str, *, leads: bool
) -> None:
    if not leads:
        follower = type("Follower", (), {"leads": False, "shared": True})()
        kept.returns._ground = replace(kept.returns._ground, leadership=follower)
    before = await kept.state()
    missing = {"snapshot": "snap_0000000000000000", "sandbox": "sb_00000000000000000"}
    for call in CALLS:
        wanted = await _answer(kept, who, call, missing)
        assert wanted[0] == 404, (call, wanted)
        for kind, snapshot in kept.snapshots.items():
            # By its id, and by its name, which is its owner's alone.
            for ref in (snapshot, f"ann-{kind}"):
                names = {"snapshot": ref, "sandbox": kept.sandbox}
                assert await _answer(kept, who, call, names) == wanted, (call, kind, ref)
    assert await kept.state() == before


async def test_its_owner_is_answered(kept: Kept) -> None:
    """What the test above asks is what would be done for its owner."""
    for kind, export, seed in (
        ("here", 200, 201),
        ("exported", 200, 201),
        ("lost", 200, 201),
        ("elsewhere", 404, 409),
    ):
        path = f"/v1/snapshots/{kept.snapshots[kind]}"
        exported = await kept.team.call("ann", "POST", f"{path}/export")
        assert exported.status_code == export, (kind, exported.text)
        body = {"seed": {"snapshot": f"ann-{kind}"}}
        seeded = await kept.team.call("ann", "POST", "/v1/sandboxes", json=body)
        assert seeded.status_code in (seed, seed + 1), (kind, seeded.text)
