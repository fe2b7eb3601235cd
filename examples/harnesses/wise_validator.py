"""A validator that has a stack of services brought up, and judges it by checks of its own.

    ATOLL_URL=… ATOLL_TOKEN=… python wise_validator.py RUN REPOSITORY BUNDLE CHECK...

`REPOSITORY` is `owner/repo@ref`, `BUNDLE` a compose file or its folder, `repo:PATH`. A check is a
line of shell beside the services; what it means is the validator's affair. One line of JSON tells
each result, and the last one the run. The exit status is that of the run.
"""

import asyncio
import json
import sys
from dataclasses import asdict, dataclass

from atoll.client import Atoll, AtollError, Invalid

HARNESS = "wise-validator"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The end of a check."""

    check: str
    passed: bool
    output: str


async def prepare(atoll: Atoll, run_id: str, repo_ref: str, compose_bundle_ref: str) -> str:
    """Return the id of a sandbox whose services are up. Raises `Invalid`, which names the wrong
    reference before anything starts, and `Failed` with why the services are not up."""
    asked = await atoll.sandboxes.create(
        {
            "profile": "profile.compose-e2e",
            "inputs": {"repo_ref": repo_ref, "compose_bundle_ref": compose_bundle_ref},
            "ttl": "2h",
            "consumer": {"actor": "atm", "harness": HARNESS, "run_id": run_id},
        }
    )
    ready = await atoll.sandboxes.ready(asked.sandbox_id, seconds=600)
    return ready.sandbox_id


async def judge(atoll: Atoll, sandbox: str, check: str) -> CheckResult:
    """Run a check beside the services."""
    done = await atoll.execs.run(sandbox, {"shell": check, "timeout": 300})
    output = (done.out + done.err).decode(errors="replace")
    return CheckResult(check, done.exit_code == 0 and not done.timed_out, output)


async def validate(run_id: str, repo_ref: str, bundle: str, checks: list[str]) -> bool:
    """Tell the result of each check, and whether all passed; the sandbox ends with the run."""
    async with Atoll() as atoll:
        try:
            sandbox = await prepare(atoll, run_id, repo_ref, bundle)
            results = [await judge(atoll, sandbox, check) for check in checks]
        except Invalid as error:
            tell({"run": run_id, "passed": False, "field": error.field, "error": error.message})
            return False
        except AtollError as error:
            tell({"run": run_id, "passed": False, "error": error.message})
            return False
        finally:
            ended = await atoll.consumers.end(harness=HARNESS, run_id=run_id)
        for result in results:
            tell(asdict(result))
        passed = all(result.passed for result in results)
        usage = await atoll.consumers.usage(harness=HARNESS, run_id=run_id)
        sandboxes = sum(consumer.sandboxes for consumer in usage.consumers)
        ids = [one.sandbox_id for one in ended.sandboxes]
        tell({"run": run_id, "passed": passed, "sandboxes": sandboxes, "ended": ids})
        return passed


def tell(told: dict[str, object]) -> None:
    """Write one line of JSON."""
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    _, run, repository, compose, *lines = sys.argv
    sys.exit(0 if asyncio.run(validate(run, repository, compose, lines)) else 1)
