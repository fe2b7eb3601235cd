"""Files of a cloud drive: their kinds, the forms in which documents leave it, and their names.

Names and types were written by others: they are read here into bounded plain text, and a name
becomes one that a workspace may have. Ids are checked before they stand in an address.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.repository.forge import plain_line
from atoll.wire.words.library import MAX_FILE_NAME, MAX_SEARCH, ROOT_FOLDER

MAX_PAGE: Final = 100
MAX_CURSOR: Final = 1000
MAX_TRANSFER_BYTES: Final = 4 * 1024 * 1024 * 1024
"""The bound on one file that is imported or exported."""

FOLDER_TYPE: Final = "application/vnd.google-apps.folder"
_OWN_TYPES: Final = "application/vnd.google-apps."
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_OPEN: Final = "application/vnd.oasis.opendocument."
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_CURSOR: Final = re.compile(r"[!-~]{1,1000}")
_PART_BYTES: Final = 200

FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    f"{_OWN_TYPES}document": {
        "md": "text/markdown",
        "txt": "text/plain",
        "pdf": "application/pdf",
        "docx": f"{_OFFICE}wordprocessingml.document",
        "odt": f"{_OPEN}text",
    },
    f"{_OWN_TYPES}spreadsheet": {
        "csv": "text/csv",
        "xlsx": f"{_OFFICE}spreadsheetml.sheet",
        "pdf": "application/pdf",
        "ods": f"{_OPEN}spreadsheet",
    },
    f"{_OWN_TYPES}presentation": {
        "pdf": "application/pdf",
        "txt": "text/plain",
        "pptx": f"{_OFFICE}presentationml.presentation",
        "odp": f"{_OPEN}presentation",
    },
    f"{_OWN_TYPES}drawing": {
        "png": "image/png",
        "svg": "image/svg+xml",
        "pdf": "application/pdf",
    },
}
"""The forms in which documents of the drive's own editors are exported: media types by the ending
of a file's name, the usual form first."""


@dataclass(frozen=True, slots=True)
class BegunConnection:
    """A connection under way, kept sealed by the browser that began it. `session_mark` is of the
    session that may finish it, `verifier` of RFC 7636."""

    org_id: OrgId
    person: PrincipalId
    session_mark: str
    state: str
    verifier: str = field(repr=False)
    redirect_uri: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class DriveGrant:
    """A person's consent: the token for later, and the address of the account."""

    refresh_token: str = field(repr=False)
    account: str


@dataclass(frozen=True, slots=True)
class DriveAccess:
    """A token for some minutes."""

    token: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class DriveFile:
    """A file or folder of a drive. `size` is in bytes, None for a folder and for what has to be
    exported."""

    id: str
    name: str
    media_type: str
    size: int | None
    modified_at: datetime | None

    @property
    def is_folder(self) -> bool:
        """Report whether it is a folder."""
        return self.media_type == FOLDER_TYPE

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms in which it is exported, the usual one first; none for a file of bytes."""
        return tuple(FORMS.get(self.media_type, ()))

    @property
    def can_import(self) -> bool:
        """Report whether its content can be had."""
        return bool(self.forms) or not self.media_type.startswith(_OWN_TYPES)


@dataclass(frozen=True, slots=True)
class DriveQuery:
    """The wanted part of a list: what a folder holds, or, with `name`, everything whose name holds
    that text. `cursor` continues."""

    folder: str = ROOT_FOLDER
    name: str = ""
    cursor: str = ""
    limit: int = MAX_PAGE


@dataclass(frozen=True, slots=True)
class DrivePage:
    """Files, folders first; `following` is the next page's cursor, empty on the last."""

    files: tuple[DriveFile, ...]
    following: str = ""


@dataclass(frozen=True, slots=True)
class DriveUpload:
    """A file on its way to a drive: a new one of this name in a folder, or with `file_id` a new
    version of that one."""

    name: str
    folder: str = ROOT_FOLDER
    file_id: str = ""


def read_file_id(text: str, *, field: str = "file") -> str:
    """Return `text` when it can be the id of a file or folder. Raises `Invalid`."""
    if not _ID.fullmatch(text):
        raise Invalid("an id at Drive is up to 128 letters, digits, `_` and `-`", field=field)
    return text


def check_query(query: DriveQuery) -> DriveQuery:
    """Return the query when a drive could answer it. Raises `Invalid` with the field."""
    read_file_id(query.folder, field="folder")
    if query.name and query.folder != ROOT_FOLDER:
        raise Invalid("a name is searched in all folders: leave the folder out", field="folder")
    if len(query.name) > MAX_SEARCH or not query.name.isprintable():
        raise Invalid(f"a name is one line of at most {MAX_SEARCH} characters", field="name")
    if query.cursor and not _CURSOR.fullmatch(query.cursor):
        raise Invalid("the cursor is none: send `next` of the page before", field="cursor")
    return query


def export_type(file: DriveFile, form: str | None) -> str | None:
    """Return the media type in which a file is exported, by its usual form unless `form` names
    another; None for a file of bytes. Raises `Invalid`."""
    if not file.can_import:
        raise Invalid(
            f"{file.name!r} has no content to import: it is a {file.media_type}", field="file"
        )
    if not file.forms:
        if form is not None:
            raise Invalid(f"{file.name!r} has one form only, its own", field="form")
        return None
    known = FORMS[file.media_type]
    if form is not None and form not in known:
        raise Invalid(f"{file.name!r} is exported as {', '.join(known)}", field="form")
    return known[form or file.forms[0]]


def workspace_name(file: DriveFile, form: str | None = None) -> str:
    """Return the name of a file as a workspace may have it: one part of a path, visible, with the
    ending of the form in which it is exported."""
    ending = f".{form or file.forms[0]}" if file.forms else ""
    name = file.name.removesuffix(ending) if ending else file.name
    plain = re.sub(r"[/\\]", "_", plain_line(name, most=MAX_FILE_NAME)).lstrip(". ").rstrip()
    kept = plain.encode()[:_PART_BYTES].decode(errors="ignore") or "file"
    return f"{kept}{ending}"


def upload_name(text: str) -> str:
    """Return `text` when it can be a file's name at a drive. Raises `Invalid`."""
    if not 0 < len(text.strip()) <= len(text) <= MAX_FILE_NAME or not text.isprintable():
        raise Invalid(f"a name is one line of at most {MAX_FILE_NAME} characters", field="name")
    return text
