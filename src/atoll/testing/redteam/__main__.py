"""The program `python -m atoll.testing.redteam`: the attempts against your own installation.

It makes a sandbox, runs the attempts inside it and over the API, prints one line for each, and
removes everything again. It exits with 1 when an attempt succeeded, with 2 when one could not be
judged.
"""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import click

from atoll.client.server import find_server
from atoll.domain.errors import AtollError
from atoll.testing.redteam.outside import ATTEMPTS, Canaries
from atoll.testing.redteam.pack import archive, mask_value
from atoll.testing.redteam.target import AttackTarget, sandbox_of

PROGRAM = "atoll-redteam.pyz"
MARKS = {"held": "ok", "succeeded": "BAD", "skipped": "-", "broken": "?"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one attempt: `held`, `succeeded`, `skipped` or `broken`."""

    number: str
    name: str
    outcome: str
    text: str = ""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--url", metavar="URL", help="The server; the one of $ATOLL_HOME without it.")
@click.option("--sandbox", "profile", default="shell", metavar="PROFILE", show_default=True)
@click.option("--abuse", is_flag=True, help="Also use up processes, disk, memory, terminals.")
@click.option("--keep", is_flag=True, help="Leave the sandbox there, to look at.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def main(url: str | None, profile: str, *, abuse: bool, keep: bool, as_json: bool) -> None:
    """Try to break out of a sandbox of PROFILE, and into the API that made it."""
    counted = {"held": 0, "succeeded": 0, "skipped": 0, "broken": 0}
    try:
        server = find_server({**os.environ, **({"ATOLL_URL": url} if url else {})})
        attacked = AttackTarget(server.url, server.token)
        for outcome in attempts(attacked, profile, abuse=abuse, keep=keep):
            counted[outcome.outcome] += 1
            click.echo(json.dumps(asdict(outcome)) if as_json else _spell_outcome(outcome))
    except AtollError as error:
        raise click.ClickException(error.message) from error
    click.echo(", ".join(f"{count} {name}" for name, count in counted.items()), err=True)
    raise SystemExit(1 if counted["succeeded"] else 2 if counted["broken"] else 0)


def _spell_outcome(outcome: Outcome) -> str:
    text = f": {outcome.text}" if outcome.text else ""
    return f"{MARKS[outcome.outcome]:<4}{outcome.number:>4}  {outcome.name}{text}"


def attempts(
    server: AttackTarget, profile: str, *, abuse: bool = False, keep: bool = False
) -> Iterator[Outcome]:
    """Yield every outcome, as it comes. Raises `AtollError` when there is no sandbox to attack."""
    with (
        sandbox_of(server, profile, keep=keep) as (target, record),
        _canaries(target) as canaries,
    ):
        yield from _run_inside(target, _facts(target, record, canaries, abuse=abuse))
        for number, name, act in ATTEMPTS:
            try:
                got = act(target, canaries)
            except (AtollError, OSError, KeyError, TypeError, ValueError) as error:
                yield Outcome(number, name, "broken", f"{type(error).__name__}: {error}"[:500])
                continue
            yield Outcome(number, name, "succeeded" if got else "held", got[:1000])


def _run_inside(target: AttackTarget, facts: dict[str, Any]) -> Iterator[Outcome]:
    """Run the attacks inside the sandbox and yield their outcomes."""
    target.put(PROGRAM, archive(facts))
    output = target.run("python3", f"/workspace/{PROGRAM}")
    for line in output.splitlines():
        yield Outcome(**json.loads(line))


def _facts(
    target: AttackTarget, record: dict[str, Any], canaries: Canaries, *, abuse: bool
) -> dict[str, Any]:
    """Return the facts about the sandbox that the attempts inside need."""
    profile = target.must("GET", f"/v1/profiles/{record['profile']['id']}")
    recipe = profile.get("document") or profile
    network = target.must("GET", target.here("/network"))
    host, port = target.place
    return {
        "abuse": abuse,
        "mode": network["mode"],
        "host_ports": network["host_ports"] if network["mode"] == "host-only" else [],
        "degraded": record["isolation"]["degraded"],
        "root_writable": recipe.get("root") == "overlay",
        "memory_mb": (recipe.get("resources") or {}).get("memory_mb"),
        "canary": mask_value(canaries.kept),
        "api_host": host,
        "api_port": port,
    }


@contextmanager
def _canaries(target: AttackTarget) -> Iterator[Canaries]:
    """Set two secrets for this sandbox alone, and remove them afterwards."""
    mark = secrets.token_hex(4).upper()
    made = Canaries(
        *(f"RT_KEPT_{mark}", f"canary-{secrets.token_urlsafe(18)}"),
        *(f"RT_SHOWN_{mark}", f"canary-{secrets.token_urlsafe(18)}"),
    )
    scope = f"sandbox:{target.sandbox}"
    hidden = {"value": made.kept, "scope": scope, "env": made.kept_name}
    shown = {"value": made.exposed, "scope": scope, "env": made.exposed_name, "kind": "env"}
    target.must("PUT", f"/v1/secrets/{made.kept_name}", hidden)
    target.must("PUT", f"/v1/secrets/{made.exposed_name}", {**shown, "broker_protected": False})
    try:
        yield made
    finally:
        for name in (made.kept_name, made.exposed_name):
            target.ask("DELETE", f"/v1/secrets/{name}?scope={scope}")


if __name__ == "__main__":
    main()
