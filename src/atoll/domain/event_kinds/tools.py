"""Events of tools that agents call. Their arguments are in none of them, only a digest."""

from typing import Final

from atoll.domain.event_kinds.kind import EventKind, define_kind

TOOLS: Final[tuple[tuple[str, EventKind], ...]] = (
    define_kind(
        "tool.called",
        "tool permission digest outcome ms",
        "sandbox_id trace_id",
        "An agent or a program called a tool; `outcome` is `ok` or the code of an error, and "
        "`trace_id` the trace that the call is a part of.",
    ),
)
