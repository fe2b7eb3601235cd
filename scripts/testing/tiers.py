"""The slow tiers, each a list of steps, and the run of all that install little."""

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from scripts.testing.groups import ON_POSTGRES, ROOT, STORED, pytest


@dataclass(frozen=True, slots=True)
class Step:
    """One run of pytest. `bounds` are variables for its environment, unless the caller set them."""

    words: tuple[str, ...]
    bounds: Mapping[str, str] = field(default_factory=dict)


def chaos_steps(search_seconds: int, redaction_seconds: int, examples: int) -> tuple[Step, ...]:
    """Return the tests that break things or search at random, for so long. A property has so many
    times the examples of the usual run."""
    crowd = {"ATOLL_CHAOS_SECONDS": "60", "ATOLL_CHAOS_VIEWERS": "200"}
    cuts = {"ATOLL_LINK_CUTS": "1000", "ATOLL_LINK_AWAY": "60"}
    search, redaction = str(search_seconds), str(redaction_seconds)
    return (
        Step(("-s", "tests/e2e/replicas/test_chaos.py"), crowd),
        Step(("-s", "tests/e2e/replicas/test_push.py")),
        Step(("-s", "tests/e2e/day"), {"ATOLL_DAY_ACTS": str(search_seconds // 10)}),
        Step(("-s", "tests/e2e/workers/test_kills.py"), {"ATOLL_WORKER_KILLS": "100"}),
        Step(("-s", "tests/runtime/spawners/link/test_cuts.py"), cuts),
        Step(("-s", "tests/e2e/test_storm.py"), {"ATOLL_STORM_SECONDS": search}),
        Step(("-s", "tests/e2e/test_http_conformance.py"), {"ATOLL_HTTP_SECONDS": search}),
        Step(
            ("-s", "--timeout", "8000", "tests/security/worst_shapes"),
            {"ATOLL_SHAPE_SECONDS": search},
        ),
        Step(
            ("-s", "--timeout", "8000", "tests/redaction"),
            {"ATOLL_REDACTION_SECONDS": redaction},
        ),
        Step(("-m", "hypothesis and not slow", "tests"), {"ATOLL_EXAMPLES": str(examples)}),
    )


ON_BOTH_DATABASES = Step((*ON_POSTGRES, "-m", "not slow", *STORED))
VENDORS = Step(("-m", "vendors", "tests/vendors"))
TIERS = {
    "slow": (Step(("-m", "slow and not agents and not vendors")), ON_BOTH_DATABASES),
    "backends": (Step(("-m", "docker", "tests")),),
    "chaos": chaos_steps(600, 3600, 40),
    "vendors": (VENDORS,),
    "agents": (Step(("-m", "agents", "tests/e2e")),),
}

OTHER_AGENTS = "aider or gemini or opencode or qwen or five"
"""Words of the names of tests that install more agents than Codex and Claude Code."""
ALL = {
    "slow": (
        Step(("-m", "slow and not agents and not vendors and not docker")),
        ON_BOTH_DATABASES,
    ),
    "backends": (Step(("-m", "docker and not agents", "tests")),),
    "agents, those of the usual run": (
        Step(("-m", "agents and (slow or docker)", "-k", f"not ({OTHER_AGENTS})", "tests/e2e")),
    ),
    "chaos": chaos_steps(120, 300, 8),
    "vendors": (VENDORS,),
}
"""What `scripts/test all` runs after the usual run: the tiers without what installs more than 500
MB, each test once, and random searches of minutes."""


def run_tier(name: str) -> int:
    """Run a tier up to its first step that fails, and return that step's exit status."""
    return next((status for step in TIERS[name] if (status := _run_step(step))), 0)


def run_tiers() -> int:
    """Run every step of `ALL`, print how each tier ended, and return 1 when one failed."""
    ended = []
    for name, steps in ALL.items():
        begun = time.monotonic()
        statuses = [_run_step(step) for step in steps]
        ended.append((name, any(statuses), time.monotonic() - begun))
    print("\nTiers, without every other agent (make test-agents installs them: 1.8 GB):")
    for name, failed, seconds in ended:
        print(f"  {name}: {'FAILED' if failed else 'good'} after {seconds / 60:.0f} min")
    return int(any(failed for _name, failed, _seconds in ended))


def _run_step(step: Step) -> int:
    env = {**step.bounds, **os.environ}
    return subprocess.run(pytest(*step.words), cwd=ROOT, env=env, check=False).returncode
