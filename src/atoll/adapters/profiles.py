"""Profile documents as files. Reads text without interpreting it."""

from importlib import resources
from pathlib import Path

MAX_FILES = 500
MAX_BYTES = 65536


def read_builtin_profiles() -> dict[str, str]:
    """Return the documents that come with Atoll, by file name."""
    folder = resources.files("atoll") / "profiles"
    return {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".yaml")
    }


def personal(folder: Path) -> dict[str, str]:
    """Return the `*.yaml` and `*.yml` files directly in `folder`, by name; none when it does not
    exist.

    A file that is not text of at most 64 KiB becomes an empty document, which its reader reports
    under the file's name.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
    except OSError:
        return {}
    return {path.name: _read_profile(path) for path in paths[:MAX_FILES]}


def _read_profile(path: Path) -> str:
    """Return a file's text; empty when it cannot be read or is too large."""
    try:
        # A pipe or a device would block a reader for ever.
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return ""
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
