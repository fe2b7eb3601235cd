"""Token counts of a response, from the vendors' differing names.

Pure. Where a response reports none, four bytes are counted as a token, marked as an estimate. So is
a response whose end was not received, since vendors charge for that, too.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from atoll.domain.broker.price import Usage

BYTES_PER_TOKEN = 4
TOKENS_PER_SECOND = 100
"""The speed of writing of the most expensive models."""

_PATH_MODEL = re.compile(r"/models/([\w\-.]{1,128}):")


def usage_of(
    counts: Mapping[str, int], *, model: str, bytes_in: int = 0, bytes_out: int = 0
) -> Usage:
    """Return the tokens of one response, from the counts by the vendors' own names."""
    if not counts:
        read, written = bytes_in // BYTES_PER_TOKEN, bytes_out // BYTES_PER_TOKEN
        return Usage(model, read, written, estimated=True)
    largest = counts.get
    # Anthropic counts cached tokens beside the others, OpenAI and Gemini among them.
    beside = largest("cache_read_input_tokens", 0)
    read = max(
        largest("prompt_tokens", 0),
        largest("promptTokenCount", 0),
        largest("input_tokens", 0) + beside + largest("cache_creation_input_tokens", 0),
    )
    written = max(
        largest("output_tokens", 0),
        largest("completion_tokens", 0),
        largest("candidatesTokenCount", 0) + largest("thoughtsTokenCount", 0),
    )
    cached = max(beside, largest("cached_tokens", 0), largest("cachedContentTokenCount", 0))
    # Anthropic takes a quarter more for what it keeps five minutes, twice the price for an hour.
    kept, hour = largest("cache_creation_input_tokens", 0), largest("ephemeral_1h_input_tokens", 0)
    return Usage(model, read, written, cached, surcharge=kept // 4 + hour * 3 // 4)


def cut_short(usage: Usage, *, bytes_in: int, seconds: float) -> Usage:
    """Return an estimate for a response that was cut after so many seconds: at least the request,
    and what can have been written meanwhile."""
    read = max(usage.read, bytes_in // BYTES_PER_TOKEN)
    written = max(usage.written, int(seconds * TOKENS_PER_SECOND))
    return replace(usage, read=read, written=written, estimated=True)


def model_of_path(target: str) -> str:
    """Return the model that a request's path names, as Google's do; empty when it names none."""
    found = _PATH_MODEL.search(target)
    return found[1] if found else ""
