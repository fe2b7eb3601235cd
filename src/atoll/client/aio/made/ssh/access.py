"""SSH logins: what a client has to know, and certificates for one sandbox.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.ssh import access as made


class AsyncSshGateway(AsyncNoun[made.SshGateway]):
    """The SSH gateway."""

    blocking = made.SshGateway
    get = Awaited(made.SshGateway.get)
    certify = Awaited(made.SshGateway.certify)
