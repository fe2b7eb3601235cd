"""Extensions: installed backends, their capabilities, and what a check of the server's machine
finds.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import catalogues
from atoll.client.aio.nouns import AsyncNoun, Awaited


class AsyncExtensions(AsyncNoun[catalogues.Extensions]):
    """The backends, and what their vendors rent to us."""

    blocking = catalogues.Extensions
    list = Awaited(catalogues.Extensions.list)
    strays = Awaited(catalogues.Extensions.strays)
    end_strays = Awaited(catalogues.Extensions.end_strays)
    get = Awaited(catalogues.Extensions.get)
