"""Which commands need a person's word, and which `sudo` may run: rules on argv, pure.

A rule for asking names how a command begins (`git push` covers `git push --force`); options
of the program before its subcommand are looked past, so that `git -C x push` asks too. A rule
for `sudo` is one whole argv, word for word: nothing is expanded, split or matched by pattern.
"""

from collections.abc import Sequence

MAX_SHOWN_BYTES = 1500

_UNSHOWABLE = frozenset("\u200b\u200e\u200f\u2028\u2029\u2060\ufeff") | {
    chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def asks_for(rules: Sequence[Sequence[str]], argv: Sequence[str]) -> bool:
    """Whether one of `rules` covers `argv`. The program is compared by its last path segment."""
    if not argv:
        return False
    named = [argv[0].rpartition("/")[2], *argv[1:]]
    return any(_begins(named, rule) for rule in rules if rule)


def sudo_allows(rules: Sequence[Sequence[str]], argv: Sequence[str]) -> bool:
    """Whether `argv` is one of `rules`, exactly."""
    return tuple(argv) in {tuple(rule) for rule in rules}


def showable(argv: Sequence[str], cwd: str) -> str | None:
    """Why a person could not be shown these words as they are; None when they could."""
    words = (*argv, cwd)
    if sum(len(word.encode("utf-8", "surrogatepass")) + 1 for word in words) > MAX_SHOWN_BYTES:
        return f"it is longer than {MAX_SHOWN_BYTES} bytes"
    for word in words:
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            return "it is not UTF-8"
        if any(letter in _UNSHOWABLE for letter in word):
            return "it holds characters that change how text is shown"
    return None


def _begins(argv: Sequence[str], rule: Sequence[str]) -> bool:
    """Word for word from the start; between the rule's words, options may stand, each with at
    most one value."""
    if argv[0] != rule[0]:
        return False
    return _rest(argv[1:], rule[1:])


def _rest(words: Sequence[str], wanted: Sequence[str]) -> bool:
    if not wanted:
        return True
    if not words:
        return False
    if words[0] == wanted[0] and _rest(words[1:], wanted[1:]):
        return True
    if not words[0].startswith("-"):
        return False
    return _rest(words[1:], wanted) or _rest(words[2:], wanted)
