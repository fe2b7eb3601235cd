"""End of a program inside, in the contract's words."""

import signal

from atoll.ports.spawner import Exit
from atoll.wire.contract.terminals import End


def end_of(left: Exit) -> End:
    """Return an exit in the contract's words."""
    if left.signal is None:
        return End(code=left.code if left.code is not None else 0)
    return End(signal=signal_name(left.signal))


def signal_name(number: int) -> str:
    """Return `"KILL"` for 9; a number for a signal without a name."""
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return str(number)
