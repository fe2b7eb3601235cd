"""Rules on argv: which commands need approval, and which ones `sudo` may run. Pure.

An approval rule names how a command begins (`git push` covers `git push --force`). Options of the
program before its subcommand are skipped, so that `git -C x push` needs approval too. A rule for
`sudo` is one whole argv, word for word: nothing is expanded, split or matched by pattern.
"""

from collections.abc import Sequence

MAX_SHOWN_BYTES = 1500

_UNSHOWABLE = frozenset("\u200b\u200e\u200f\u2028\u2029\u2060\ufeff") | {
    chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def asks_for(rules: Sequence[Sequence[str]], argv: Sequence[str]) -> bool:
    """Report whether one of `rules` covers `argv`. The program is compared by its last path
    segment."""
    if not argv:
        return False
    named = [argv[0].rpartition("/")[2], *argv[1:]]
    return any(_begins(named, rule) for rule in rules if rule)


def sudo_allows(rules: Sequence[Sequence[str]], argv: Sequence[str]) -> bool:
    """Report whether `argv` is one of `rules`, exactly."""
    return tuple(argv) in {tuple(rule) for rule in rules}


def showable(argv: Sequence[str], cwd: str) -> str | None:
    """Return why these words could not be shown to a person as they are; None when they could."""
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
    """Report whether a command begins with a rule, word for word.

    Between the rule's words options may stand, each with at most one value. Takes time linear in
    `argv`.
    """
    if argv[0] != rule[0]:
        return False
    places = {1}  # places where the next word of the rule may stand
    for wanted in rule[1:]:
        places = {at + 1 for at in _past_options(argv, places) if argv[at] == wanted}
    return bool(places)


def _past_options(argv: Sequence[str], places: set[int]) -> set[int]:
    """Return every place reachable from `places` over options, and the places themselves."""
    reached: set[int] = set()
    waiting = [at for at in places if at < len(argv)]
    while waiting:
        at = waiting.pop()
        if at in reached:
            continue
        reached.add(at)
        if argv[at].startswith("-"):
            waiting += [after for after in (at + 1, at + 2) if after < len(argv)]
    return reached
