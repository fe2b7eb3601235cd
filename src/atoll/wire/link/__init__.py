"""The link: one sandbox of another machine over any byte stream. Pure: bytes in, values out.

`handshake` proves both ends to each other, `stream` numbers bytes so that a cut loses none, and
`frames` carries init's packets and the channels that stand for its descriptors. The layout is
described in docs/program/link.md; `native/link` implements the far end.
"""
