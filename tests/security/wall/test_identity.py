"""What names a sandbox inside, behind the real wall: nobody inside writes it, moves it or covers
it, and no two sandboxes share it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.claims import claim_person

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
MACHINE_ID, GENERATION = "/etc/machine-id", "/run/atoll/generation"
FORGERIES = f"""
exec 2>/dev/null
umask 0
echo forged > {GENERATION} && echo written
echo forged > {MACHINE_ID} && echo written
chmod 777 /run/atoll && echo opened
touch /run/atoll/more && echo added
rm -rf /run/atoll && echo removed
mv /run/atoll /run/other && mkdir /run/atoll && echo forged > {GENERATION} && echo moved
ln -s /workspace /run/link && mv -T /run/link /run/atoll && echo replaced
mv -T {GENERATION} /run/atoll/old && echo renamed
mv /workspace/fake {MACHINE_ID} && echo renamed
mount -o remount,rw /run/atoll && echo remounted
umount /run/atoll && echo unmounted
python3 -c 'import os; os.open("{GENERATION}", os.O_RDWR)' && echo opened
true
"""


@pytest.fixture(scope="module", params=["root", "rootless", "subordinates"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if os.geteuid() != 0 and request.param != "rootless":
        pytest.skip("needs root")
    uid = 0 if request.param == "root" else claim_person()
    with zygote_rig(uid, subordinates=request.param == "subordinates") as running:
        yield running


def shell(rig: ZygoteRig, box: wire.Box, line: str) -> str:
    return rig.inside(box, "/bin/sh", "-c", line)[1].strip()


def names(rig: ZygoteRig, box: wire.Box) -> tuple[str, str]:
    machine, generation = shell(rig, box, f"cat {MACHINE_ID} {GENERATION}").split()
    assert all(len(each) == 32 and int(each, 16) for each in (machine, generation))
    return machine, generation


def test_sandbox_keeps_its_machine_id_and_tells_of_each_start(rig: ZygoteRig) -> None:
    first = names(rig, rig.start("sb_first", env=ENV))
    second = names(rig, rig.start("sb_second", env=ENV))
    rig.ask(wire.Stop("sb_first"))
    again = names(rig, rig.start("sb_first", env=ENV))
    assert again[0] == first[0]
    own = Path("/etc/machine-id")
    host = own.read_text().strip() if own.exists() else ""
    assert len({first[0], second[0], host}) == 3
    assert len({first[1], second[1], again[1]}) == 3


def test_name_of_a_sandbox_cannot_be_forged_inside(rig: ZygoteRig) -> None:
    box = rig.start("sb_forger", env=ENV)
    before = names(rig, box)
    assert shell(rig, box, f"id -u > /workspace/fake; {FORGERIES}") == ""
    assert names(rig, box) == before
    assert shell(rig, box, f"stat -c %a {MACHINE_ID} {GENERATION}").split() == ["644", "644"]
    assert shell(rig, box, "ls -A /run/atoll") == "generation"
