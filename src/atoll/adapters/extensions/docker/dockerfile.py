"""A check of a Dockerfile before the daemon receives it.

A build's commands run in containers without a network, but the daemon itself fetches what
`FROM`, `COPY --from` and `ADD` name, from wherever it can reach. So images are listed, to be
checked and fetched one by one, and everything else that is fetched, mounted or let out is
refused. What this reader and the daemon's might read differently is refused, too, and the
daemon is sent what was read here, an instruction a line, never the file.
Grammar: Docker's Dockerfile reference, of the classic builder.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from atoll.domain.errors import Invalid

MAX_BYTES = 256 * 1024
MAX_INSTRUCTION_BYTES = 60_000
"""The daemon reads no longer line (bufio.MaxScanTokenSize)."""

NO_IMAGE = "scratch"

_DIRECTIVE = re.compile(r"#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*")
_CONTINUED = re.compile(r"\\[ \t]*$")
_TWO_ESCAPES = re.compile(r"\\\\[ \t]*$")
_WORD = re.compile(r"[A-Za-z]+")
_PLAIN_SOURCE = re.compile(r"[A-Za-z0-9_./*?+~,=-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_FOREIGN_BLANK = re.compile(r"[^\S \t]")
"""Not every reader takes the same characters for blanks and ends of lines."""

_HERE = re.compile(r"\d*<<-?[^<\s]")
_MARK = re.compile(r"\x00(\d+)\x00")
_STAGE = re.compile(r"[a-z][a-z0-9_.-]{0,127}", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,4}")
_PLATFORM = re.compile(r"--platform=[a-z0-9/]+")
_OWNERSHIP = re.compile(r"--ch(?:own|mod)=[A-Za-z0-9_:.,=+-]+")
_FROM_FLAG = re.compile(r"--from=([A-Za-z0-9_./:@-]+)")
_FREE = frozenset(
    {"CMD", "LABEL", "MAINTAINER", "EXPOSE", "ENV", "ENTRYPOINT", "VOLUME", "USER", "WORKDIR"}
    | {"ARG", "STOPSIGNAL", "HEALTHCHECK", "SHELL"}
)
"""Instructions that fetch, mount and run nothing while an image is built."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The bases of a Dockerfile: the images its stages begin with or copy from. `marked` is what
    was checked, with the number of a base between two NULs in place of its name."""

    bases: tuple[str, ...]
    marked: str

    @property
    def text(self) -> str:
        """The checked Dockerfile with the names of its bases."""
        return self.with_bases(self.bases)

    def with_bases(self, images: Sequence[str]) -> str:
        """Return the checked Dockerfile with the ids of its bases in place of their names, because
        a name may later refer to another image."""
        return _MARK.sub(lambda mark: images[int(mark[1])], self.marked)


@dataclass(slots=True)
class _ReaderState:
    """State of the reader. `known` is True when a text names an image at all."""

    known: Callable[[str], bool]
    stages: list[str] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)

    def add(self, line: int, image: str) -> str:
        """Note an image; returns its mark."""
        if image.isdigit() or not self.known(image):
            raise _error_at(line, f"{image[:80]!r} names no image: write it out, without variables")
        if image not in self.bases:
            self.bases.append(image)
        return f"\0{self.bases.index(image)}\0"


def read_recipe(text: str, known: Callable[[str], bool]) -> Recipe:
    """Read a whole Dockerfile. Raises `Invalid` naming the line that is not allowed."""
    if len(text.encode()) > MAX_BYTES:
        raise Invalid(f"the Dockerfile is larger than {MAX_BYTES // 1024} KiB", field="image")
    reading, lines = _ReaderState(known), []
    for line, word, rest in _instructions(text):
        judged = _judge(reading, line, word, rest=rest)
        lines.append(f"{word} {judged}".rstrip() + "\n")
        if len(lines[-1].encode()) > MAX_INSTRUCTION_BYTES:
            raise _error_at(line, f"the instruction is longer than {MAX_INSTRUCTION_BYTES} bytes")
    if not reading.stages:
        raise Invalid("the Dockerfile has no FROM", field="image")
    return Recipe(tuple(reading.bases), "".join(lines))


def check_triggers(image: str, triggers: list[str]) -> None:
    """Check an image's `ONBUILD` instructions by the same rules."""
    for trigger in triggers:
        try:
            reading = _ReaderState(lambda _: False, stages=[""])
            for line, word, rest in _instructions(trigger):
                _judge(reading, line, word, rest=rest)
        except Invalid as err:
            raise Invalid(
                f"the image {image} asks whoever builds on it for {trigger[:80]!r}, which is "
                f"refused: {err.message}",
                field="image",
            ) from err


def may_be_base(image: str, patterns: tuple[str, ...] | None) -> bool:
    """Return whether an image may be a base: `*` in a pattern matches anything. None allows all."""
    return patterns is None or any(fnmatchcase(image, pattern) for pattern in patterns)


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, instruction, the rest) with comments and continuations resolved."""
    instruction, began, directives = "", 0, True
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.removesuffix("\r")
        if directives:
            directives = _directive(number, line)
        stripped = line.strip()
        _check_characters(number, line, comment=stripped.startswith("#"))
        if stripped.startswith("#") or (not stripped and instruction):
            continue
        if _TWO_ESCAPES.search(line):
            raise _error_at(number, "a line may not end with two backslashes")
        began = began if instruction else number
        instruction += line.lstrip() if not instruction else line
        if _CONTINUED.search(instruction):
            # A blank keeps `instruction` from looking as if nothing had begun.
            instruction = _CONTINUED.sub("", instruction) or " "
            continue
        if instruction.strip():
            yield _split(began, instruction)
        instruction = ""
    if instruction.strip():
        yield _split(began, instruction)


def _check_characters(number: int, line: str, *, comment: bool) -> None:
    odd = _CONTROL.search(line) or (None if comment else _FOREIGN_BLANK.search(line))
    if odd is not None:
        raise _error_at(
            number,
            f"no instruction may hold the character {odd[0]!r}: the daemon may read it otherwise",
        )


def _directive(number: int, line: str) -> bool:
    """Return whether another directive may follow. Raises `Invalid` for an escape character other
    than the backslash."""
    directive = _DIRECTIVE.fullmatch(line.strip())
    if directive is None:
        return False
    if directive[1].lower() == "escape" and directive[2] != "\\":
        raise _error_at(number, "the escape character can only be the backslash")
    return True


def _split(line: int, text: str) -> tuple[int, str, str]:
    word, *rest = re.split(r"[ \t]+", text.strip(" \t"), maxsplit=1)
    if not _WORD.fullmatch(word):
        raise _error_at(line, f"{word[:40]!r} is no instruction")
    return line, word.upper(), "".join(rest)


def _judge(reading: _ReaderState, line: int, word: str, *, rest: str) -> str:
    """Check an instruction and return its arguments as the daemon receives them."""
    if word not in ("FROM", "ARG") and not reading.stages:
        raise _error_at(line, "the first instruction is FROM")
    if word in ("RUN", "COPY", "ADD") and any(map(_HERE.match, rest.split())):
        raise _error_at(line, f"{word} takes plain files and commands, no here-document (`<<`)")
    judge = _JUDGES.get(word)
    if judge is not None:
        return judge(reading, line, rest)
    if word not in _FREE:
        raise _error_at(line, f"there is no instruction {word[:40]}")
    return rest


def _run(_reading: _ReaderState, line: int, rest: str) -> str:
    if rest.startswith("--"):
        raise _error_at(line, "RUN takes no flags: no mounts, no other security or network")
    return rest


def _onbuild(reading: _ReaderState, line: int, rest: str) -> str:
    _line, inner, more = _split(line, rest or "?")
    if inner in ("ONBUILD", "FROM"):
        raise _error_at(line, f"ONBUILD {inner} cannot be")
    return f"{inner} {_judge(reading, line, inner, rest=more)}"


def _from(reading: _ReaderState, line: int, rest: str) -> str:
    words = rest.split()
    if words and _PLATFORM.fullmatch(words[0]):
        words = words[1:]
    named = len(words) == 3 and words[1].upper() == "AS"
    if len(words) != 1 and not named:
        raise _error_at(line, "FROM takes an image, and a name after AS")
    if named and not _STAGE.fullmatch(words[2]):
        raise _error_at(line, f"{words[2][:40]!r} cannot name a stage")
    image = words[0]
    pinned = rest.split()
    if image != NO_IMAGE and image.lower() not in filter(None, reading.stages):
        pinned[-len(words)] = reading.add(line, image)
    reading.stages.append(words[2].lower() if named else "")
    return " ".join(pinned)


def _copy(reading: _ReaderState, line: int, rest: str) -> str:
    """Replace a stage's name by its number. The daemon would fetch an image of that name when it
    does not know the stage."""
    flags = list(_flags(rest))
    for number, flag in enumerate(flags):
        from_flag = _FROM_FLAG.fullmatch(flag)
        if from_flag is None and not _OWNERSHIP.fullmatch(flag):
            raise _error_at(line, f"COPY takes --from, --chown and --chmod, not {flag[:40]!r}")
        stage = _stage(reading, from_flag[1]) if from_flag is not None else None
        if stage is not None:
            flags[number] = f"--from={stage}"
        elif from_flag is not None:
            flags[number] = f"--from={reading.add(line, from_flag[1])}"
    return " ".join([*flags, _without(rest, len(flags))])


def _stage(reading: _ReaderState, name: str) -> int | None:
    """Return the number of the stage that `name` stands for."""
    if _NUMBER.fullmatch(name):
        return int(name) if int(name) < len(reading.stages) else None
    numbers = [number for number, stage in enumerate(reading.stages) if stage == name.lower()]
    return numbers[-1] if numbers else None


def _add(_reading: _ReaderState, line: int, rest: str) -> str:
    flags = list(_flags(rest))
    for flag in flags:
        if not _OWNERSHIP.fullmatch(flag):
            raise _error_at(line, f"ADD takes --chown and --chmod, not {flag[:40]!r}")
    words = rest.split()[len(flags) :]
    if words and words[0].startswith("["):
        words = _words_of(line, " ".join(words))
    for source in words[:-1]:
        if not _PLAIN_SOURCE.fullmatch(source):
            raise _error_at(
                line,
                f"ADD takes plain files of the folder, not {source[:80]!r}: the daemon would "
                "fetch an address from its own network",
            )
    return rest


def _words_of(line: int, text: str) -> list[str]:
    try:
        words = json.loads(text)
    except ValueError as err:
        raise _error_at(line, "ADD's list is not JSON") from err
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise _error_at(line, "ADD's list holds texts")
    return words


def _flags(rest: str) -> Iterator[str]:
    for word in rest.split():
        if not word.startswith("--"):
            return
        yield word


def _without(rest: str, count: int) -> str:
    """Return the text after the first words."""
    return re.sub(rf"\A(?:[ \t]*[^ \t]+){{{count}}}[ \t]*", "", rest)


_JUDGES: dict[str, Callable[[_ReaderState, int, str], str]] = {
    "FROM": _from,
    "RUN": _run,
    "COPY": _copy,
    "ADD": _add,
    "ONBUILD": _onbuild,
}


def _error_at(line: int, why: str) -> Invalid:
    return Invalid(f"Dockerfile line {line}: {why}", field="image")
