"""Make the fonts of the page: make.py CASCADIA DEJAVU OUT (unpacked @fontsource packages)."""

import math
import sys
from pathlib import Path

from fontTools import subset
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

cascadia, dejavu, out = map(Path, sys.argv[1:])
TEXT = ("latin", "latin-ext", "cyrillic", "greek", "symbols2", "braille")
for part in TEXT:
    for weight in (400, 700):
        if part in ("symbols2", "braille") and weight == 700:
            continue
        name = f"cascadia-code-{part}-{weight}"
        (out / f"{name}.woff2").write_bytes((cascadia / f"files/{name}-normal.woff2").read_bytes())
options = subset.Options(flavor="woff2", layout_features=[], hinting=False, notdef_outline=True)
font = TTFont(dejavu / "files/dejavu-mono-latin-400-normal.woff2")
# Arrows, mathematics, technical, shapes, symbols, dingbats, and more arrows.
wanted = [
    *range(0x2190, 0x2400),
    *range(0x25A0, 0x27C0),
    *range(0x27F0, 0x2800),
    *range(0x2900, 0x2980),
    *range(0x2B00, 0x2B60),
]
sub = subset.Subsetter(options)
sub.populate(unicodes=wanted)
sub.subset(font)
# Separators of prompts (Powerline) fill their cell: they are drawn here.
width, high, low = 1233, 1901, -483
middle = (high + low) // 2
shapes = {
    0xE0B0: [[(0, low), (0, high), (width, middle)]],
    0xE0B1: [
        [
            (0, low),
            (0, low + 120),
            (width - 110, middle),
            (0, high - 120),
            (0, high),
            (width, middle),
        ]
    ],
    0xE0B2: [[(width, low), (0, middle), (width, high)]],
    0xE0B3: [
        [
            (width, low),
            (0, middle),
            (width, high),
            (width, high - 120),
            (110, middle),
            (width, low + 120),
        ]
    ],
    0xE0B8: [[(0, low), (0, high), (width, low)]],
    0xE0BA: [[(width, low), (0, low), (width, high)]],
    0xE0BC: [[(0, low), (0, high), (width, high)]],
    0xE0BE: [[(width, low), (0, high), (width, high)]],
}
arc = [
    (
        round(width * math.sin(math.pi * n / 24)),
        round(middle - (high - low) / 2 * math.cos(math.pi * n / 24)),
    )
    for n in range(25)
]
shapes[0xE0B4] = [arc[::-1]]
shapes[0xE0B6] = [[(width - x, y) for x, y in arc]]


def draw(code, contours):
    pen = TTGlyphPen(None)
    for contour in contours:
        pen.moveTo(contour[0])
        for point in contour[1:]:
            pen.lineTo(point)
        pen.closePath()
    name = f"uni{code:04X}"
    font["glyf"][name] = pen.glyph()
    font["hmtx"][name] = (width, 0)
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap[code] = name


for code, contours in shapes.items():
    draw(code, contours)
# Marks of agents that DejaVu lacks: by a glyph of the same look, or drawn.
ALIKE = {
    0x23F4: 0x25C0,
    0x23F5: 0x25B6,
    0x23F6: 0x25B2,
    0x23F7: 0x25BC,
    0x23F9: 0x25A0,
    0x23FA: 0x25CF,
}


def box(left, bottom, right, top):
    return [(left, bottom), (left, top), (right, top), (right, bottom)]


MARKS = {
    0x23BF: [box(540, 560, 690, high), box(540, 560, width, 700)],
    0x23F8: [box(250, 150, 500, 1250), box(730, 150, 980, 1250)],
    0xE0A0: [
        box(300, 0, 420, 1400),
        box(300, 300, 930, 420),
        box(810, 300, 930, 1000),
        box(700, 950, 1040, 1290),
    ],
}
for code, contours in MARKS.items():
    draw(code, contours)
for table in font["cmap"].tables:
    if table.isUnicode():
        table.cmap.update({code: table.cmap[same] for code, same in ALIKE.items()})
for record in font["name"].names:
    if record.nameID in (1, 3, 4, 6, 16):
        record.string = "AtollSymbols"
font.flavor = "woff2"
font.save(out / "atoll-symbols.woff2")
