"""Make the page's typeface: make_sans.py GROTESK OUT (an unpacked @fontsource-variable package).

Weights the page never uses, and figures of fractions, are cut away; names in other letters of
Latin come in a file of their own, which is fetched when one of them is shown.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

grotesk, out = map(Path, sys.argv[1:])
LIGHTEST, HEAVIEST = 400, 700
FEATURES = ["ccmp", "kern", "liga", "locl", "mark", "mkmk", "calt", "tnum", "pnum"]
for part in ("latin", "latin-ext"):
    font = TTFont(grotesk / f"files/schibsted-grotesk-{part}-wght-normal.woff2")
    characters = list(font.getBestCmap())
    font = instancer.instantiateVariableFont(font, {"wght": (LIGHTEST, LIGHTEST, HEAVIEST)})
    options = subset.Options(flavor="woff2", layout_features=FEATURES, hinting=False)
    sub = subset.Subsetter(options)
    sub.populate(unicodes=characters)
    sub.subset(font)
    font.flavor = "woff2"
    font.save(out / f"schibsted-grotesk-{part}.woff2")
