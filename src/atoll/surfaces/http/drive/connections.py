"""Routes by which a person connects their Google Drive, browses it, and disconnects it.

No answer holds a token. The browser comes back from Google to the page, which hands in what it
brought: the session's cookie is sent by no other site, so the connection is of who began it.
"""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.drive.drive import MAX_SEARCH, ROOT_FOLDER, DriveFile, DriveQuery
from atoll.domain.people.capability import Capability
from atoll.services.drive.connections import CONNECTION_LIFE, ConsentReply, DriveStatus
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.people.cookies import is_secure, set_cookie
from atoll.surfaces.http.people.links import near_link
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.credentials import cookie_of
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

COOKIE: Final = "atoll_drive"
CALLBACK: Final = "/auth/drive/callback"
MAX_FILES: Final = 100
_MAX_TEXT: Final = 2048

router = APIRouter(prefix="/v1/drive", tags=["drive"], route_class=JsonRoute)
back = APIRouter(tags=["drive"], route_class=JsonRoute)

Told = Annotated[str, Field(max_length=_MAX_TEXT, strict=True)]
_Brought = Annotated[str, Query(max_length=_MAX_TEXT)]


class DriveView(ResponseModel):
    """The caller's drive. `available` is false where no administrator has set Google Drive up;
    `account` and `connected_at` are null while nothing is connected."""

    available: bool
    account: str | None
    connected_at: str | None


class ConsentView(ResponseModel):
    """The address at Google where the person consents."""

    url: str


class ConsentBody(Body):
    """The answer that Google sent by the browser; without consent `code` is empty."""

    state: Told
    code: Told = ""


class DisconnectedView(ResponseModel):
    """The end of a connection. `revoked` is false when Google could not be reached: the person ends
    the consent in their Google account."""

    revoked: bool


class DriveFileView(ResponseModel):
    """A file or folder, named by others. `forms` are those in which a document of Google's own is
    exported, the usual one first. `size` is in bytes, null where it is not known."""

    id: str
    name: str
    folder: bool
    media_type: str
    size: int | None
    modified_at: str | None
    forms: list[str]
    importable: bool


class DriveFileList(PageModel):
    """Files, folders first."""

    files: list[DriveFileView]


@router.get("", response_model=DriveView, responses=problems(403))
@needs(Capability.ME)
async def get_drive(atoll: Atoll, caller: Caller) -> Response:
    """Return whether the caller's Google Drive is connected."""
    return Json(_status(await atoll.drive.connections.status(caller)))


@router.post("/connect", response_model=ConsentView, responses=problems(403, 404))
@needs(Capability.ME)
async def begin_drive(atoll: Atoll, caller: Caller, request: Request) -> Response:
    """Return the address for the caller's consent, which this browser opens within 10 minutes."""
    base = near_link(request, "").url.partition("/#")[0]
    session = request.state.session
    url, cookie = atoll.drive.connections.begin(caller, session, f"{base}{CALLBACK}")
    answer = Json({"url": url})
    seconds = int(CONNECTION_LIFE.total_seconds())
    set_cookie(request, answer, (_cookie(request), cookie), seconds=seconds)
    return answer


@back.get(
    CALLBACK,
    status_code=302,
    response_class=Response,
    responses={302: {"description": "To the page, which hands in what Google said."}},
)
async def return_from_drive(state: _Brought = "", code: _Brought = "") -> Response:
    """Lead the browser to the page, which hands in what Google said. Nothing is done here."""
    brought = urlencode({"state": state, "code": code})
    return Response(status_code=302, headers={"Location": f"/#drive={brought}"})


@router.post("/connection", response_model=DriveView, responses=problems(401, 403, 404, 413, 503))
@needs(Capability.ME)
async def finish_drive(
    atoll: Atoll, caller: Caller, request: Request, body: ConsentBody
) -> Response:
    """Connect the caller's Google Drive by what Google sent back. Only the browser that began it
    can, and once."""
    session, name = request.state.session, _cookie(request)
    reply = ConsentReply(body.state, body.code)
    status = await atoll.drive.connections.finish(
        caller, session, cookie=cookie_of(request, name) or "", reply=reply
    )
    answer = Json(_status(status))
    set_cookie(request, answer, (name, ""), seconds=0)
    return answer


@router.delete("/connection", response_model=DisconnectedView, responses=problems(403, 404))
@needs(Capability.ME)
async def disconnect_drive(atoll: Atoll, caller: Caller) -> Response:
    """Have Google end the consent, and delete its token here."""
    return Json({"revoked": await atoll.drive.connections.disconnect(caller)})


@router.get("/files", response_model=DriveFileList, responses=problems(403, 404, 409, 503))
@needs(Capability.FILE_READ)
async def list_drive_files(
    atoll: Atoll,
    caller: Caller,
    *,
    folder: Annotated[str, Query(description="Its id.", max_length=128)] = ROOT_FOLDER,
    name: Annotated[
        str, Query(description="Search all names for this instead.", max_length=MAX_SEARCH)
    ] = "",
    page: Paged,
) -> Response:
    """Return a page of a folder, or of what a search finds; at most 100 files."""
    query = DriveQuery(folder, name, page.cursor or "", min(page.limit, MAX_FILES))
    found = await atoll.drive.transfers.page(caller, query)
    return Json({"files": [file_view(one) for one in found.files], "next": found.following or None})


def file_view(file: DriveFile) -> dict[str, Any]:
    """Return a file as answers show it."""
    return DriveFileView.of(file, folder=file.is_folder, importable=file.can_import)


def _status(status: DriveStatus) -> dict[str, Any]:
    return DriveView.of(status)


def _cookie(request: Request) -> str:
    return f"__Host-{COOKIE}" if is_secure(request) else COOKIE
