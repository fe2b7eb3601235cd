"""Secrets and their vault: values go in and never come out.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made import secrets as made


class AsyncSecrets(AsyncNoun[made.Secrets]):
    """The secrets of an installation. Values go in and never come out."""

    blocking = made.Secrets
    list = Awaited(made.Secrets.list)
    create = Awaited(made.Secrets.create)
    get = Awaited(made.Secrets.get)
    set = Awaited(made.Secrets.set)
    rotate = Awaited(made.Secrets.rotate)
    delete = Awaited(made.Secrets.delete)
    rotate_master = Awaited(made.Secrets.rotate_master)
