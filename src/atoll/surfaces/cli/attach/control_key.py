"""The control key: it asks for control, gives it and lets go of it (`turns` says which). Pure.

Unlike the detach keys it is one key, known when it comes alone, as a person's does; so pasted
text never holds it.
"""

from atoll.surfaces.cli.attach.detach import key_pattern

DEFAULT = "ctrl-]"


class ControlKey:
    """Key that requests or releases control. `spelled` is `ctrl-]`, another key, or `none`."""

    def __init__(self, spelled: str = DEFAULT) -> None:
        """Read a key. Raises `Invalid` for an unknown key."""
        self.spelled = spelled
        self._pattern = None if spelled == "none" else key_pattern(spelled)

    def pressed(self, typed: bytes) -> bool:
        """Return whether that was all that was typed."""
        return self._pattern is not None and self._pattern.fullmatch(typed) is not None
