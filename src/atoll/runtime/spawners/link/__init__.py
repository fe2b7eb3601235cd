"""The near end of the link: a `ControlLine` to an init of another machine (docs/program/link.md).

Nothing here knows how the bytes get there: whoever brings a stream connects to a socket.
"""
