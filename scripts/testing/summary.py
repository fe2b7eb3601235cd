"""The end of a run: what was left out and why, seeds, counts, and what failed."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from scripts.testing.groups import ROOT, files_marked
from scripts.testing.retries import OCCURRENCES
from scripts.testing.run import Run
from scripts.testing.tiers import TIERS

SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] (.*?): (.*)$", re.M)
SEEDS = re.compile(r"^(?:redaction|http|storm|chaos|link|workers): .*$", re.M)
TOTALS = re.compile(r"^(\d+ [a-z]+.*) in [0-9.]+s", re.M)
FAILURES = re.compile(r"^(?:FAILED|ERROR) .*$", re.M)
LEFT = re.compile(r"^Left on this machine:\n(?: .*\n)*", re.M)
MAX_FAILURE_CHARACTERS = 160


def print_summary(run: Run, *, good: bool) -> None:
    """Print what a run did, skipped and found."""
    # What is tried again was counted when it failed.
    logs = [one for one in sorted(run.folder.glob("*.log")) if not one.stem.endswith("-again")]
    texts = [one.read_text(errors="replace") for one in logs]
    counted = (*_list_skips(texts), *_list_counts(texts))
    print(*_list_left_out(), *counted, *_list_retried(run), sep="\n")
    for text in texts:
        print(*LEFT.findall(text), sep="", end="")
    if run.meter is not None:
        print(*run.meter.report(), sep="\n")
    if not good:
        failures = (line for text in texts for line in FAILURES.findall(text))
        print(*(line[:MAX_FAILURE_CHARACTERS] for line in failures), sep="\n")
        print("FAILED:", *(group.name for group in run.failed))


def _list_left_out() -> Iterator[str]:
    targets = ", ".join(f"make test-{tier}" for tier in ("all", *TIERS))
    yield f"\nFiles with slow tiers, not run here ({targets}):"
    yield from (f"  {file}" for file in files_marked("slow"))
    missing = ROOT / ".venv" / ".missing"
    if missing.exists() and (text := missing.read_text().rstrip()):
        yield "Missing on this machine, so some tests were skipped:"
        yield from (f"  {line}" for line in text.splitlines())


def _list_skips(texts: Sequence[str]) -> Iterator[str]:
    reasons: Counter[str] = Counter()
    places: dict[str, str] = {}
    for text in texts:
        for number, place, reason in SKIPPED.findall(text):
            reasons[reason] += int(number)
            places.setdefault(reason, place)
    yield f"Skipped: {reasons.total()}, and why:"
    for reason, number in reasons.most_common():
        yield f"  {number} × {reason} ({places[reason]})"


def _list_counts(texts: Sequence[str]) -> Iterator[str]:
    yield "Searched with seeds of this run:"
    yield from (f"  {line}" for text in texts for line in SEEDS.findall(text))
    yield "All groups together:"
    counts: Counter[str] = Counter()
    for text in texts:
        for total in TOTALS.findall(text):
            for one in total.split(", "):
                number, kind = one.split(" ", 1)
                counts[kind] += int(number)
    del counts["deselected"]
    yield "".join(f"  {number} {kind}" for kind, number in counts.items())


def _list_retried(run: Run) -> Iterator[str]:
    if run.passed_alone:
        yield f"FAILED beside others, and passed alone (noted in {run.retried}: commit it):"
        yield from (f"  {test}" for test in run.passed_alone)
    if run.too_often:
        yield f"FAILED beside others for the {OCCURRENCES}rd time or more, so it must be mended:"
        yield from (f"  {test}" for test in run.too_often)
