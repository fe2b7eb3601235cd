"""The fields that arguments of tools share, with their bounds and what a model reads of them."""

from typing import Annotated

from msgspec import Meta

SandboxName = Annotated[
    str, Meta(description="Name or id of the sandbox.", min_length=1, max_length=200)
]
Cursor = Annotated[
    str,
    Meta(description="What `next` of the page before says; empty for the first.", max_length=500),
]
Offset = Annotated[
    int, Meta(description="Where to go on: `next` of the answer before.", ge=0, le=2**40)
]
WaitSeconds = Annotated[int, Meta(description="How long to wait at most, in seconds.", ge=0, le=25)]
"""Agents give up on a tool that is slower than half a minute or so."""
