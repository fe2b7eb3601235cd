"""Routes that stream files between the caller's Google Drive and a sandbox's workspace.

The file API opens the paths, inside and beneath the workspace; the bytes are kept nowhere else.
"""

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter
from pydantic import Field, StrictBool
from starlette.responses import Response

from atoll.domain.drive.drive import MAX_NAME, ROOT_FOLDER
from atoll.domain.people.capability import Capability
from atoll.services.drive.transfers import DriveExport, DriveImport
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.contract import shown
from atoll.surfaces.http.body.fields import Body
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.drive.connections import DriveFileView, file_view
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.contract.files import FileEntry

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/drive", tags=["drive"], route_class=JsonRoute)

_FAILURES: Final[dict[int | str, dict[str, Any]]] = problems(400, 403, 404, 409, 413, 502, 503)

FileId = Annotated[str, Field(min_length=1, max_length=128, strict=True)]
WorkspacePath = Annotated[str, Field(max_length=4096, strict=True)]


class DriveImportBody(Body):
    """A file of the caller's drive, by its id. `path` is its place in the workspace; with a `/` at
    its end, or left out, it is the directory, and the file keeps its name. `form` is the ending of
    the form in which a document is exported, such as `md` or `pdf`."""

    file: FileId
    path: WorkspacePath = ""
    form: Annotated[str, Field(pattern="^[a-z]{1,8}$", strict=True)] | None = None
    replace: StrictBool = False


class DriveExportBody(Body):
    """A file of the workspace. It becomes a new file in `folder`, or with `file` a new version of
    that one. `secrets`: whether bytes with a secret of the owner may go; only the owner allows
    it."""

    path: Annotated[str, Field(min_length=1, max_length=4096, strict=True)]
    folder: FileId = ROOT_FOLDER
    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME, strict=True)] | None = None
    file: FileId | None = None
    secrets: Literal["refuse", "allow"] = "refuse"


@router.post("/import", status_code=201, response_model=shown(FileEntry), responses=_FAILURES)
@needs(Capability.FILE_WRITE)
async def import_drive_file(atoll: Atoll, at: CallerSandbox, *, body: DriveImportBody) -> Response:
    """Bring a file of the caller's drive into the workspace, whole or not at all."""
    wanted = DriveImport(body.file, body.path, body.form, body.replace)
    _, entry = await atoll.drive.transfers.import_file(*at, wanted)
    return Json(entry, 201)


@router.post("/export", status_code=201, response_model=DriveFileView, responses=_FAILURES)
@needs(Capability.FILE_READ)
async def export_drive_file(atoll: Atoll, at: CallerSandbox, *, body: DriveExportBody) -> Response:
    """Store a file of the workspace in the caller's drive, whole or not at all."""
    wanted = DriveExport(body.path, body.folder, body.name, body.file, body.secrets == "allow")
    return Json(file_view(await atoll.drive.transfers.export_file(*at, wanted)), 201)
