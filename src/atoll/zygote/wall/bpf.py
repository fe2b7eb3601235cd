"""A small assembler for seccomp filters: labels in, classic BPF bytes out.

It knows instructions and jumps, but not which system calls are allowed: that is the table in
`seccomp`. Encoding: `struct sock_filter {u16 code; u8 jt; u8 jf; u32 k}` and `struct seccomp_data`
of linux/seccomp.h (little-endian machines only).
"""

import struct
from dataclasses import dataclass, field

NUMBER_OFFSET = 0
ARCHITECTURE_OFFSET = 4

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ALWAYS = 0x05  # BPF_JMP | BPF_JA
_RETURN = 0x06  # BPF_RET | BPF_K

_MAX_INSTRUCTIONS = 4096


def argument_offset(index: int) -> int:
    """Return the offset of the LOW 32 bits of argument `index`, the part of an int that the kernel
    uses."""
    return 16 + 8 * index


@dataclass(slots=True)
class FilterProgram:
    """Instructions in order. A conditional jump goes to a label when true and falls through
    when not; labels are placed call_later, so every jump is forward, as BPF demands."""

    _code: list[tuple[int, int, str | None]] = field(default_factory=list)
    _labels: dict[str, int] = field(default_factory=dict)

    def load(self, offset: int) -> None:
        """Load the 32-bit word at `offset` of seccomp_data into the accumulator."""
        self._code.append((_LOAD, offset, None))

    def mask(self, bits: int) -> None:
        """Apply a bit mask to the accumulator."""
        self._code.append((_AND, bits, None))

    def if_equal(self, value: int, label: str) -> None:
        """Go to `label` when the accumulator is `value`."""
        self._branch(_EQUAL, value, label)

    def if_at_least(self, value: int, label: str) -> None:
        """Go to `label` when the accumulator, unsigned, is at least `value`."""
        self._branch(_AT_LEAST, value, label)

    def go(self, label: str) -> None:
        """Go to `label`."""
        self._code.append((_ALWAYS, 0, label))

    def give(self, action: int) -> None:
        """End with a seccomp action."""
        self._code.append((_RETURN, action, None))

    def label(self, name: str) -> None:
        """Place the label `name` at the next instruction."""
        if name in self._labels:
            raise ValueError(f"label {name} is placed twice")
        self._labels[name] = len(self._code)

    def _branch(self, code: int, value: int, label: str) -> None:
        # A conditional offset has 8 bits, a plain jump 32: so a test skips over a jump.
        self._code.append((code, value, None))
        self.go(label)

    def assemble(self) -> bytes:
        """Return the filter as bytes. Raises `ValueError` for a missing label or a backward
        jump."""
        if len(self._code) > _MAX_INSTRUCTIONS:
            raise ValueError(f"{len(self._code)} instructions, the kernel takes 4096")
        return b"".join(self._encode(at, *item) for at, item in enumerate(self._code))

    def _encode(self, at: int, code: int, value: int, label: str | None) -> bytes:
        true = false = 0
        if code in (_EQUAL, _AT_LEAST):
            false = 1
        if label is not None:
            target = self._labels.get(label)
            if target is None or target <= at:
                raise ValueError(f"jump at {at} to {label}: no such label ahead")
            value = target - at - 1
        return struct.pack("<HBBI", code, true, false, value & 0xFFFFFFFF)
