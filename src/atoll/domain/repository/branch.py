"""Branch names: the allowed ones, the default, and one proposed from a sentence.

The rules are git-check-ref-format(1) with `--branch`, a length limit, and no character that does
not print. Pure text; the repository knows whether a branch exists.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Container, Iterable, Iterator
from datetime import datetime
from typing import Final

from atoll.domain.errors import Invalid

MAX_BRANCH_BYTES = 200
MAX_PROPOSED = 40
_MAX_WORD = 200
"""The longest branch that is proposed, in characters: it is read in lists."""

_WORD = re.compile(r"[a-z0-9]+")
_FILLING = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "for", "from", "i", "in", "is",
    "it", "its", "me", "my", "of", "on", "our", "please", "should", "so", "that", "the", "then",
    "there", "this", "to", "we", "with", "would", "you", "your",
})  # fmt: skip
"""Words of a sentence that say nothing about the work."""

_CYRILLIC: Final = "абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґ"
_CYRILLIC_LATIN: Final = (
    "a b v g d e e zh z i y k l m n o p r s t u f kh ts ch sh shch  y  e yu ya i yi ye g"
)
_GREEK: Final = "αβγδεζηθικλμνξοπρσςτυφχψω"
_GREEK_LATIN: Final = "a v g d e z i th i k l m n x o p r s s t y f ch ps o"
_LETTERS: Final = {
    **dict(zip(_CYRILLIC, _CYRILLIC_LATIN.split(" "), strict=True)),
    **dict(zip(_GREEK, _GREEK_LATIN.split(" "), strict=True)),
}
"""Letters of other scripts, as they are usually spelled in Latin ones."""

_SYLLABLES: Final = ("HANGUL SYLLABLE ", "HIRAGANA LETTER ", "KATAKANA LETTER ")
"""The beginnings of names (Unicode) that end with the syllable in Latin letters."""

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def read_branch(text: str, *, field: str = "branch") -> str:
    """Return `text` if it may name a branch; raises `Invalid` with the rule it breaks."""
    why = _broken_rule(text)
    if why is not None:
        raise Invalid(f"{text[:80]!r} cannot name a branch: {why}.", field=field)
    return text


def _broken_rule(text: str) -> str | None:
    if not text.isprintable() or _FORBIDDEN.search(text):
        return "it holds a space, a control character, `..`, `//`, `@{` or one of ~ ^ : ? * [ \\"
    if not text or len(text.encode()) > MAX_BRANCH_BYTES:
        return f"it is empty or longer than {MAX_BRANCH_BYTES} bytes"
    if text.startswith(("-", "/")) or text.endswith(("/", ".")) or text in ("@", "HEAD"):
        return "it starts with - or /, ends with / or ., or is a name git keeps for itself"
    if any(part.startswith(".") or part.endswith(".lock") for part in text.split("/")):
        return "a part of it starts with . or ends with .lock"
    return None


def branch_of_ref(ref: str) -> str | None:
    """Return the branch of a full ref (`refs/heads/x` → `x`), None for any other or forbidden
    ref."""
    name = ref.removeprefix("refs/heads/")
    return name if name != ref and _broken_rule(name) is None else None


def read_new_branch(text: str) -> str:
    """Return `text` if a new branch may have this name: `read_branch`, but no full name of a ref,
    which would make `refs/heads/refs/heads/x`."""
    if text.startswith("refs/"):
        short = text.removeprefix("refs/heads/")
        advice = "leave that out" if short == text else f"name it {short!r}"
        raise Invalid(f"{text[:80]!r} begins with refs/: {advice}.", field="branch")
    return read_branch(text)


def conflicting_branches(names: Collection[str], there: Iterable[str]) -> list[str]:
    """Return those of `there` beside which git has no room for `names`: it keeps either `a` or
    `a/b`. All are branches, or all full refs."""
    above = {each for name in names for each in _parents_of(name)}
    return [one for one in there if one in above or any(each in names for each in _parents_of(one))]


def _parents_of(name: str) -> Iterator[str]:
    """Return the names above a branch: `a` and `a/b` for `a/b/c`."""
    parts = name.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts)))


def default_branch(now: datetime) -> str:
    """Return the default branch of a sandbox: `sandbox-20240115-1430`."""
    return now.strftime("sandbox-%Y%m%d-%H%M")


def proposed_branch(sentence: str) -> str | None:
    """Return a branch named by the first words of a task: `Please fix the login page!` gives
    `fix-login-page`. None for a sentence without words in Latin letters or digits."""
    plain = unicodedata.normalize("NFKD", _first_line(sentence))
    return _join_words(plain.encode("ascii", "ignore").decode().lower())


def branch_of_task(sentence: str) -> str:
    """Return the branch that a sentence proposes. Words in other scripts are spelled in Latin
    letters where these stand for theirs (Cyrillic, Greek, Korean, Japanese syllables); else the
    branch is `task-` and a digest, the same for the same words."""
    proposed = proposed_branch(sentence) or _join_words(_romanize(_first_line(sentence)))
    if proposed is not None:
        return proposed
    said = " ".join(map(_compose, sentence.split()))
    return f"task-{hashlib.sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


def _compose(word: str) -> str:
    # Marks in disorder take normalization the square of their number, and no word has so many.
    return unicodedata.normalize("NFC", word) if len(word) <= _MAX_WORD else word


def _first_line(sentence: str) -> str:
    return sentence.strip()[:500].partition("\n")[0]


def _join_words(plain: str) -> str | None:
    """Return a branch of the first words that say something."""
    words = _WORD.findall(plain.replace("'", ""))
    telling = [word for word in words if word not in _FILLING] or words
    name = ""
    for word in telling:
        longer = f"{name}-{word}" if name else word[:MAX_PROPOSED]
        if len(longer) > MAX_PROPOSED:
            break
        name = longer
    return name or None


def _romanize(text: str) -> str:
    return "".join(map(_romanize_letter, unicodedata.normalize("NFC", text.lower())))


def _romanize_letter(letter: str) -> str:
    if letter in _LETTERS:
        return _LETTERS[letter]
    name = unicodedata.name(letter, "")
    if name.startswith(_SYLLABLES):
        return name.rsplit(" ", 1)[1].lower()
    plain = unicodedata.normalize("NFD", letter)[:1]
    return _LETTERS.get(plain, "" if letter.isalnum() else " ")


def free_branch(branch: str, taken: Container[str]) -> str:
    """Return `branch`, or with the first free number appended."""
    number, name = 2, branch
    while name in taken:
        ending = f"-{number}"
        name, number = branch[: MAX_BRANCH_BYTES - len(ending)] + ending, number + 1
    return name


def branch_for_agent(branch: str, agent: str) -> str:
    """Return the branch on which one of several agents works: `fix-login-codex`."""
    ending = "-" + "-".join(_WORD.findall(agent.partition("@")[0].lower()))
    while len(f"{branch}{ending}".encode()) > MAX_BRANCH_BYTES:
        branch = branch[:-1]
    return branch + ending
