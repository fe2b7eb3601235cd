"""Memory that idle runtimes share again: what it says stays the same, and it is theirs alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from atoll.runtime.zygote import mould

pytestmark = pytest.mark.skipif(
    not any((Path(mould.__file__).parent / "bin").glob("mould-*.so")),
    reason="native/mould was not built here: runtimes keep their copies",
)

_WORLD = """
import gc, json, os, re, sys, threading
from atoll.runtime.zygote.mould import Mould

def work(seed):
    known = {f"name-{seed}-{n}": [n, str(n) * (n % 40)] for n in range(3000)}
    text = json.dumps(known)
    back = json.loads(text)
    assert back == known, "what was written is read"
    for word in re.findall("[a-z]+", text)[:500]:
        sys.intern(word)
    gc.collect()
    return hash(tuple(back))

def own():
    fields = (line.split() for line in open("/proc/self/smaps_rollup"))
    return sum(int(each[1]) for each in fields if each[0].startswith("Private_"))

def child(body):
    pid = os.fork()
    if pid == 0:
        try:
            mould.open_eyes()
            body()
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0, "the child is content"

shared = [work(0), {"list": list(range(1000))}, "words " * 500]
mould = Mould()
mould.lay()
"""


def _try(body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WORLD + body], capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mould_child_that_worked_settles_and_everything_says_what_it_said() -> None:
    _try(
        """
def body():
    mine = [work(n) for n in range(3)]
    shared[1]["list"].append(7)
    kept = {n: str(n) for n in range(5000)}
    for again in range(20):
        assert mould.settle() >= 0
        assert mine == [work(n) for n in range(3)]
        assert shared[1]["list"][-1] == 7 and len(shared[1]["list"]) == 1001
        assert shared[2] == "words " * 500
        assert all(kept[n] == str(n) for n in kept)
for _ in range(3):
    child(body)
assert len(shared[1]["list"]) == 1000, "no child writes to what others see"
child(body)
"""
    )


def test_mould_child_that_read_only_gets_most_of_its_memory_back() -> None:
    _try(
        """
def body():
    work(1)
    everything = gc.get_objects()
    names = [type(each).__name__ for each in everything]
    del everything, names
    gc.collect()
    before = own()
    assert mould.settle() > 50
    assert own() < before - 150, (before, own())
child(body)
"""
    )


def test_mould_child_with_a_thread_keeps_its_copies() -> None:
    _try(
        """
def body():
    go = threading.Event()
    other = threading.Thread(target=go.wait)
    other.start()
    work(1)
    assert mould.settle() == 0
    go.set()
    other.join()
child(body)
"""
    )


def test_mould_file_is_in_nobodys_hands() -> None:
    _try(
        """
def body():
    paths = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    held = [os.readlink(path) for path in paths if os.path.lexists(path)]
    assert not any("mould" in each for each in held), held
    mapped = [line.split() for line in open("/proc/self/maps") if "memfd:atoll-mould" in line]
    shared = [each for each in mapped if "s" in each[1]]
    assert mapped
    assert not shared, shared
child(body)
"""
    )
