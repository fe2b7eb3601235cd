"""Lines by layer and area, those made by a generator counted apart: `python -m scripts.lines`."""

import signal
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = "src/atoll"
MADE = (
    "src/atoll/protocol/",
    "src/atoll/client/made/",
    "src/atoll/client/aio/made/",
)
"""Folders of generated code, and `GENERATED` files."""
GENERATED = frozenset({"ui/src/api/schema.ts"})
KINDS = (".py", ".pyi", ".ts", ".tsx", ".css", ".c", ".h")
SHOWN_AREAS = 6
"""The largest areas of a layer; the others are added up."""


def is_made(path: str) -> bool:
    """Report whether a generator writes the file."""
    return path in GENERATED or path.startswith(MADE)


def lines_of(path: str) -> int:
    """Return the number of lines of a tracked file."""
    return (ROOT / path).read_bytes().count(b"\n")


def count(paths: Iterable[str]) -> dict[str, Counter[str]]:
    """Return the lines by hand of each area of each layer of the source."""
    layers: dict[str, Counter[str]] = {}
    for path in paths:
        inner = path.removeprefix(f"{SOURCE}/").split("/")
        layer, area = (inner[0], inner[1]) if len(inner) > 2 else (inner[0], "")
        layers.setdefault(layer, Counter())[area] += lines_of(path)
    return layers


def row(layer: str, areas: Counter[str]) -> str:
    """Return a layer's line of the table."""
    named = [(area, lines) for area, lines in areas.most_common() if area]
    words = [f"{area} {lines:,}" for area, lines in named[:SHOWN_AREAS]]
    rest = areas.total() - sum(lines for _area, lines in named[:SHOWN_AREAS])
    words += [f"other {rest:,}"] if words and rest else []
    return f"  {layer:10} {areas.total():>8,}  {' · '.join(words)}".rstrip()


def main() -> None:
    """Print the table."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [path for path in listed.stdout.splitlines() if path.endswith(KINDS)]
    files = [path for path in files if (ROOT / path).exists()]
    hand = [path for path in files if not is_made(path)]
    source = [path for path in hand if path.startswith(f"{SOURCE}/")]
    totals = {
        "src": source,
        "ui/src": [path for path in hand if path.startswith("ui/src/")],
        "tests": [path for path in hand if path.startswith("tests/")],
        "made": [path for path in files if is_made(path)],
    }
    print(
        "lines by hand: " + ", ".join(f"{k} {sum(map(lines_of, v)):,}" for k, v in totals.items())
    )
    layers = count(source)
    for layer in sorted(layers, key=lambda layer: -layers[layer].total()):
        print(row(layer, layers[layer]))


if __name__ == "__main__":
    # Whoever reads only the first lines ends it quietly.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
