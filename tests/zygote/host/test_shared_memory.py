"""Memory that idle runtimes share again: what it says stays the same, and it is theirs alone."""

import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.wiring.doctor import report as doctor
from atoll.zygote.host import shared_memory

pytestmark = pytest.mark.skipif(
    not any((Path(shared_memory.__file__).parent / "bin").glob("shared_memory-*.so")),
    reason="native/shared_memory was not built here: runtimes keep their copies",
)

_WORLD = """
import gc, json, os, re, sys, threading
from atoll.zygote.host.shared_memory import SharedMemory

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
            memory.open_pagemap()
            body()
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0, "the child is content"

shared = [work(0), {"list": list(range(1000))}, "words " * 500]
large = [None] * 2_000_000
memory = SharedMemory(wanted=WANTED)
memory.share()
"""


def _try(body: str, *, wanted: bool = True) -> None:
    code = _WORLD.replace("WANTED", str(wanted)) + body
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stdout + done.stderr


_GROWN = """
def body():
    for _ in range(4):
        large.extend([None] * 2_000_000)
    assert all(value is None for value in large)
"""


def test_large_list_grows_in_a_child_of_a_zygote_with_usual_settings() -> None:
    _try(_GROWN + "child(body)", wanted=False)


def test_large_list_that_grows_in_a_child_is_why_sharing_is_off() -> None:
    """The control: the day it passes, the fault is mended, and the setting may be on again."""
    _try(
        _GROWN
        + """
try:
    child(body)
except AssertionError:
    pass
else:
    raise SystemExit("a large list grew unharmed")
"""
    )


def test_zygote_shares_no_memory_unless_the_setting_is_on() -> None:
    with zygote_rig() as rig:
        report = rig.ask(wire.Report())
        assert isinstance(report, wire.Reported)
        assert report.unshared == shared_memory.SHARING_OFF
        (told,) = doctor._memory(report)
    assert (told.level, "share_memory is off" in told.text) == ("ok", True)


def test_child_that_worked_settles_and_keeps_all_content() -> None:
    _try(
        """
def body():
    mine = [work(n) for n in range(3)]
    shared[1]["list"].append(7)
    kept = {n: str(n) for n in range(5000)}
    for again in range(20):
        assert memory.settle() >= 0
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


def test_child_that_only_read_gets_most_of_its_memory_back() -> None:
    _try(
        """
def body():
    work(1)
    everything = gc.get_objects()
    names = [type(each).__name__ for each in everything]
    del everything, names
    gc.collect()
    before = own()
    assert memory.settle() > 50
    assert own() < before - 150, (before, own())
child(body)
"""
    )


def test_child_with_a_thread_keeps_its_copies() -> None:
    _try(
        """
def body():
    go = threading.Event()
    other = threading.Thread(target=go.wait)
    other.start()
    work(1)
    assert memory.settle() == 0
    go.set()
    other.join()
child(body)
"""
    )


def test_shared_file_has_no_descriptor_in_a_child() -> None:
    _try(
        """
def body():
    paths = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    held = [os.readlink(path) for path in paths if os.path.lexists(path)]
    assert not any("shared-memory" in each for each in held), held
    mapped = [line.split() for line in open("/proc/self/maps") if "atoll-shared" in line]
    shared = [each for each in mapped if "s" in each[1]]
    assert mapped
    assert not shared, shared
child(body)
"""
    )


_COUNT, _TEXT = 0, 8
"""Where in the page below a marked count lies, and what is not one."""


def _settled_page(*, count: int, text: bytes, of_the_file: bool = True) -> tuple[int, bytes]:
    """One page of the shared file that then got this count and text: how many pages the
    library gave up, and what the page says afterwards. Not `of_the_file`, another mapping lies
    there by then."""
    library, _why = shared_memory._library()
    assert library is not None
    first = shared_memory.PINNED.to_bytes(8, "little") + b"text"
    file = os.memfd_create("page")
    os.ftruncate(file, shared_memory.PAGE_BYTES)
    os.pwrite(file, first, 0)
    given = mmap.mmap(file, shared_memory.PAGE_BYTES, mmap.MAP_PRIVATE)
    ours = mmap.mmap(file if of_the_file else -1, shared_memory.PAGE_BYTES, mmap.MAP_PRIVATE)
    ours[_COUNT : _COUNT + 8] = count.to_bytes(8, "little")
    ours[_TEXT : _TEXT + len(text)] = text
    counts = (ctypes.c_ubyte * (shared_memory.PAGE_BYTES // 64))(1)
    places = [ctypes.addressof(ctypes.c_ubyte.from_buffer(each)) for each in (ours, given)]
    ranges = (shared_memory._Range * 1)(
        shared_memory._Range(places[0], shared_memory.PAGE_BYTES, 0)
    )
    pagemap = os.open("/proc/self/pagemap", os.O_RDONLY)
    gone = library.shared_memory_settle(ranges, 1, places[1], counts, pagemap)
    os.close(pagemap)
    os.close(file)
    return gone, ours[: _TEXT + 4]


def test_page_with_another_count_is_shared_again() -> None:
    gone, said = _settled_page(count=shared_memory.PINNED + 3, text=b"text")
    assert gone == 1
    assert said == shared_memory.PINNED.to_bytes(8, "little") + b"text"


@pytest.mark.parametrize("count", [1, 0, 0x7F00_DEAD_BEE0, 2**63, shared_memory.PINNED << 1])
def test_marked_word_that_is_no_pinned_count_keeps_its_page(count: int) -> None:
    assert _settled_page(count=count, text=b"text") == (0, count.to_bytes(8, "little") + b"text")


def test_page_with_another_text_is_kept() -> None:
    count = shared_memory.PINNED + 3
    assert _settled_page(count=count, text=b"Text") == (0, count.to_bytes(8, "little") + b"Text")


def test_page_no_longer_of_the_file_keeps_its_content() -> None:
    count = shared_memory.PINNED + 3
    settled = _settled_page(count=count, text=b"text", of_the_file=False)
    assert settled == (0, count.to_bytes(8, "little") + b"text")


def test_shared_memory_on_larger_pages_is_off_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mmap, "PAGESIZE", 65536)
    refused = shared_memory.SharedMemory(wanted=True)
    assert "65536" in refused.lacking
    assert refused.settle() == 0


def test_doctor_reports_the_fault_of_shared_memory_in_use() -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as home:
        (Path(home) / "config.toml").write_text("share_memory = true\n")
        with zygote_rig(home=Path(home)) as rig:
            report = rig.ask(wire.Report())
            assert isinstance(report, wire.Reported)
            assert report.unshared == ""
            (told,) = [each for each in doctor.findings(rig.home) if each.name == "memory"]
    assert told.level == "warn"
    assert "SIGBUS" in told.text


def test_doctor_reports_why_shared_memory_is_not_in_use() -> None:
    report = wire.Reported(root=True, pid=1, bwrap="", init="c", unshared="no compiler")
    (told,) = doctor._memory(report)
    assert told.level == "warn"
    assert "no compiler" in told.text


def test_shared_memory_beside_a_thread_is_off() -> None:
    _try(
        """
go = threading.Event()
other = threading.Thread(target=go.wait)
other.start()
late = SharedMemory(wanted=True)
late.share()
assert "thread" in late.lacking, late.lacking
go.set()
other.join()
assert memory.lacking == ""
"""
    )
