"""The colours of the page's terminals, for programs that ask before anybody looks.

A test compares them with those that the page draws with (`ui/src/terminal/screen/colours.ts`).
"""

from types import MappingProxyType

from atoll.wire.terminal.query import Palette
from atoll.wire.words.terminals import Shade

_DARK = (
    *("1b262b", "f07f74", "86cf8f", "e5c07b", "79b8f2", "cf9ee8", "5fd3c4", "c9d4d6"),
    *("6d8087", "ff9d93", "a5e3ac", "f5d89a", "9ccdfb", "e2bdf5", "8ce8dc", "f3f7f7"),
)
_LIGHT = (
    *("23302f", "b3362b", "2c7a3d", "8a6100", "1f63b0", "8a3fa8", "0b7a75", "7c8886"),
    *("5d6a69", "cf4a3e", "378f4b", "a37400", "2f78cc", "a152c0", "128f89", "3b4746"),
)
PALETTES = MappingProxyType(
    {
        Shade.DARK: Palette(True, _DARK, "d9e2e3", "0e1518", "5fd3c4"),
        Shade.LIGHT: Palette(False, _LIGHT, "23302f", "fffefb", "0b7a75"),
    }
)
