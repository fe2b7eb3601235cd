"""Google Drive as a server: consent, files and resumable uploads, in the words of its document.

Each request is judged by Google's own description, and each answer is made and judged by it. What
the description leaves out (OAuth, the steps of an upload) is as Google's guides have it.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from aiohttp import web

from atoll.adapters.drive.http import GoogleSites
from atoll.testing.contracts.outside.drive import MANY, NOTES, PAPER
from tests.adapters.drive.description import described

CLIENT, SECRET = "client-of-the-tests.apps.example", "a-client-secret"
REFRESH, ACCESS = "1//refresh-of-the-tests", "ya29.access-of-the-tests"
FOLDER = "application/vnd.google-apps.folder"
DOCUMENT = "application/vnd.google-apps.document"
AT = "2026-01-02T03:04:05.000Z"
_SPAN = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


@dataclass
class Kept:
    """A file, the id of its folder, and its bytes."""

    told: dict[str, Any]
    folder: str
    data: bytes = b""


@dataclass
class Upload:
    """An upload under way. `drops` are pieces whose answer is lost, and of which half arrives."""

    metadata: dict[str, Any]
    file_id: str
    data: bytearray = field(default_factory=bytearray)


@dataclass
class Vendor:
    """Google. `answer` takes the place of every answer of the API; `seen` are the requests."""

    url: str = ""
    scopes: frozenset[str] = frozenset()
    grants: dict[str, str] = field(default_factory=dict)
    ended: bool = False
    drops: int = 0
    place: str = ""
    files: dict[str, Kept] = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    answer: Callable[[], web.Response] | None = None

    def __post_init__(self) -> None:
        self.keep("docs", "Docs", FOLDER)
        self.keep("notes", "notes.txt", "text/plain", data=NOTES)
        self.keep("paper", "Paper", DOCUMENT, folder="docs", data=PAPER)
        for number in range(MANY):
            self.keep(f"more-{number}", f"more {number}", "text/plain", folder="docs", data=b"x")

    @property
    def sites(self) -> GoogleSites:
        """This server's addresses in the place of Google's."""
        return GoogleSites(
            f"{self.url}/consent", f"{self.url}/token", f"{self.url}/revoke", self.url
        )

    def keep(
        self, file_id: str, name: str, kind: str, *, folder: str = "root", data: bytes = b""
    ) -> Kept:
        """Keep a file."""
        told = {"id": file_id, "name": name, "mimeType": kind, "modifiedTime": AT}
        if kind != FOLDER:
            told["size"] = str(len(data))
        self.files[file_id] = Kept(told, folder, data)
        return self.files[file_id]

    def consent(self, url: str) -> str:
        """Consent as a person does at Google's page; return the code."""
        asked = {name: one for name, (one,) in parse_qs(urlsplit(url).query).items()}
        assert asked["client_id"] == CLIENT and asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256" and len(asked["state"]) >= 7
        assert (asked["access_type"], asked["prompt"]) == ("offline", "consent")
        assert set(asked["scope"].split()) <= set(described().whole["auth"]["oauth2"]["scopes"])
        self.scopes = frozenset(asked["scope"].split())
        code = f"4/code-{len(self.grants)}-{len(self.forms)}"
        self.grants[code] = f"{asked['redirect_uri']} {asked['code_challenge']}"
        return code

    async def token(self, request: web.Request) -> web.Response:
        """The token endpoint (RFC 6749 §3.2)."""
        form = dict(parse_qsl(await request.text(), strict_parsing=True))
        self.forms.append(form)
        assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
        if (form["client_id"], form.get("client_secret")) != (CLIENT, SECRET):
            return web.json_response({"error": "invalid_client"}, status=401)
        given: dict[str, Any] = {"access_token": ACCESS, "expires_in": 3599, "token_type": "Bearer"}
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] != REFRESH or self.ended:
                return web.json_response({"error": "invalid_grant"}, status=400)
            return web.json_response(given)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        mark = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if self.grants.pop(form["code"], "") != f"{form['redirect_uri']} {mark}":
            return web.json_response({"error": "invalid_grant"}, status=400)
        self.ended = False
        more = {"refresh_token": REFRESH, "scope": " ".join(self.scopes)}
        return web.json_response(given | more)

    async def revoke(self, request: web.Request) -> web.Response:
        """The revocation endpoint (RFC 7009)."""
        form = dict(parse_qsl(await request.text()))
        if form["token"] not in (REFRESH, ACCESS) or self.ended:
            return web.json_response({"error": "invalid_token"}, status=400)
        self.ended = True
        return web.json_response({})

    async def api(self, request: web.Request) -> web.Response:
        """The interface."""
        self.seen.append(f"{request.method} {request.path_qs}")
        query = dict(request.query)
        if self.answer is not None:
            return self.answer()
        if request.headers.get("Authorization") != f"Bearer {ACCESS}" or self.ended:
            return _problem(401, "authError", "Invalid Credentials")
        if "upload_id" in query:
            return await self._sent(request, query["upload_id"])
        method, placed, uploads = described().method(request.method, request.rel_url.raw_path)
        body = json.loads(await request.read() or b"null")
        described().check_request(method, placed, query, body)
        described().check_scopes(method, self.scopes)
        if uploads:
            return self._begun(placed, query, body)
        answer = self._told(method["id"], placed, query)
        if isinstance(answer, dict):
            described().check_answer(method, answer)
            return web.json_response(answer)
        assert isinstance(answer, web.Response)
        return answer

    def _told(self, method: str, placed: dict[str, str], query: dict[str, str]) -> Any:
        if method == "drive.about.get":
            return {"user": {"emailAddress": "ada@example.org", "displayName": "Ada"}}
        if method == "drive.files.list":
            return self._list(query)
        there = self.files.get(placed["fileId"])
        if there is None:
            return _problem(404, "notFound", f"File not found: {placed['fileId']}.")
        if method == "drive.files.export":
            assert there.told["mimeType"] == DOCUMENT
            return web.Response(body=there.data, content_type=query["mimeType"])
        if query.get("alt") == "media":
            assert there.told["mimeType"] not in (DOCUMENT, FOLDER)
            return web.Response(body=there.data, content_type="text/html")
        return there.told

    def _list(self, query: dict[str, str]) -> dict[str, Any]:
        assert query["q"].endswith(" and trashed = false")
        wanted = query["q"].removesuffix(" and trashed = false")
        if wanted.startswith("name contains "):
            text = _unquoted(wanted.removeprefix("name contains "))
            found = [one for one in self.files.values() if text in one.told["name"].lower()]
        else:
            assert wanted.endswith(" in parents")
            folder = _unquoted(wanted.removesuffix(" in parents"))
            found = [one for one in self.files.values() if one.folder == folder]
        found.sort(key=lambda one: (one.told["mimeType"] != FOLDER, one.told["name"]))
        begin, size = int(query.get("pageToken", "0")), int(query["pageSize"])
        told: dict[str, Any] = {"files": [one.told for one in found[begin : begin + size]]}
        if begin + size < len(found):
            told["nextPageToken"] = str(begin + size)
        return told

    def _begun(self, placed: dict[str, str], query: dict[str, str], body: Any) -> web.Response:
        assert query["uploadType"] == "resumable"
        file_id = placed.get("fileId", "")
        if file_id and file_id not in self.files:
            return _problem(404, "notFound", f"File not found: {file_id}.")
        name = str(len(self.uploads))
        self.uploads[name] = Upload(body, file_id)
        where = self.place or f"{self.url}/upload/drive/v3/files"
        return web.Response(headers={"Location": f"{where}?uploadType=resumable&upload_id={name}"})

    async def _sent(self, request: web.Request, name: str) -> web.Response:
        if request.method == "DELETE":
            self.cancelled.append(name)
            del self.uploads[name]
            return web.Response(status=499)
        assert request.method == "PUT"
        upload, data = self.uploads[name], await request.read()
        span = _SPAN.fullmatch(request.headers["Content-Range"])
        assert span is not None
        if span[1] is not None:
            assert int(span[1]) == len(upload.data) and int(span[2]) - int(span[1]) + 1 == len(data)
            assert span[3] != "*" or len(data) % (256 * 1024) == 0
        if self.drops and data:
            self.drops -= 1
            upload.data += data[: len(data) // 2 // (256 * 1024) * (256 * 1024)]
            return web.Response(status=503)
        upload.data += data
        if span[3] != "*" and int(span[3]) == len(upload.data):
            return web.json_response(self._stored(self.uploads.pop(name)))
        more = {"Range": f"bytes=0-{len(upload.data) - 1}"} if upload.data else {}
        return web.Response(status=308, headers=more)

    def _stored(self, upload: Upload) -> dict[str, Any]:
        data, name = bytes(upload.data), upload.metadata["name"]
        if upload.file_id:
            there = self.files[upload.file_id]
            there.data, there.told = data, there.told | {"size": str(len(data)), "name": name}
            return there.told
        (folder,) = upload.metadata["parents"]
        kind = "application/octet-stream"
        return self.keep(f"new-{len(self.files)}", name, kind, folder=folder, data=data).told


def application(vendor: Vendor) -> web.Application:
    """Return Google as a server."""
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/token", vendor.token)
    app.router.add_post("/revoke", vendor.revoke)
    app.router.add_route("*", "/{rest:.*}", vendor.api)
    return app


def _problem(status: int, reason: str, message: str) -> web.Response:
    errors = [{"domain": "global", "reason": reason, "message": message}]
    told = {"error": {"code": status, "message": message, "errors": errors}}
    return web.json_response(told, status=status)


def _unquoted(text: str) -> str:
    assert re.fullmatch(r"'(?:[^'\\]|\\['\\])*'", text), text
    return re.sub(r"\\(.)", r"\1", text[1:-1]).lower()
