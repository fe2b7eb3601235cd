"""The contract of a Spawner: a suite that authors subclass.

It tests the port's promises with real processes; what only one implementation promises
(how its init is reached, what its wall refuses) belongs in that one's own tests.
"""

import asyncio
import fcntl
import os
import signal
import stat

import pytest

from atoll.domain.errors import Forbidden, Invalid, NotFound, Unavailable
from atoll.ports.spawner import Leftovers, ProcessSpec, Spawner
from atoll.testing.inside import PATH, PATIENCE_SECONDS, Output, run, start_piped, terminal

USUAL_PIPE_BYTES = 64 * 1024
WIDE_PIPE_BYTES = 256 * 1024
OF_THE_C_LIBRARY = 1 << 31 | 1 << 32
"""Signals 32 and 33 (nptl(7)): no program can set them, and some parents (make) ignore them."""
SFTP_WRITE = "".join(
    (
        r"\0\0\0\5\1\0\0\0\3",
        r"\0\0\0\25\3\0\0\0\1\0\0\0\4sent\0\0\0\12\0\0\0\0",
        r"\0\0\0\42\6\0\0\0\2\0\0\0\10\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\5hello",
    )
)
"""Three messages of SFTP, as `printf` takes them: the version, opening `sent`, writing `hello`."""


async def until_named(spawner: Spawner, command: str) -> Leftovers:
    """Return what was left running, once each of it has become `command`."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            left = await spawner.left_running()
            if left.processes and all(each.command == command for each in left.processes):
                return left
            await asyncio.sleep(0.01)


class SpawnerContract:
    """Contract of a spawner. Subclasses give the async fixtures `spawner` (a live `Spawner` with an
    empty workspace that can be written) and `inside` (the workspace's path as processes inside name
    it). Inside there must be `sh`, `setsid`, `sleep`, `stty` and coreutils."""

    async def test_spawn_of_a_program_reports_its_code(self, spawner: Spawner) -> None:
        end, text = await run(spawner, "sh", "-c", "echo out; echo err >&2; exit 7")
        assert (end.code, end.signal, sorted(text.split())) == (7, None, [b"err", b"out"])

    async def test_spawn_of_a_program_that_is_killed_reports_the_signal(
        self, spawner: Spawner
    ) -> None:
        end, _ = await run(spawner, "sh", "-c", "kill -TERM $$")
        assert (end.code, end.signal) == (None, signal.SIGTERM)

    async def test_spawn_gives_exactly_the_environment_and_directory(
        self, spawner: Spawner, inside: str
    ) -> None:
        env = (*PATH, ("A", "b c"), ("EMPTY", ""))
        _, text = await run(spawner, "/usr/bin/env", env=env, cwd=inside)
        got = {line for line in text.splitlines() if not line.startswith((b"PWD=", b"_="))}
        assert got == {b"PATH=/usr/local/bin:/usr/bin:/bin", b"A=b c", b"EMPTY="}
        _, text = await run(spawner, "pwd", cwd=inside)
        assert text.decode().strip() == inside

    async def test_spawn_passes_odd_arguments_unchanged(self, spawner: Spawner) -> None:
        words = ("", "two words", "a\nb", "-rf", "\udcff", "é")
        _, text = await run(spawner, "printf", "<%s>", *words)
        assert text == b"<><two words><a\nb><-rf><\xff><\xc3\xa9>"

    async def test_spawn_with_huge_arguments_and_environment_runs(self, spawner: Spawner) -> None:
        env = (*PATH, ("BIG", "y" * 100_000), *((f"V{n}", "z" * 1000) for n in range(200)))
        end, text = await run(
            spawner, "sh", "-c", "echo ${#BIG} ${#1} $V199", "sh", "x" * 100_000, env=env
        )
        assert (end.code, text.split()[:2]) == (0, [b"100000", b"100000"])

    @pytest.mark.parametrize(
        ("argv", "cwd", "code", "field"),
        [
            (("no-such-program",), "/", "no_such_program", "argv"),
            (("/no/such/program",), "/", "no_such_program", "argv"),
            (("/etc/passwd",), "/", "not_executable", "argv"),
            (("/",), "/", "not_executable", "argv"),
            (("true",), "/no/such/directory", "no_such_directory", "cwd"),
            (("true",), "/etc/passwd", "no_such_directory", "cwd"),
            ((), "/", "invalid", "argv"),
            (("a\0b",), "/", "invalid", "argv"),
        ],
    )
    async def test_spawn_of_what_cannot_run_is_invalid(
        self, spawner: Spawner, argv: tuple[str, ...], cwd: str, code: str, field: str
    ) -> None:
        with pytest.raises(Invalid) as refused:
            await run(spawner, *argv, cwd=cwd)
        assert (refused.value.code, refused.value.field) == (code, field)

    async def test_spawn_hands_over_three_descriptors_and_a_clean_slate(
        self, spawner: Spawner
    ) -> None:
        _, text = await run(spawner, "sh", "-c", "ls /proc/$$/fd; umask; ulimit -c")
        assert text.split() == [b"0", b"1", b"2", b"0022", b"0"]
        # Asked without a shell, which would hold signals while it forks.
        _, text = await run(spawner, "grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")
        words = text.split()
        assert words[::2] == [b"SigBlk:", b"SigIgn:"]
        assert [int(mask, 16) & ~OF_THE_C_LIBRARY for mask in words[1::2]] == [0, 0]

    async def test_spawn_hands_over_pipes_that_any_user_can_open_again(
        self, spawner: Spawner
    ) -> None:
        # A program's uid may be another than that of the process that made its pipes.
        end, text = await run(
            spawner, "sh", "-c", "stat -Lc %a /proc/self/fd/1; echo x >/dev/stderr"
        )
        assert (end.code, text) == (0, b"666\nx\n")

    async def test_spawn_of_many_at_once_runs_them_all(self, spawner: Spawner) -> None:
        ends = await asyncio.gather(
            *(run(spawner, "sh", "-c", f"echo {n}; exit {n}") for n in range(40))
        )
        assert [(end.code, text) for end, text in ends] == [(n, b"%d\n" % n) for n in range(40)]

    async def test_spawn_leaves_no_descriptor_behind(self, spawner: Spawner) -> None:
        await run(spawner, "true")
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # names are what is counted
        for _ in range(5):
            await run(spawner, "true")
            with pytest.raises(Invalid):
                await run(spawner, "no-such-program")
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208  # as above

    async def test_input_is_read_whole_long_after_its_writer_closed_it(
        self, spawner: Spawner, inside: str
    ) -> None:
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, WIDE_PIPE_BYTES)
        out, into = os.pipe()
        try:
            await run(spawner, "mkfifo", "go", cwd=inside)
            argv = ("sh", "-c", "read go < go; stat -Lc %a /dev/stdin; wc -c /dev/stdin")
            process = await spawner.spawn(ProcessSpec(argv, PATH, inside, reading, into, into))
            os.close(into)
            os.write(writing, b"x" * 2 * USUAL_PIPE_BYTES)
            os.close(writing)
            # What is on its way by now is there before this one ends.
            await run(spawner, "true")
            await run(spawner, "sh", "-c", "echo > go", cwd=inside)
            size = b"%d" % (2 * USUAL_PIPE_BYTES)
            assert (await Output(out).to_end()).split() == [b"666", size, b"/dev/stdin"]
            assert (await process.wait()).code == 0
        finally:
            os.close(reading)
            os.close(out)

    async def test_wait_may_be_awaited_by_many_and_afterwards(self, spawner: Spawner) -> None:
        async with start_piped(spawner, "sh", "-c", "exit 3") as (process, _):
            ends = await asyncio.gather(*(process.wait() for _ in range(3)))
            assert {end.code for end in (*ends, await process.wait())} == {3}

    async def test_wait_reports_what_the_process_used(self, spawner: Spawner) -> None:
        end, _ = await run(spawner, "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
        assert end.user_seconds > 0
        assert end.max_rss_kib > 0

    async def test_signal_reaches_the_process_group(self, spawner: Spawner) -> None:
        script = "sleep 1000 & echo ready; wait"
        async with start_piped(spawner, "sh", "-c", script) as (process, output):
            await output.until(b"ready")
            await process.signal(signal.SIGTERM)
            # The pipe ends only when the background job is gone, too.
            await output.to_end()
            assert (await process.wait()).signal == signal.SIGTERM

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    async def test_signal_to_the_tree_reaches_daemons(self, spawner: Spawner, number: int) -> None:
        # Each reports that it runs: a process that is still being forked may miss a single signal.
        script = (
            "(setsid sh -c '(echo child; exec sleep 1000) & echo daemon; exec sleep 1000' &)\n"
            "echo leader; exec sleep 1000"
        )
        async with start_piped(spawner, "sh", "-c", script) as (process, output):
            for each in (b"child", b"daemon", b"leader"):
                await output.until(each)
            await process.signal(number, tree=True)
            await output.to_end()
            assert (await process.wait()).signal == number

    async def test_signal_to_the_tree_reaches_daemons_after_their_leader_ended(
        self, spawner: Spawner
    ) -> None:
        script = "(setsid sh -c 'trap \"\" HUP TERM; echo ready; sleep 1000; :' &)"
        async with start_piped(spawner, "sh", "-c", script) as (process, output):
            await output.until(b"ready")
            assert (await process.wait()).code == 0
            await process.signal(signal.SIGKILL, tree=True)
            await output.to_end()

    async def test_left_running_names_what_programs_that_ended_have_left(
        self, spawner: Spawner
    ) -> None:
        script = "(setsid sh -c 'echo ready; exec sleep 1234' &)"
        async with (
            start_piped(spawner, "sh", "-c", "echo up; exec sleep 4321") as (running, up),
            start_piped(spawner, "sh", "-c", script) as (process, output),
        ):
            await up.until(b"up")
            await output.until(b"ready")
            await process.wait()
            left = await until_named(spawner, "sleep 1234")
            assert [each.command for each in left.processes] == ["sleep 1234"]
            assert not left.more
            _, text = await run(spawner, "ps", "-o", "args=", "-p", str(left.processes[0].pid))
            assert text.strip() == b"sleep 1234"
            await spawner.end_left_running()
            await output.to_end()
            assert (await spawner.left_running()).processes == ()
            await running.signal(signal.SIGTERM)
            assert (await running.wait()).signal == signal.SIGTERM

    async def test_left_running_beyond_one_list_is_told_and_ended(self, spawner: Spawner) -> None:
        script = "n=0; while [ $n -lt 230 ]; do sleep 1234 & n=$((n+1)); done; echo ready"
        async with start_piped(spawner, "sh", "-c", script) as (process, output):
            await output.until(b"ready")
            await process.wait()
            left = await until_named(spawner, "sleep 1234")
            assert (len(left.processes), left.more) == (200, True)
            await spawner.end_left_running()
            await output.to_end()
            assert (await spawner.left_running()).processes == ()

    async def test_kill_of_trees_as_they_end_costs_no_other_tree_its_life(
        self, spawner: Spawner
    ) -> None:
        async def end_tree(number: int) -> int | None:
            async with start_piped(spawner, "sh", "-c", "sleep 1234 & echo up") as (first, output):
                await output.until(b"up")
                async with start_piped(spawner, "sh", "-c", f"sleep 0.02; exit {number}") as (
                    next_,
                    _,
                ):
                    # Its warden ends as the helper that kills its tree is forked.
                    await first.signal(signal.SIGTERM, tree=True)
                    async with asyncio.timeout(9):
                        await first.signal(signal.SIGKILL, tree=True)
                    return (await next_.wait()).code

        for _ in range(5):
            codes = await asyncio.gather(*(end_tree(number) for number in range(12)))
            assert codes == list(range(12))

    async def test_signal_to_a_process_that_is_gone_is_no_error(self, spawner: Spawner) -> None:
        async with start_piped(spawner, "true") as (process, _):
            await process.wait()
            await process.signal(signal.SIGTERM)
            await process.signal(signal.SIGKILL, tree=True)
            await process.signal(signal.SIGTERM, tree=True)

    async def test_pty_is_the_controlling_terminal_of_its_process(self, spawner: Spawner) -> None:
        script = "tty </dev/tty >/dev/null && tty && stty size && ps -o sid= -p $$ && echo $$"
        async with terminal(spawner, "sh", "-c", script, cols=91, rows=33) as (process, screen):
            end = await process.wait()
            name, size, session, pid = await screen.lines(4)
            assert end.code == 0
            assert name.startswith(b"/dev/pts/")
            assert (size, session.strip()) == (b"33 91", pid)

    async def test_pty_interrupt_typed_reaches_the_foreground(self, spawner: Spawner) -> None:
        async with terminal(spawner, "sh", "-c", "echo ready; exec sleep 1000") as (
            process,
            screen,
        ):
            await screen.until(b"ready")
            screen.type(b"\x03")
            assert (await process.wait()).signal == signal.SIGINT

    async def test_pty_signal_reaches_the_foreground_and_leaves_the_shell(
        self, spawner: Spawner
    ) -> None:
        async with terminal(spawner, "sh", "-i") as (process, screen):
            screen.type(b"sh -c 'echo re''ady; exec sleep 1000'\n")
            await screen.until(b"ready\r\n")
            await process.signal(signal.SIGINT)
            screen.type(b"echo $((6*7)) is the answer\n")
            await screen.until(b"42 is the answer")
            await process.signal(signal.SIGKILL, tree=True)
            assert (await process.wait()).signal == signal.SIGKILL

    async def test_pty_output_ends_although_a_daemon_lives_on(self, spawner: Spawner) -> None:
        script = "(setsid sleep 1000 </dev/null >/dev/null 2>&1 &); echo bye"
        async with terminal(spawner, "sh", "-c", script) as (process, screen):
            assert (await process.wait()).code == 0
            assert b"bye" in await screen.to_end()
            await process.signal(signal.SIGKILL, tree=True)

    async def test_file_is_written_and_read_back_with_its_exact_mode(
        self, spawner: Spawner, inside: str
    ) -> None:
        file = await spawner.open_file("new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        await file.write(b"con")
        await file.write(b"tent")
        file.close()
        file = await spawner.open_file("new", os.O_RDONLY)
        seen = await file.stat()
        assert (stat.S_IMODE(seen.mode), seen.size) == (0o666, 7)
        assert (await file.read(0, 100), await file.read(3, 2)) == (b"content", b"te")
        assert (await file.read(7, 100), await file.read(10**6, 1)) == (b"", b"")
        with pytest.raises(OSError, match="Bad file descriptor"):
            await file.write(b"x")
        file.close()
        file.close()
        _, text = await run(spawner, "cat", f"{inside}/new")
        assert text == b"content"

    @pytest.mark.parametrize(
        ("path", "refused"),
        [
            ("absent", NotFound),
            ("absolute", Forbidden),
            ("directory/etc/passwd", Forbidden),
            ("magic/etc/passwd", Forbidden),
            ("../etc/passwd", Forbidden),
            ("/etc/passwd", Forbidden),
            ("loop", Invalid),
            ("file/x", Invalid),
            ("x" * 300, Invalid),
            ("x\0y", Invalid),
        ],
    )
    async def test_file_outside_the_workspace_is_refused(
        self, spawner: Spawner, inside: str, path: str, refused: type[Exception]
    ) -> None:
        script = (
            "ln -sfn /etc/passwd absolute; ln -sfn / directory; ln -sfn loop loop; : > file; "
            "ln -sfn /proc/self/root magic"
        )
        await run(spawner, "sh", "-c", script, cwd=inside)
        with pytest.raises(refused):
            await spawner.open_file(path, os.O_RDONLY)

    async def test_file_that_is_a_pipe_does_not_block(self, spawner: Spawner, inside: str) -> None:
        await run(spawner, "mkfifo", f"{inside}/fifo")
        async with asyncio.timeout(5):
            file = await spawner.open_file("fifo", os.O_RDONLY)
            assert stat.S_ISFIFO((await file.stat()).mode)
            file.close()
            with pytest.raises(Invalid):
                await spawner.open_file("fifo", os.O_WRONLY)

    async def test_tool_runs_on_the_workspace(self, spawner: Spawner) -> None:
        end, text = await run(spawner, *spawner.tool("stat", "--", "."))
        assert (end.code, text[:2]) == (0, b"d ")

    async def test_sftp_writes_in_the_workspace(self, spawner: Spawner, inside: str) -> None:
        script = f"printf '{SFTP_WRITE}' | \"$@\" > answers && cat sent"
        end, text = await run(spawner, "sh", "-c", script, "sh", *spawner.tool("sftp"), cwd=inside)
        assert (end.code, text) == (0, b"hello")

    async def test_close_ends_everything_inside(self, spawner: Spawner) -> None:
        script = "(setsid sh -c 'trap \"\" HUP TERM INT; echo ready; sleep 1000; :' &); sleep 1000"
        async with start_piped(spawner, "sh", "-c", script) as (process, output):
            await output.until(b"ready")
            await spawner.close()
            await output.to_end()
            assert (await process.wait()).signal == signal.SIGKILL
            await process.signal(signal.SIGKILL, tree=True)
        with pytest.raises(Unavailable):
            await run(spawner, "true")
        with pytest.raises(Unavailable):
            await spawner.open_pty(cols=80, rows=24)
        await spawner.close()
