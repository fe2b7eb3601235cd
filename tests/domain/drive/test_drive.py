"""Files of a cloud drive: what a name, an id and a form may be."""

import pytest

from atoll.domain.drive.drive import (
    DriveFile,
    DriveQuery,
    check_query,
    export_type,
    read_file_id,
    upload_name,
    workspace_name,
)
from atoll.domain.errors import Invalid

OWN = "application/vnd.google-apps."


def file(name: str = "a.txt", kind: str = "text/plain") -> DriveFile:
    return DriveFile("id", name, kind, None, None)


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("notes.txt", "notes.txt"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..", "file"),
        (".bashrc", "bashrc"),
        ("a\\b/c", "a_b_c"),
        ("\x1b[2J\u202eevil\n", "[2J evil"),
        ("", "file"),
        ("é" * 300, "é" * 100),
    ],
)
def test_name_becomes_one_visible_part_of_a_path(name: str, there: str) -> None:
    assert workspace_name(file(name)) == there


def test_document_has_the_ending_of_its_form_once() -> None:
    document = file("Plan", f"{OWN}document")
    assert workspace_name(document) == "Plan.md" and workspace_name(document, "pdf") == "Plan.pdf"
    assert workspace_name(file("Plan.md", f"{OWN}document")) == "Plan.md"


def test_document_is_exported_in_its_own_forms() -> None:
    sheet = file("Sums", f"{OWN}spreadsheet")
    assert sheet.can_import and sheet.forms[0] == "csv" and not sheet.is_folder
    assert export_type(sheet, None) == "text/csv"
    assert export_type(sheet, "pdf") == "application/pdf"
    assert export_type(file(), None) is None
    for wrong, form in ((sheet, "md"), (file(), "pdf"), (file("F", f"{OWN}folder"), None)):
        with pytest.raises(Invalid):
            export_type(wrong, form)


def test_query_has_checked_ids_names_and_cursors() -> None:
    for query in (DriveQuery("1aB_-", cursor="~next~"), DriveQuery(name="it's")):
        assert check_query(query) is query
    for wrong, field in (
        (DriveQuery("a/b"), "folder"),
        (DriveQuery("' or 1"), "folder"),
        (DriveQuery("1aB_-", "it's"), "folder"),
        (DriveQuery(name="a\nb"), "name"),
        (DriveQuery(name="a" * 101), "name"),
        (DriveQuery(cursor="a b"), "cursor"),
    ):
        with pytest.raises(Invalid) as refused:
            check_query(wrong)
        assert refused.value.field == field
    assert read_file_id("abc") == "abc"


def test_name_at_a_drive_is_one_line() -> None:
    assert upload_name("report (2).pdf") == "report (2).pdf"
    for wrong in ("", " ", "a\nb", "a" * 256, "\u202e"):
        with pytest.raises(Invalid):
            upload_name(wrong)
