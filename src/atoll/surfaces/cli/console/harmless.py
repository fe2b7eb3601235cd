"""Allowlist of terminal output that is known to be harmless at a person's own terminal.

Pure. Each function spells a sequence again, or returns nothing for one that is not on the list.
Not on it: the clipboard, files, images by name, keys, printers, notifications, resizing, and
reports whose text a program chooses. Sources: xterm's ctlseqs, ECMA-48, kitty's protocols.
"""

import re
from functools import lru_cache

from atoll.wire.terminal.modes import PRIVATE_MODES, clean_title
from atoll.wire.terminal.parser import Function, device

CONTROLS = frozenset(b"\x07\x0e\x0f")
"""BEL, SO and SI, besides those that lay out text."""

MAX_CLIPBOARD_BYTES = 128 * 1024
_MAX_LINK = 2048

_NUMBERS = rb"(?:[0-9]{0,6}[;:])*[0-9]{0,6}"
_QUICK = (
    rb"\x1b(?:\[(?:[0-9;:]{0,48}m|[0-9]{0,4}(?:;[0-9]{0,4})?[A-HJ-MPSTXdr]"
    rb"|\?(?:1|7|12|25|100[0-6]|1049|2004|2026)[hl])|\([0B]|[78M=>])"
)
_UTF_8 = (
    rb"[\xc3-\xdf][\x80-\xbf]|\xc2[\xa0-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
    rb"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
PASSED = re.compile(rb"(?:[\x08-\x0d -~]+|%s|%s)+" % (_QUICK, _UTF_8))
"""Text, colours and the plainest movements: most of all output, which nobody looks at again."""

_LAID_OUT = bytes([*range(0x08, 0x0E), *range(0x20, 0x7F), 0x1B])
_HIGH = bytes(range(0x80, 0x100))
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_UNUSUAL = re.compile(rb"\x1b(?!\[(?:[0-;]{0,48}+m|[0-;]{0,6}+[A-HJ-MPSTXdr]))")
"""ESC, where neither a colour nor one of the plainest movements begins and ends."""

_PLAIN = re.compile(rb"(?:[78DEHM=>cno|}~NO]|[()*+./-][0-~]|#[34568])")
_CONTROL = re.compile(
    rb"%(n)s[@A-HIJKLMPSTXZ`abdefgmrsu]|[0-9;:]{0,48}m"
    rb"|(?:0*(?:4|20)[;]?)+[hl]"  # insert mode and newline mode: others lock keys or echo them
    rb"|2[23](?:;[012])?t"  # the stack of titles
    rb"|\?%(n)s[JK]"
    rb"|!p|[0-9]? q|[0-2]?\"q|%(n)s(?: [@A]|'[}~])"
    rb"|>%(n)s[mu]|<%(n)su|=%(n)su" % {b"n": _NUMBERS}
)
_QUESTION = re.compile(
    rb"[>=]?0*c|[56]n|\?[0-9]{1,4}n|\??[0-9]{1,5}\$p|>0*q|\?u|\?[0-9]+m|1[4568]t|19t|[01]?x"
)
_MODES = re.compile(rb"\?(%s)([hlrs])" % _NUMBERS)
_COLOUR = rb"(?:\?|#[0-9A-Fa-f]{3,12}|rgba?:[0-9A-Fa-f/]{1,24}|[A-Za-z][A-Za-z0-9 ]{0,31})"
_COLOURS = re.compile(
    rb"(?:[45](?:;[0-9]{1,3};%(c)s)+|1[0-9](?:;%(c)s)+|10[45](?:;[0-9]{1,3})*|11[0-9])"
    % {b"c": _COLOUR}
)
_LINK = re.compile(rb"8;([^;]*);((?:https?://|mailto:)[!-~]{1,%d})?" % _MAX_LINK)
_LINK_ID = re.compile(rb"(?:^|:)(id=[0-9A-Za-z._-]{1,64})(?:$|:)")
_MARK = re.compile(rb"133;([A-DLNP])((?:;[!-~]{0,64})*)")
_MARK_FIELD = re.compile(rb"[0-9]{1,5}|(?:k|aid|cl|redraw|click_events)=[0-9A-Za-z._-]{0,32}")
_PLACE = re.compile(rb"7;file://(?!localhost/)[0-9A-Za-z._-]{1,255}/[!-~]{0,1024}")
_PROGRESS = re.compile(rb"9;4;[0-4](?:;[0-9]{0,3})?")
_COPY = re.compile(rb"52;[cpqs0-7]{0,8};[0-9A-Za-z+/]*={0,2}")
_DEVICE_QUESTION = re.compile(rb"\+q[0-9A-Fa-f;]{0,256}|\$q[ -~]{0,4}")
_UPDATE = re.compile(rb"=[12]s")
_SIXEL = re.compile(rb"[0-9;]{0,16}q[!-~]*")
_ST = b"\x1b\\"


def harmless_length(data: bytes) -> int:
    """Return how many of the first bytes are whole text, colours and plain movements: none of them
    is spelled again or changes a mode. `data` begins between sequences and characters.

    Searches at the speed of C for what is not, where the parser would read every sequence.
    """
    other = data.translate(None, _LAID_OUT)
    end = len(data)
    if other:
        if other.translate(None, _HIGH):
            return 0
        end = _characters(data)
    match = _UNUSUAL.search(data, 0, end)
    return end if match is None else match.start()


def _characters(data: bytes) -> int:
    """Return how many of the first bytes are whole UTF-8 characters without C1 controls."""
    end = len(data)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        end = error.start
    match = _C1.search(data, 0, end)
    return end if match is None else match.start()


@lru_cache(maxsize=1024)
def function(sequence: Function, *, questions: bool) -> bytes:
    """Return an escape or control sequence spelled again."""
    text = sequence.parameters + sequence.middle + sequence.final
    if not sequence.kind:
        return b"\x1b" + text if _PLAIN.fullmatch(text) else b""
    if _CONTROL.fullmatch(text) or (questions and _QUESTION.fullmatch(text)):
        return b"\x1b[" + text
    return _modes(text)


def command(body: bytes, *, questions: bool, clipboard: bool) -> bytes:
    """Return an operating system command spelled again."""
    number, _, text = body.partition(b";")
    number = number.lstrip(b"0") or number[:1]
    body = number + body[len(body) - len(text) - 1 :] if text else number
    match number:
        case b"0" | b"1" | b"2":
            spelled = number + b";" + clean_title(text).encode()
        case b"8":
            spelled = _link(body)
        case b"133":
            spelled = _mark(body)
        case b"52":
            small = clipboard and len(body) <= MAX_CLIPBOARD_BYTES
            spelled = body if small and _COPY.fullmatch(body) else b""
        case b"7":
            spelled = body if _PLACE.fullmatch(body) else b""
        case b"9":
            spelled = body if _PROGRESS.fullmatch(body) else b""
        case _:
            asks = b"?" in body and not questions
            spelled = body if _COLOURS.fullmatch(body) and not asks else b""
    return b"\x1b]" + spelled + b"\x07" if spelled else b""


def device_string(body: bytes, *, questions: bool) -> bytes:
    """Return a device control string: a query, a synchronized update, or a sixel picture."""
    introducer = device(body)
    if introducer is None:
        return b""
    if introducer[1] in (b"+q", b"$q"):
        known = questions and _DEVICE_QUESTION.fullmatch(body)
    else:
        known = _UPDATE.fullmatch(body) or _SIXEL.fullmatch(body)
    return b"\x1bP" + body + _ST if known else b""


def _modes(text: bytes) -> bytes:
    """Return DEC private modes, without unknown ones."""
    match = _MODES.fullmatch(text)
    if match is None or b":" in match[1]:
        return b""
    numbers = [int(each) for each in match[1].split(b";") if each]
    known = [b"%d" % each for each in numbers if each in PRIVATE_MODES or each == 1048]
    return b"\x1b[?" + b";".join(known) + match[2] if known else b""


def _link(body: bytes) -> bytes:
    """Return a link to the web or to a mail address; another one only ends the link before."""
    match = _LINK.fullmatch(body)
    if match is None or not match[2]:
        return b"8;;"
    named = _LINK_ID.search(match[1])
    return b"8;%b;%b" % (named[1] if named else b"", match[2])


def _mark(body: bytes) -> bytes:
    """Return a mark of where a prompt or a command begins and ends, without the command."""
    match = _MARK.fullmatch(body)
    if match is None:
        return b""
    fields = [each for each in match[2].split(b";") if _MARK_FIELD.fullmatch(each)]
    return b";".join((b"133", match[1], *fields))
