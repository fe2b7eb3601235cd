"""A maintenance start that nobody asks anything ends by itself, whatever became of who began it."""

import os
import threading
import time

import pytest

from atoll.runtime.idle_end import IdleEnd
from atoll.testing.zygote_rig import zygote_rig
from atoll.wire.zygote import messages as wire
from tests.claims import claim_far_uid
from tests.runtime.test_server import forked

UNPRIVILEGED = claim_far_uid()


def test_runtime_that_is_asked_nothing_ends_by_itself() -> None:
    with forked(idle_end_seconds=1) as child:
        assert child.wait() == 0
        assert child.init.wait(10) == 0


def test_request_under_way_keeps_the_runtime() -> None:
    with forked(idle_end_seconds=1) as child:
        answers = []
        # Longer than the deadline of an idle one.
        body = {"argv": ["/bin/sh", "-c", "sleep 3; echo done"]}
        asking = threading.Thread(
            target=lambda: answers.append(child.call("POST", "/execs?wait=10", body))
        )
        begun = time.monotonic()
        asking.start()
        assert child.wait() == 0
        asking.join(10)
        assert answers and answers[0][0] in (200, 201)
        assert time.monotonic() - begun >= 3


async def test_end_is_not_called_once_closed() -> None:
    ends: list[None] = []
    never = IdleEnd(None, lambda: ends.append(None))
    never.begin()
    end = IdleEnd(1, lambda: ends.append(None))
    end.begin()
    end.close()
    with end.request():
        pass
    assert not ends


@pytest.mark.parametrize("uid", [0, UNPRIVILEGED], ids=["root", "rootless"])
def test_zygote_never_attaches_one_kind_of_start_to_the_other(uid: int) -> None:
    if os.geteuid() != 0:
        uid = os.geteuid()
    with zygote_rig(uid) as rig:
        rig.start("sb_kept")
        assert isinstance(
            rig.ask(wire.Start("sb_kept", 1, "box", maintenance_seconds=60)), wire.Refused
        )
        rig.ask(wire.Stop("sb_kept"))
        looked = rig.start("sb_kept", maintenance_seconds=60)
        assert looked.maintenance
        again = rig.ask(wire.Start("sb_kept", 1, "box", maintenance_seconds=60))
        assert isinstance(again, wire.Started) and again.attached
        started = rig.ask(wire.Start("sb_kept", 1, "box"))
        assert isinstance(started, wire.Started) and not started.attached
        assert not started.box.maintenance
        assert started.box.runtime_pid != looked.runtime_pid
