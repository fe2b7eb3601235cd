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
    "sync": said(libc.syscall(162 if INTEL else 81)),
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

_TREE = (
    PRELUDE
    + """
import signal
def tree(take, most):
    # Every process takes until it is refused, then waits to be killed; a parent that has taken
    # forks a child that holds the same, and is gone before anybody looks.
    read, write = os.pipe()
    for number in range(most):
        if os.fork() == 0:
            os.setsid()
            taken = take(number)
            if number % 2 and os.fork():
                os._exit(0)
            os.write(write, struct.pack("i", taken))
            for fd in (0, 1, 2, read, write):
                os.close(fd)
            signal.pause()
    os.close(write)
    held = 0
    while piece := os.read(read, 4):
        held += struct.unpack("i", piece)[0]
    return held
"""
)

HELD_SOCKETS = (
    _TREE
    + """
def take(number):
    taken, kept = 0, []
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    message = struct.pack("IHHII", 60000, 0xFFF0, 5, 0, 0).ljust(60000, b"x")
    while taken < 16:
        try:
            one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        except OSError:
            break
        taken += 1
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        if sys.argv[2:]:
            kept.append(one)
            continue
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 212992
        one.bind((0, 0))
        try:
            for _ in range(200):
                one.send(message)
        except OSError:
            pass
        if number % 3:
            kept.append(one)
        else:  # on its way, in nobody's hands
            socket.send_fds(pair[0], [b"x"], [one.fileno()])
            one.close()
    globals()["kept"] = kept, pair
    return taken
print(json.dumps({"held": tree(take, int(sys.argv[1]))}))
"""
)
"""Route sockets full of answers, held by as many processes as the first word says; with a second
word they are only opened."""

HELD_OBJECTS = (
    _TREE
    + """
def take(number):
    libc.prctl(4, number % 4 > 1, 0, 0, 0)
    makers = [lambda: libc.timerfd_create(1, 0), lambda: libc.eventfd(0, 0)]
    makers += [lambda: libc.epoll_create1(0)]
    taken = 0
    while taken < 16 and makers[(number + taken) % 3]() >= 0:
        taken += 1
    return taken
print(json.dumps({"held": tree(take, int(sys.argv[1]))}))
"""
)
"""Timers, events and polls, held by as many processes as the first word says, of which some hide
what they have open."""

HELD_FILTERS = (
    _TREE
    + """
code = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000) * 4000)
program = struct.pack("<HxxxxxxQ", 4000, ctypes.addressof(code))
def take(number):
    libc.prctl(38, 1, 0, 0, 0)
    taken, call = 0, 317 if INTEL else 277
    while taken < 16:
        if number % 2:
            failed = libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0)
        else:
            failed = libc.syscall(call, 1, 0, ctypes.c_char_p(program))
        if failed:
            break
        taken += 1
    return taken
print(json.dumps({"held": tree(take, int(sys.argv[1]))}))
"""
)
"""Seccomp filters as long as they may be, held by as many processes as the first word says."""

RELEASE = """
for each in /proc/[0-9]*; do
    [ $each = /proc/$$ ] || ! grep -qs 'def tre[e]' $each/cmdline || kill -KILL ${each#/proc/}
done
true
"""
"""A shell's lines that end what an attempt left, and none of the processes of init."""
