"""How a program inside ended, in the contract's words."""

import signal

import msgspec

from atoll.ports.spawner import Exit


class End(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a program ended: `{"code":0}` or `{"signal":"KILL"}`."""

    code: int | None = None
    signal: str | None = None

    def words(self) -> dict[str, int | str]:
        """The one that is set, by name."""
        return {"signal": self.signal} if self.signal is not None else {"code": self.code or 0}


def end_of(left: Exit) -> End:
    """An exit in the contract's words."""
    if left.signal is None:
        return End(code=left.code if left.code is not None else 0)
    return End(signal=signal_name(left.signal))


def signal_name(number: int) -> str:
    """`"KILL"` for 9; a number for one without a name."""
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return str(number)
