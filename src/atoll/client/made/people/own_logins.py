"""The login at a provider of the person who runs the installation, and links by which it is theirs.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Shape


class OwnLogin(Shape):
    """The caller's login at a provider, if there is one, and the name and email that its
    provider has for them."""

    linked = fields.flag()
    name = fields.text()
    email = fields.text()


class OwnLink(Shape):
    """A new link, valid once within `expires_in` seconds. `secret`, and the link `url` with it,
    are returned only once. `local_only` when no other machine can open the link."""

    secret = fields.text()
    url = fields.text()
    local_only = fields.flag()
    expires_in = fields.number()


class OwnLinkOffer(Shape):
    """The person that the caller becomes by a link, and the login by which they do: its name and
    email."""

    person = fields.text()
    name = fields.text()
    email = fields.text()


class OwnLinkBody(TypedDict, total=False):
    """The secret of a link."""

    secret: Required[str]
