"""Google Drive by its interface of version 3, and consent by OAuth with PKCE (RFC 7636).

Requests and answers are those of Google's discovery document, by which tests judge them.
"""

import base64
import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from atoll.adapters.drive.http import (
    GOOGLE,
    SECONDS,
    SILENT,
    DriveHttp,
    DriveRequest,
    GoogleSites,
    oauth_error,
    parts_of,
    refusal,
    wait_for_answer,
)
from atoll.adapters.drive.resumable import ResumableUpload
from atoll.domain.drive.drive import (
    MAX_CURSOR,
    BegunConnection,
    DriveAccess,
    DriveFile,
    DriveGrant,
    DrivePage,
    DriveQuery,
    DriveUpload,
    export_type,
)
from atoll.domain.errors import Forbidden, Unavailable
from atoll.domain.logins.issuer_answers import ends_grant
from atoll.domain.repository.forge import plain_line
from atoll.ports.clock import Clock
from atoll.ports.outside.drive import DriveDownload
from atoll.wire.words.library import MAX_FILE_NAME, ROOT_FOLDER

SCOPES: Final = (
    "https://www.googleapis.com/auth/drive.file",
    "https://www.googleapis.com/auth/drive.readonly",
)
"""To make files and change those, and to read all: browsing and importing need the second."""

REFUSAL_BYTES: Final = 64 * 1024
MAX_TOKEN: Final = 4096
_FIELDS: Final = "id,name,mimeType,size,modifiedTime"
_DRIVE: Final = "/drive/v3"
_ANYWHERE: Final = {"supportsAllDrives": "true"}

T = TypeVar("T")


class _Tokens(msgspec.Struct):
    access_token: str
    expires_in: int = 0
    refresh_token: str = ""
    scope: str = ""


class _User(msgspec.Struct):
    emailAddress: str = ""
    displayName: str = ""


class _About(msgspec.Struct):
    user: _User


class _File(msgspec.Struct):
    id: str
    name: str
    mimeType: str
    size: str | None = None
    modifiedTime: datetime | None = None


class _Files(msgspec.Struct):
    files: list[_File] = []
    nextPageToken: str = ""


class GoogleDrive:
    """The `ports.outside.drive.CloudDrive` at Google. `client` is the id of the OAuth client and
    its secret, `pause` the time in seconds before a piece of an upload is sent again."""

    def __init__(
        self,
        client: tuple[str, str],
        http: DriveHttp,
        clock: Clock,
        *,
        sites: GoogleSites = GOOGLE,
        pause: float = 1.0,
    ) -> None:
        self._client_id, self._secret = client
        self._http = http
        self._clock = clock
        self._sites = sites
        self._pause = pause

    def consent_url(self, begun: BegunConnection) -> str:
        """See the port."""
        digest = hashlib.sha256(begun.verifier.encode()).digest()
        query = {
            "client_id": self._client_id,
            "redirect_uri": begun.redirect_uri,
            "response_type": "code",
            "scope": " ".join(SCOPES),
            "state": begun.state,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            # Google gives a token for later only so.
            "access_type": "offline",
            "prompt": "consent",
        }
        return f"{self._sites.consent}?{urlencode(query)}"

    async def connect(self, begun: BegunConnection, code: str) -> DriveGrant:
        """See the port."""
        tokens = await self._tokens(
            grant_type="authorization_code",
            code=code,
            redirect_uri=begun.redirect_uri,
            code_verifier=begun.verifier,
        )
        if not set(SCOPES) <= set(tokens.scope.split()) or not _good(tokens.refresh_token):
            await self.revoke(tokens.refresh_token or tokens.access_token)
            raise Forbidden(
                "Google did not allow everything that was asked for: connect again, and leave "
                "both boxes checked.",
                code="drive_ended",
            )
        about = await self._read(
            "/about", {"fields": "user(displayName,emailAddress)"}, tokens.access_token, _About
        )
        account = plain_line(about.user.emailAddress or about.user.displayName)
        return DriveGrant(tokens.refresh_token, account or "a Google account")

    async def access(self, refresh_token: str) -> DriveAccess:
        """See the port."""
        tokens = await self._tokens(grant_type="refresh_token", refresh_token=refresh_token)
        life = timedelta(seconds=min(max(tokens.expires_in, 0), 86_400))
        return DriveAccess(tokens.access_token, self._clock.now() + life)

    async def revoke(self, refresh_token: str) -> None:
        """See the port."""
        request = _form(self._sites.revocation, {"token": refresh_token})
        answer = await wait_for_answer(SECONDS, self._http.send(request))
        if answer.status != 200 and oauth_error(answer.data) != "invalid_token":
            raise Unavailable(SILENT)

    async def page(self, access: DriveAccess, query: DriveQuery) -> DrivePage:
        """See the port."""
        wanted = (
            f"name contains {_quote_text(query.name)}"
            if query.name
            else f"{_quote_text(query.folder)} in parents"
        )
        asked = {
            "q": f"{wanted} and trashed = false",
            "pageSize": str(query.limit),
            "fields": f"nextPageToken,files({_FIELDS})",
            "orderBy": "folder,name_natural",
            "spaces": "drive",
            "includeItemsFromAllDrives": "true",
            **_ANYWHERE,
        }
        if query.cursor:
            asked["pageToken"] = query.cursor
        found = await self._read("/files", asked, access.token, _Files)
        following = found.nextPageToken if len(found.nextPageToken) <= MAX_CURSOR else ""
        return DrivePage(tuple(_read_file(one) for one in found.files[: query.limit]), following)

    @asynccontextmanager
    async def open(
        self, access: DriveAccess, file_id: str, form: str | None
    ) -> AsyncIterator[DriveDownload]:
        """See the port."""
        place = f"/files/{quote(file_id, safe='')}"
        asked = {"fields": _FIELDS, **_ANYWHERE}
        file = _read_file(await self._read(place, asked, access.token, _File))
        exported = export_type(file, form)
        if exported is None:
            asked = {"alt": "media", **_ANYWHERE}
        else:
            place, asked = f"{place}/export", {"mimeType": exported}
        request = DriveRequest(
            "GET", f"{self._sites.api}{_DRIVE}{place}", asked, access.token, {"Accept": "*/*"}
        )
        async with self._http.stream(request) as answer:
            if answer.status != 200:
                raise refusal(answer.status, await answer.content.read(REFUSAL_BYTES))
            yield DriveDownload(file, parts_of(answer))

    async def store(
        self, access: DriveAccess, upload: DriveUpload, content: AsyncIterator[bytes]
    ) -> DriveFile:
        """See the port."""
        place = await self._begin(access, upload)
        sending = ResumableUpload(
            self._http, access.token, place, api=self._sites.api, pause=self._pause
        )
        try:
            answer = await sending.send(content)
        except BaseException:
            await sending.cancel()
            raise
        return _read_file(_decode_answer(answer, _File))

    async def _begin(self, access: DriveAccess, upload: DriveUpload) -> str:
        """Return the address at which Drive takes the bytes of a file."""
        metadata: dict[str, object] = {"name": upload.name}
        method, more = "PATCH", f"/{quote(upload.file_id, safe='')}"
        if not upload.file_id:
            method, more = "POST", ""
            metadata["parents"] = [upload.folder or ROOT_FOLDER]
        request = DriveRequest(
            method,
            f"{self._sites.api}/upload{_DRIVE}/files{more}",
            {"uploadType": "resumable", "fields": _FIELDS, **_ANYWHERE},
            access.token,
            {
                "Content-Type": "application/json; charset=UTF-8",
                "X-Upload-Content-Type": "application/octet-stream",
            },
            msgspec.json.encode(metadata),
        )
        answer = await wait_for_answer(SECONDS, self._http.send(request))
        if answer.status != 200:
            raise refusal(answer.status, answer.data)
        return answer.headers.get("Location", "")

    async def _tokens(self, **fields: str) -> _Tokens:
        if self._secret:
            fields["client_secret"] = self._secret
        request = _form(self._sites.tokens, {"client_id": self._client_id, **fields})
        answer = await wait_for_answer(SECONDS, self._http.send(request))
        if answer.status == 200:
            tokens = _decode_answer(answer.data, _Tokens)
            if not _good(tokens.access_token):
                raise Unavailable(SILENT)
            return tokens
        if answer.status < 500 and ends_grant({"error": oauth_error(answer.data)}):
            raise Forbidden(
                "Google has ended this consent, or never gave it: connect again.",
                code="drive_ended",
            )
        if oauth_error(answer.data) in ("invalid_client", "unauthorized_client"):
            raise Unavailable(
                "Google does not know this installation: whoever runs it checks drive_client_id "
                "and drive_client_secret_file."
            )
        raise Unavailable(SILENT)

    async def _read(self, path: str, query: Mapping[str, str], token: str, shape: type[T]) -> T:
        request = DriveRequest("GET", f"{self._sites.api}{_DRIVE}{path}", query, token)
        answer = await wait_for_answer(SECONDS, self._http.send(request))
        if answer.status != 200:
            raise refusal(answer.status, answer.data)
        return _decode_answer(answer.data, shape)


def _form(url: str, fields: Mapping[str, str]) -> DriveRequest:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return DriveRequest("POST", url, headers=form, body=urlencode(fields).encode())


def _decode_answer(data: bytes, shape: type[T]) -> T:
    """Return the decoded answer. Raises `Unavailable` when it has another shape."""
    try:
        return msgspec.json.decode(data, type=shape)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unavailable(SILENT) from error


def _good(token: str) -> bool:
    return 0 < len(token) <= MAX_TOKEN and token.isascii() and token.isprintable()


def _quote_text(text: str) -> str:
    """Return a text quoted for a search of Drive."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _read_file(told: _File) -> DriveFile:
    size = told.size if told.size and told.size.isascii() and told.size.isdigit() else None
    file = DriveFile(
        told.id,
        plain_line(told.name, most=MAX_FILE_NAME) or "(no name)",
        plain_line(told.mimeType, most=100),
        None if size is None else int(size[:18]),
        told.modifiedTime,
    )
    # What is exported has another size than what lies there.
    return replace(file, size=None) if file.forms else file
