"""The query of a request, judged as its body is: nothing that is not taken passes in silence."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from atoll.domain.errors import Invalid

_SHOWN: Final = 80


def check_query(
    pairs: Iterable[tuple[str, str]],
    *,
    single: frozenset[str],
    many: frozenset[str] = frozenset(),
) -> None:
    """Check the parameters of a query.

    `single` are the names that are given once at most, `many` those of lists. Raises `Invalid`,
    which names the parameter, for any other name and for a single one that is repeated.
    """
    known = single | many
    for name, count in Counter(name for name, _ in pairs).items():
        if name not in known:
            raise Invalid(_describe_unknown(name, known), field=name[:_SHOWN] or "query")
        if count > 1 and name not in many:
            raise Invalid(
                f"the query parameter `{name}` is given {count} times: give it once", field=name
            )


def _describe_unknown(name: str, known: frozenset[str]) -> str:
    takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
    shown = name[:_SHOWN] if name.isprintable() else "…"
    return f"there is no query parameter `{shown}` here: {takes}"
