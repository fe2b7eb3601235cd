"""A JSON answer of the API, read by name and type.

Not a schema: the CLI takes the fields it shows and passes the rest on untouched with
`--json`. A field of the wrong type is the server's fault and says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from atoll.domain.errors import Failed

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Answer:
    """JSON object of a response. `value` is what the server sent, unchanged."""

    value: Mapping[str, Json]

    def text(self, name: str, default: str = "") -> str:
        """Return a string field; `default` when it is absent or null. Raises `Failed`."""
        found = self.value.get(name)
        if found is None:
            return default
        if not isinstance(found, str):
            raise _odd(name, "a string", found)
        return found

    def number(self, name: str, default: int = 0) -> int:
        """Return a whole number; `default` when it is absent or null. Raises `Failed`."""
        found = self.value.get(name)
        if found is None:
            return default
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise _odd(name, "a number", found)
        return int(found)

    def flag(self, name: str) -> bool:
        """Return a boolean field; True only for a literal true."""
        return self.value.get(name) is True

    def child(self, name: str) -> "Answer":
        """Return an object field; an empty answer when it is absent or null. Raises `Failed`."""
        found = self.value.get(name)
        if found is None:
            return Answer({})
        return answer(found, name)

    def children(self, name: str) -> list["Answer"]:
        """Return a list of objects; empty when absent or null. Raises `Failed`."""
        return [answer(item, name) for item in self._list(name)]

    def texts(self, name: str) -> list[str]:
        """Return a list of strings; empty when absent or null. Raises `Failed`."""
        found = self._list(name)
        return [item if isinstance(item, str) else str(item) for item in found]

    def numbers(self, name: str) -> list[int]:
        """Return a list of whole numbers; empty when absent or null. Raises `Failed`."""
        found = self._list(name)
        numbers = [item for item in found if isinstance(item, int)]
        if len(numbers) < len(found):
            raise _odd(name, "a list of numbers", found)
        return numbers

    def _list(self, name: str) -> Sequence[Json]:
        found = self.value.get(name)
        if found is None:
            return []
        if isinstance(found, str) or not isinstance(found, Sequence):
            raise _odd(name, "a list", found)
        return found


def answer(value: Json, what: str = "the answer") -> Answer:
    """Return `value` as an object. Raises `Failed` when it is something else."""
    if not isinstance(value, Mapping):
        raise _odd(what, "an object", value)
    return Answer(value)


def _odd(name: str, wanted: str, found: Json) -> Failed:
    return Failed(
        f"the server answered `{name}` with {type(found).__name__} where {wanted} belongs; "
        "the command line and the server may be of different versions"
    )
