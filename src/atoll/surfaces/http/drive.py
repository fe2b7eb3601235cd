"""Routes of a person's Google Drive: its connection, its files, and their way to a workspace.

No answer holds a token. The browser comes back from Google to the page, which hands in what it
brought: the session's cookie is sent by no other site, so the connection is of who began it. The
file API opens the paths of the workspace; the bytes of files are kept nowhere else.
"""

from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from atoll.domain.drive.drive import DriveFile, DriveQuery
from atoll.services.drive.connections import CONNECTION_LIFE, ConsentReply, DriveStatus
from atoll.services.drive.transfers import DriveExport, DriveImport
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.people.cookies import is_secure, set_cookie
from atoll.surfaces.http.people.links import near_link
from atoll.surfaces.http.server.credentials import cookie_of
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.library import drive as api
from atoll.wire.api.library.drive import Drives
from atoll.wire.contract.files import FileEntry
from atoll.wire.words.library import ROOT_FOLDER

COOKIE: Final = "atoll_drive"
CALLBACK: Final = "/auth/drive/callback"
MAX_FILES: Final = 100

operations = Operations()


@operations.serves(Drives.get)
async def get_drive(context: RequestContext) -> api.DriveView:
    return _status(await context.atoll.drive.connections.status(context.caller))


@operations.forwards(Drives.begin)
async def begin_drive(context: RequestContext) -> Response:
    request = context.request
    base = near_link(request, "").url.partition("/#")[0]
    url, cookie = context.atoll.drive.connections.begin(
        context.caller, request.state.session, f"{base}{CALLBACK}"
    )
    answer = Json(api.ConsentView(url=url))
    seconds = int(CONNECTION_LIFE.total_seconds())
    set_cookie(request, answer, (_cookie(request), cookie), seconds=seconds)
    return answer


@operations.forwards(Drives.come_back)
async def return_from_drive(
    context: RequestContext, *, state: str = "", code: str = ""
) -> Response:
    brought = urlencode({"state": state, "code": code})
    return Response(status_code=302, headers={"Location": f"/#drive={brought}"})


@operations.forwards(Drives.finish)
async def finish_drive(context: RequestContext, body: api.ConsentBody) -> Response:
    request = context.request
    session, name = request.state.session, _cookie(request)
    status = await context.atoll.drive.connections.finish(
        context.caller,
        session,
        cookie=cookie_of(request, name) or "",
        reply=ConsentReply(body.state, body.code),
    )
    answer = Json(_status(status))
    set_cookie(request, answer, (name, ""), seconds=0)
    return answer


@operations.serves(Drives.disconnect)
async def disconnect_drive(context: RequestContext) -> api.DisconnectedView:
    revoked = await context.atoll.drive.connections.disconnect(context.caller)
    return api.DisconnectedView(revoked=revoked)


@operations.serves(Drives.files)
async def list_drive_files(
    context: RequestContext,
    *,
    folder: str = ROOT_FOLDER,
    name: str = "",
    page: Paging = FIRST_PAGE,
) -> api.DriveFileList:
    query = DriveQuery(folder, name, page.cursor or "", min(page.limit, MAX_FILES))
    found = await context.atoll.drive.transfers.page(context.caller, query)
    return api.DriveFileList(
        files=[_file(one) for one in found.files], next=found.following or None
    )


@operations.serves(Drives.bring)
async def import_drive_file(
    context: RequestContext, sandbox: str, body: api.DriveImportBody
) -> FileEntry:
    wanted = DriveImport(body.file, body.path, body.form, body.replace)
    _, entry = await context.atoll.drive.transfers.import_file(context.caller, sandbox, wanted)
    return entry


@operations.serves(Drives.send)
async def export_drive_file(
    context: RequestContext, sandbox: str, body: api.DriveExportBody
) -> api.DriveFileView:
    wanted = DriveExport(body.path, body.folder, body.name, body.file, body.secrets == "allow")
    stored = await context.atoll.drive.transfers.export_file(context.caller, sandbox, wanted)
    return _file(stored)


def _file(file: DriveFile) -> api.DriveFileView:
    """Return a file as answers show it."""
    return answer_of(api.DriveFileView, file, folder=file.is_folder, importable=file.can_import)


def _status(status: DriveStatus) -> api.DriveView:
    return answer_of(api.DriveView, status)


def _cookie(request: Request) -> str:
    return f"__Host-{COOKIE}" if is_secure(request) else COOKIE
