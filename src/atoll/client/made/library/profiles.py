"""Profiles: the recipes that sandboxes are made from.

Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.parts import ProfileDocument


class Profile(ProfileDocument):
    """A profile as its document has it, and whether it came with Atoll. `obstacle` says why no
    sandbox can be made from it here; null when one can."""

    id = fields.text()
    version = fields.text()
    bundled = fields.flag()
    obstacle = fields.text()


class ProfileWithVersions(Profile):
    """A profile, and all its versions, newest first."""

    versions = fields.texts()


class ProfileList(Shape):
    """The newest version of each profile."""

    profiles = fields.many(Profile)
    next = fields.text()
