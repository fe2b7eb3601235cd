"""The memory that every runtime starts with, kept in a file that idle runtimes map again.

The zygote writes the file just before it serves. An idle runtime gives up its own copy of each page
that still equals the file, so that all runtimes share the page again. A page also counts as equal
when only reference counts of the zygote's immortal objects differ. The work is done by
native/shared_memory; without it, or where the host refuses, runtimes keep their copies. The content
of a page never changes.
"""

import contextlib
import ctypes
import fcntl
import gc
import logging
import mmap
import os
import platform
import re
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from types import CodeType

from atoll.zygote.host import kernel

log = logging.getLogger("atoll.zygote")

NAME = "atoll-shared-memory"
SMALLEST_BYTES = 128 * 1024
"""Of a mapping that is worth it: one of less may be the kernel's or a thread's."""

PINNED = (1 << 40) + (1 << 31)
"""Added to a reference count that can then be wrong by any number of uses, and never ends; half
of what the library takes for uses (`USES`), so that these change no higher bit."""

PAGE_BYTES = 4096
"""Size the library gives up at once: where the kernel's pages are larger, too much would go."""

COUNT_FIRST_BYTES = 16
"""The size of a bare object, a count and a type: with more, the first word is something else."""

IMMORTAL_SINCE = (3, 12)
"""From this Python on the counts of what everybody uses are not written."""

_BITS_A_BYTE, _WORD_BYTES = 8, 8
_MADV_DONTNEED = 4
_ALL_SEALS = 0x1 | 0x2 | 0x4 | 0x8
"""F_SEAL_SEAL, _SHRINK, _GROW, _WRITE: no runtime may write to what the others read."""

_TASKS, _MAPS, _PAGEMAP = Path("/proc/self/task"), Path("/proc/self/maps"), "/proc/self/pagemap"
_MAPPING = re.compile(r"(\w+)-(\w+) (\S+) (\w+) \S+ \d+ *(.*)")


class _Range(ctypes.Structure):
    _fields_ = (
        ("start", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
    )


SHARING_OFF = "the setting share_memory is off"
KNOWN_FAULT = "a runtime may die of SIGBUS, or read wrong data, once a large list of it grows"
"""mremap(2) extends a block of the laid memory past its own part of the file: what lies there is
another part, or past the end nothing."""


class SharedMemory:
    """The shared file and its state: made once in the zygote and inherited by every child.
    `lacking` is the reason why no memory is shared; it is empty once memory is shared. Does nothing
    unless `wanted`."""

    def __init__(self, *, wanted: bool = False) -> None:
        self._library, self.lacking = _library() if wanted else (None, SHARING_OFF)
        self._given = self._size = 0
        self._counts: ctypes.Array[ctypes.c_ubyte] | None = None
        self._pagemap = -1

    def share(self) -> None:
        """Write all of this process's memory to the file and map it. Call it once, single-threaded,
        when everything is loaded; it also freezes the garbage collector's objects."""
        library = self._library
        if library is not None and not _is_single_threaded():
            library, self.lacking = None, "the zygote had a second thread when it began"
        objects = _pin_objects(library) if library is not None else None
        gc.collect()
        gc.freeze()
        if library is None or objects is None:
            return
        ranges, self._size = _shareable()
        counts = _map_private((self._size // _WORD_BYTES) // _BITS_A_BYTE)
        library.shared_memory_mark(ranges, len(ranges), objects, len(objects), counts)
        file = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(file, self._size)
            given = kernel.map_for_reading(file, self._size)
            result = library.shared_memory_lay(ranges, len(ranges), file)
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _ALL_SEALS)
        finally:
            os.close(file)
        if result < 0:
            self.lacking = f"the zygote's memory could not be laid: {os.strerror(-result)}"
        else:
            self._given, self._counts, self.lacking = given, counts, ""

    def open_pagemap(self) -> None:
        """Open the map of this process's pages. Call it in a child that is still dumpable, since
        the kernel denies it to others. Where the kernel has no such file, the child keeps its
        copies."""
        if self._given:
            with contextlib.suppress(OSError):
                self._pagemap = os.open(_PAGEMAP, os.O_RDONLY | os.O_CLOEXEC)

    def settle(self) -> int:
        """Give up pages that still equal the file, in a child. Returns their number. Does nothing
        in a process with another thread, which could write to a page just given up."""
        library = self._library
        if library is None or self._pagemap < 0 or not _is_single_threaded():
            return 0
        ranges = _find_shared_ranges()
        pages: int = library.shared_memory_settle(
            ranges, len(ranges), self._given, self._counts, self._pagemap
        )
        # Pages mapped only for the comparison need not stay mapped.
        kernel.advise(self._given, self._size, _MADV_DONTNEED)
        if pages < 0:
            log.warning("memory is not shared again: %s", os.strerror(-pages))
        return max(0, pages)


def _library() -> tuple[ctypes.PyDLL | None, str]:
    """Load native/shared_memory. Returns the library, or None, and why memory is not shared yet.
    PyDLL keeps the interpreter's lock during a call, so no other thread runs Python meanwhile."""
    path = Path(__file__).parent / "bin" / f"shared_memory-{platform.machine()}.so"
    if not path.is_file():
        return None, "native/shared_memory was not built: no C compiler was at hand"
    if mmap.PAGESIZE != PAGE_BYTES:
        return None, f"this machine's pages are of {mmap.PAGESIZE} bytes, not {PAGE_BYTES}"
    if not Path(_PAGEMAP).exists():
        return None, f"this kernel has no {_PAGEMAP}"
    library = ctypes.PyDLL(str(path))
    much, many, place = ctypes.c_uint64, ctypes.c_long, ctypes.c_void_p
    library.shared_memory_pin.argtypes = (place, many, much)
    library.shared_memory_mark.argtypes = (place, many, place, many, place)
    library.shared_memory_lay.argtypes = (place, many, many)
    library.shared_memory_settle.argtypes = (place, many, place, place, many)
    for function in (library.shared_memory_lay, library.shared_memory_settle):
        function.restype = many
    return library, "the zygote has not begun to serve"


def _is_single_threaded() -> bool:
    return len(list(_TASKS.iterdir())) == 1


def _map_private(size: int) -> ctypes.Array[ctypes.c_ubyte]:
    """Return zeroed private memory, which no other process ever sees changed."""
    memory = mmap.mmap(-1, max(1, size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return (ctypes.c_ubyte * len(memory)).from_buffer(memory)


def _pin_objects(library: ctypes.PyDLL) -> ctypes.Array[ctypes.c_uint64]:
    """Make every object of this process immortal and return their addresses. The array has a
    mapping of its own that is not private, so it is not shared through the file."""
    known = sys.implementation.name == "cpython" and object.__basicsize__ == COUNT_FIRST_BYTES
    if sys.version_info >= IMMORTAL_SINCE or not known:
        return (ctypes.c_uint64 * 0)()
    objects = _objects()
    memory = mmap.mmap(-1, len(objects) * _WORD_BYTES)
    places = (ctypes.c_uint64 * len(objects)).from_buffer(memory)
    places[:] = list(objects)
    library.shared_memory_pin(places, len(places), PINNED)
    return places


def _objects() -> dict[int, object]:
    """Return every reachable object by address. The references keep the objects alive meanwhile."""
    seen: dict[int, object] = {}
    found = gc.get_objects()
    while found:
        fresh = dict(zip(map(id, found), found, strict=True))
        for place in seen.keys() & fresh.keys():
            del fresh[place]
        seen.update(fresh)
        found = gc.get_referents(*fresh.values())
        found += set(map(type, fresh.values()))
        for each in fresh.values():
            if type(each) is CodeType:
                found += _of_code(each)
            elif type(each) is type:
                found += vars(each).values()
    return seen


def _of_code(code: CodeType) -> list[object]:
    """Return the objects that a code object refers to, which the garbage collector does not
    report."""
    tables = (code.co_consts, code.co_names, code.co_linetable, code.co_exceptiontable)
    names = (code.co_name, code.co_qualname, code.co_filename)
    return [*tables, *names, *code.co_varnames, *code.co_freevars, *code.co_cellvars]


def _ranges(found: Iterable[tuple[int, int, int]]) -> ctypes.Array[_Range]:
    ranges = [_Range(*each) for each in found]
    return (_Range * len(ranges))(*ranges)


def _mappings() -> Iterable[tuple[int, int, int, str]]:
    """Return start, end, file offset and path of this process's private writable mappings."""
    for line in _MAPS.read_text().splitlines():
        found = _MAPPING.match(line)
        if found is not None and found[3] == "rw-p":
            yield int(found[1], 16), int(found[2], 16), int(found[4], 16), found[5]


def _shareable() -> tuple[ctypes.Array[_Range], int]:
    """Return the ranges that may be shared, and their size in bytes. The stack is excluded, and so
    is this thread's control block, to which the kernel writes by itself (set_tid_address(2),
    rseq(2))."""
    thread = threading.get_ident()  # pthread_self(3)
    ranges: list[tuple[int, int, int]] = []
    size = 0
    for start, end, _place, path in _mappings():
        if end - start < SMALLEST_BYTES or (path.startswith("[") and path != "[heap]"):
            continue
        if not start <= thread < end:
            ranges.append((start, end - start, size))
            size += end - start
    return _ranges(ranges), size


def _find_shared_ranges() -> ctypes.Array[_Range]:
    """Return the ranges still mapped from the file. Memory unmapped since may hold anything."""
    return _ranges(
        (start, end - start, place)
        for start, end, place, path in _mappings()
        if path.startswith(f"/memfd:{NAME}")
    )
