"""Run every attempt, each in a process of its own, and print one JSON object a line."""

from __future__ import annotations

import json
import pkgutil
import sys

from . import abuse, canary, files, kernel, network, slab
from .attempts import Facts, report


def main() -> None:
    """Run the attempts on the facts beside this file in the archive."""
    document = pkgutil.get_data(__package__ or "inside", "facts.json")
    facts = Facts(json.loads(document or b"{}"))
    tried = [*files.ATTEMPTS, *kernel.ATTEMPTS, *network.ATTEMPTS, *canary.ATTEMPTS]
    if facts.flag("abuse"):
        tried += [*abuse.ATTEMPTS, *slab.ATTEMPTS]
    for attempt in tried:
        sys.stdout.write(json.dumps(report(attempt, facts)) + "\n")
        sys.stdout.flush()


main()
