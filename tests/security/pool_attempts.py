"""Programs that reach for pools of the whole machine: run inside, and outside as the control."""

PRELUDE = """
import ctypes, errno, json, mmap, os, platform, resource, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
INTEL = platform.machine() == "x86_64"
def said(result):
    return "worked" if result not in (-1, None, 2**64 - 1) else errno.errorcode[ctypes.get_errno()]
def raised(act):
    try:
        act()
    except OSError as err:
        return errno.errorcode[err.errno]
    return "worked"
"""

REACH = (
    PRELUDE
    + """
def attach(option):
    code = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0))
    program = struct.pack("<HxxxxxxQ", 1, ctypes.addressof(code))
    socket.socket().setsockopt(socket.SOL_SOCKET, option, program)
def sockets(kind, family=2, protocol=0):
    return raised(lambda: socket.socket(family, kind, protocol))
aio = ctypes.c_ulong()
found = {
    "filter": raised(lambda: attach(26)),
    "reuseport filter": raised(lambda: attach(51)),
    "aio": said(libc.syscall(206 if INTEL else 0, 1, ctypes.byref(aio))),
    "huge pages": said(libc.mmap(None, 1 << 21, 3, 0x40022, -1, 0)),
    "huge memory file": said(libc.syscall(319 if INTEL else 279, b"x", 5)),
    "dccp by type": sockets(6), "packets over inet": sockets(5),
    "diagnosis": sockets(3, 16, 4), "generic netlink": sockets(3, 16, 16),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
}
print(json.dumps(found))
"""
)
"""One try at each pool; what the kernel or the wall said to it."""
