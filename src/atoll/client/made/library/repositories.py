"""Repositories: fetch a remote, receive an upload, return a sandbox's commits.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Shape


class Repository(Shape):
    """A shared repository. `repo_url` is empty for an uploaded checkout without an origin."""

    key = fields.text()
    name = fields.text()
    repo_url = fields.text()
    bytes = fields.number()
    fetched_at = fields.text()


class Ref(Shape):
    """A full ref name and the commit it names."""

    name = fields.text()
    commit = fields.text()


class RepositoryWithRefs(Repository):
    """A shared repository and its refs; the branch HEAD stands for comes first."""

    refs = fields.many(Ref)


class RepositoryList(Shape):
    """The shared repositories, by key."""

    repositories = fields.many(Repository)
    next = fields.text()


class Have(Shape):
    """The commits among them that the server already has."""

    have = fields.texts()


class FetchBody(TypedDict, total=False):
    """The remote: `owner/repo`, or an https or ssh address."""

    repo_url: Required[str]


class HaveBody(TypedDict, total=False):
    """Commits the uploader has."""

    tips: Required[list[str]]
