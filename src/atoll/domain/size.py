"""Sizes in bytes: units, and sizes as text for people."""

MIB = 2**20
GIB = 2**30


def spelled_size(size: int) -> str:
    """Return a size for people: `1.5 GiB`."""
    shown = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if shown < 1024:
            return f"{shown:.0f} {unit}" if unit == "bytes" else f"{shown:.1f} {unit}"
        shown /= 1024
    return f"{shown:.1f} TiB"
