"""`python -m atoll.testing.check NAME`: say what a check costs, run it, clean up, report.

Started by `atoll extension check`. It ends with 0 when everything that ran passed, with 1 when
something failed or was left over, and with 2 when nothing could be run.
"""

import argparse
import asyncio
import os
import signal
import sys
import time
from contextlib import AsyncExitStack, redirect_stdout
from datetime import UTC, datetime
from importlib.metadata import EntryPoint
from pathlib import Path
from secrets import token_hex
from typing import cast

import msgspec
import pytest

import atoll
from atoll.adapters.apart.installed import find_point, is_ours
from atoll.adapters.extensions.ssh.machines import ssh_machines
from atoll.adapters.linked.extension import LinkedExtension
from atoll.domain.errors import AtollError, Invalid
from atoll.domain.hosts.host import LOCAL
from atoll.domain.hosts.reading import best_key, read_address
from atoll.ports.extension import SELF_HOSTED, Capabilities, Extension, Handle
from atoll.testing.check import suite as suite_module
from atoll.testing.check.home import find_host, home_of_run, read_access
from atoll.testing.check.report import CheckReport, Collector
from atoll.testing.check.suite import TestInstalled
from atoll.testing.contracts.extensions.extension import ExtensionContract
from atoll.wiring.control.logs import configure

SANDBOXES = 45
"""The sandboxes that the suites start, one or two at a time."""

MINUTES = 10

_ALONE = "services: {agent: {}}"
"""The compose file of a check that is given none."""


def main(words: list[str]) -> int:
    """Run one check; see the module."""
    options = _parser().parse_args(words)
    configure("warning")
    # Ended by a signal, it cleans up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _check(options)
    except AtollError as error:
        print(f"atoll: {error.message}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atoll extension check", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--live", action="store_true", help="start machines that cost money")
    parser.add_argument(
        "--home",
        type=Path,
        help="a home whose settings, SSH key, image, hosts and vendors' keys it uses",
    )
    parser.add_argument(
        "--host", help="ssh://user@host that takes the key of the home, or a host that it has"
    )
    parser.add_argument("--image", default="", help="the image of the sandboxes")
    parser.add_argument("--compose", type=Path, help="a compose file, for what runs one")
    parser.add_argument("--report", type=Path, help="where the report goes, as JSON")
    parser.add_argument("--against", default="real", choices=("real", "vendor's code", "peer"))
    parser.add_argument("--note", default="", help="words about what it ran against")
    return parser


def _check(options: argparse.Namespace) -> int:
    point = find_point(options.name)
    began = datetime.now(UTC)
    zygote = options.home is not None or is_ours(point)
    place = options.report or Path(f"{point.name}-check.json")
    with home_of_run(options.home, options.image, zygote=zygote) as home:
        name, able, linked = _prepare(options, point, home)
        _say_cost(name, able)
        if able.pricing != SELF_HOSTED and not options.live:
            raise Invalid(f"{name} rents machines: `--live` agrees to that, nothing was started")
        clock = time.monotonic()
        collector = Collector()
        tests = _run(collector, place.with_suffix(".log"))
        cleaned, leftovers = asyncio.run(_clean())
        report = CheckReport(
            extension=name,
            package="" if point.dist is None else point.dist.name,
            version="" if point.dist is None else point.dist.version,
            atoll=atoll.__version__,
            at=began.isoformat(timespec="seconds"),
            against=options.against,
            note=options.note,
            isolation=able.isolation.value,
            abilities=tuple(sorted(able.abilities)),
            seconds=round(time.monotonic() - clock, 1),
            suites=collector.suites(_tests_of(ExtensionContract), linked=linked),
            tests=tests,
            cleaned=cleaned,
            leftovers=leftovers,
        )
    _show(report)
    if not report.passed:
        print(f"tracebacks: {place.with_suffix('.log')}")
    _write(report, place)
    return 0 if report.passed else 1


def _prepare(
    options: argparse.Namespace, point: EntryPoint, home: Path
) -> tuple[str, Capabilities, bool]:
    """Give the suites what they run with; return the extension's name, its abilities, and whether
    a link of ours leads there."""
    os.environ[suite_module.NAME], os.environ[suite_module.HOME] = point.name, str(home)
    os.environ[suite_module.TAG] = tag = f"atoll-check-{token_hex(4)}"
    access = None
    if options.host and "://" in options.host:
        os.environ[suite_module.HOST] = asyncio.run(_pin_key(home, options.host, tag))
    elif options.host:
        access = read_access(_home_of(options), f"ext.{point.name}")
        os.environ[suite_module.HOST] = find_host(access, options.host)
    name, able, linked = asyncio.run(_look())
    if able.pricing != SELF_HOSTED and options.home and not os.environ.get(suite_module.KEY):
        suite_module.VAULT += (access or read_access(options.home, name)).keys
    os.environ[suite_module.IMAGE] = options.image
    os.environ[suite_module.COMPOSE] = _compose_file(able, options.compose)
    return name, able, linked


def _home_of(options: argparse.Namespace) -> Path:
    if options.home is None:
        raise Invalid("`--host NAME` is a host of a home: give its `--home`", field="host")
    return cast(Path, options.home)


async def _pin_key(home: Path, address: str, tag: str) -> str:
    """Return an address and the key that its machine shows now, and say that it was believed."""
    keys = await ssh_machines(home, tag).host_keys(read_address(address))
    key = best_key(keys)
    if key is None:
        raise Invalid(f"{address} shows no host key of a known kind", field="host")
    print(f"{address}: its key was taken as it is: {key}")
    return f"{address} {key}"


def _compose_file(able: Capabilities, path: Path | None) -> str:
    """Return the text of the compose file of the run; empty for what runs none."""
    if not able.compose or path is None:
        return _ALONE if able.compose else ""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as err:
        raise Invalid(f"{path} cannot be read: {err}", field="compose") from err


async def _look() -> tuple[str, Capabilities, bool]:
    async with AsyncExitStack() as stack:
        extension = suite_module.maker(stack)()
        return extension.name, extension.capabilities(), isinstance(extension, LinkedExtension)


def _say_cost(name: str, able: Capabilities) -> None:
    print(f"{name}: about {SANDBOXES} sandboxes, one or two at a time; at most {MINUTES} minutes.")
    if able.pricing == SELF_HOSTED:
        print("They run on machines of yours: nothing is rented.")
    elif able.cost_per_hour is None:
        print(f"They are rented ({able.pricing}); no price is declared.")
    else:
        price = able.cost_per_hour
        most = price.micros * 2 * MINUTES / 60 / 1_000_000
        print(f"They are rented ({able.pricing}): at most about {most:.2f} {price.currency}.")
    sys.stdout.flush()


def _run(collector: Collector, log: Path) -> tuple[str, ...]:
    # Its own settings: those of the directory that the person is in are not for this.
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "-o", "asyncio_mode=auto"]
    options += ["-o", "asyncio_default_fixture_loop_scope=function", "--rootdir", "/"]
    options += ["--tb=short", "--show-capture=log"]
    with log.open("w") as file, redirect_stdout(file):
        pytest.main([*options, str(suite_module.__file__)], plugins=[collector])
    return tuple(sorted(_tests_of(TestInstalled)))


def _tests_of(kind: type) -> frozenset[str]:
    return frozenset(name for name in dir(kind) if name.startswith("test_"))


async def _clean() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tear down what the suites left, files that were kept as well. Returns what that removed, and
    what stands all the same."""
    cleaned: list[str] = []
    leftovers: list[str] = []
    async with AsyncExitStack() as stack:
        extension: Extension = suite_module.maker(stack)()
        for handle in await find_leftovers(extension):
            try:
                report = await extension.teardown(handle, keep_state=False)
            except AtollError as error:
                leftovers.append(f"{handle.sandbox_id}: {error.message}")
            else:
                leftovers += report.leftovers
                if report.removed:
                    cleaned.append(f"{handle.sandbox_id}: {', '.join(report.removed)}")
    return tuple(cleaned), tuple(leftovers)


async def find_leftovers(extension: Extension) -> list[Handle]:
    """Return the handles of this run's sandboxes: running ones, then those with files left."""
    survey = await extension.survey()
    running = [handle for handle in survey if handle.sandbox_id in suite_module.STARTED]
    known = {handle.sandbox_id for handle in running}
    host = suite_module.HOST_NAME if os.environ.get(suite_module.HOST) else LOCAL
    return running + [
        Handle(sandbox_id, generation, extension.name, host=host)
        for sandbox_id, generation in suite_module.STARTED.items()
        if sandbox_id not in known
    ]


def _show(report: CheckReport) -> None:
    for suite in report.suites:
        if suite.not_run:
            print(f"{suite.suite:<10} not run: {suite.not_run}")
            continue
        print(f"{suite.suite:<10} {suite.passed} passed, {len(suite.failed)} failed, ", end="")
        print(f"{len(suite.skipped)} skipped")
        for test in (*suite.failed, *suite.skipped):
            print(f"           {test.test}: {test.reason}")
    for text in report.cleaned:
        print(f"removed after the tests: {text}")
    for text in report.leftovers:
        print(f"left over: {text}")


def _write(report: CheckReport, place: Path) -> None:
    place.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    print(f"report: {place}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
