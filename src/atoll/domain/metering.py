"""From what an answer told about itself to the tokens it took: vendors use different names.

Pure. Where an answer told nothing, four bytes are counted as a token, and said to be a guess.
"""

from collections.abc import Mapping

from atoll.domain.price import Usage

BYTES_PER_TOKEN = 4


def usage_of(
    counts: Mapping[str, int], *, model: str, bytes_in: int = 0, bytes_out: int = 0
) -> Usage:
    """The tokens of one answer, from the counts by the vendors' own names."""
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
    return Usage(model, read, written, cached)
