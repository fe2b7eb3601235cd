"""The settings of a terminal: modes, pen, region, charsets, keyboard, cursor, title.

`wire.terminal.scanner` finds the sequences and calls in here; `preamble` spells the settings again
for a viewer that was not there. It holds no screen and no cursor position.
"""

from dataclasses import dataclass, field, replace

from atoll.wire.terminal import sgr

MAX_TITLE_CHARS = 256
KEYBOARD_DEPTH = 16

SCREENS = (47, 1047, 1049)
SYNCHRONIZED = 2026
SCHEME_REPORTS = 2031
ON_BY_DEFAULT = frozenset({7, 25})
PRIVATE_MODES = frozenset(
    {1, 3, 5, 6, 7, 9, 12, 25, 45, 66, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007}
    | {1015, 1016, 1034, 1035, 1036, 1039, 1045, 2004, 2026, 2027, SCHEME_REPORTS, 2048, *SCREENS}
)
"""The DEC private modes worth remembering (xterm's ctlseqs, and 2026/2027/2031/2048)."""
MOUSE = frozenset({9, 1000, 1001, 1002, 1003})
"""The five modes of one setting: each replaces the others, and the end of any is the end of all."""

ANSI_MODES = frozenset({4, 20})


@dataclass(frozen=True, slots=True)
class SavedModes:
    """The settings that DECSC keeps besides the cursor's place."""

    pen: sgr.Pen = sgr.PLAIN
    charsets: tuple[tuple[str, str], ...] = ()
    shifted: bool = False


@dataclass(frozen=True, slots=True)
class Modes:
    """The settings as a value: every change makes a new one. `private` and `ansi` hold only
    differences from the defaults. Keyboard stacks are kitty's, one per screen, newest last."""

    private: frozenset[int] = frozenset()
    ansi: frozenset[int] = frozenset()
    pen: sgr.Pen = sgr.PLAIN
    region: bytes = b""
    charsets: tuple[tuple[str, str], ...] = ()
    shifted: bool = False
    keypad: bool = False
    cursor_shape: bytes = b""
    other_keys: bytes = b""
    keyboard_main: tuple[int, ...] = ()
    keyboard_alternate: tuple[int, ...] = ()
    title: str = ""
    saved: SavedModes = field(default_factory=SavedModes)

    @property
    def alternate(self) -> bool:
        """True if a full-screen program is on: only the program itself can repaint its screen."""
        return any(mode in self.private for mode in SCREENS)

    def is_set(self, mode: int) -> bool | None:
        """Report whether a DEC private mode is on; None for an unknown one."""
        if mode not in PRIVATE_MODES:
            return None
        return (mode in self.private) != (mode in ON_BY_DEFAULT)


def set_private(modes: Modes, number: int, on: bool) -> Modes:
    """Apply `CSI ? number h` or `l`."""
    if number in (1048, 1049):
        modes = save_cursor(modes) if on else restore_cursor(modes)
    if number not in PRIVATE_MODES:
        return modes
    differs = on != (number in ON_BY_DEFAULT)
    flag = frozenset({number})
    private = modes.private | flag if differs else modes.private - flag
    if number in SCREENS:
        # One screen is shown: the three numbers are three ways to select it.
        private = (private - frozenset(SCREENS)) | (flag if on else frozenset())
    if number in MOUSE:
        private = (private - MOUSE) | (flag if on else frozenset())
    return replace(modes, private=private)


def set_ansi(modes: Modes, number: int, on: bool) -> Modes:
    """Apply `CSI number h` or `l`."""
    if number not in ANSI_MODES:
        return modes
    flag = frozenset({number})
    return replace(modes, ansi=modes.ansi | flag if on else modes.ansi - flag)


def save_cursor(modes: Modes) -> Modes:
    """Apply DECSC: save the cursor's settings."""
    return replace(modes, saved=SavedModes(modes.pen, modes.charsets, modes.shifted))


def restore_cursor(modes: Modes) -> Modes:
    """Apply DECRC: restore the cursor's settings."""
    kept = modes.saved
    return replace(modes, pen=kept.pen, charsets=kept.charsets, shifted=kept.shifted)


def designate(modes: Modes, slot: str, charset: str) -> Modes:
    """Apply `ESC ( 0` and the like; ASCII is the default and is not kept."""
    charsets = dict(modes.charsets)
    charsets.pop(slot, None)
    if charset != "B":
        charsets[slot] = charset
    return replace(modes, charsets=tuple(sorted(charsets.items())))


def keyboard(modes: Modes, act: str, numbers: tuple[int, ...]) -> Modes:
    """Apply a change of kitty's keyboard stack: `>` pushes flags, `<` pops a count, `=` changes the
    top."""
    stack = modes.keyboard_alternate if modes.alternate else modes.keyboard_main
    first = numbers[0] if numbers else 0
    if act == ">":
        stack = (*stack, first & 31)[-KEYBOARD_DEPTH:]
    elif act == "<":
        stack = stack[: max(0, len(stack) - max(1, first))]
    else:
        top = stack[-1] if stack else 0
        how = numbers[1] if len(numbers) > 1 else 1
        flags = first & 31
        changed = {2: top | flags, 3: top & ~flags}.get(how, flags)
        stack = (*stack[:-1], changed)
    if modes.alternate:
        return replace(modes, keyboard_alternate=stack)
    return replace(modes, keyboard_main=stack)


def soft_reset(modes: Modes) -> Modes:
    """Apply DECSTR: reset the pen and the modes a program may have left odd; screen and title
    stay."""
    stays = frozenset(m for m in modes.private if m not in (1, 6, 7, 25, 66))
    return replace(
        modes,
        private=stays,
        ansi=frozenset(),
        pen=sgr.PLAIN,
        region=b"",
        charsets=(),
        shifted=False,
        keypad=False,
        saved=SavedModes(),
    )


def clean_title(raw: bytes) -> str:
    """Return a title safe to show: no control characters, no bidirectional overrides, 256
    characters."""
    text = raw.decode("utf-8", "replace")
    kept = "".join(c for c in text if c.isprintable())
    return kept[:MAX_TITLE_CHARS]


def preamble(modes: Modes) -> bytes:
    """Return bytes that bring a terminal in any state to these settings, screen cleared."""
    # A hard reset of xterm.js leaves the cursor hidden.
    parts = [b"\x1bc\x1b[?25h", *(b"\x1b[>%du" % flags for flags in modes.keyboard_main)]
    if modes.title:
        parts.append(b"\x1b]2;" + modes.title.encode("utf-8") + b"\x07")
    parts += [b"\x1b[?%dh" % mode for mode in SCREENS if mode in modes.private]
    if modes.alternate:
        parts += [b"\x1b[>%du" % flags for flags in modes.keyboard_alternate]
    # A replay may start within a synchronized update, but must not begin one.
    for mode in sorted(modes.private - frozenset({SYNCHRONIZED, *SCREENS})):
        parts.append(b"\x1b[?%d%s" % (mode, b"l" if mode in ON_BY_DEFAULT else b"h"))
    parts += [b"\x1b[%dh" % mode for mode in sorted(modes.ansi)]
    parts += [b"\x1b" + (slot + charset).encode() for slot, charset in modes.charsets]
    parts.append(b"\x0e" if modes.shifted else b"")
    parts.append(b"\x1b=" if modes.keypad else b"")
    parts.append(b"\x1b[%sr" % modes.region if modes.region else b"")
    parts.append(b"\x1b[%s q" % modes.cursor_shape if modes.cursor_shape else b"")
    parts.append(b"\x1b[>%sm" % modes.other_keys if modes.other_keys else b"")
    parts.append(sgr.spell(modes.pen))
    return b"".join(parts)


def release(modes: Modes) -> bytes:
    """Return bytes that undo the settings of a program that is gone. What the normal screen shows,
    and where its cursor is, stays."""
    keyboard = modes.keyboard_alternate if modes.alternate else modes.keyboard_main
    parts = [b"\x1b[<%du" % len(keyboard)] if keyboard else []
    parts += [b"\x1b[?%dl" % mode for mode in SCREENS if mode in modes.private]
    if modes.alternate and modes.keyboard_main:
        parts.append(b"\x1b[<%du" % len(modes.keyboard_main))
    for mode in sorted(modes.private - frozenset(SCREENS)):
        parts.append(b"\x1b[?%d%s" % (mode, b"h" if mode in ON_BY_DEFAULT else b"l"))
    parts += [b"\x1b[%dl" % mode for mode in sorted(modes.ansi)]
    parts += [b"\x1b" + slot.encode() + b"B" for slot, _ in modes.charsets]
    parts.append(b"\x0f" if modes.shifted else b"")
    parts.append(b"\x1b>" if modes.keypad else b"")
    # The end of a region moves the cursor.
    parts.append(b"\x1b7\x1b[r\x1b8" if modes.region else b"")
    parts.append(b"\x1b[0 q" if modes.cursor_shape else b"")
    parts.append(b"\x1b[>4;0m" if modes.other_keys else b"")
    parts.append(b"\x1b[0m")
    return b"".join(parts)
