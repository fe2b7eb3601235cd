"""`atoll drive`: files between a person's Google Drive and a sandbox's workspace."""

import click

from atoll.client.made.library.drive import DriveExportBody, DriveFile, DriveImportBody, Drives
from atoll.client.transport import Pairs
from atoll.domain.errors import NotFound
from atoll.domain.size import spelled_size
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import clean, note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.verbs import Verbs


@click.group("drive", cls=Verbs)
def command() -> None:
    """Bring files from Google Drive, and back."""


@needs("me.manage")
@command.command("connect")
@json_option()
@pass_invocation
def connect(invocation: Invocation, *, as_json: bool) -> None:
    """Show whether your Google Drive is connected, and where to do it.

    The browser that asks Google for consent has to be yours, so it is done in the page.
    """
    api = invocation.api()
    drive = Drives(api.transport).get()
    if as_json:
        show_json(drive.value)
    elif drive.account:
        say(f"connected: {clean(drive.account)}")
    elif drive.available:
        say(f"open {api.server.url}/#/secrets and choose Connect Google Drive")
    else:
        raise NotFound(
            "Google Drive is not set up here: an administrator sets drive_client_id.",
            code="no_drive",
        )


@needs("me.manage")
@command.command("disconnect")
@json_option()
@pass_invocation
def disconnect(invocation: Invocation, *, as_json: bool) -> None:
    """End the consent at Google, and delete its token here."""
    ended = Drives(invocation.api().transport).disconnect()
    if as_json:
        show_json(ended.value)
        return
    say("disconnected")
    if not ended.revoked:
        note("Google could not be reached: end the consent in your Google account, too")


@needs("file.read")
@command.command("ls")
@click.argument("folder", required=False, default="root")
@click.option("--name", "-n", default=None, help="Search all names for this instead.")
@json_option()
@pass_invocation
def list_files(invocation: Invocation, folder: str, *, name: str | None, as_json: bool) -> None:
    """List a FOLDER of your Drive, by its id  [default: the top]."""
    if name is not None and folder != "root":
        raise click.UsageError("--name searches all folders: leave FOLDER out.")
    drives, query, files = Drives(invocation.api().transport), _query(folder, name), []
    cursor = ""
    while True:
        page = drives.files((*query, ("cursor", cursor)) if cursor else query)
        files += page.files
        cursor = page.next
        if not cursor:
            break
    if as_json:
        show_json({"files": [file.value for file in files]})
    elif files:
        show_table(("KIND", "SIZE", "ID", "NAME"), map(_file_row, files))
    else:
        note("no files")


@needs("file.write")
@command.command("import")
@sandbox_argument()
@click.argument("file")
@click.argument("path", required=False, default="")
@click.option("--as", "form", default=None, help="The form of a document, such as md or pdf.")
@click.option("--replace", is_flag=True, help="Replace what is there.")
@json_option()
@pass_invocation
def bring(
    invocation: Invocation,
    name: str,
    file: str,
    path: str,
    *,
    form: str | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Import a FILE of your Drive, by its id, to a PATH of the workspace.

    A path that ends with `/` is a directory. Without one the file keeps its name.
    """
    body: DriveImportBody = {"file": file, "path": path, "replace": replace}
    if form is not None:
        body["form"] = form
    entry = Drives(invocation.api().transport).bring(name, body)
    if as_json:
        show_json(entry.value)
    else:
        say(f"{clean(entry.path)} ({spelled_size(entry.size)})")


@needs("file.read")
@command.command("export")
@sandbox_argument()
@click.argument("path")
@click.option("--folder", default="root", help="The folder at Drive, by its id  [default: the top]")
@click.option("--name", "as_name", default=None, help="Its name at Drive  [default: its own]")
@click.option("--file", default=None, help="Make a new version of this file, by its id.")
@click.option("--with-secrets", is_flag=True, help="Also when it holds a secret of yours.")
@json_option()
@pass_invocation
def send(
    invocation: Invocation,
    name: str,
    path: str,
    *,
    folder: str,
    as_name: str | None,
    file: str | None,
    with_secrets: bool,
    as_json: bool,
) -> None:
    """Export a file at a PATH of the workspace to your Drive."""
    body: DriveExportBody = {"path": path, "folder": folder}
    if as_name is not None:
        body["name"] = as_name
    if file is not None:
        body["file"] = file
    if with_secrets:
        body["secrets"] = "allow"
    made = Drives(invocation.api().transport).send(name, body)
    if as_json:
        show_json(made.value)
    else:
        say(f"{clean(made.name)} is at Drive: {clean(made.id)}")


def _query(folder: str, name: str | None) -> Pairs:
    return (("folder", folder),) if name is None else (("name", name),)


def _file_row(file: DriveFile) -> tuple[str, str, str, str]:
    kind = "folder" if file.folder else "/".join(file.forms) or "file"
    size = spelled_size(file.size) if file.size >= 0 else "-"
    return kind, size, file.id, file.name
